/* adapter.h: adapters of low rank (`lathe --lora`). */
#ifndef LATHE_MODEL_ADAPTER_H
#define LATHE_MODEL_ADAPTER_H

#include "interface/lathe_model.h"

#include <stddef.h>

typedef struct Store Store;
typedef struct Store_writer Store_writer;

const Lathe_param *magnitude_of(const Lathe_model *m, const Lathe_adapter *x); /* NULL: it is not decomposed */
bool is_of_adapter(const Lathe_model *m, const Lathe_param *p); /* whether p is of one */
bool is_adapted(const Lathe_model *m, const Lathe_param *p);    /* whether p is a weight beside one */
bool holds_adapters(const Lathe_model *m, const Store *s);      /* whether a file has one of them */
/* rank=16,alpha=32,rslora,dora: the settings by which an adapter computes. */
void lora_words(const Lathe_lora *l, char *to, size_t room);
/* What a run trains, where that is less than all: "adapters rank=16,alpha=32: 4,884,480 parameters are trained, 134,515,008
 * frozen in q8_0"; from malloc; NULL: all, in whole numbers. */
char *training_words(const Lathe_model *m);
/* How and over what they were trained is beside them in a file; other settings on reading end the program (3).
 * base: of model/base.h; NULL: not known. */
void put_lora_note(Store_writer *w, const Lathe_model *m, const char *base);
void check_lora_note(const Lathe_model *m, const Store *s);
/* Magnitudes that are in no file: the norms of weight + scale · B · A, so that they change nothing.  flat: the parameters. */
void begin_magnitudes(const Lathe_model *m, void *flat);
/* weight = gain · (weight + scale · B · A), for all of them, in double precision.  What lies in blocks stays, and its
 * magnitudes become the gains. */
void merge_adapters(const Lathe_model *m, void *flat);
/* After that, a weight of a parameter's copy as it is written: in blocks, with the adapter. */
double whole_weight(const Lathe_model *m, const Lathe_param *p, int64_t copy, const void *flat, int64_t at);
#endif
