/* axes.c: pass axes: gives each kernel its nest. Axes that are neighbours in memory are walked as one. */
#include "desc/passes.h"
#include "desc/target.h"
#include "kernels/nest.h"

/* A narrow inner axis of plain maps may become one with the row axis before it. */
static bool may_flatten(const Kernel *k, const Target *t)
{
    if (k->space.dim[k->space.rank - 1] >= t->narrow || k->block || k->phases.n != 1 || k->share == SOME_ROWS)
        return false;
    if (k->sliced && t->persists) return false;
    const Phase *p = &k->phases.at[0];
    if (p->row.n || p->sums.n || p->columns.n || p->row_stores.n) return false;
    for (int i = 0; i < k->loads.n; i++)
        if (k->loads.at[i].once_a_row && k->loads.at[i].view.buffer) return false;
    return true;
}

/* The number of leading axes that may become one; axes that are walked separately stay so. */
static int may_become_one(const Kernel *k, const Space *s, const Target *t)
{
    return s->shape.rank - 1 + (k->kind == ROWS && may_flatten(k, t));
}

static void merge_axes(Space *s, int last)
{
    for (int j = 0; j + 1 < last;) {
        if (!may_merge(s, j)) {
            j++;
            continue;
        }
        merge_axis(s, j);
        last--;
        j = 0;
    }
}

static void drop_axes(Space *s, int last)
{
    for (int j = 0; j < last;) {
        if (may_drop(s, j)) drop_axis(s, j), last--;
        else j++;
    }
}

static void give_nests(Kernel *const *kernels, int n, const Desc *d)
{
    for (int i = 0; i < n; i++) {
        Kernel *k = kernels[i];
        give_nests((Kernel *const *)k->body.at, k->body.n, d);
        Nest *nest = k->nest = new_nest(k);
        if (!nest || !nest->space.shape.rank) continue;
        Space *s = &nest->space;
        int apart = s->shape.rank - may_become_one(k, s, d->options->target);
        if (!without(d, PASS_axes)) merge_axes(s, s->shape.rank - apart);
        drop_axes(s, s->shape.rank - apart);
        end_space(nest);
    }
}

void pass_axes(Program *p, const Desc *d) { give_nests((Kernel *const *)p->kernels.at, p->kernels.n, d); }
