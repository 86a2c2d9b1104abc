/* check_waits.c: in one launch all blocks go through the kernels of an iteration, and through the iterations, each at
 * its own pace but where they wait.  Of two kernels that come by the same byte, one of which writes it, the later one
 * must wait for the other: all blocks, or the threads of a block, where both are at that byte in the same slice. */
#include "kernels/check_nests.h"

typedef VEC(const Access *) Accesses;

typedef struct In_launch {
    const Run *r;
    const Kernel *loop;
    const Body *body;
    Wait wait;      /* between the two that are looked at */
    bool by_slices; /* both of what they come by are */
    const Points *others;
    Point here;
    int64_t size;
} In_launch;

static int number_in_launch(const Kernel *loop, const Kernel *k)
{
    for (int i = 0; i < loop->body.n; i++)
        if (loop->body.at[i] == k) return i;
    return -1;
}

/* The strongest wait between kernel a of an iteration and kernel b, `later` iterations after. */
static Wait wait_between(const Kernel *loop, int a, int b, int64_t later)
{
    Wait most = later ? loop->nest->wait_end : NO_WAIT;
    for (int i = 0; i < loop->body.n; i++) {
        bool in = later > 1 || (later ? i > a || i <= b : i > a && i <= b);
        if (in && loop->body.at[i]->nest->wait > most) most = loop->body.at[i]->nest->wait;
    }
    return most;
}

/* ------------------------------------------------------------------ what both come by */

static bool fits_here(void *launch, const Point *p)
{
    const In_launch *l = launch;
    int64_t period = l->loop->period, wide = l->loop->wide;
    if (l->wait == NO_WAIT || !l->by_slices) return false;
    return p->column % period / wide == l->here.column % period / wide;
}

static bool all_fit(void *launch, const Point *p)
{
    In_launch *l = launch;
    l->here = *p;
    return each_point_at(l->others, p->byte, l->size, fits_here, l);
}

static bool pair_fits(void *launch, const Points *a, const Points *b)
{
    In_launch *l = launch;
    if (!may_meet(a, b)) return true;
    l->others = b;
    l->size = a->size;
    return each_sample(a, all_fit, l);
}

/* Gradients that are made as one lie over those that they are made of. */
static Place place_in_launch(const Run *r, const Buffer *b)
{
    static const char gradients[1];
    if (b->home == GRADIENTS) return (Place){gradients, b->param->offset * dtype_bytes(b->dtype)};
    return bytes_at(r, b);
}

/* Points with the columns by which a sliced kernel works; for a product, the columns of its result. */
static Points points_of(const In_launch *l, const Access *a, const View *v)
{
    Points p = points_at(place_in_launch(l->r, v->buffer), v);
    const struct Gemm *g = &a->kernel->gemm;
    if (a->operand == &g->c) {
        for (int i = 0; i < g->nbatch; i++) add_axis(&p, g->c_batch[i], 0, g->batch[i], 0, 0);
        add_axis(&p, g->c_m, 0, g->M, 0, 0);
        add_axis(&p, g->c_n, 0, g->N, 0, 1);
        return p;
    }
    for (int i = 0; i < v->shape.rank; i++)
        add_axis(&p, v->stride[i], v->low[i], v->high[i], 0, i == v->shape.rank - 1);
    return p;
}

/* Each slice of a product reads all that it reads; partial sums are no slice's. */
static bool goes_by_columns(const Access *a)
{
    return a->kernel->sliced && a->operand && (a->kernel->kind != GEMM || a->operand == &a->kernel->gemm.c);
}

/* The view in iteration t, counted as the loop runs. */
static View in_iteration(const View *v, const Loop *l, int64_t t)
{
    View w = *v;
    for (int i = 0; i < w.nover; i++) {
        if (w.over[i].loop != l) continue;
        w.base += w.over[i].stride * (l->reverse ? l->trip - 1 - t : t);
        w.over[i].stride = 0;
    }
    return w;
}

