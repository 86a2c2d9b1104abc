/* gguf_writer.h: a GGUF file while it is written; for gguf_out.c and gguf_keys.c. */
#ifndef LATHE_MODEL_GGUF_WRITER_H
#define LATHE_MODEL_GGUF_WRITER_H

#include "base/file.h"
#include "model/gguf.h"
#include "model/gguf_out.h"

typedef struct Writer {
    const Gguf_model *g;
    const Architecture *a;
    const char *path;
    int file_type; /* general.file_type */
    const char *logits; /* name of the matrix that makes them */
    Out *out;
    int64_t bytes; /* given */
    int64_t keys;  /* while they are only counted: out is NULL */
    char *aside;   /* PATH.part, until it is complete */
    Fault fault;   /* of writing to it */
} Writer;

typedef struct Token {
    const char *text; /* NULL: no token has this id */
    size_t bytes;
    int type;
} Token;

typedef struct Gguf_type {
    const char *name;
    int number; /* in the file */
    Lathe_dtype dtype;
    int of_file; /* general.file_type of a file with such matrices */
} Gguf_type;

/* ---- model/gguf_types.c; asked: "q4_0,*embed*=q8_0" */

const Gguf_type *gguf_main_type(const char *asked); /* of matrices that no pattern names */
/* t: NULL: it is f32.  name: in the file. */
const Gguf_type *type_of_tensor(const Writer *w, const Hf_tensor *t, const char *name, const Stored *place);
/* Blocks of this type are written as they are: rounding them again may give others. */
bool keeps_blocks(const Writer *w, const Hf_tensor *t, const Stored *place, const Gguf_type *type);
int64_t elements_at_once(const Gguf_type *type); /* of a block, or 1 */
bool same_pattern(const Writer *w, const Hf_tensor *a, const Hf_tensor *b); /* one names both, or none either */
void check_gguf_types(const Writer *w); /* each pattern names a matrix */

/* ---- model/gguf_encoder.c, model/gguf_wordpiece.c */

void put_encoder_keys(Writer *w);
const char *encoder_misfit(const Writer *w); /* why llama.cpp would compute something else; NULL: it would not */
void put_encoder_tokens(Writer *w); /* those with a meaning */

/* ---- model/gguf_out.c */

void out_bytes(Writer *w, const void *at, size_t n);
void out_number(Writer *w, uint64_t x, int bytes);
void out_text(Writer *w, const char *text, size_t n);
uint32_t float_bits(double x);
/* The description's config.json, since that of imported weights may say the same in other places. */
const json_t *said_of_model(const Writer *w, const char *key);
const json_t *rope_of_model(const Writer *w); /* rope_parameters, of layers without a window if those differ */
int64_t head_of_model(const Writer *w); /* the size of a head */
Token *tokens_by_id(Writer *w);         /* as many as the model has ids; the rest are fillers */
void put_keys(Writer *w, const Token *token);
void put_text_key(Writer *w, const char *key, const char *text);
void put_integer_key(Writer *w, const char *key, int64_t x);
void put_flag_key(Writer *w, const char *key, bool x);
void begin_list_key(Writer *w, const char *key, int type, int64_t n); /* then come its n elements */
void put_own_key(Writer *w, const char *key, int type, const json_t *value); /* of the architecture */
void put_real_key(Writer *w, const char *key, double x);
/* The head of the file, once keys are counted; then come keys, infos of tensors, padding, tensors. */
void begin_gguf(Writer *w, int64_t tensors);
/* t: whose blocks may be kept; NULL: it is f32.  offset: of the next tensor. */
void put_info(Writer *w, const Hf_tensor *t, const char *name, const Stored *place, int64_t *offset);
void put_padding(Writer *w);
void end_gguf(Writer *w); /* an old file is kept where it cannot be written (3) */

#endif
