/* import.h: weights in Hugging Face's format. */
#ifndef LATHE_MODEL_IMPORT_H
#define LATHE_MODEL_IMPORT_H

#include "interface/lathe_model.h"

#include "model/hf.h"

#include <jansson.h>

json_t *read_json_file(const char *path, const char *remedy); /* ends the program (3): no such file, no JSON */
char *weights_file(const char *path);        /* for a folder, model.safetensors in it or its index; from malloc */
bool is_exchange(const char *weights);       /* it is beside Hugging Face's config.json, or an index of shards */
/* load_weights() for these.  except: not NULL: parameters that the description calls fresh may be missing, and those
 * of these layers are not read; they keep what flat has. */
void load_exchange(const Lathe_model *m, const char *path, void *flat, const char *except);
/* Of such files: calls `take` for each tensor of the model that they have in its shape. */
void each_exchanged(const Lathe_model *m, const char *path, void (*take)(void *, const Hf_tensor *, const Stored *),
                    void *with);

#endif
