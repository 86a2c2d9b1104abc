/* knobs.h: settings of the recipe by name: --set k=v. */
#ifndef LATHE_TRAINER_KNOBS_H
#define LATHE_TRAINER_KNOBS_H

#include "base/words.h"
#include "interface/lathe_model.h"
#include "trainer/trainer.h"

#include <jansson.h>

/* Changes a field of the recipe; unknown names, wrong values and what is fixed in the binary end the program with 2. */
void set_knob(Trainer *t, const char *name, const char *value);
void set_knob_text(Trainer *t, const char *assignment); /* "lr=3e-4" */
json_t *recipe_json(const Lathe_recipe *r);             /* every knob under its name */
void take_recipe(Trainer *t, const json_t *recipe);     /* a checkpoint's: what was not given */
void take_data_settings(Trainer *t, const json_t *recipe, const char *only); /* those about data, without a word; only: NULL: all */
bool is_setting(const char *name);                      /* a name that --set takes in all trainers */
bool was_set(const Trainer *t, const char *name);       /* by an option or --set */
Words settings_given(const Trainer *t); /* the names of those */
char *data_settings(const Trainer *t);                  /* " --set order=epochs": where the model has another, for a shell */
void print_knobs(FILE *f, const Lathe_recipe *r);       /* name, value, meaning: one a line */

#endif
