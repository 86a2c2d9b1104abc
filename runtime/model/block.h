/* block.h: the one block of memory of a run, and the parts of it that an entry gets. */
#ifndef LATHE_MODEL_BLOCK_H
#define LATHE_MODEL_BLOCK_H

#include "interface/lathe_model.h"
#include "interface/names.h"

typedef struct Memory {
    char *base;
    int64_t bytes;
    void *teacher;                          /* parameters of a teacher, behind params; NULL: there is none */
    void *params, *grads, *moments, *state; /* NULL if the command does not use them; moments: the GPU's part */
    char *carried;                          /* a copy of the states that train carries (step/carry.c); likewise */
    char *statistics;                       /* what files have of the model's statistics (step/statistics.c) */
    void *step;                             /* on a device: tables of a step (cuda/optim.h); else NULL */
    char *call;                             /* inputs, outputs, work of the current entry; all entries share it */
    char *shared;                           /* on processors with several ranks: trainer/shared.c; else NULL */
    char *generation;                       /* beside the states, for writing texts (text/decode.c, …) */
    int64_t call_bytes, generation_bytes, state_bytes; /* state_bytes: without the copies behind them */
} Memory;

Lathe_call call_of(const Memory *m, const Lathe_entry *e); /* later calls of entries overwrite in and out */
Lathe_call call_behind(const Memory *m, const Lathe_entry *e, const Lathe_entry *first); /* leaves the inputs of `first` */
/* Parts of the block begin at multiples of 64 bytes. */
static inline int64_t align64(int64_t n) { return (n + 63) & ~INT64_C(63); }
int64_t call_bytes(const Lathe_entry *e); /* inputs, outputs and work */
void clear_memory(void *at, int64_t bytes); /* to zero, by all threads, each its part from the first to the last */
int64_t weight_bytes(const Lathe_model *m); /* of parameters */
int64_t flat_bytes(const Lathe_model *m);   /* of gradients, and of each moment */
/* Of the states: those of decode and encode come last but for those of slots, and a command that writes no texts, or not
 * several at once, leaves them out. */
int64_t states_taken(const Lathe_model *m, bool decodes, bool slots);
int64_t ahead_bytes(const Lathe_model *m);  /* on a device, beside the block: where inputs of steps arrive */
int64_t planned(const Lathe_model *m, Category category); /* bytes; 0 if the plan has no such line */

#endif
