/* checkpoint.h: checkpoints: saving in the background, and loading. */
#ifndef LATHE_TRAINER_CHECKPOINT_H
#define LATHE_TRAINER_CHECKPOINT_H

#include "base/file.h"
#include "data/data.h"
#include "model/block.h"
#include "step/optim.h"
#include "step/state.h"
#include "trainer/trainer.h"

typedef struct Saver Saver;
enum { NOT_SAVED = -1 };
Saver *open_saver(const Trainer *t, const Memory *m, const Optimizer *o, const Data *d, int metrics, int64_t saved);
/* Starts saving in the background, after waiting for a save that still runs.  Takes the reference to state. */
void begin_save(Saver *s, const Progress *p, json_t *state);
/* Waits until the arrays may be changed; returns at once if no save runs.  s may be NULL. */
void wait_until_copied(Saver *s);
/* Whether a save has ended since the last call, or, with wait, ends now. */
bool end_save(Saver *s, bool wait);
bool save_runs(const Saver *s);            /* in the background; asked by any thread; s may be NULL */
int64_t saved_step(const Saver *s);        /* the last step saved; NOT_SAVED: none */
int64_t tried_step(const Saver *s);        /* step of the last save that was started */
const Fault *save_fault(const Saver *s);   /* what went wrong in the last save; NULL: nothing */
const Fault *link_fault(const Saver *s);   /* … with its links */
const char *save_remedy(const Saver *s);
/* The checkpoint that --resume means; also settles t->out. */
char *find_checkpoint(Trainer *t);
/* Reads and checks state.json and tokenizer.json; if the checkpoint is damaged, the message names the one before. */
void open_checkpoint(State *s, const char *checkpoint);
void check_model(const Trainer *t, const char *checkpoint); /* names and shapes of its parameters */
void load_checkpoint(Trainer *t, const State *s, const char *checkpoint, const Memory *m, const Optimizer *o);
/* By another rank than the first, which checks them: from the files that load_checkpoint() takes them from. */
void load_own_parameters(const Trainer *t, const State *s, const char *checkpoint, const Memory *m);
/* Loads parameters and statistics alone; those of a checkpoint are checked against its checksums.  weights_up() then
 * takes them to where entries read them. */
/* --init, or drawn from the seed; with --init-except both. */
void take_first_weights(Trainer *t, const Memory *m);
void check_saved_weights(const char *path); /* the checksums alone; the caller ends with advise(NULL) */
void load_saved_weights(const Trainer *t, const char *path, const Memory *m);

#endif
