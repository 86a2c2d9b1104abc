/* heap.c: optimizers whose tables come from malloc. */
#include "base/words.h"
#include "model/tables.h"
#include "step/optim.h"
#include "step/turn.h"

#include <stdlib.h>

static void *new_tables(int64_t bytes)
{
    void *at = NULL;
    if (posix_memalign(&at, 64, (size_t)bytes) != 0)
        fail(EXIT_ERROR, NULL, "out of memory: %lld bytes", (long long)bytes);
    return at;
}

void optimizer_init(Optimizer *o, const Lathe_model *m, const Lathe_recipe *r, void *memory)
{
    clear_moments(m, r, memory);
    place_optimizer(o, m, NULL, r, memory, new_tables(optimizer_table_bytes(m, r)));
}

/* Its segments are the first of its tables. */
void optimizer_free(Optimizer *o)
{
    free(o->segment);
    *o = (Optimizer){0};
}

void open_turns(Step_turns *all, const Lathe_model *m, const Lathe_recipe *run, void *moments)
{
    clear_moments(m, run, moments);
    open_turns_on_zeros(all, m, run, moments);
}

void open_turns_on_zeros(Step_turns *all, const Lathe_model *m, const Lathe_recipe *run, void *moments)
{
    if (!m->turns) (void)need_entry(m, ENTRY_train);
    place_turns(all, m, run, moments, new_tables(turn_table_bytes(m, run)));
}

void close_turns(Step_turns *all)
{
    if (all->n > 0) free(all->at[0].optimizer.segment);
    all->n = 0;
}
