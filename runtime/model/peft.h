/* peft.h: adapters of low rank as a folder of PEFT's. */
#ifndef LATHE_MODEL_PEFT_H
#define LATHE_MODEL_PEFT_H

#include "model/hf.h"

/* adapter_model.safetensors and adapter_config.json in a folder that exists, under Hugging Face's names.  ids: rows of
 * tables of ids.  Ends the program (1) if more than adapters is trained, and (3) if a file cannot be written. */
void write_peft(const Lathe_model *m, const Hf *hf, const char *folder, const void *flat, int64_t ids);
/* Reads such a folder into the adapters of flat.  Ends the program (3) if it is another kind of adapter, of another
 * rank or scale, or adapts other layers than this trainer. */
void read_peft(const Lathe_model *m, const char *folder, void *flat);

#endif
