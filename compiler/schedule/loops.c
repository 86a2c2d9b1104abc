/* loops.c: passes across, threads, lanes and marks: how a kernel runs as loops of C. */
#include "desc/passes.h"
#include "desc/target.h"
#include "kernels/nest.h"

/* Starting threads takes some microseconds. It is worth it from about this number of element operations on. */
enum { WORTH_THREADS = 16384 };
enum { ROWS_ACROSS = 64, LANES = 16, MANY = 16, FEW = 16 };

static bool are_worth_threads(int64_t elements, int work) { return elements * work >= WORTH_THREADS; }

static int rows_axes(const Nest *n) { return n->space.shape.rank - 1; }
static int64_t inner_extent(const Nest *n) { return n->space.shape.dim[rows_axes(n)]; }
static int64_t rows_to_share(const Nest *n) { return extent_of(&n->space, 0, rows_axes(n)); }

/* ------------------------------------------------------------------ across */

/* Does the first phase only reduce, and do later ones only have values per row? */
static bool only_reduces(const Kernel *k)
{
    const Phase *first = &k->phases.at[0];
    if (k->block || k->kept.n || !first->sums.n || first->stores.n || first->row.n) return false;
    for (int p = 1; p < k->phases.n; p++)
        if (k->phases.at[p].sums.n || k->phases.at[p].stores.n) return false;
    return true;
}

/* Do neighbours in memory belong to neighbouring rows, as in a sum over time of [B][T][C]? One row after another
 * would then fetch a line for each element. */
static bool neighbours_are_rows(const Nest *n)
{
    int inner = rows_axes(n), last = inner - 1, across = 0;
    for (int i = 0; i < n->rows->loads.n; i++) {
        const View *v = &n->rows->loads.at[i].view;
        if (!v->buffer || !v->stride[inner]) continue;
        if (v->stride[last] != 1) return false;
        across++;
    }
    return across > 0;
}

static void reduce_across(Kernel *k, const Desc *d)
{
    Nest *n = k->nest;
    int last = k->kind == ROWS ? rows_axes(n) - 1 : -1;
    if (last < 0 || k->share || !d->options->target->loops || !only_reduces(k)) return;
    if (n->space.shape.dim[last] >= MANY && inner_extent(n) >= 2 && neighbours_are_rows(n)) n->across = ROWS_ACROSS;
}

void pass_across(Program *p, const Desc *d)
{
    if (!without(d, PASS_across)) each_nest(p, reduce_across, d);
}

/* ------------------------------------------------------------------ threads */

static int work_of(const Kernel *k)
{
    int n = 1;
    for (int p = 0; p < k->phases.n; p++)
        n += k->phases.at[p].each.n + k->phases.at[p].sums.n + k->phases.at[p].columns.n;
    return n;
}

/* The number of loops that threads share: one if that is long enough, else two as one. */
static int loops_to_share(const Nest *n, int loops)
{
    return !loops ? 0 : n->space.shape.dim[0] >= MANY || loops == 1 ? 1 : 2;
}

static bool rows_are_worth(const Kernel *k)
{
    return !k->share && are_worth_threads(rows_to_share(k->nest) * inner_extent(k->nest), work_of(k));
}

static void share_rows(Kernel *k)
{
    Nest *n = k->nest;
    int rows = rows_axes(n);
    if (!rows_are_worth(k)) return;
    if (k->block) n->threads = n->blocks > 1;
    else if (n->across) n->threads = loops_to_share(n, rows - 1 + (n->space.shape.dim[rows - 1] > n->across));
    else n->threads = loops_to_share(n, rows);
    n->sweep_shared = !k->block && !n->across && rows_to_share(n) == 1 && k->phases.n == 1 && !k->phases.at[0].sums.n;
}

/* Ids that may address the same place are applied in order. Threads share the axes beside them: batches, or columns
 * of the last axis. For short rows, one thread is faster than two that both look at every id. */
