/* knobs.h: settings of the recipe by name: --set k=v. */
#ifndef LATHE_TRAINER_KNOBS_H
#define LATHE_TRAINER_KNOBS_H

#include "base/words.h"
#include "interface/lathe_model.h"
#include "trainer/trainer.h"

#include <jansson.h>

/* Changes a field of the recipe; unknown names, wrong values and settings fixed when built end the program (2). */
/* The model's, which has no line for what no description of local steps says (interface/recipe.def). */
Lathe_recipe recipe_of_model(const Lathe_model *m);
void set_knob(Trainer *t, const char *name, const char *value);
void settle_group(Trainer *t); /* group=COLUMN alone means split=group */
void set_knob_text(Trainer *t, const char *assignment); /* "lr=3e-4" */
json_t *recipe_json(const Lathe_recipe *r);             /* every setting under its name */
json_t *turn_recipe_json(const Lathe_recipe *r);        /* those of a turn */
void take_recipe(Trainer *t, const json_t *recipe);     /* of a checkpoint: sets what was not given */
/* … its settings about data, without a message; only: their names, and NULL; NULL: all. */
void take_data_settings(Trainer *t, const json_t *recipe, const char *const *only);
const char *optimizer_word(Lathe_optimizer kind);       /* as --set has it; NULL: there are no more */
bool is_setting(const char *name);                      /* whether --set takes the name, in any trainer */
bool was_set(const Trainer *t, const char *name);       /* by an option or --set */
Words settings_given(const Trainer *t);                 /* their names */
char *exact_text(const json_t *value);                  /* of a setting: the shortest that is read back as the same */
char *data_settings(const Trainer *t);                  /* " --set order=epochs", unless the model has them, for a shell */
void print_knobs(FILE *f, const Lathe_recipe *r, bool turns); /* name, value, meaning: one a line; turns: not what
                                                                 each has for itself */

#endif
