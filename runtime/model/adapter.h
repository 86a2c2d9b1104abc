/* adapter.h: adapters of low rank (`lathe --lora`). */
#ifndef LATHE_MODEL_ADAPTER_H
#define LATHE_MODEL_ADAPTER_H

#include "interface/lathe_model.h"
#include "model/safetensors.h"

bool is_of_adapter(const Lathe_model *m, const Lathe_param *p); /* whether p is the A or the B of one */
bool holds_adapters(const Lathe_model *m, const Store *s);      /* whether a file has one of them */
/* rank=16,alpha=32,rslora: the settings by which an adapter computes. */
void lora_words(const Lathe_lora *l, char *to, size_t room);
/* How they were trained is beside them in a file; other settings on reading end the program (3). */
void put_lora_note(Store_writer *w, const Lathe_model *m);
void check_lora_note(const Lathe_model *m, const Store *s);
/* weight += scale · B · A, for all of them, in double precision; flat: the parameters. */
/* A weight of a parameter's copy as it is written: in blocks, with the adapter added; others have been merged. */
double whole_weight(const Lathe_model *m, const Lathe_param *p, int64_t copy, const void *flat, int64_t at);
void merge_adapters(const Lathe_model *m, void *flat);
#endif
