/* launch.c: pass launch: the launches of a CUDA kernel: the number of blocks of each, and the shared memory of a
 * block, both for arrays that the kernel declares and for rows that it keeps (schedule/keep.c). Shared memory inside
 * the runtime's reductions is not counted. */
#include "desc/passes.h"
#include "desc/target.h"
#include "kernels/nest.h"

enum { THREADS = TEAM_OF_BLOCK, WARP = TEAM_OF_WARP, WARPS = THREADS / WARP };

static int64_t blocks_for(int64_t many, int64_t each) { return (many + each - 1) / each; }

static void add_launch(Nest *n, Launched what, int64_t blocks, int64_t shared, int64_t room)
{
    push(&n->launches, ((Launch){what, blocks, shared, room}));
}

/* ------------------------------------------------------------------ rows */

static int inner_of(const Nest *n) { return n->space.shape.rank - 1; }
static int64_t inner_extent(const Nest *n) { return n->space.shape.dim[inner_of(n)]; }

static int64_t blocks_of_map(const Kernel *k, const Nest *n)
{
    if (k->sliced) return k->persistent->period / k->persistent->wide;
    return blocks_for(extent_of(&n->space, 0, inner_of(n)) * inner_extent(n) / n->beside, THREADS);
}

static int64_t blocks_of_rows(const Kernel *k, const Nest *n)
{
    if (n->team == TEAM_OF_ELEMENTS) return blocks_of_map(k, n);
    return blocks_for(extent_of(&n->space, 0, inner_of(n)), THREADS / n->team);
}

static int64_t bytes_kept(const Nest *n)
{
    enum { ACCESS = 16 };
    int64_t bytes = 0;
    for (int i = 0; i < n->kept.n; i++)
        for (int l = 0; l < n->rows->loads.n; l++) {
            const Operand *o = &n->rows->loads.at[l];
            if (o->node == n->kept.at[i])
                bytes += round_up(inner_extent(n) * dtype_bytes(o->view.buffer->dtype), ACCESS);
        }
    return bytes;
}

/* The sums of the teams: of all columns at once, or of one column after another. */
static int64_t bytes_of_sums(const Kernel *k, const Nest *n)
{
    int64_t bytes = 0, rows = inner_extent(n) * (THREADS / n->team);
    if (n->columns == IN_REGISTERS && n->team == WARP) return dtype_bytes(k->partials.at[0]->dtype) * rows;
    for (int i = 0; i < k->partials.n && n->columns == IN_SHARED; i++)
        bytes += dtype_bytes(k->partials.at[i]->dtype) * rows;
    return bytes;
}

static int64_t bytes_of_warps(const Kernel *k)
{
    int64_t bytes = 0;
    for (int p = 0; p < k->phases.n; p++)
        for (int i = 0; i < k->phases.at[p].column_stores.n; i++)
            bytes += dtype_bytes(k->phases.at[p].column_stores.at[i].node->dtype) * THREADS;
    return bytes;
}

static void launch_rows(const Kernel *k, Nest *n)
{
    if (!n->columns) {
        add_launch(n, LAUNCHED_ALL, blocks_of_rows(k, n), 0, bytes_kept(n));
        return;
    }
    int64_t beside = n->columns == APART ? blocks_for(inner_extent(n), (int64_t)THREADS * n->beside) : 1;
    add_launch(n, LAUNCHED_ALL, n->blocks * beside, bytes_of_sums(k, n), 0);
    add_launch(n, LAUNCHED_COLUMNS, blocks_for(inner_extent(n), n->by_warps ? WARP : THREADS),
               n->by_warps ? bytes_of_warps(k) : 0, 0);
}

/* ------------------------------------------------------------------ by ids, along an axis */

/* A thread takes an element, or several side by side. */
static void launch_gather(Nest *n)
{
    const Picked *p = n->picked;
    add_launch(n, LAUNCHED_ALL, blocks_for(extent_of(&n->space, 0, p->id) / n->beside, THREADS), 0, 0);
    if (n->plain) add_launch(n, LAUNCHED_PLAIN, blocks_for(extent_of(&n->space, 0, p->batch + p->ids), THREADS), 0, 0);
}

/* A block takes an id, and lists those that address the same place. In the plain loop, a thread takes a column and
 * goes through all ids. */
static void launch_by_ids(const Kernel *k, Nest *n)
{
    const Picked *p = n->picked;
    const Space *s = &n->space;
    int64_t rows = extent_of(s, 0, p->batch), after = extent_of(s, p->batch + p->ids, p->id);
    bool lists = k->kind == SCATTER && extent_of(s, p->batch, p->batch + p->ids) > 1;
    if (p->starts) add_launch(n, LAUNCHED_START, blocks_for(rows * s->shape.dim[p->id] * after, THREADS), 0, 0);
    add_launch(n, LAUNCHED_ALL, extent_of(s, 0, p->batch + p->ids), lists ? THREADS * dtype_bytes(I32) : 0, 0);
    if (n->plain) add_launch(n, LAUNCHED_PLAIN, blocks_for(rows * after, THREADS), 0, 0);
}

static void launch_lengthwise(Nest *n)
{
    int64_t rows = extent_of(&n->space, 0, n->along->rows);
    add_launch(n, LAUNCHED_ALL, blocks_for(rows, THREADS / n->team), 0, 0);
    if (n->plain) add_launch(n, LAUNCHED_PLAIN, blocks_for(rows, THREADS), 0, 0);
}

static void launch_kernel(Kernel *k, const Desc *d)
{
    if (d->options->target->loops) return;
    if (k->kind == ROWS) launch_rows(k, k->nest);
    else if (k->kind == GATHER) launch_gather(k->nest);
    else if (is_picked(k)) launch_by_ids(k, k->nest);
    else if (is_lengthwise(k)) launch_lengthwise(k->nest);
}

void pass_launch(Program *p, const Desc *d) { each_nest(p, launch_kernel, d); }
