/* saves.h: the saves of a run, and what is said of them. */
#ifndef LATHE_TRAINER_SAVES_H
#define LATHE_TRAINER_SAVES_H

#include "trainer/training.h"

void report_save(Training *r);           /* of the save that has ended; a failed one does not end the run: the next may succeed */
void save_run(Training *r);              /* begins one, unless this step is saved; no step may be under way */
void save_last(Training *r);             /* waits for it; ends the program (3) if it fails */
void save_before_end(Training *r);       /* of a run that ends with a fault: tells whether the step is saved */
void tell_saved(const Training *r);      /* how to go on from it */
void save_evaluation(Training *r);       /* of a step whose checkpoint is there already */

#endif
