/* ranks.h: several ranks of a run: GPUs of this machine, or processes on processors. */
#ifndef LATHE_TRAINER_RANKS_H
#define LATHE_TRAINER_RANKS_H

#include "base/file.h"
#include "model/block.h"
#include "step/optim.h"
#include "trainer/batches.h"
#include "trainer/trainer.h"
#include "trainer/trial.h"

typedef struct Ranks Ranks;
int gpus_of(const Trainer *t);           /* the number of ranks: at least 1 */
bool is_follower(const Trainer *t);      /* it follows the orders of rank 0, and prints nothing */
bool sends_messages(const Trainer *t);   /* to other ranks, on processors or on GPUs that mpirun has started */
bool shares_steps(const Trainer *t);     /* with other ranks on processors (trainer/shared.h) */
/* Settles their number: --gpus, --ranks, or what mpirun has started, whose ranks join here.  Ends the program (2) if the
 * run cannot have so many. */
void check_ranks(Trainer *t);
/* With several ranks that nobody else has started, forks a process for each and returns only in those; on GPUs in
 * followers only after rank 0 has called join_ranks.  No thread may run, and CUDA must not have been started. */
void start_ranks(Trainer *t);
void wait_for_first_gpu(const Trainer *t); /* followers on GPUs that others have started */
void join_ranks(const Trainer *t, Optimizer *o, const Memory *m); /* all get the parameters and loss scale of rank 0 */
/* For checkpoints: the whole moments, of which ranks on processors that add up gradients use only addresses; the states
 * that each rank carries, one after the other; those of rank 0 count.  With one rank, those of memory. */
void *whole_moments(const Trainer *t, const Memory *m);
char *all_carried(const Trainer *t, const Memory *m);
/* Its own parts of the moments and of the mean of weights: out of those, or from files; checkpoint: NULL: of a new run. */
void take_parts(const Trainer *t, const Optimizer *o, const Memory *m, const char *checkpoint);
void take_states(const Trainer *t, const Memory *m, const char *checkpoint); /* … its carried states; what directions keep, which all have, from rank 0 */
void show_mean_of_ranks(const Trainer *t, const Optimizer *o, const Memory *m); /* step/average.h: show_averages */
const char *ranks_option(const Trainer *t); /* "--ranks" or "--gpus" */
/* Called by rank 0: */
void order_step(const Trainer *t);                    /* orders followers to take the next step */
void return_parameters(const Trainer *t, const Memory *m); /* all have all parameters of the steps that have ended */
void meet_ranks(const Trainer *t, const Memory *m, int64_t step); /* after local steps, where they must_meet() */
void order_mean(const Trainer *t, bool shown);        /* orders them to show the mean of weights; what is trained */
void order_share(const Trainer *t, Share what, int64_t number); /* orders them to do theirs of an evaluation */
void order_counts(const Trainer *t);                  /* orders them to hand in what they have counted (trainer/data_record.h) */
/* Copies every rank's parts into the whole arrays; ranks on processors begin to write theirs into files in `folder`. */
void gather_ranks(const Trainer *t, const Optimizer *o, const Memory *m, const char *folder, Fault *f);
void end_ranks(const Trainer *t);
/* Called by the others: follows orders until rank 0 ends the run; step: number of steps done.  Returns the exit
 * code. */
int follow(const Trial *c, int64_t step);

/* Zeros, whose pages rank 0 alone takes once it saves: what it gathers from all ranks. */
char *whole_array(const Trainer *t, int64_t bytes);
char *how_to_go_on(const Trainer *t); /* words: the command that resumes a run that has failed */
bool can_go_on(const Trainer *t);       /* there is a checkpoint */
char *resume_command(const Trainer *t); /* that goes on with a run of this one's ranks */

#endif
