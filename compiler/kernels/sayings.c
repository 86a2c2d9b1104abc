/* sayings.c: what an entry tells ranks, one after the other, as elements of the flat arrays. */
#include "kernels/kernels.h"

typedef struct Iteration {
    const Loop *loop;
    int64_t at;
} Iteration;

typedef struct Listing {
    const Program *program;
    Sayings *all;
    VEC(Iteration) around;
} Listing;

static int64_t iteration_in(const Listing *x, const Loop *l)
{
    for (int i = 0; i < x->around.n; i++)
        if (x->around.at[i].loop == l) return x->around.at[i].at;
    return 0;
}

static Lathe_said elements_said(const Listing *x, const Said *s)
{
    const Param *p = s->param;
    Lathe_said to = {s->what, p->offset, 1};
    for (int k = 0; k < s->copies; k++) to.first += iteration_in(x, s->picks[k]) * p->stride[k];
    if (s->copies) to.count = p->stride[s->copies - 1];
    else if (p->loops) to.count = p->stride[0] * p->shape.dim[0];
    for (int k = 0; k < p->shape.rank && !p->loops; k++) to.count += (p->shape.dim[k] - 1) * p->stride[k];
    return to;
}

static void list_said(Listing *x, const Kernel *k, bool before)
{
    for (int i = 0; i < x->program->said.n; i++) {
        const Said *s = &x->program->said.at[i];
        if (s->at == k && is_said_before(s) == before) push(x->all, elements_said(x, s));
    }
}

static bool picks_loop(const Program *p, const Loop *l)
{
    for (int i = 0; i < p->said.n; i++)
        for (int k = 0; k < p->said.at[i].copies; k++)
            if (p->said.at[i].picks[k] == l) return true;
    return false;
}

/* A loop over copies as often as it runs; of others, such as that over micro-batches, the last iteration stands for
 * all. */
static void list_kernels(Listing *x, Kernel *const *kernels, int n)
{
    for (int i = 0; i < n; i++) {
        const Kernel *k = kernels[i];
        list_said(x, k, true);
        const bool repeats = k->kind == REPEAT && picks_loop(x->program, k->loop);
        for (int64_t at = 0; k->kind == REPEAT && at < (repeats ? k->loop->trip : 1); at++) {
            push(&x->around, ((Iteration){k->loop, k->loop->reverse ? k->loop->trip - 1 - at : at}));
            list_kernels(x, k->body.at, k->body.n);
            x->around.n--;
        }
        list_said(x, k, false);
    }
}

Sayings sayings_of(const Program *p)
{
    Sayings all = {0};
    Listing x = {.program = p, .all = &all};
    list_kernels(&x, p->kernels.at, p->kernels.n);
    return all;
}
