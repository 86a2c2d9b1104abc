/* parts_save.h: a checkpoint that ranks on processors write together. */
#ifndef LATHE_TRAINER_PARTS_SAVE_H
#define LATHE_TRAINER_PARTS_SAVE_H

#include "trainer/parts_file.h"

/* Called by all ranks when a save begins.  folder: made by rank 0, whose faults go into f; both NULL on the others, which
 * then write in the background. */
void begin_parts(const Trainer *t, const Optimizer *o, const Memory *m, const char *folder, Fault *f);
void wait_until_parts_written(void); /* of the others: until arrays may be changed */
void end_parts(void);                /* of the others: at the end of a run */
/* By the thread of rank 0 that saves: */
void write_own_parts(Fault *f);               /* after this, arrays may be changed */
void wait_for_parts(Fault *f);                /* until all ranks have written theirs, and synced them */
bool is_written_in_parts(Part_file file);
Mark mark_of_parts(Part_file file, Fault *f); /* reads the file, and checks each rank's parts of it */

#endif
