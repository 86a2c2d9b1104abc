/* ranks.h: several GPUs, a process each. */
#ifndef LATHE_TRAINER_RANKS_H
#define LATHE_TRAINER_RANKS_H

#include "model/block.h"
#include "step/optim.h"
#include "trainer/trainer.h"
#include "trainer/trial.h"

typedef struct Ranks Ranks;
int gpus_of(const Trainer *t);           /* at least 1 */
bool is_follower(const Trainer *t);      /* it does what the first orders, and says nothing */
void check_gpus(const Trainer *t);       /* ends the program (2) where it cannot have so many */
/* Forks a process for each of several: returns in those alone, in followers once the first has called join_ranks.  No thread
 * may run, and CUDA must not have been started. */
void start_ranks(Trainer *t);
void join_ranks(const Trainer *t, Optimizer *o, const Memory *m); /* the first one's parameters and loss scale are all's */
/* Shared by all, for checkpoints: the whole moments; what each carries, one after the other.  Of one GPU, or none: memory's. */
void *whole_moments(const Trainer *t, const Memory *m);
char *all_carried(const Trainer *t, const Memory *m);
void take_parts(const Trainer *t, const Memory *m); /* its own out of those */
/* By the first: */
void order_step(const Trainer *t);                    /* where there are followers: the next one */
void gather_ranks(const Trainer *t, const Memory *m); /* every rank's parts are in the wholes */
void end_ranks(const Trainer *t);
/* By the others: until the first says so; step: those that were taken.  Returns the exit code. */
int follow(const Trial *c, int64_t step);

#endif
