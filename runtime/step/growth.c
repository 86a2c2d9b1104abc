/* growth.c: which entry a step runs, and how many rows the steps before it took.  A model has an entry train for each
 * number of micro-batches; the first has the largest. */
#include "step/growth.h"
#include "base/words.h"
#include "interface/growth.h"
#include "model/tables.h"

#include <stdlib.h>

/* With one range where nothing grows. */
static Lathe_growth growth_of(const Lathe_model *m)
{
    Lathe_growth g = {.n = 1, .count = {m->recipe.accumulate}};
    if (m->recipe.accumulate_at) bug_if(!lathe_read_growth(m->recipe.accumulate_at, &g));
    return g;
}

/* The rows of a step with as many micro-batches. */
static int64_t rows_of_count(const Lathe_model *m, int64_t micro_batches)
{
    const int64_t all = need_entry(m, ENTRY_train)->rows;
    return m->recipe.accumulate_at ? all / m->recipe.accumulate * micro_batches : all;
}

const Lathe_entry *train_of_step(const Lathe_model *m, int64_t step)
{
    const Lathe_growth g = growth_of(m);
    const Lathe_entry *train = need_entry(m, ENTRY_train);
    int k = g.n - 1;
    while (k > 0 && g.from[k] > step) k--;
    for (int i = 0; i < m->entries; i++)
        if (strcmp(m->entry[i].name, train->name) == 0 && m->entry[i].rows == rows_of_count(m, g.count[k]))
            return &m->entry[i];
    bug_if(true);
    return NULL;
}

const Lathe_entry *train_for_step(Step_turns *turns, const Lathe_model *m, int64_t step)
{
    if (m->turns) return need_entry(m, ENTRY_train); /* all have the same inputs */
    return turns->at[0].entry = train_of_step(m, step);
}

int64_t rows_before(const Lathe_model *m, int64_t step)
{
    const int64_t all = need_entry(m, ENTRY_train)->rows;
    return m->recipe.accumulate_at ? rows_of_count(m, lathe_micro_batches(&m->recipe, step)) : step * all;
}

int64_t steps_of_rows(const Lathe_model *m, int64_t rows)
{
    const Lathe_growth g = growth_of(m);
    int k = 0;
    while (k + 1 < g.n && rows_before(m, g.from[k + 1]) < rows) k++;
    const int64_t each = rows_of_count(m, g.count[k]), left = rows - rows_before(m, g.from[k]);
    return g.from[k] + (left > 0 ? (left + each - 1) / each : 0);
}

bool batch_grows(const Lathe_model *m) { return growth_of(m).n > 1; }

char *words_of_growth(const Lathe_model *m, int64_t each, const char *unit)
{
    const Lathe_growth g = growth_of(m);
    char *all = text_of("%s %s a step", grouped_text(rows_of_count(m, g.count[0]) * each), unit);
    for (int k = 1; k < g.n; k++) {
        char *more = text_of("%s, %s after step %lld", all, grouped_text(rows_of_count(m, g.count[k]) * each),
                             (long long)g.from[k]);
        free(all);
        all = more;
    }
    return all;
}

bool growth_ends_early(const Lathe_model *m, int64_t steps, int64_t *from, int64_t *count)
{
    const Lathe_growth g = growth_of(m);
    for (int k = 1; k < g.n; k++) {
        *from = g.from[k];
        *count = g.count[k];
        if (*from >= steps) return true;
    }
    return false;
}
