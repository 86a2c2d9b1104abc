/* waits.c: pass waits: CUDA: in a loop that is one launch (plan/persist.c), all blocks take parts of each kernel.
 * They meet before a kernel that touches what another has written, or writes what another touches. The plan must be
 * made before, since it decides which values share bytes.
 *
 * If the b of a product is the same in all iterations, it is copied into shared memory before the loop. The first
 * wait of an iteration also waits for that copy. If a product reads it before any wait, the threads of a block wait
 * before the loop. */
#include "desc/passes.h"
#include "desc/target.h"
#include "kernels/nest.h"
#include "plan/plan.h"

/* Gradients that are computed as one overlap those that they consist of. */
bool bytes_overlap(const Buffer *a, const Buffer *b)
{
    if (a == b || (a->home == GRADIENTS && b->home == GRADIENTS)) return true;
    return a->home == WORK && b->home == WORK && a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

/* Does only slice i % period / wide of the kernel touch element i of the buffer? */
static bool by_slices(const Kernel *k, const Buffer *b)
{
    return k->sliced && touches_by_period(k, b, k->persistent->period);
}

/* Have both the same elements at the same places? One of them may lie over the other. */
static bool same_places(const Buffer *a, const Buffer *b) { return bytes_of(a) == bytes_of(b) && a->dtype == b->dtype; }

typedef struct Uses { /* what one kernel does with memory */
    VEC(struct Use_of {
        View view;
        bool writes;
    }) all;
} Uses;

static void add_use_of(Operand *o, bool writes, void *uses)
{
    Uses *u = uses;
    if (o->view.buffer) push(&u->all, ((struct Use_of){o->view, writes}));
}

static Uses uses_of(const Kernel *k)
{
    Uses u = {0};
    each_operand((Kernel *)k, add_use_of, &u);
    for (int i = 0; i < k->partials.n; i++) {
        Buffer *b = k->partials.at[i];
        View all = {.buffer = b, .shape = {.rank = 1, .dim = {elements(b->shape)}}, .stride = {1}};
        push(&u.all, ((struct Use_of){all, true}));
    }
    return u;
}

static int64_t slot_stride(const View *v, const Loop *l)
{
    for (int i = 0; i < v->nover; i++)
        if (v->over[i].loop == l) return v->over[i].stride;
    return 0;
}

/* Do both views move alike with every loop? Then their distance stays the same. */
static bool move_alike(const View *a, const View *b)
{
    bool all = true;
    for (int i = 0; i < a->nover; i++) all &= a->over[i].stride == slot_stride(b, a->over[i].loop);
    for (int i = 0; i < b->nover; i++) all &= b->over[i].stride == slot_stride(a, b->over[i].loop);
    return all;
}

static void reach_of(const View *v, int64_t *low, int64_t *high)
{
    *low = *high = v->base;
    for (int k = 0; k < v->shape.rank; k++) *(v->stride[k] < 0 ? low : high) += v->stride[k] * (v->shape.dim[k] - 1);
}

typedef enum Later { SAME_ITERATION, NEXT_ITERATION, ANY_LATER } Later;

/* Do two uses of a buffer touch different elements, such as different slots of a stack? The second use is `later`. */
static bool slots_apart(const View *a, const View *b, const Loop *l, Later later)
{
    int64_t low, high, from, to, step = later == NEXT_ITERATION ? slot_stride(b, l) * (l->reverse ? -1 : 1) : 0;
    if (later == ANY_LATER || !move_alike(a, b)) return false;
    reach_of(a, &low, &high);
    reach_of(b, &from, &to);
    return high < from + step || to + step < low;
}

/* What b must wait for if it runs `later` than a. */
static Wait clash(const Kernel *a, const Kernel *b, Later later)
{
    Uses x = uses_of(a), y = uses_of(b);
    Wait wait = NO_WAIT;
    for (int i = 0; i < x.all.n; i++)
        for (int j = 0; j < y.all.n; j++) {
            const View *v = &x.all.at[i].view, *w = &y.all.at[j].view;
            if (!(x.all.at[i].writes || y.all.at[j].writes) || !bytes_overlap(v->buffer, w->buffer)) continue;
            if (v->buffer == w->buffer && slots_apart(v, w, a->persistent->loop, later)) continue;
            bool sliced = by_slices(a, v->buffer) && by_slices(b, w->buffer);
            if (!same_places(v->buffer, w->buffer) || !sliced) return OF_BLOCKS;
            wait = OF_THREADS;
        }
    return wait;
}

/* The longest wait that any kernel from `from` to `to` requires of k. */
static Wait wait_for(Kernel *const *kernels, int from, int to, const Kernel *k, Later later)
{
    Wait most = NO_WAIT;
    for (int i = from; i < to; i++) {
        Wait w = clash(kernels[i], k, later);
        if (w > most) most = w;
    }
    return most;
}

/* A kernel waits for the kernels since the last meeting of blocks. The first ones of an iteration wait for those
 * after the last meeting of the iteration before. If an iteration has no meeting, blocks may be any number of
 * iterations apart. */
static void find_waits(Kernel *repeat)
{
    Kernel *const *k = repeat->body.at;
    int n = repeat->body.n, since = 0, first = n;
    Wait *end = &repeat->nest->wait_end;
    for (int i = 0; i < n; i++) {
        k[i]->nest->wait = wait_for(k, since, i, k[i], SAME_ITERATION);
        if (k[i]->nest->wait != OF_BLOCKS) continue;
        since = i;
        if (first == n) first = i;
    }
    for (int i = 0; i < first; i++) {
        Wait w = wait_for(k, since, n, k[i], first == n ? ANY_LATER : NEXT_ITERATION);
        if (w > *end) *end = w;
    }
}

/* Does a product read its copy before the threads of a block have waited for anything? */
static bool reads_copies_early(const Kernel *repeat)
{
    for (int i = 0; i < repeat->body.n && repeat->body.at[i]->nest->wait == NO_WAIT; i++)
        if (repeat->body.at[i]->nest->stays) return true;
    return false;
}

/* Without this pass all blocks meet before each kernel. */
static void find_all(Kernel *k, const Desc *d)
{
    bool meet = without(d, PASS_waits);
    if (d->options->target->loops) return;
    if (k->kind == GEMM && k->persistent && !meet)
        k->nest->stays = !k->gemm.nbatch && stays(&k->gemm.b.view, k->persistent);
    if (!k->barrier) return;
    for (int i = 0; i < k->body.n && meet; i++) k->body.at[i]->nest->wait = OF_BLOCKS;
    if (!meet) find_waits(k);
    k->nest->wait_copied = reads_copies_early(k);
}

void pass_waits(Program *p, const Desc *d) { each_nest(p, find_all, d); }
