/* adapter.h: adapters of low rank (`lathe --lora`): merged into the weights, or as a folder of PEFT's. */
#ifndef LATHE_MODEL_ADAPTER_H
#define LATHE_MODEL_ADAPTER_H

#include "model/hf.h"
#include "model/safetensors.h"

bool is_of_adapter(const Lathe_model *m, const Lathe_param *p); /* whether p is the A or the B of one */
bool holds_adapters(const Lathe_model *m, const Store *s);      /* whether a file has one of them */
/* weight += scale · B · A, for all of them, in double precision; flat: the parameters. */
void merge_adapters(const Lathe_model *m, void *flat);
/* adapter_model.safetensors and adapter_config.json in a folder that exists, under Hugging Face's names.  Ends the
 * program (1) if more than adapters is trained, and (3) if a file cannot be written. */
void write_peft(const Lathe_model *m, const Hf *hf, const char *folder, const void *flat);

#endif
