/* called.h: the program that was called, where it forks a process for each rank. */
#ifndef LATHE_TRAINER_CALLED_H
#define LATHE_TRAINER_CALLED_H

#include "trainer/trainer.h"

#include <stdatomic.h>

typedef struct Called { /* in memory that the program that was called shares with the ranks that it forks */
    atomic_bool ending; /* set once rank 0 has ended the run in good order */
    atomic_bool told;   /* a rank has printed why the run has failed */
    atomic_bool saving; /* the run has failed, and rank 0 finishes a save */
    atomic_int passed;  /* a signal that the program that was called has got, and has passed on to rank 0; 0: none */
} Called;

/* Forks gpus_of(t) processes and returns only in those, with t->rank set; the program that was called calls `forked`
 * (NULL: nothing), passes signals on, waits, and ends with the run.  No thread may run. */
void fork_ranks(Trainer *t, Called *c, void (*forked)(void *with), void *with);

#endif
