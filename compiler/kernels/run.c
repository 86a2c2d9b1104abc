/* run.c: a program as it runs: who touches which bytes, step by step, and in which iterations of the loops around. */
#include "kernels/check.h"

void unsound(const Run *r, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *fault = vformat(fmt, args);
    va_end(args);
    if (r->program->file) err((Where){.file = r->program->file}, "after %s: %s", r->stage, fault);
    die("after %s: %s", r->stage, fault);
}

/* ------------------------------------------------------------------ the walk */

typedef struct Adding { /* accesses of the kernel at hand */
    Run *run;
    const Kernel *kernel;
    const Body *body;
    bool writes;
} Adding;

static const View *all_of(Buffer *b)
{
    View *v = NEW(View);
    *v = (View){.buffer = b, .shape = b->shape};
    for (int i = 0; i < b->shape.rank; i++) v->stride[i] = b->stride[i], v->high[i] = b->shape.dim[i];
    return v;
}

static void add_access(Adding *a, Buffer *b, const Operand *o, bool reads, bool writes)
{
    Run *r = a->run;
    if (b->number < 0 || b->number >= r->buffers.n || r->program->buffers.at[b->number] != b)
        unsound(r, "kernel %s touches %s, which is not among its program's buffers", a->kernel->name, b->name);
    Touched *t = &r->buffers.at[b->number];
    if (t->first < 0) t->first = r->all.n;
    else r->all.at[t->last].next = r->all.n;
    t->last = r->all.n;
    t->writes += writes;
    bool adds = writes && o && o->add && !(a->kernel->kind == GEMM && a->kernel->gemm.afresh);
    push(&r->all, ((Access){a->kernel, o, o ? &o->view : all_of(b), a->body, r->steps, -1, reads, writes, adds}));
}

static void add_operand(Operand *o, bool writes, void *adding)
{
    Adding *a = adding;
    if (o->view.buffer && writes == a->writes) add_access(a, o->view.buffer, o, !writes, writes);
}

static void add_kernel(Run *r, Kernel *k, const Body *body)
{
    Adding a = {r, k, body, false};
    each_operand(k, add_operand, &a);
    for (int i = 0; i < k->partials.n && k->share == COLUMN_SUMS; i++)
        add_access(&a, k->partials.at[i], NULL, true, false);
    a.writes = true;
    each_operand(k, add_operand, &a);
    for (int i = 0; i < k->partials.n && k->share != COLUMN_SUMS; i++)
        add_access(&a, k->partials.at[i], NULL, false, true);
    if (k->barrier) add_access(&a, k->barrier, NULL, false, true);
}

static void add_body(Run *r, Kernel *const *kernels, int n, Body *body)
{
    body->first = r->steps;
    for (int i = 0; i < n; i++) {
        Kernel *k = kernels[i];
        if (r->ordered && k->step != r->steps)
            unsound(r, "kernel %s runs at step %d and has the number %d", k->name, r->steps, k->step);
        add_kernel(r, k, body);
        r->steps++;
        if (!k->body.n) continue;
        Body *in = NEW(Body);
        *in = (Body){.kernel = k, .out = body};
        add_body(r, (Kernel *const *)k->body.at, k->body.n, in);
        r->steps--;
        if (k->barrier) add_access(&(Adding){r, k, body, true}, k->barrier, NULL, true, true);
        r->steps++;
    }
    body->last = r->steps - 1;
}

Run run_of(const Program *p, const char *stage)
{
    Run r = {.program = p, .stage = stage, .ordered = p->steps > 0, .planned = p->work_bytes > 0};
    for (int i = 0; i < p->buffers.n; i++) {
        p->buffers.at[i]->number = i;
        push(&r.buffers, ((Touched){-1, -1, 0}));
    }
    Body *top = NEW(Body);
    add_body(&r, (Kernel *const *)p->kernels.at, p->kernels.n, top);
    return r;
}

const Buffer *origin(const Buffer *b)
{
    while (b->in_place_of) b = b->in_place_of;
    return b;
}

Place bytes_at(const Run *r, const Buffer *b)
{
    if (b->home != WORK) return (Place){b, 0};
    return r->planned ? (Place){r->program, b->offset} : (Place){origin(b), 0};
}

const Body *loop_around(const Body *b)
{
    while (b && !(b->kernel && b->kernel->kind == REPEAT)) b = b->out;
    return b;
}

bool inside(const Body *b, const Body *of)
{
    while (b && b != of) b = b->out;
    return b;
}

/* ------------------------------------------------------------------ iterations */

static int64_t stride_over(const View *v, const Loop *l)
{
    int64_t stride = 0;
    for (int i = 0; i < v->nover; i++)
        if (v->over[i].loop == l) stride += v->over[i].stride;
    return stride;
}

static bool runs_around(const Body *b, const Loop *l)
{
    while ((b = loop_around(b)) && b->kernel->loop != l) b = b->out;
    return b;
}

static void add_loops(Points *p, const View *v, const Body *but)
{
    for (int i = 0; i < v->nover; i++)
        if (!runs_around(but, v->over[i].loop)) add_axis(p, v->over[i].stride, 0, v->over[i].loop->trip, 0, 0);
}

typedef struct Iterations {
    const View *v, *w;
    Pair pair;
    void *user;
} Iterations;

/* A loop along which both move alike changes nothing. */
static bool iterations_from(const Iterations *it, const Body *body, const Points *a, const Points *b)
{
    const Body *l = loop_around(body);
    if (!l) return it->pair(it->user, a, b);
    int64_t far = stride_over(it->v, l->kernel->loop) * a->size, also = stride_over(it->w, l->kernel->loop) * b->size;
    int64_t trip = far == also ? 1 : l->kernel->loop->trip;
    const int64_t some[] = {0, 1, trip / 2, trip - 1};
    for (int i = 0; i < COUNT_OF(some); i++) {
        Points x = *a, y = *b;
        if (some[i] >= trip || (i && some[i] <= some[i - 1])) continue;
        x.start += some[i] * far;
        y.start += some[i] * also;
        if (!iterations_from(it, l->out, &x, &y)) return false;
    }
    return true;
}

bool each_iteration(const View *v, const Points *a, const View *w, const Points *b, const Body *both, Pair pair,
                    void *user)
{
    Iterations it = {v, w, pair, user};
    Points x = *a, y = *b;
    add_loops(&x, v, both);
    add_loops(&y, w, both);
    end_points(&x);
    end_points(&y);
    return iterations_from(&it, both, &x, &y);
}

/* All that an access comes by, in whatever iteration. */
Points all_points(const Run *r, const Access *a)
{
    Points p = points_at(bytes_at(r, a->view->buffer), a->view);
    add_shape(&p, a->view);
    add_loops(&p, a->view, NULL);
    end_points(&p);
    return p;
}
