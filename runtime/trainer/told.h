/* told.h: what ranks on processors tell each other with each step, beside losses. */
#ifndef LATHE_TRAINER_TOLD_H
#define LATHE_TRAINER_TOLD_H

#include "data/data.h"
#include "trainer/trainer.h"

void tell_of_data(const Data *d, double waited); /* before a step is taken: what its data took, s */
double longest_wait_for_data(void);              /* of all ranks, in the last step that was added up */
/* Files that any rank could not read count for all, as for one rank with all rows; called after a step that was added
 * up, and after a meeting.  false: they are more than bad_records. */
bool share_bad_files(const Trainer *t, Data *d);

/* The part of it that goes with the numbers of a step (trainer/shared.c): of a rank, [NUMBERS_TOLD]. */
enum { NUMBERS_TOLD = 2 };
void put_told(double *own);
void take_told(int rank, const double *of_rank);

#endif
