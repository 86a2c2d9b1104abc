/* direction.h: optimizers written in Lua: the entry direction, and what it keeps from update to update. */
#ifndef LATHE_STEP_DIRECTION_H
#define LATHE_STEP_DIRECTION_H

#include "interface/lathe_model.h"
#include "model/block.h"
#include "step/turn.h"

typedef struct Store Store;
typedef struct Store_writer Store_writer;
typedef struct Fault Fault;

/* Replaces the gradients of the parameters that it updates by what is subtracted from them; update: from 0.  Does nothing
 * for a turn without. */
void fill_direction(const Lathe_entry *e, char *in, const Pace *pace, int64_t update); /* its inputs alone */
Lathe_call call_direction(const Turn *u, const Memory *memory); /* behind train's inputs, which may serve again */
void take_direction(const Turn *u, const Memory *memory, const Pace *pace, int64_t update);

bool model_directs(const Lathe_model *m); /* it has states of its own to keep */
/* Of several devices: all have those of the first; first: it is that. */
void share_directions(const Lathe_model *m, char *state, bool first);
void directions_down(const Lathe_model *m, char *state); /* from a device */
Store_writer *start_directions(const Lathe_model *m, const char *state, const char *path, Fault *f);
void load_directions(const Lathe_model *m, const Store *from, char *state);

#endif
