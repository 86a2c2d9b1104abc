/* carry.h: states from step to step. */
#ifndef LATHE_STEP_CARRY_H
#define LATHE_STEP_CARRY_H

#include "interface/lathe_model.h"

typedef struct Store Store;
typedef struct Store_writer Store_writer;
typedef struct Fault Fault;

bool entry_carries(const Lathe_entry *e);
bool model_carries(const Lathe_model *m); /* in its entry train */
void set_begins(const Lathe_entry *e, char *in, bool begins); /* for all rows, if the entry has that input */
int64_t carried_bytes(const Lathe_model *m); /* 0: no states are carried */
void copy_carried(const Lathe_model *m, char *to, const char *state);
void place_carried(const Lathe_model *m, const char *copy, char *state);
/* Writes such copies, of several GPUs one after the other; the tensors then have GPUs as their first axis. */
Store_writer *start_carried(const Lathe_model *m, const char *copy, int gpus, const char *path, Fault *f);
void load_carried(const Lathe_model *m, const Store *from, int gpus, char *copy); /* wrong shapes: exit 3 */

#endif
