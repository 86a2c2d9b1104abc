/* peft.h: adapters of low rank as a folder of PEFT's. */
#ifndef LATHE_MODEL_PEFT_H
#define LATHE_MODEL_PEFT_H

#include "model/hf.h"

typedef struct Peft_base { /* what adapters belong to; NULL: not known */
    const char *hash;      /* of model/base.h */
    const char *name;      /* where PEFT finds it: a name at Hugging Face, or a folder */
} Peft_base;

/* adapter_model.safetensors and adapter_config.json in a folder that exists, under Hugging Face's names.  ids: rows of
 * tables of ids.  Ends the program (1) if more than adapters is trained, and (3) if a file cannot be written. */
void write_peft(const Lathe_model *m, const Hf *hf, const char *folder, const void *flat, int64_t ids, Peft_base base);
void check_only_adapters(const Lathe_model *m); /* ends the program (1) if more is trained */
/* Rows of B: one for each id that the weight has there, where it has ids at all. */
int64_t rows_of_b(const Hf *hf, const Lathe_adapter *x, const Lathe_model *m, int64_t ids);
/* Reads such a folder into the adapters of flat.  Ends the program (3) if it is another kind of adapter, of another
 * rank or scale, or adapts other layers than this trainer. */
void read_peft(const Lathe_model *m, const char *folder, void *flat);

#endif
