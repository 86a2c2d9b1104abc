/* alike.h: whether all ranks have the same build, description, settings, data and starting point. */
#ifndef LATHE_TRAINER_ALIKE_H
#define LATHE_TRAINER_ALIKE_H

#include "trainer/trainer.h"

struct Data;

/* Ranks compare what they have, by hash.  Ends the program (2; 3: other data or weights) in all
 * ranks if one differs from rank 0: rank 0 names it, what differs, and of settings the values. */
void check_alike(const Trainer *t, struct Data *d, int64_t step);

#endif
