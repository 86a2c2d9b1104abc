/* reference.h: what preference pairs are compared with; nothing for models without (trainer/reference.c). */
#ifndef LATHE_TRAINER_REFERENCE_H
#define LATHE_TRAINER_REFERENCE_H

#include "data/data.h"
#include "trainer/memory.h"
#include "trainer/trainer.h"

void compute_reference(Data *d, const Trainer *t, const Memory *m);      /* by the weights of a new run */
void keep_reference(const Data *d, const Trainer *t, const char *run);   /* in its folder */
void read_reference(Data *d, const Trainer *t, const char *weights);     /* of the run that the weights are of */

#endif
