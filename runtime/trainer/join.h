/* join.h: ranks on processors: how they find each other, and what ends them. */
#ifndef LATHE_TRAINER_JOIN_H
#define LATHE_TRAINER_JOIN_H

#include "trainer/trainer.h"

enum { LATHE_MOST_FORKED = 64 }; /* processes of this machine; mpirun may start LATHE_MOST_RANKS */

void expect_ranks(const Trainer *t); /* of the command line; ends the program (2) if mpirun has started several that share no work */
void take_promise(Trainer *t); /* if mpirun, srun or torchrun has started several of this program: joins them */
bool was_started_by_others(const Trainer *t);
const char *launcher_words(const Trainer *t); /* "mpirun -n 4 ", or "" */
int ranks_uncounted(const Trainer *t); /* that share this machine, where the environment did not say so; 0: it did */
void settle_place(const Trainer *t, int *own, int *all); /* this process' number, and how many there are, in this machine */
void join_processes(Trainer *t);                       /* forks if nobody else has started the ranks; joins them */
void agree_on_checkpoint(Trainer *t); /* ranks of several machines go on from the one that rank 0 finds, or none */
void open_rank_log(const Trainer *t, int64_t step);    /* RUN/logs/rank-K.now; of a follower, which prints nothing, rank-K.txt, too */
void part_processes(const Trainer *t);                 /* in good order; all ranks call it */

#endif
