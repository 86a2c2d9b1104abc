/* called.h: the program that was called, where it forks a process for each rank. */
#ifndef LATHE_TRAINER_CALLED_H
#define LATHE_TRAINER_CALLED_H

#include "trainer/trainer.h"

#include <stdatomic.h>

/* Forks gpus_of(t) processes and returns only in those, with t->rank set; the program that was called passes signals
 * on, waits, and ends with the run.  ending: in shared memory; set once rank 0 has ended the run in good order.  No
 * thread may run. */
void fork_ranks(Trainer *t, const atomic_bool *ending);

#endif
