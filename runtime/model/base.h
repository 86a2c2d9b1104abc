/* base.h: which weights adapters belong to, their base. */
#ifndef LATHE_MODEL_BASE_H
#define LATHE_MODEL_BASE_H

#include "interface/lathe_model.h"

/* A hash, as 16 hexadecimal digits from malloc, of the frozen weights in a file or folder, from which load_weights() has
 * filled flat; of one with adapters, of the base that these were trained over. */
char *base_of_weights(const Lathe_model *m, const char *path, const void *flat);
/* What an adapter alone says of its base: a folder of PEFT's or a GGUF file that can be read; from malloc; NULL:
 * nothing. */
char *base_of_adapter(const char *path);
bool has_own_adapters(const Lathe_model *m, const char *weights); /* whether the file has adapters of this model */

/* The key of the hash in files: of PEFT's folders and checkpoints a note of safetensors, of GGUF a key. */
#define BASE_NOTE "lathe_base"

#endif