static void check_pair(In_launch *l, const Access *a, const Access *b, int64_t later)
{
    const Loop *loop = l->loop->loop;
    int64_t last = loop->trip - 1 - later;
    const int64_t some[] = {0, 1, last / 2, last};
    l->by_slices = goes_by_columns(a) && goes_by_columns(b);
    for (int i = 0; i < COUNT_OF(some); i++) {
        if (some[i] > last || (i && some[i] <= some[i - 1])) continue;
        View v = in_iteration(a->view, loop, some[i]), w = in_iteration(b->view, loop, some[i] + later);
        Points x = points_of(l, a, &v), y = points_of(l, b, &w);
        if (each_iteration(&v, &x, &w, &y, l->body->out, pair_fits, l)) continue;
        unsound(l->r,
                "in one launch %s comes by %s, where %s has been %lld iterations before, and does not wait for it",
                b->kernel->name, b->view->buffer->name, a->kernel->name, (long long)later);
    }
}

/* ------------------------------------------------------------------ all of a loop */

static void check_later(In_launch *l, const Accesses *all, int64_t later)
{
    for (int i = 0; i < all->n; i++)
        for (int j = 0; j < all->n; j++) {
            const Access *a = all->at[i], *b = all->at[j];
            int m = number_in_launch(l->loop, a->kernel), n = number_in_launch(l->loop, b->kernel);
            if ((!later && m >= n) || (!a->writes && !b->writes)) continue;
            l->wait = wait_between(l->loop, m, n, later);
            if (l->wait != OF_BLOCKS) check_pair(l, a, b, later);
        }
}

static void check_stays(const In_launch *l, const Accesses *all, const Access *b)
{
    bool changes = b->kernel->gemm.nbatch;
    for (int i = 0; i < b->view->nover; i++)
        changes |= b->view->over[i].loop == l->loop->loop && b->view->over[i].stride;
    Points kept = all_points(l->r, b);
    for (int i = 0; i < all->n; i++) {
        Points p = all_points(l->r, all->at[i]);
        changes |= all->at[i]->writes && may_meet(&kept, &p);
    }
    if (changes) unsound(l->r, "product %s keeps what another iteration changes", b->kernel->name);
}

/* Copies are made before the loop: a wait must come between them and their first reader. */
static void check_copies(const Run *r, const Kernel *loop)
{
    bool waited = loop->nest->wait_copied;
    for (int i = 0; i < loop->body.n; i++) {
        const Nest *n = loop->body.at[i]->nest;
        waited |= n->wait != NO_WAIT;
        if (n->stays && !waited) unsound(r, "product %s reads its copy, and waits for none", loop->body.at[i]->name);
    }
}

static void check_launch(const Run *r, const Kernel *loop)
{
    In_launch l = {.r = r, .loop = loop};
    Accesses all = {0};
    for (int i = 0; i < r->all.n; i++) {
        if (r->all.at[i].kernel->persistent != loop) continue;
        push(&all, &r->all.at[i]);
        l.body = r->all.at[i].body;
    }
    if (!all.n) return;
    check_copies(r, loop);
    for (int64_t later = 0; later <= 2; later++) check_later(&l, &all, later);
    if (loop->loop->trip > 3) check_later(&l, &all, loop->loop->trip - 1);
    for (int i = 0; i < all.n; i++)
        if (all.at[i]->kernel->nest->stays && all.at[i]->operand == &all.at[i]->kernel->gemm.b)
            check_stays(&l, &all, all.at[i]);
}

static void check_launches(const Run *r, Kernel *const *kernels, int n)
{
    for (int i = 0; i < n; i++) {
        if (kernels[i]->barrier) check_launch(r, kernels[i]);
        check_launches(r, (Kernel *const *)kernels[i]->body.at, kernels[i]->body.n);
    }
}

void check_waits(const Run *r) { check_launches(r, (Kernel *const *)r->program->kernels.at, r->program->kernels.n); }
