/* tables.h: a program's tables: entries, their tensors, sizes. */
#ifndef LATHE_MODEL_TABLES_H
#define LATHE_MODEL_TABLES_H

#include "interface/names.h"
#include "interface/lathe_model.h"

const char *config_of(const Lathe_model *m);    /* " char", or "" if there is only one configuration */
const char *entry_word(Entry entry);            /* "train" */
void check_entries(const Lathe_model *m);       /* asserts that model.c names rows of entries.def, each once */
const Lathe_entry *find_entry(const Lathe_model *m, Entry entry);   /* NULL if there is none; of turns, the first */
const Lathe_entry *entry_beside(const Lathe_model *m, Entry entry, const Lathe_entry *of); /* likewise, of the turn of `of` */
const Lathe_entry *find_turn(const Lathe_model *m, Entry entry, const char *turn);  /* likewise, of a turn */
const Lathe_entry *need_entry(const Lathe_model *m, Entry entry);   /* ends the program instead */
#define FIRST_LOSS_SCALE 65536.0f /* of fp16 (step/scale.h) */
void set_scalars(const Lathe_entry *e, char *in, int32_t seed, int64_t step, int64_t position);

int64_t tensor_size(const Lathe_tensor *t);    /* elements */
char *dims_text(int rank, const int64_t *dim); /* "[12, 64]" */
int dtype_size(Lathe_dtype t);                 /* bytes; not of types in blocks */
int64_t bytes_of_numbers(Lathe_dtype t, int64_t n); /* in blocks: n is a multiple of LATHE_BLOCK */
const char *option_word(Lathe_dtype t);        /* "fp32", "bf16", "q8_0", …, as options of a build name it */
const char *block_word(Lathe_dtype t);         /* "Q8_0"; NULL: not in blocks */
const char *small_block_word(Lathe_dtype t);   /* "q8_0"; likewise */
Lathe_dtype block_type_of(const char *word);   /* "Q8_0", "q8_0"; LATHE_BOOL: no such type */
double read_element(Lathe_dtype t, const void *at, int64_t i);
void write_real(Lathe_dtype t, void *at, int64_t i, double x); /* of F32, F64, BF16, F16: the nearest one */
bool weighs_rows(const Lathe_tensor *t); /* input.weight: of rows */
const Lathe_tensor *tensor_with_role(const Lathe_entry *e, Lathe_role role); /* first such input, or NULL */
const Lathe_tensor *output_named(const Lathe_entry *e, const char *name);    /* or NULL */
double output_scalar(const Lathe_entry *e, const char *out, const char *name);
int64_t class_count(const Lathe_model *m); /* ids are below this; 0: not known */

#endif
