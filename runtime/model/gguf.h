/* gguf.h: weights in llama.cpp's file format GGUF, seen as a folder of Hugging Face. */
#ifndef LATHE_MODEL_GGUF_H
#define LATHE_MODEL_GGUF_H

#include "model/safetensors.h"

#include <stdbool.h>

enum { GGUF_U32 = 4, GGUF_I32 = 5, GGUF_F32 = 6, GGUF_BOOL = 7, GGUF_TEXT = 8, GGUF_ARRAY = 9, GGUF_F64 = 12 }; /* values */
/* tokenizer.ggml.token_type */
enum { NORMAL_TOKEN = 1, UNKNOWN_TOKEN = 2, CONTROL_TOKEN = 3, USERS_TOKEN = 4, UNUSED_TOKEN = 5, BYTE_TOKEN = 6 };

/* ---- model/gguf.c: the format */

bool is_gguf(const char *path); /* a file that begins as one */
void refuse_folder_of_gguf(const char *folder); /* ends the program (3) if it has any */
/* Reads and checks all but the elements; an error ends the program (3).  header: {key: value}, the metadata.  Tensors
 * have their names of the file, and axes in C's order. */
void read_gguf(Store *s, const char *path);
void sort_tensors(Store *s); /* by their names; ends the program (3) if two have the same */

/* ---- model/gguf_tables.c: architectures, and what Hugging Face calls their parts */

typedef struct Gguf_key { /* a number, or a GGUF_BOOL */
    const char *gguf, *hf; /* "block_count", "num_hidden_layers"; NULL after the last */
    int type;
    enum { READ, WRITTEN, NEEDED } use; /* READ: never written; NEEDED: it must be there */
} Gguf_key;

/* How elements lie there.  APART: q, k and v of all heads; RAISED: each is 1 more; JOINED: the matrices of all
 * experts of a layer are one tensor; LED: the first rows are left out. */
enum { SAME, TURNED, TRANSPOSED, APART, RAISED, JOINED, LED };

typedef struct Gguf_tensor {
    const char *gguf, *hf; /* without ".weight" and ".bias"; %d: of a layer, then of an expert; NULL after the last */
    int order;
    const struct Gguf_tensor *next; /* of the row behind the last: another table; the first row that fits a name counts */
} Gguf_tensor;

typedef struct Architecture {
    const char *name, *type, *model; /* general.architecture; model_type, architectures of Hugging Face */
    const Gguf_key *key;
    const Gguf_tensor *tensor;
    const char *also;  /* JSON: keys of config.json that are the same for all */
    bool rotary;       /* positions are, and heads of keys may be fewer */
    bool own_heads;    /* their size may be another than width / heads */
    bool turned;       /* rows of q and k are in the order of rotary pairs; rope_freqs.weight may stretch positions */
    bool biases;       /* projections may have them, which tensors say alone */
    bool own_logits;   /* llama.cpp wants a matrix of its own for the logits */
    bool tied;         /* llama.cpp has none: it is the embedding's */
    const char *share; /* the key of Hugging Face for the part of a head that positions turn; NULL: they turn all */
    bool factors;      /* two tensors may stretch positions, rope_factors_long.weight and …_short.weight */
    const char *base;  /* that of the base of rotary positions, where each head has a key of its own; NULL: rope_theta */
    const char *experts; /* that of their number in a layer; NULL: it has none */
    int no_rope;       /* every so many-th layer has no rotary positions, which a file does not say; 0: all have */
    int full_every;    /* every so many-th layer has no window, unless a file says another; 0: none has one */
    bool local_base;   /* layers with a window have rotary positions of another base */
    int layers_by_heads; /* in a model of so many layers, scores are divided by the root of width / heads */
    const char *tokenizer; /* of encoders: tokenizer.ggml.model; NULL: it is a decoder */
    const char *pre;   /* of encoders with byte-level pieces: the name of how text is cut that is written */
    const char *prefix; /* of tensors of Hugging Face, which files of some heads lack; NULL: none */
    int lead;          /* rows of the table of positions that files leave out */
    int first_full;    /* the first and every so many-th layer have no window, unless a file says another; 0: none has one */
    bool classes;      /* it has a head for classes */
} Architecture;

const Architecture *architecture_of(const Store *s); /* ends the program (3) if it is not known */
/* Of a model_type, and the first of architectures (NULL: any), which says an encoder's head; NULL: none. */
const Architecture *architecture_of_type(const char *type, const char *model);
char *gguf_architectures(bool in_files); /* "llama, mistral, … or gpt2": all types, or all names; from malloc */

/* ---- model/gguf_names.c: names of tensors */

char *gguf_name(const Architecture *a, const char *hf); /* of a tensor, from malloc; NULL: it has no place there */
char *hf_of_gguf(const Architecture *a, const char *gguf); /* the other way */
/* The matrices of a layer's experts are one tensor there, and one each here: the expert of such a name, or -1, and the name of
 * each, from malloc; NULL: it has none. */
int64_t expert_of_name(const Architecture *a, const char *hf);
char *name_of_expert(const Architecture *a, const char *gguf, int64_t expert);
/* Sets how a tensor's elements lie there: turned, transposed, apart, raised.  head: the size of a head. */
void gguf_order(const Architecture *a, const char *hf, int64_t head, Stored *t);
void rename_as_hf(const Store *s, const Architecture *a, Stored *t); /* its order and axes, too */

