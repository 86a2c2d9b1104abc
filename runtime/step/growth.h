/* growth.h: the micro-batches of each step, which grow by the recipe's accumulate_at. */
#ifndef LATHE_STEP_GROWTH_H
#define LATHE_STEP_GROWTH_H

#include "interface/lathe_model.h"
#include "step/turn.h"

const Lathe_entry *train_of_step(const Lathe_model *m, int64_t step); /* train, of as many micro-batches as it has */
const Lathe_entry *train_for_step(Step_turns *turns, const Lathe_model *m, int64_t step); /* that, which the turns then run */
int64_t rows_before(const Lathe_model *m, int64_t step); /* of all steps before it, on one GPU */
int64_t steps_of_rows(const Lathe_model *m, int64_t rows); /* the first steps that have as many together */
bool batch_grows(const Lathe_model *m);
/* "4 rows a step, 8 after step 200": of rows with `each` units; one number where nothing grows */
char *words_of_growth(const Lathe_model *m, int64_t each, const char *unit);
/* Whether a run of so many steps ends before the batch has grown to the end: the first step that is out of its reach, and
 * the micro-batches from there on. */
bool growth_ends_early(const Lathe_model *m, int64_t steps, int64_t *from, int64_t *count);

#endif
