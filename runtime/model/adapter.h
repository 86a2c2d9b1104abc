/* adapter.h: adapters of low rank (`lathe --lora`): merged into the weights, or as a folder of PEFT's. */
#ifndef LATHE_MODEL_ADAPTER_H
#define LATHE_MODEL_ADAPTER_H

#include "model/hf.h"
#include "model/safetensors.h"

bool is_of_adapter(const Lathe_model *m, const Lathe_param *p); /* whether p is the A or the B of one */
bool holds_adapters(const Lathe_model *m, const Store *s);      /* whether a file has one of them */
/* How they were trained is beside them in a file; other settings on reading end the program (3). */
void put_lora_note(Store_writer *w, const Lathe_model *m);
void check_lora_note(const Lathe_model *m, const Store *s);
/* weight += scale · B · A, for all of them, in double precision; flat: the parameters. */
void merge_adapters(const Lathe_model *m, void *flat);
/* adapter_model.safetensors and adapter_config.json in a folder that exists, under Hugging Face's names.  ids: rows of
 * tables of ids.  Ends the program (1) if more than adapters is trained, and (3) if a file cannot be written. */
void write_peft(const Lathe_model *m, const Hf *hf, const char *folder, const void *flat, int64_t ids);

#endif
