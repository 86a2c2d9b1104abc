/* here.h: a turn of a step on this processor: gradients and their norm, then the update. */
#ifndef LATHE_STEP_HERE_H
#define LATHE_STEP_HERE_H

#include "model/block.h"
#include "step/turn.h"

typedef struct Turn_result {
    double loss, norm;          /* norm: of the gradients */
    double unit;                /* what a gradient of 1 is in memory, by the loss scale */
    int parts;                  /* number of losses by name that are wanted, and these */
    double part[LATHE_LOSSES];
    bool measures_noise;        /* then: the mean of the squared norms of its parts' gradients */
    double part_squares;
    bool skipped;               /* gradients overflowed fp16: no update was made */
} Turn_result;

/* The entry on the inputs at call->in: gradients, losses, norm.  r->parts is given. */
void compute_turn(const Turn *u, const Lathe_call *call, Turn_result *r);
void compute_gradients(const Turn *u, const Lathe_call *call, Turn_result *r); /* that without the norm */
/* The update of step `number` (from 0); none if loss or norm is not finite. */
void update_turn(Turn *u, const Memory *m, const Lathe_call *call, int64_t number, int32_t seed, Turn_result *r);
typedef void Update_by(Optimizer *o, void *params, const void *grads, int64_t step, const Pace *pace);
void update_turn_by(Update_by *by, Turn *u, const Memory *m, const Lathe_call *call, int64_t number, int32_t seed,
                    Turn_result *r); /* with `by` in the place of optimizer_step() */
bool may_update(const Turn_result *r); /* both are finite */

#endif
