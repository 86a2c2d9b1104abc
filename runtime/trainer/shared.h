/* shared.h: a step that several ranks on processors take together. */
#ifndef LATHE_TRAINER_SHARED_H
#define LATHE_TRAINER_SHARED_H

#include "interface/dealt.h"
#include "model/block.h"
#include "step/here.h"
#include "trainer/gathers.h"
#include "trainer/trainer.h"

Lathe_deal deal_of(const Trainer *t);
int64_t shared_bytes(const Trainer *t); /* of Memory.shared; 0 with one rank */
void open_messages(void); /* once the carrier is open: for what follows below, between rank 0 and the others */
void open_shared(const Trainer *t, const Memory *m, const Optimizer *o);
/* step/here.h: compute_turn.  r has loss, norm and part_squares of all ranks, and the gradients of this rank's elements
 * are means over ranks.  Ends the program if a rank has failed. */
void compute_shared(const Turn *u, const Lathe_call *call, int64_t step, Turn_result *r);
Update_by update_shared;                /* updates this rank's elements, and gives them to the others */
void wait_for_ranks_until(int64_t exchange); /* in a step: what it waits is counted */
/* Of this rank, bucket by bucket: its elements of the mean of weights, of the i-th moment. */
char *own_mean(void);
char *own_moment(int i);
char *room_of_messages(int64_t *bytes); /* free between steps */
int signal_of_ranks(void);              /* that any rank has got before the last step was added up; 0: none */

/* Of any array like the gradients: this rank's elements become means over ranks; every rank's go to all others. */
void mean_over_ranks(void *array);
void share_parts(void *array, int64_t element);
void share_at_meeting(void);                 /* where ranks meet: for signal_of_ranks() and trainer/told.h */

void begin_shared_average(const Optimizer *o, void *params); /* of a new run */
void show_shared_average(const Optimizer *o, void *params, void *aside); /* step/average.h: show_averages() */

#endif
