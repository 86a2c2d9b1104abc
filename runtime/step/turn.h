/* turn.h: the turns of a step (interface/lathe_model.h: Lathe_turn).  A description without turns has one, of all. */
#ifndef LATHE_STEP_TURN_H
#define LATHE_STEP_TURN_H

#include "interface/lathe_model.h"
#include "step/optim.h"

typedef struct Turn {
    const char *name;           /* NULL: the description has no turns */
    int number;                 /* from 0 */
    int64_t every;
    const Lathe_entry *entry;   /* train; all turns have the same inputs at the same places */
    const Lathe_entry *direction; /* of its optimizer, if that is written in Lua; else NULL */
    Lathe_recipe own;           /* the run's, with the turn's optimizer, schedule and clipping */
    const Lathe_recipe *recipe; /* that, or the run's */
    Optimizer optimizer;        /* of its parameters; all optimizers share the arrays of moments */
} Turn;

typedef struct Step_turns {
    int n;
    Turn at[LATHE_TURNS];
} Step_turns;

/* run: the run's recipe, which must stay where it is.  moments: as place_optimizer() takes them; tables: turn_table_bytes()
 * bytes, 64-byte aligned. */
void place_turns(Step_turns *all, const Lathe_model *m, const Lathe_recipe *run, void *moments, void *tables);
int64_t turn_table_bytes(const Lathe_model *m, const Lathe_recipe *run);
/* step/heap.c: the same with tables from malloc. */
void open_turns(Step_turns *all, const Lathe_model *m, const Lathe_recipe *run, void *moments); /* clears moments */
void open_turns_on_zeros(Step_turns *all, const Lathe_model *m, const Lathe_recipe *run, void *moments);
void close_turns(Step_turns *all);
Optimizer *saved_optimizer(Step_turns *all); /* the one with most moments, whose names all have in checkpoints */
bool turn_is_due(const Turn *u, int64_t step);                         /* in the step after `step` others */
bool is_last_turn(const Step_turns *all, const Turn *u, int64_t step);      /* that is due in this step */
int64_t updates_before(const Turn *u, int64_t step);                   /* skipped ones included */

#endif
