/* memory.h: the block of memory of a run: checking that there is room, and allocating it. */
#ifndef LATHE_TRAINER_MEMORY_H
#define LATHE_TRAINER_MEMORY_H

#include "interface/names.h"
#include "model/block.h"
#include "trainer/trainer.h"

/* Ends the program (1) if the plan, of all ranks of this machine, needs more memory than the machine has; called before anything is allocated. */
void check_memory(const Trainer *t);
/* The same, with `bytes` for the data of each process; grows: after ranks were forked, too. */
void check_data_memory(const Trainer *t, int64_t bytes, bool grows);
void check_memory_beside(const Trainer *t, const Memory *m, int64_t bytes); /* the same, with bytes beside the block */
/* Allocates the block: the planned size for train and bench, for other commands the part they use.  Touches the pages
 * of gradients and, where all memory is equally near, of the arena, for at most 0.15 s each; callers fill parameters and
 * moments.  NO_ENTRY ends `entries`.  If the machine has too little memory, the program ends (1) before anything is
 * allocated. */
void take_memory(Memory *m, const Trainer *t, bool grads, bool optimizer, const Entry *entries);
int64_t shard_bytes(const Trainer *t);      /* bytes of one moment on this process' GPU, of several */
int64_t sharded_bytes(const Trainer *t, const Lathe_recipe *r); /* of all that it keeps for the optimizer */
char *optimizers_with_room(const Trainer *t); /* "sgd, adamw": what --set optimizer=… may be in this plan, by the other settings */
int64_t bytes_of_run(const Trainer *t);     /* of the plan; with several devices, of each */
typedef struct Rank_plan { /* bytes of the plan of each rank, as `lathe plan` has them: in all, and what ranks have other sizes of */
    int64_t all, optimizer, step, shared;
} Rank_plan;
Rank_plan plan_of_rank(const Trainer *t);

#endif
