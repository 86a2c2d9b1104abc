/* state.h: state.json: what a checkpoint holds beside its arrays. */
#ifndef LATHE_TRAINER_STATE_H
#define LATHE_TRAINER_STATE_H

#include "base/file.h"
#include "data/data.h"
#include "interface/lathe_model.h"
#include "step/state.h"
#include "trainer/trainer.h"

json_t *state_json(const Trainer *t, Data *d, const Progress *p, int64_t items_per_step);
void renew_evaluation(State *s, const Progress *p, const Lathe_recipe *r, Fault *f); /* in its file too: all else stays */
void resume_settings(Trainer *t, const State *s); /* recipe, seed, data: those that were not given */
/* Where the best was by another metric than it is now, it is no longer the best. */
void take_evaluations(Progress *p, const Trainer *t, const State *s);
void take_own_data(Trainer *t, const char *weights); /* where none is given: that of the checkpoint the weights lie in */
/* What it says about data, whatever is given to read; only: one setting, NULL: all. */
void take_own_settings(Trainer *t, const char *weights, const char *only);
void compare_origin(const Trainer *t, Data *d, const State *s); /* says where resuming is not bit-exact */

#endif