/* ---- model/gguf_rope.c: stretched rotary positions */

void take_rope_tables(Store *s, const Architecture *a); /* tensors: what they mean goes into the header */
void put_rope_parameters(const Store *s, const Architecture *a, json_t *config);
/* rope: rope_parameters of config.json.  The names of tensors for it, up to two; their elements. */
int rope_tables(const json_t *rope, const char **name);
int64_t rope_table_pairs(const json_t *rope, int64_t head);
double rope_table_element(const json_t *rope, const char *name, int64_t pair, int64_t pairs);
double rope_amplitude(const json_t *rope, int64_t context); /* rope.scaling.attn_factor, which is 1 where it is absent */
/* Why it has no place; NULL: it has. */
const char *rope_misfit(const Architecture *a, const json_t *rope); /* NULL: it has */

/* ---- model/gguf_experts.c: mixtures of experts */

/* Makes a tensor of each expert's matrix, with its name, and the others' as rename_as_hf() does. */
void rename_tensors(Store *s, const Architecture *a);

/* ---- model/gguf_layers.c: layers that differ from each other */

void put_layers(const Store *s, const Architecture *a, json_t *config); /* after put_rope_parameters() */
/* By whose root scores are divided. */
int64_t gguf_query_width(const Architecture *a, int64_t layers, int64_t width, int64_t heads, int64_t head);
int64_t full_every_of(const json_t *types); /* by layer_types of config.json; more than there are: none sees all */
const char *layers_misfit(const Architecture *a, const json_t *config); /* why it has no place; NULL: it has */

/* ---- model/gguf_encoder.c: encoders */

void note_heads(Store *s); /* before tensors have other names */
int64_t gguf_classes(const Store *s); /* 0: it has no head for classes */
bool gguf_has_pooler(const Store *s); /* a layer on the first token */
const char *gguf_pooling(const Store *s); /* "none", "mean", "cls" or "rank"; NULL: it does not say */
/* Why it is not that of a description's hf, from malloc; NULL: it is, or either does not say. */
char *pooling_misfit(const Store *s, const json_t *hf);
bool is_key_of_encoder(const Architecture *a, const char *key); /* one that put_encoder() reads */
void put_encoder(const Store *s, const Architecture *a, json_t *config);

/* ---- model/gguf_wordpiece.c: BERT's pieces, and tokens around a text */

bool is_wordpiece(const Store *s);
char *piece_of_token(const char *text, int type); /* of tokenizer.json, from malloc */
json_t *wordpiece_json(const Store *s, json_t *vocab, json_t *added); /* tokenizer.json; takes both over */
json_t *frame_of_encoder(const Store *s, const Architecture *a); /* the post-processor */
void put_special_tokens(const Store *s, json_t *config); /* into tokenizer_config.json */
bool has_wordpiece(const json_t *tokenizer);
const char *wordpiece_misfit(const json_t *tokenizer), *frame_misfit(const json_t *tokenizer); /* NULL: llama.cpp has it */
char *token_of_piece(const char *piece, int type); /* the other way, from malloc */

/* ---- model/gguf_model.c: as a folder of Hugging Face */

extern const char rope_table[]; /* the tensor's name */
/* The same with the names of Hugging Face; ends the program (3) if the architecture is not known. */
void read_gguf_model(Store *s, const char *path);
/* config.json, generation_config.json, tokenizer_config.json, tokenizer.json: made of the metadata, from malloc; NULL:
 * there is none. */
char *gguf_file(const char *path, const char *name);
json_t *gguf_config(const Store *s);               /* config.json of what read_gguf_model() read */
/* As a model of the description's type, if it is one of that architecture. */
void call_config(json_t *config, const json_t *ours);
json_t *gguf_value_of(const Store *s, const Architecture *a, const char *key); /* "llama." and the key; NULL: none */
int64_t gguf_integer(const Store *s, const char *key, int64_t absent); /* ends the program (3) if it is none */
int64_t gguf_head(const Store *s, const Architecture *a);              /* the size of a head */

/* ---- model/gguf_tokens.c: the tokenizer */

json_t *gguf_tokens(const Store *s);            /* a list of texts; NULL: none */
const char *gguf_word(const Store *s, const char *key); /* "none": the file has no such text */
json_t *gguf_tokenizer(const Store *s);         /* tokenizer.json, and the others */
json_t *gguf_tokenizer_config(const Store *s);
json_t *gguf_generation_config(const Store *s);
bool gguf_tokenizer_is_known(const char *path); /* false: gguf_file() of tokenizer.json would end the program */
char *gguf_pre(const json_t *tokenizer);        /* the name of how text is cut by a tokenizer.json; NULL: it has none */
char *gguf_pres(void); /* the names that are known, from malloc */
bool has_sentencepiece(const json_t *tokenizer); /* whether a tokenizer.json merges characters, as it does */
bool prepends_blank(const json_t *tokenizer);    /* and puts a blank before a text */
bool gguf_has_tokens(const char *path, const char *tokenizer); /* whether its ids mean what those of a tokenizer.json mean */

/* ---- model/gguf_scores.c: merges by scores */

json_t *merges_of_scores(const Store *s, const json_t *vocab, const json_t *added); /* a list for tokenizer.json */
/* The other way, of each id: score[n]; false: the list is none that scores could give. */
bool scores_of_merges(const json_t *tokenizer, double *score, int64_t n);

#endif
