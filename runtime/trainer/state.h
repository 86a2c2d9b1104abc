/* state.h: state.json: the part of a checkpoint beside its arrays. */
#ifndef LATHE_TRAINER_STATE_H
#define LATHE_TRAINER_STATE_H

#include "base/file.h"
#include "data/data.h"
#include "interface/lathe_model.h"
#include "step/state.h"
#include "trainer/trainer.h"

/* A hash of what decides the order of sums, but for the processor: our products give the same bits on all. */
json_t *program_json(const Trainer *t);
const json_t *origin_of_run(const Trainer *t, Data *d); /* hashes of description, plan and data */
int64_t ranks_of_state(const json_t *state); /* of the run that wrote it */
json_t *state_json(const Trainer *t, Data *d, const Progress *p);
void renew_evaluation(State *s, const Progress *p, const Lathe_recipe *r, Fault *f); /* also in its file */
void resume_settings(Trainer *t, const State *s); /* recipe, seed, data: those that were not given */
/* If the best was chosen by another metric than now, it is no longer the best. */
void take_evaluations(Progress *p, const Trainer *t, const State *s);
void take_own_data(Trainer *t, const char *weights); /* if none is given: the data of the weights' checkpoint */
/* If data is given: how the checkpoint's rows were split, so that its part for evaluation is evaluated. */
void take_own_split(Trainer *t, const char *weights);
/* Takes the checkpoint's settings about data, whatever data is given; only: one setting, NULL: all. */
void take_own_settings(Trainer *t, const char *weights, const char *only);
json_t *turns_json(const Trainer *t); /* trainer/turns.c; a resumed run tells what differs, or refuses it: */
void compare_turns(const Trainer *t, const json_t *theirs, const char *checkpoint);
void compare_origin(const Trainer *t, Data *d, const State *s); /* warns if resuming is not bit-exact */

#endif
