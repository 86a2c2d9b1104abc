/* pass_persist.c: a loop of many small kernels becomes one launch, whose blocks are all there at once and walk through
 * the iterations together (emit_persistent.c).
 *
 * A GPU takes some microseconds from the end of one kernel to the work of the next, also in a graph: in a step of a
 * recurrence over a batch more than the work itself.  In one launch blocks meet between kernels instead, which takes
 * about half of that.  But there products are our own, slower than the library's, and memory is read by one block a
 * processor.  So a loop is one launch if it runs often enough to pay for the launch, and what its kernels win by
 * meeting is more than what they lose by their size.  Loops over layers or micro-batches are taken by the same rule.
 *
 * A body fits if it has only kernels of threads and products without a second result, and no loop in it.
 * Needs: kernels; pass_panels.  Leaves: REPEAT kernels with a barrier, a number in the arena. */
#include "lower.h"

enum { OFTEN = 4 }; /* iterations */

/* Rough ones of a GPU: seconds from kernel to kernel, and of a meeting; flop and bytes a second of our products and
 * maps in one launch, and of what they replace. */
static const double between = 2.5e-6, meeting = 1.2e-6;
static const double own_flops = 15e12, library_flops = 40e12, own_bytes = 1e12, all_bytes = 3e12;

static bool fits(const Kernel *k)
{
    switch (k->kind) {
    case ROWS:
    case GATHER:
    case SCATTER:
    case OVERWRITE:
    case ARGMAX:
    case CUMSUM:
    case TOPK: return true;
    case GEMM: return k->gemm.end == END_NONE || k->gemm.end == END_BIAS;
    default: return false;
    }
}

/* Of an iteration, in seconds. */
static double won(const Kernel *repeat)
{
    double sum = 0;
    for (int i = 0; i < repeat->body.n; i++) {
        const Kernel *k = repeat->body.at[i];
        sum += between - meeting - k->bytes * (1 / own_bytes - 1 / all_bytes);
        if (k->kind == GEMM) sum -= k->flops * (1 / own_flops - 1 / library_flops);
    }
    return sum;
}

static bool may_persist(const Kernel *repeat)
{
    for (int i = 0; i < repeat->body.n; i++)
        if (!fits(repeat->body.at[i])) return false;
    return options.all_persist || (repeat->loop->trip >= OFTEN && won(repeat) > 0);
}

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
}

static void persist_all(Program *p, Kernel *const *kernels, int n)
{
    for (int i = 0; i < n; i++) {
        if (kernels[i]->kind == REPEAT && may_persist(kernels[i])) persist(p, kernels[i]);
        else persist_all(p, (Kernel *const *)kernels[i]->body.at, kernels[i]->body.n);
    }
}

void pass_persist(Program *p, const Desc *d)
{
    (void)d;
    if (!options.no_persist && options.target->persists) persist_all(p, p->kernels.at, p->kernels.n);
}
