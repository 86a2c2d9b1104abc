/* shards.h: with --shard-parameters each of several ranks keeps only its own parameters and gradients (ZeRO-3). */
#ifndef LATHE_TRAINER_SHARDS_H
#define LATHE_TRAINER_SHARDS_H

#include "interface/held.h"
#include "model/block.h"
#include "trainer/trainer.h"

bool shards_parameters(const Trainer *t);
void check_shards_of(const Trainer *t);              /* refuses what does not go with it */
int64_t bytes_of_own(const Trainer *t, bool gradients); /* in the block: of this rank's elements */
int64_t bytes_of_frozen(const Trainer *t);           /* which each rank has whole */
int64_t bytes_of_rooms(const Trainer *t);            /* beside the block, these among them */
/* m->params and m->grads have room for this rank's elements.  They become addresses at which entries see whole arrays,
 * of which only what is at hand is there; model/place.h writes this rank's elements. */
void open_own_arrays(const Trainer *t, Memory *m);

/* This rank's elements, bucket by bucket; NULL: it has them all. */
char *own_parameters(void);
char *own_gradients(void);
void *parameters_for(int bucket, void *whole);       /* at index p.first, … this rank's elements p of the bucket */
void *gradients_for(int bucket, const void *whole);
void make_gradients_ready(int bucket);               /* zeros, unless it has begun */
void note_gradients_sent(int bucket, int64_t exchange);
bool are_gradients_ready(int bucket);
void note_gradients_done(const void *first, int64_t bytes);
void release_gradients(void);                        /* all have been added up */

#endif
