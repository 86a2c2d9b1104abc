/* board.h: ranks on the GPUs of one machine: shared memory between their processes. */
#ifndef LATHE_TRAINER_BOARD_H
#define LATHE_TRAINER_BOARD_H

#include "interface/shard.h"
#include "model/block.h"
#include "step/optim.h"
#include "trainer/called.h"
#include "trainer/trainer.h"

typedef struct Board Board;
Board *open_board(const Trainer *t); /* before forking */
Called *called_of_board(Board *b);
char *board_moments(const Board *b); /* whole */
char *board_carried(const Board *b); /* [ranks], one after the other */
void wait_on_board(Board *b, int rank);                                        /* until rank 0 has joined */
void join_board(Board *b, const Trainer *t, Optimizer *o, const Memory *m); /* ranks.h: join_ranks */
void post_order(Board *b, const Trainer *t, int what);
int take_order(Board *b, int rank, void before_waiting(void));
void post_gathered(Board *b);
void wait_for_gathered(Board *b, const Trainer *t);
void end_board(Board *b);

Lathe_shards gpu_shards(const Trainer *t); /* which elements each updates */
/* GPUs of one machine or of many: the end of joining; copies whole moments of *o to a rank's part of the block, or back. */
void join_gpus(const Trainer *t, const char *id, const Memory *m);
void copy_gpu_moments(const Trainer *t, int rank, const Optimizer *o, void *moments, bool back);

#endif
