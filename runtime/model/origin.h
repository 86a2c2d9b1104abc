/* origin.h: files that came with imported weights. */
#ifndef LATHE_MODEL_ORIGIN_H
#define LATHE_MODEL_ORIGIN_H

#include "token/tokenizer.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct Origin Origin;

/* The files of a Hugging Face folder, or those made of a GGUF's metadata, other than tensors and tokenizer.json: checkpoints keep them unchanged
 * (huggingface.json), and export writes them again. */
Origin *read_origin(const char *weights);   /* beside weights: of such a folder, or of a checkpoint; NULL: there are none */
char *origin_text(const Origin *o);         /* of huggingface.json, from malloc */
int origin_files(const Origin *o);          /* 0 if o is NULL */
const char *origin_name(const Origin *o, int k);
const char *origin_file(const Origin *o, const char *name); /* its text, or NULL */
const json_t *origin_object(const Origin *o, const char *name); /* an object, or NULL */
/* That of a GGUF file, or of the folder of other weights; NULL: there is none. */
Tokenizer *tokenizer_beside(const char *weights);
Tokenizer *tokenizer_named(const char *path); /* of a file of a tokenizer, a folder, or a GGUF file */
bool came_with(const Tokenizer *k, const char *weights); /* whether k is the tokenizer beside them */
/* The chat template that came with the weights, a text of Jinja: of several the default; NULL: none. */
const char *origin_template(const Origin *o);
void forget_tokens(Origin *o); /* drops what is about tokens */

#endif
