/* turn.c: the turns of a step: their entries, recipes and optimizers. */
#include "step/turn.h"
#include "base/bug.h"
#include "interface/names.h"
#include "model/tables.h"

#include <string.h>

/* r: a copy of the run's recipe, in which the turn's own settings take their places. */
static void take_turn_settings(Lathe_recipe *r, const Lathe_recipe *own)
{
#define TAKE(table, name)                                                                                              \
    if (lathe_is_of_turn(#table, #name)) r->name = own->name;
#define REAL(name, start, least, most, table, ...)  TAKE(table, name)
#define COUNT(name, start, least, most, table, ...) TAKE(table, name)
#define FLAG(name, start, table, ...)               TAKE(table, name)
#define WORD(name, type, start, words, table, ...)  TAKE(table, name)
#define TEXT(name, table, ...)                      TAKE(table, name)
#define LIST(name, table, ...)                      TAKE(table, name)
#include "interface/recipe.def"
#undef TAKE
}

static void place_turn(Turn *u, const Lathe_model *m, const Lathe_turn *of, const Lathe_recipe *run, void *moments,
                       void *tables)
{
    u->name = of->name;
    u->every = of->every;
    u->entry = find_turn(m, ENTRY_train, of->name);
    bug_if(!u->entry);
    u->direction = entry_beside(m, ENTRY_direction, u->entry);
    u->own = *run;
    take_turn_settings(&u->own, &of->recipe);
    u->recipe = &u->own;
    place_optimizer(&u->optimizer, m, of, u->recipe, moments, tables);
}

int64_t turn_table_bytes(const Lathe_model *m, const Lathe_recipe *run)
{
    return (m->turns ? m->turns : 1) * optimizer_table_bytes(m, run);
}

void place_turns(Step_turns *all, const Lathe_model *m, const Lathe_recipe *run, void *moments, void *tables)
{
    memset(all, 0, sizeof *all);
    all->n = m->turns ? m->turns : 1;
    for (int k = 0; k < m->turns; k++)
        place_turn(&all->at[k], m, &m->turn[k], run, moments, (char *)tables + k * optimizer_table_bytes(m, run));
    for (int k = 0; k < all->n; k++) all->at[k].number = k;
    if (m->turns) return;
    Turn *one = &all->at[0];
    one->every = 1;
    one->entry = find_entry(m, ENTRY_train);
    bug_if(!one->entry);
    one->direction = entry_beside(m, ENTRY_direction, one->entry);
    one->recipe = run;
    place_optimizer(&one->optimizer, m, NULL, run, moments, tables);
}

Optimizer *saved_optimizer(Step_turns *all)
{
    Optimizer *most = &all->at[0].optimizer;
    for (int k = 1; k < all->n; k++)
        if (all->at[k].optimizer.moments > most->moments) most = &all->at[k].optimizer;
    return most;
}

bool turn_is_due(const Turn *u, int64_t step) { return (step + 1) % u->every == 0; }

bool is_last_turn(const Step_turns *all, const Turn *u, int64_t step)
{
    for (int k = u->number + 1; k < all->n; k++)
        if (turn_is_due(&all->at[k], step)) return false;
    return true;
}

int64_t updates_before(const Turn *u, int64_t step) { return step / u->every; }
