/* gguf.h: weights in llama.cpp's file format GGUF, seen as a folder of Hugging Face. */
#ifndef LATHE_MODEL_GGUF_H
#define LATHE_MODEL_GGUF_H

#include "model/safetensors.h"

#include <stdbool.h>

enum { GGUF_U32 = 4, GGUF_I32 = 5, GGUF_F32 = 6, GGUF_BOOL = 7, GGUF_TEXT = 8, GGUF_ARRAY = 9, GGUF_F64 = 12 }; /* values */
enum { NORMAL_TOKEN = 1, CONTROL_TOKEN = 3, USERS_TOKEN = 4, UNUSED_TOKEN = 5 }; /* tokenizer.ggml.token_type */

/* ---- model/gguf.c: the format */

bool is_gguf(const char *path); /* a file that begins as one */
void refuse_folder_of_gguf(const char *folder); /* ends the program (3) if it has any */
/* Reads and checks all but the elements; an error ends the program (3).  header: {key: value}, the metadata.  Tensors
 * have their names of the file, and axes in C's order. */
void read_gguf(Store *s, const char *path);
void sort_tensors(Store *s); /* by their names; ends the program (3) if two have the same */

/* ---- model/gguf_model.c: as a folder of Hugging Face */

/* The same with the names of Hugging Face; ends the program (3) if the architecture is not known. */
void read_gguf_model(Store *s, const char *path);
/* config.json, generation_config.json, tokenizer_config.json, tokenizer.json: made of the metadata, from malloc; NULL:
 * there is none. */
char *gguf_file(const char *path, const char *name);
json_t *gguf_config(const Store *s);               /* config.json of what read_gguf_model() read */
bool gguf_tokenizer_is_known(const char *path);    /* false: gguf_file() of tokenizer.json would end the program */
/* The same tables the other way, for writing.  gguf_key(i), gguf_config_key(i): a key of each, NULL after the last. */
const char *gguf_key(int i);
const char *gguf_config_key(int i);
char *gguf_name(const char *hf);           /* of a tensor, from malloc; NULL: it has no place there */
bool gguf_is_turned(const char *hf);       /* whether its rows are in the order of rotary pairs there */
const char *gguf_pre(const json_t *pre_tokenizer); /* the name of how text is cut; NULL: it has none */
bool gguf_has_tokens(const char *path, const char *tokenizer); /* whether its ids mean what those of a tokenizer.json mean */

#endif
