/* pass_schedule.c: numbers the kernels in the order in which they run, bodies once, and finds how long each buffer must last.
 *
 * A buffer lasts from the first kernel that touches it to the last.  What a loop's body uses of a buffer that belongs outside
 * lasts for the whole loop, since the next iteration may want it again.  Needs: kernels.  Leaves: step, first, last. */
#include "lathe.h"

typedef struct Span { Loop *level; int first, last; struct Span *out; } Span;   /* a level's steps; out: the level around it */

static int number(Kernel *const *kernels, int n, int step)
{
    for (int i = 0; i < n; i++) {
        kernels[i]->step = step++;
        if (kernels[i]->kind == REPEAT) step = number((Kernel *const *)kernels[i]->body.at, kernels[i]->body.n, step);
    }
    return step;
}

static void touch(const View *v, int step, const Span *at)
{
    Buffer *b = v->buffer;
    if (!b) return;
    int first = step, last = step;
    for (; at && at->level != b->level; at = at->out) first = at->first, last = at->last;
    if (b->first < 0 || first < b->first) b->first = first;
    if (last > b->last) b->last = last;
}

static void touch_all(const Operands *o, int step, const Span *at)
{
    for (int i = 0; i < o->n; i++) touch(&o->at[i].view, step, at);
}

static void touch_kernel(const Kernel *k, const Span *at)
{
    touch_all(&k->loads, k->step, at);
    touch_all(&k->reads, k->step, at);
    touch_all(&k->writes, k->step, at);
    touch(&k->gemm.a.view, k->step, at);
    touch(&k->gemm.b.view, k->step, at);
    touch(&k->gemm.c.view, k->step, at);
    for (int i = 0; i < k->partials.n; i++) touch(&(View){.buffer = k->partials.at[i]}, k->step, at);
    for (int p = 0; p < k->phases.n; p++) {
        touch_all(&k->phases.at[p].stores, k->step, at);
        touch_all(&k->phases.at[p].row_stores, k->step, at);
        touch_all(&k->phases.at[p].column_stores, k->step, at);
    }
}

static int last_step(const Kernel *k)
{
    return k->kind == REPEAT && k->body.n ? last_step(k->body.at[k->body.n - 1]) : k->step;
}

static void lifetimes(Kernel *const *kernels, int n, const Span *at)
{
    for (int i = 0; i < n; i++) {
        touch_kernel(kernels[i], at);
        if (kernels[i]->kind != REPEAT) continue;
        Span inside = {kernels[i]->loop, kernels[i]->step, last_step(kernels[i]), (Span *)at};
        lifetimes((Kernel *const *)kernels[i]->body.at, kernels[i]->body.n, &inside);
    }
}

void pass_schedule(Program *p, const Desc *d)
{
    (void)d;
    p->steps = number(p->kernels.at, p->kernels.n, 0);
    Span top = {NULL, 0, p->steps - 1, NULL};
    lifetimes(p->kernels.at, p->kernels.n, &top);
}
