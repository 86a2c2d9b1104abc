/* hashes.h: --log-hashes: RUN/hashes.jsonl, by which others can check what a run did. */
#ifndef LATHE_TRAINER_HASHES_H
#define LATHE_TRAINER_HASHES_H

#include "base/file.h"
#include "data/data.h"
#include "model/block.h"
#include "step/state.h"
#include "step/turn.h"
#include "trainer/eval.h"
#include "trainer/step.h"
#include "trainer/trainer.h"

#define HASHES_FILE "hashes.jsonl"

typedef struct Hashes Hashes;
int64_t hashes_asked(const Trainer *t); /* steps between hashes of parameters; 0: not asked for; ends the program (2) */
/* before: the file of the run that is resumed; NULL: a new run.  NULL: the run has no such file, and none is asked for. */
Hashes *open_hashes(const Trainer *t, Data *d, const Memory *m, Step_turns *turns, const Progress *at, const char *before);
/* These do nothing for NULL. */
void hash_batch(Hashes *h, const Lathe_entry *e, const char *in, int64_t step); /* step: before it */
void hash_turn(Hashes *h, const Step *s, bool last); /* last: of its step */
void hash_scores(Hashes *h, const Scores *s, int64_t step);
void sync_hashes(const Hashes *h, Fault *f);
void close_hashes(Hashes *h);

#endif
