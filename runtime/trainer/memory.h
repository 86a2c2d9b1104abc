/* memory.h: the block of a run: whether there is room for it, taking it. */
#ifndef LATHE_TRAINER_MEMORY_H
#define LATHE_TRAINER_MEMORY_H

#include "interface/names.h"
#include "model/block.h"
#include "trainer/trainer.h"

/* Ends the program (1) where the whole plan is larger than the memory there is; to be asked before anything is taken.
 */
void check_memory(const Trainer *t);
void check_data_memory(const Trainer *t, int64_t bytes); /* the same, the data taking so many bytes */
/* Takes the block: for train and bench exactly what was planned, for the others the part they use; touches
 * the pages of gradients and of the arena, for 0.15 s at most each; parameters and moments are left to who fills them.
 * NO_ENTRY ends the entries.  A block larger than the memory there is ends the program (1) before any is taken.
 */
void take_memory(Memory *m, const Trainer *t, bool grads, bool optimizer, const Entry *entries);
int64_t shard_bytes(const Trainer *t);      /* of one moment, as far as this process' GPU has it: flat_bytes() for one GPU */
int64_t bytes_of_run(const Trainer *t);     /* the plan's: of a device each, where there are several */

#endif
