/* last_actions.h: RUN/logs/rank-K.now: what rank K does, for the case that all are killed at once. */
#ifndef LATHE_TRAINER_LAST_ACTIONS_H
#define LATHE_TRAINER_LAST_ACTIONS_H

#include "trainer/trainer.h"

void tell_last_actions(const char *run); /* of a run that was here and did not end in good order; removes them */
void open_last_action(const Trainer *t); /* of this rank */
void close_last_action(void);            /* in good order */

#endif
