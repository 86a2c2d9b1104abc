/* llmc.h: weights of a GPT-2 in llm.c's file, seen as a folder of Hugging Face. */
#ifndef LATHE_MODEL_LLMC_H
#define LATHE_MODEL_LLMC_H

#include "model/hf.h"

enum { LLMC_MAGIC = 20240326, LLMC_HEAD_BYTES = 1024, LLMC_MULTIPLE = 128, LLMC_FP32 = 3, LLMC_BF16 = 5 };

typedef struct Llmc_head {
    int32_t magic, version, positions, ids, layers, heads, width, rows; /* rows: of ids, with those of zeros */
} Llmc_head;

enum { LLMC_IDS = -1, LLMC_POSITIONS = -2 }; /* extents that are no multiple of the width */
enum { LLMC_KINDS = 16 };
typedef struct Llmc_kind { /* of tensors */
    const char *name;      /* Hugging Face's, of a layer with %d */
    int out, in;           /* extents in widths, or as above; in 0: a vector */
} Llmc_kind;

/* ---- model/llmc.c */

extern const Llmc_kind llmc_kinds[]; /* in their order in the file */
bool is_matrix_of_layer(const Llmc_kind *k);
char *name_of_kind(const Llmc_kind *k, int64_t layer); /* from malloc */
int64_t rows_of_kind(const Llmc_kind *k, const Llmc_head *h);
int64_t elements_of_kind(const Llmc_kind *k, const Llmc_head *h);
int64_t copies_of_kind(const Llmc_kind *k, const Llmc_head *h);

bool is_llmc(const char *path); /* a file that begins as one */
/* Tensors have Hugging Face's names; an error ends the program (3). */
void read_llmc(Store *s, const char *path);
json_t *llmc_config(const Store *s); /* what config.json would say */

/* ---- model/llmc_out.c */

typedef struct Llmc_model {
    const Hf *hf;
    const Lathe_model *model;
    const void *flat; /* its weights */
    int64_t ids;      /* rows of the table of ids */
    bool bf16;        /* version 5; else 3, fp32 */
} Llmc_model;

/* Ends the program (3) if the model is none that llm.c computes, or path cannot be written; an old file is kept then. */
void write_llmc(const char *path, const Llmc_model *g);

#endif