static void share_picked(Kernel *k)
{
    enum { SLICE = 16 }; /* threads do not share fewer columns: column_from() */
    Nest *n = k->nest;
    const Picked *p = n->picked;
    const Space *s = &n->space;
    int64_t before = extent_of(s, 0, p->batch), after = extent_of(s, p->batch + p->ids, p->id);
    bool worth = are_worth_threads(extent_of(s, 0, p->id), 1);
    n->threads = worth && (k->kind == GATHER || p->batch);
    bool blocks = k->kind == OVERWRITE && in_blocks(k->node->dtype); /* which slices would cut */
    n->by_columns = worth && !n->threads && !blocks && p->after && s->shape.dim[p->id - 1] >= 2 * SLICE;
    n->start_shared = p->starts && are_worth_threads(before * s->shape.dim[p->id] * after, 1);
}

static void share_lengthwise(Kernel *k)
{
    int work = k->kind == TOPK ? (int)k->node->ints[1] : k->kind == ARGSORT ? 20 : 2;
    k->nest->threads = are_worth_threads(extent_of(&k->nest->space, 0, k->nest->space.shape.rank), work);
}

static void share_loops(Kernel *k, const Desc *d)
{
    if (!d->options->target->loops) return;
    if (k->kind == ROWS) share_rows(k);
    if (is_picked(k)) share_picked(k);
    if (is_lengthwise(k)) share_lengthwise(k);
}

void pass_threads(Program *p, const Desc *d)
{
    if (!without(d, PASS_threads)) each_nest(p, share_loops, d);
}

/* ------------------------------------------------------------------ lanes */

static void sum_in_lanes(Kernel *k, const Desc *d)
{
    Nest *n = k->nest;
    if (k->kind != ROWS || !d->options->target->loops || n->across || inner_extent(n) < LANES) return;
    for (int p = 0; p < k->phases.n; p++)
        for (int i = 0; i < k->phases.at[p].sums.n; i++)
            if (is_real(k->phases.at[p].sums.at[i]->dtype)) push(&n->lanes, k->phases.at[p].sums.at[i]);
}

void pass_lanes(Program *p, const Desc *d)
{
    if (!without(d, PASS_lanes)) each_nest(p, sum_in_lanes, d);
}

/* ------------------------------------------------------------------ marks */

static bool chooses(const Nodes *nodes)
{
    for (int i = 0; i < nodes->n; i++) {
        Op op = nodes->at[i]->op;
        if (op == OP_where || op == OP_land || op == OP_lor) return true;
    }
    return false;
}

static bool loads_on_condition(const Kernel *k)
{
    for (int i = 0; i < k->loads.n; i++)
        if (k->loads.at[i].view.guarded) return true;
    for (int p = 0; p < k->phases.n; p++)
        if (chooses(&k->phases.at[p].row) || chooses(&k->phases.at[p].each)) return true;
    return false;
}

/* Loops that gcc would unroll before it vectorises the loop around them. The loop over the rows of a block has the
 * number after those of the axes. Loops of varying extent are not unrolled. */
static unsigned loops_to_keep(const Kernel *k)
{
    const Nest *n = k->nest;
    unsigned rolled = 0;
    int inner = rows_axes(n);
    if (n->across || !loads_on_condition(k)) return 0;
    for (int j = n->threads; j < inner && !k->block && !k->share; j++)
        if (n->space.shape.dim[j] <= FEW) rolled |= 1u << j;
    if (inner_extent(n) > 1 && inner_extent(n) <= FEW && !n->sweep_shared) rolled |= 1u << inner;
    if (k->block && rows_to_share(n) % k->block == 0 && k->block <= FEW) rolled |= 1u << (inner + 1);
    return rolled;
}

/* Do sweeps store? Then gcc would check whether stores and loads overlap. */
static bool stores_in_sweeps(const Kernel *k)
{
    bool any = false;
    for (int p = 0; p < k->phases.n; p++) any |= k->phases.at[p].stores.n || k->phases.at[p].columns.n;
    return any;
}

static void mark_loops(Kernel *k, const Desc *d)
{
    Nest *n = k->nest;
    if (!d->options->target->loops) return;
    if (k->kind == ROWS) n->rolled = loops_to_keep(k); /* gcc is wrong without these */
    if (without(d, PASS_marks)) return;
    if (k->kind == ROWS) n->apart = n->across ? rows_are_worth(k) : n->threads && stores_in_sweeps(k);
    if (is_picked(k)) n->apart = n->threads || n->by_columns || n->start_shared;
}

void pass_marks(Program *p, const Desc *d) { each_nest(p, mark_loops, d); }
