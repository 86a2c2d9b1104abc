/* persist.c: a loop of many small kernels becomes one launch. All its blocks run at once and go through the iterations
 * together (emit/persistent.c).
 *
 * A GPU takes some microseconds from the end of one kernel to the work of the next, even in a graph. For a step of a
 * recurrence over a batch that is more than the work itself. In one launch, blocks meet between kernels instead, which
 * takes about half as long. But its products are our own, slower than the library's, and one block per processor reads
 * memory. So a loop becomes one launch if it runs often enough to pay for the launch, and if its kernels gain more by
 * meeting than they lose by their size. Loops over layers or micro-batches follow the same rule.
 *
 * A body fits if it has no loop, only kernels of threads and products without a second result, and if shared memory
 * has room for what all of them keep there.
 *
 * Most kernels of a recurrence work by columns: the gates of unit i depend on the products' columns i, H + i, 2 H + i,
 * … alone. If all of them run by slices of columns a `period` apart, a block reads only what it has made itself, and
 * its threads meet instead of all blocks.
 *
 * Needs: kernels; pass_panels.  Leaves: REPEAT kernels with a barrier, a number in the arena, and slices. */
#include "desc/target.h"
#include "lower/lower.h"
#include "plan/plan.h"

enum { OFTEN = 4 }; /* iterations */

/* Rough ones of a GPU: seconds from kernel to kernel, and of a meeting; flop and bytes a second of our products and
 * maps in one launch, and of what they replace. */
static const double between = 2.5e-6, meeting = 1.2e-6, own_bytes = 1e12, all_bytes = 3e12;
static const struct Speed {
    double own, library;
} flops = {15e12, 40e12}, flops_of_16_bits = {60e12, 300e12};

static bool fits_launch(const Kernel *k)
{
    switch (k->kind) {
    case ROWS:
    case GATHER:
    case SCATTER:
    case OVERWRITE:
    case ARGMAX:
    case SCAN:
    case ARGSORT:
    case TOPK: return true;
    case GEMM: return k->gemm.end == END_NONE || k->gemm.end == END_BIAS;
    default: return false;
    }
}

/* Seconds that a kernel loses in a loop that is one launch. A matrix that stays is kept in shared memory. */
static double lost(const Kernel *k, const Kernel *repeat)
{
    const struct Gemm *g = &k->gemm;
    double bytes = k->bytes;
    if (k->kind != GEMM) return bytes * (1 / own_bytes - 1 / all_bytes);
    const struct Speed *s = is_stored(g->a.node->dtype) ? &flops_of_16_bits : &flops;
    if (!g->nbatch && stays(&g->b.view, repeat)) bytes -= (double)(g->K * g->N * dtype_bytes(g->b.node->dtype));
    return bytes * (1 / own_bytes - 1 / all_bytes) + k->flops * (1 / s->own - 1 / s->library);
}

/* Seconds that one iteration gains. */
static double won(const Kernel *repeat)
{
    double sum = 0;
    for (int i = 0; i < repeat->body.n; i++) sum += between - meeting - lost(repeat->body.at[i], repeat);
    return sum;
}

/* Arrays of a kernel's functions lie side by side: of the 48 KB there are, what is left is for ends of reductions, ids
 * that are met and the sums of warps. */
static bool has_room(const Kernel *repeat, const Options *o)
{
    enum { ROOM = 40 * 1024 };
    int64_t bytes = 0;
    for (int i = 0; i < repeat->body.n; i++) bytes += o->target->shared(repeat->body.at[i]);
    return bytes <= ROOM;
}

static bool may_persist(const Kernel *repeat, const Options *o)
{
    for (int i = 0; i < repeat->body.n; i++)
        if (!fits_launch(repeat->body.at[i])) return false;
    if (!has_room(repeat, o)) return false;
    return o->all_persist || (repeat->loop->trip >= OFTEN && won(repeat) > 0);
}

/* ------------------------------------------------------------------ slices of columns */

static bool in_period(const View *v, int inner, int64_t period)
{
    bool all = v->base % period == 0 && v->stride[inner] == 1;
    for (int k = 0; k < v->shape.rank; k++) all &= k == inner || v->shape.dim[k] == 1 || v->stride[k] % period == 0;
    for (int o = 0; o < v->nover; o++) all &= v->over[o].stride % period == 0;
    return all;
}

static bool product_in_period(const struct Gemm *g, const Buffer *b, int64_t period)
{
    const View *c = &g->c.view;
    bool others = g->a.view.buffer == b || g->b.view.buffer == b || (g->end && g->vector.view.buffer == b);
    bool all = !others && g->c_n == 1 && g->c_m % period == 0 && c->base % period == 0;
    for (int o = 0; o < c->nover; o++) all &= c->over[o].stride % period == 0;
    return all;
}

