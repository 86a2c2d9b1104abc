/* pass_plan.c: gives every WORK buffer an offset in the arena and adds up all memory, to the byte.
 *
 * Buffers whose lifetimes do not meet may share bytes: largest first, each at the lowest offset that is free while it
 * lasts
 * (--no-reuse: none share).  Needs: pass_schedule on every program.  Leaves: offsets, work_bytes, lower bounds, Plan.
 */
#include "lathe.h"

#include <stdlib.h>

enum { ALIGN = 64 };

static int larger_first(const void *a, const void *b)
{
    const Buffer *x = *(Buffer *const *)a, *y = *(Buffer *const *)b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    if (x->first != y->first) return x->first - y->first;
    return x->last - y->last;
}

static bool meet(const Buffer *a, const Buffer *b) { return a->first <= b->last && b->first <= a->last; }

/* The lowest offset at which b is apart from all `placed` ones that live when it does. */
static int64_t lowest_free(Buffer *const *placed, int n, const Buffer *b)
{
    int64_t at = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (int i = 0; i < n; i++) {
            const Buffer *o = placed[i];
            if (!meet(o, b) || o->offset >= at + b->bytes || o->offset + o->bytes <= at) continue;
            at = round_up(o->offset + o->bytes, ALIGN);
            moved = true;
        }
    }
    return at;
}

static void pack(Program *p)
{
    VEC(Buffer *) work = {0};
    for (int i = 0; i < p->buffers.n; i++)
        if (p->buffers.at[i]->home == WORK && p->buffers.at[i]->first >= 0) push(&work, p->buffers.at[i]);
    if (work.n) qsort(work.at, (size_t)work.n, sizeof *work.at, larger_first);
    for (int i = 0; i < work.n; i++) {
        Buffer *b = work.at[i];
        b->offset = options.no_reuse ? p->work_bytes : lowest_free(work.at, i, b);
        p->work_bytes = max64(p->work_bytes, round_up(b->offset + b->bytes, ALIGN));
        p->unshared_bytes += round_up(b->bytes, ALIGN);
    }
    for (int step = 0; step < p->steps; step++) {
        int64_t live = 0;
        for (int i = 0; i < work.n; i++)
            if (work.at[i]->first <= step && step <= work.at[i]->last) live += work.at[i]->bytes;
        p->lower_bound = max64(p->lower_bound, live);
    }
}

static int64_t home_bytes(const Program *p, Home home)
{
    int64_t sum = 0;
    for (int i = 0; i < p->buffers.n; i++)
        if (p->buffers.at[i]->home == home) sum += round_up(p->buffers.at[i]->bytes, ALIGN);
    return sum;
}

static int64_t moments(const Lathe_recipe *r)
{
    if (r->optimizer == LATHE_ADAMW) return 2;
    return r->momentum != 0;
}

static void add_parameters(Plan *plan, const Desc *d)
{
    for (int i = 0; i < d->params.n; i++) {
        const Param *p = d->params.at[i];
        int64_t end = p->offset + 1;
        for (int k = 0; k < p->shape.rank; k++) end += (p->shape.dim[k] - 1) * p->stride[k];
        plan->parameter_count += elements(p->shape);
        plan->flat_elements = max64(plan->flat_elements, round_up(end, 16));
    }
}

/* Whether a run calls the entry: `grad` is a command of its own, which takes what that entry needs. */
static bool in_a_run(const Program *p) { return !same(p->graph->name, "grad"); }

void pass_plan(Module *m)
{
    Plan *plan = &m->plan;
    int64_t real = same(options.precision, "fp64") ? 8 : 4;
    int64_t largest = 0, bound = 0;
    *plan = (Plan){0};
    add_parameters(plan, m->desc);
    plan->parameters = plan->gradients = plan->flat_elements * real;
    plan->optimizer = moments(&m->desc->recipe) * plan->parameters;
    for (int i = 0; i < m->programs.n; i++) {
        Program *p = m->programs.at[i];
        pack(p);
        plan->states = max64(plan->states, home_bytes(p, STATES));
        if (!in_a_run(p)) continue;
        int64_t in = home_bytes(p, INPUTS), out = home_bytes(p, OUTPUTS);
        if (p->work_bytes + in + out > largest) {
            largest = p->work_bytes + in + out;
            plan->inputs = in;
            plan->outputs = out;
            plan->work = p->work_bytes;
        }
        bound = max64(bound, p->lower_bound + in + out);
        if (same(p->graph->name, "train"))
            for (int k = 0; k < p->kernels.n; k++) m->flops_per_step += p->kernels.at[k]->flops;
    }
    int64_t persistent = plan->parameters + plan->gradients + plan->optimizer + plan->states;
    plan->total = persistent + largest + plan->blas + plan->data;
    plan->lower_bound = persistent + bound + plan->blas + plan->data;
}
