/* hf.h: the model in Hugging Face's format: tensors and config.json. */
#ifndef LATHE_MODEL_HF_H
#define LATHE_MODEL_HF_H

#include "base/words.h"
#include "interface/lathe_model.h"
#include "model/origin.h"
#include "model/weights.h"
#include "token/tokenizer.h"

typedef struct Hf_tensor {  /* a tensor in its files */
    char *name, *own;       /* "transformer.h.0.ln_1.weight", "h.0.ln_1.weight" */
    const Lathe_param *param;
    const Stored *from;     /* in files that are read; NULL: they lack it */
    int64_t copy;
    bool zero;              /* not a parameter here: written as zeros */
    bool fresh;             /* a file may lack it: then it stays as it was drawn */
    bool transposed, ids;   /* a transposed matrix; a table with one row per id */
    int rank;
    int64_t dim[LATHE_MAXRANK];     /* in the file, with this model's number of rows of ids */
} Hf_tensor;

typedef struct Hf {
    json_t *all;            /* the description's hf */
    int n;
    Hf_tensor *tensor;      /* adapters are not among them */
} Hf;

Hf open_hf(const Lathe_model *m);                           /* ends the program (1) if the description has none */
int64_t hf_place(const Hf_tensor *t, int64_t element);      /* of an element of their tensor, in the flat arrays */
char *hf_name(const Hf *hf, const char *name);              /* their name of one of ours, from malloc */
bool hf_lists(const json_t *list, const char *word);
/* The next of the names under which older files, or those of other heads, have a tensor; from malloc; NULL: no more.
 * Begin with *k = 0. */
char *hf_alias(const Hf *hf, const char *name, int *k);
bool hf_draws(const Lathe_model *m); /* whether files may lack parameters, which then are drawn */
const char *hf_type(const Hf *hf);                          /* "llama": model_type of the description; NULL: none */
bool hf_is_of(const Hf *hf, const char *template, const char *name); /* "h.%d.attn.bias", ours or theirs */

/* ---- model/hf_config.c: config.json */

typedef struct Origin Origin;
void ignore_config(const Words *keys); /* keys that check_hf_config ignores */
void check_hf_config(const Hf *hf, const Lathe_model *m, const json_t *theirs, Misfits *bad);
int64_t hf_ids(const Hf *hf, const json_t *theirs); /* rows of their tables of ids; 0: not given */
/* The text to write, from malloc; o: files that the weights came with, or NULL; k: their tokenizer, or NULL. */
char *hf_config(const Hf *hf, const Lathe_model *m, const Origin *o, const Tokenizer *k, int64_t ids);

#endif