bool touches_by_period(const Kernel *k, const Buffer *b, int64_t period)
{
    if (k->kind == GEMM) return product_in_period(&k->gemm, b, period);
    const Phase *p = &k->phases.at[0];
    const Operands *all[] = {&k->loads, &p->stores};
    for (int a = 0; a < COUNT_OF(all); a++)
        for (int i = 0; i < all[a]->n; i++) {
            const View *v = &all[a]->at[i].view;
            if (v->buffer == b && !in_period(v, v->shape.rank - 1, period)) return false;
        }
    return true;
}

/* Columns of a kernel that may run by slices of them; 0: it may not. */
static int64_t columns_of(const Kernel *k)
{
    if (k->kind == GEMM) return k->gemm.nbatch || k->gemm.c_n != 1 ? 0 : k->gemm.N;
    if (k->kind != ROWS || k->block || k->phases.n != 1 || k->kept.n) return 0;
    const Phase *p = &k->phases.at[0];
    return p->sums.n || p->row_stores.n || p->columns.n ? 0 : k->space.dim[k->space.rank - 1];
}

static int axis_of_columns(const Kernel *k)
{
    return k->kind == GEMM ? k->gemm.axis_n : k->space.axis[k->space.rank - 1];
}

static bool may_slice(const Kernel *k, int64_t period) { return columns_of(k) && columns_of(k) % period == 0; }

/* Do the two share something that they touch by slices?  There may be more that they do not: in another iteration. */
static bool meet_in_slices(const Kernel *a, const Kernel *b, int64_t period)
{
    Touches x = {0}, y = {0};
    if (!may_slice(a, period) || !may_slice(b, period)) return false;
    own_touches(a, &x);
    own_touches(b, &y);
    for (int i = 0; i < x.n; i++)
        for (int j = 0; j < y.n; j++) {
            const Buffer *shared = x.at[i].buffer;
            bool both = shared == y.at[j].buffer && (x.at[i].writes || y.at[j].writes);
            if (both && touches_by_period(a, shared, period) && touches_by_period(b, shared, period)) return true;
        }
    return false;
}

/* How many pairs of its kernels may need no meeting of blocks between them. */
static int pairs_in_slices(const Kernel *repeat, int64_t period)
{
    int n = 0;
    for (int i = 0; i < repeat->body.n; i++)
        for (int j = 0; j < i; j++) n += meet_in_slices(repeat->body.at[i], repeat->body.at[j], period);
    return n;
}

/* The widest slices, up to 8 columns, of which there are enough for the processors. */
static int64_t width_of(int64_t period)
{
    enum { WIDEST = 8, ENOUGH = 96 };
    int64_t wide = WIDEST;
    while (wide > 1 && (period % wide || period / wide < ENOUGH)) wide /= 2;
    return wide;
}

/* The period with the most such pairs; of several the longest. */
static void choose_slices(Kernel *repeat)
{
    int most = 1;
    for (int i = 0; i < repeat->body.n; i++) {
        int64_t period = columns_of(repeat->body.at[i]);
        int pairs = period > 1 ? pairs_in_slices(repeat, period) : 0;
        if (pairs < most || (pairs == most && period <= repeat->period)) continue;
        most = pairs;
        repeat->period = period;
        repeat->axis_period = axis_of_columns(repeat->body.at[i]);
    }
    if (!repeat->period) return;
    repeat->wide = width_of(repeat->period);
    for (int i = 0; i < repeat->body.n; i++)
        for (int j = 0; j < i; j++)
            if (meet_in_slices(repeat->body.at[i], repeat->body.at[j], repeat->period))
                repeat->body.at[i]->sliced = repeat->body.at[j]->sliced = true;
}

/* ------------------------------------------------------------------ loops */

static void persist(Program *p, Kernel *repeat)
{
    Shape one = {.rank = 1, .dim = {1}};
    const char *name = repeat->loop->name && *repeat->loop->name ? repeat->loop->name : "loop";
    repeat->barrier = work_buffer(p, format("%s_arrived", name), I32, one, repeat->in_loop, repeat->loop->node);
    repeat->bytes = 0;
    for (int i = 0; i < repeat->body.n; i++) {
        repeat->body.at[i]->persistent = repeat;
        repeat->bytes += repeat->body.at[i]->bytes * (double)repeat->loop->trip;
    }
    choose_slices(repeat);
}

static void persist_all(Program *p, const Options *o, Kernel *const *kernels, int n)
{
    for (int i = 0; i < n; i++) {
        if (kernels[i]->kind == REPEAT && may_persist(kernels[i], o)) persist(p, kernels[i]);
        else persist_all(p, o, (Kernel *const *)kernels[i]->body.at, kernels[i]->body.n);
    }
}

void pass_persist(Program *p, const Desc *d)
{
    if (!without(d, PASS_persist) && d->options->target->persists)
        persist_all(p, d->options, p->kernels.at, p->kernels.n);
}
