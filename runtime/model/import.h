/* import.h: weights that others wrote. */
#ifndef LATHE_MODEL_IMPORT_H
#define LATHE_MODEL_IMPORT_H

#include "interface/lathe_model.h"

char *weights_file(const char *path);        /* of a folder model.safetensors or its index; from malloc */
bool is_exchange(const char *weights);       /* a file beside Hugging Face's config.json, or an index of shards */
void load_exchange(const Lathe_model *m, const char *path, void *flat);     /* load_weights() of such */

#endif
