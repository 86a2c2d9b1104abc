/* gguf_out.h: writes a model as a GGUF file, as llama.cpp reads it. */
#ifndef LATHE_MODEL_GGUF_OUT_H
#define LATHE_MODEL_GGUF_OUT_H

#include "model/hf.h"

typedef struct Gguf_model {
    const Hf *hf;
    const Lathe_model *model;
    const void *flat;        /* its weights */
    int64_t ids;             /* rows of tables of ids */
    const json_t *config, *tokenizer; /* Hugging Face's files */
    const char *chat_template; /* NULL: none */
    const char *type;        /* of matrices: "f32", "f16", "bf16", "q8_0", "q4_0,PATTERN=q8_0"; vectors are f32 */
    const char *base;        /* of adapters, model/base.h; NULL: not known */
} Gguf_model;

bool is_gguf_type(const char *asked); /* gguf_types.c */
bool asks_for_blocks(const char *asked); /* of some matrices; likewise */
/* Ends the program (3) if GGUF has no place for the model or its tokenizer, or the file cannot be written; an old one at
 * path is kept then. */
void write_gguf(const char *path, const Gguf_model *g);

/* ---- model/gguf_adapter.c: adapters alone.  Of g it reads hf, model, flat, ids and base. */

void write_gguf_adapter(const char *path, const Gguf_model *g); /* likewise */
/* Reads such a file into the adapters of flat; ends the program (3) if it is of another model, rank or scale. */
void read_gguf_adapter(const Lathe_model *m, const char *path, void *flat);

#endif
