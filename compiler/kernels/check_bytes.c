/* check_bytes.c: nothing is written over what is still to be read: within a kernel, and by kernels in panels.
 *
 * A ROWS kernel may write a byte that it reads if
 *   1. that is in the same row, since rows run in any order, or at once;
 *   2. the last phase that reads it comes before the one that writes it; or both are one phase, and it is the same
 *      element of the row, or it is stored when the row's sweep is over;
 *   3. it is no value that is read once a row: such an expression may be spelled out where it is used.
 * Sums over all rows are stored when all rows are done.  An overwrite may start from its own input in place, element by
 * element; all other kernels read and write in an order of their own.
 *
 * In panels, threads are at different rows and different kernels at the same time: no other row of any kernel may touch
 * what a row of one kernel writes, in any iteration of the loops inside. */
#include "kernels/check.h"

typedef enum Manner { /* how a kernel writes */
                      IN_SWEEP,
                      AFTER_SWEEP, /* of a row */
                      AFTER_ROWS,
                      AT_ANY_TIME
} Manner;

/* ------------------------------------------------------------------ which phases read a load */

static bool among_touches(const Nodes *nodes, const Node *n)
{
    for (int i = 0; i < nodes->n; i++)
        if (nodes->at[i] == n) return true;
    return false;
}

/* Is n made in the kernel, as phase p sees it, and so not loaded? */
static bool is_made(const Kernel *k, int p, const Node *n)
{
    for (int q = 0; q <= p; q++)
        if (among_touches(&k->phases.at[q].row, n) || among_touches(&k->phases.at[q].sums, n)) return true;
    return among_touches(&k->phases.at[p].each, n) || among_touches(&k->kept, n);
}

/* Does n, read in phase p, stand for the loaded value? */
static bool stands_for(const Kernel *k, int p, const Node *n, const Node *loaded)
{
    const Node *m = n;
    while (m != loaded && is_view(m)) m = m->in[0];
    if (m != loaded) return false;
    for (; n != loaded; n = n->in[0])
        if (is_made(k, p, n)) return false;
    return !is_made(k, p, n);
}

static bool reads_in(const Kernel *k, int p, const Node *loaded)
{
    const Phase *f = &k->phases.at[p];
    const Nodes *readers[] = {&f->row, &f->each, &f->sums, &f->columns};
    const Operands *stores[] = {&f->stores, &f->row_stores};
    for (int l = 0; l < COUNT_OF(readers); l++)
        for (int i = 0; i < readers[l]->n; i++)
            for (int j = 0; j < readers[l]->at[i]->nin; j++)
                if (stands_for(k, p, readers[l]->at[i]->in[j], loaded)) return true;
    for (int l = 0; l < COUNT_OF(stores); l++)
        for (int i = 0; i < stores[l]->n; i++)
            if (stands_for(k, p, stores[l]->at[i].node, loaded)) return true;
    return false;
}

/* -1: none. */
static int last_reading(const Kernel *k, const Node *loaded)
{
    int p = k->phases.n - 1;
    while (p >= 0 && !reads_in(k, p, loaded)) p--;
    return p;
}

/* ------------------------------------------------------------------ points with rows and columns */

/* The view's last axis are columns, the others together rows: of a ROWS kernel those of its space. */
static void add_rows(Points *p, const View *v)
{
    int64_t rows = 1;
    int inner = v->shape.rank - 1;
    for (int i = inner - 1; i >= 0; i--) {
        add_axis(p, v->stride[i], v->low[i], v->high[i], rows, 0);
        rows *= v->shape.dim[i];
    }
    if (inner >= 0) add_axis(p, v->stride[inner], v->low[inner], v->high[inner], 0, 1);
}

static Points points_of(const Run *r, const View *v)
{
    Points p = points_at(bytes_at(r, v->buffer), v);
    add_rows(&p, v);
    return p;
}

typedef struct Meeting { /* of what is written with others that have the same bytes */
    bool any_column;
    bool never; /* nothing may meet */
    const Points *some, *others;
    Point written; /* of some */
    int64_t size;
} Meeting;

static bool may_meet_it(void *meeting, const Point *p)
{
    const Meeting *m = meeting;
    bool same = p->row / m->others->together == m->written.row / m->some->together;
    return !m->never && same && (m->any_column || p->column == m->written.column);
}

static bool others_fit(void *meeting, const Point *p)
{
    Meeting *m = meeting;
    m->written = *p;
    return each_point_at(m->others, p->byte, m->size, may_meet_it, m);
}

/* Looks at points of a and at the points of b at the same bytes; if the two differ in form, at samples of both. */
static bool samples_fit(Meeting *m, const Points *a, const Points *b)
{
    m->some = a;
    m->others = b;
    m->size = a->size;
    return each_sample(a, others_fit, m);
}

static bool points_fit(void *meeting, const Points *written, const Points *others)
{
    Meeting *m = meeting;
    if (!may_meet(written, others) || (!m->never && are_same_points(written, others))) return true;
    return samples_fit(m, written, others) && samples_fit(m, others, written);
}

/* ------------------------------------------------------------------ within a kernel */

static bool has(const Operands *list, const Operand *o) { return list->n && o >= list->at && o < list->at + list->n; }

/* When a ROWS kernel writes, and in which phase. */
static Manner manner_of(const Access *a, int *phase)
{
    for (*phase = 0; a->operand && *phase < a->kernel->phases.n; ++*phase) {
        const Phase *f = &a->kernel->phases.at[*phase];
        if (has(&f->stores, a->operand)) return IN_SWEEP;
        if (has(&f->row_stores, a->operand)) return AFTER_SWEEP;
        if (has(&f->column_stores, a->operand)) return AFTER_ROWS;
    }
    return AT_ANY_TIME;
}

/* The bytes that `write` may share with `read`, an access of the same kernel. */
static Meeting may_go_over(const Access *write, const Access *read)
{
    const Kernel *k = write->kernel;
    Meeting never = {.never = true}, same_element = {.never = false}, same_row = {.any_column = true};
    if (k->kind == OVERWRITE && write->operand == &k->writes.at[0] && read->operand == &k->reads.at[0])
        return same_element;
    int phase;
    Manner manner = manner_of(write, &phase);
    if (k->kind != ROWS || manner == AT_ANY_TIME || read->operand->once_a_row) return never;
    int last = last_reading(k, read->operand->node);
    if (last > phase) return never;
    return last < phase || manner == AFTER_SWEEP ? same_row : same_element;
}

static void check_pair(const Run *r, const Access *write, const Access *other)
{
    const View *v = write->view, *w = other->view;
    if (bytes_at(r, v->buffer).space != bytes_at(r, w->buffer).space || (other->writes && v->buffer == w->buffer))
        return;
    Points p = points_of(r, v), q = points_of(r, w);
    end_points(&p);
    end_points(&q);
    if (!v->nover && !w->nover && !may_meet(&p, &q)) return;
    int phase;
    bool when_all_is_read = write->kernel->kind == ROWS && !other->writes && manner_of(write, &phase) == AFTER_ROWS;
    Meeting m = other->writes || !other->operand ? (Meeting){.never = true} : may_go_over(write, other);
    if (!when_all_is_read && !each_iteration(v, &p, w, &q, write->body, points_fit, &m))
        unsound(r, "kernel %s writes %s over what it %s %s", write->kernel->name, v->buffer->name,
                other->writes ? "puts into" : "has yet to read of", w->buffer->name);
}

/* Accesses from … to - 1 are a kernel's. */
static void check_kernel(const Run *r, int from, int to)
{
    for (int i = from; i < to; i++)
        for (int j = from; j < to && r->all.at[i].writes; j++)
            if (j != i && (j < i || !r->all.at[j].writes)) check_pair(r, &r->all.at[i], &r->all.at[j]);
}

/* ------------------------------------------------------------------ in panels */

/* The axes before those of the pixels and the channels are rows. */
static void add_samples(Points *p, const View *v, int pixels)
{
    int64_t rows = 1;
    for (int i = v->shape.rank - 1; i >= 0; i--) {
        bool sample = i < v->shape.rank - 1 - pixels;
        add_axis(p, v->stride[i], v->low[i], v->high[i], sample ? rows : 0, 0);
        if (sample) rows *= v->shape.dim[i];
    }
}

/* The points of an operand with the rows that they belong to; false: any row may touch all of it. */
static bool points_by_row(const Run *r, const Access *a, Points *p)
{
    const Kernel *k = a->kernel;
    const struct Gemm *g = &k->gemm;
    *p = points_at(bytes_at(r, a->view->buffer), a->view);
    p->together = rows_each(k);
    if (k->kind == ROWS && !a->operand) { /* of each block of rows partial sums */
        add_axis(p, a->view->stride[0], 0, a->view->shape.dim[0], k->block, 0);
        add_axis(p, 1, 0, a->view->stride[0], 0, 1);
    } else if (k->kind == ROWS) {
        add_rows(p, a->view);
    } else if (k->kind == GEMM && !g->nbatch && (a->operand == &g->a || a->operand == &g->c || a->operand == &g->aux)) {
        bool left = a->operand == &g->a;
        add_axis(p, left ? g->a_m : a->operand == &g->c ? g->c_m : g->aux_m, 0, g->M, 1, 0);
        add_axis(p, left ? g->a_k : a->operand == &g->c ? g->c_n : 1, 0, left ? g->K : g->N, 0, 1);
    } else if (k->kind == CONVOLUTION && kernel_rows(k) && a->operand != &k->reads.at[1]) {
        add_samples(p, a->view, convolution_of(k->node).n);
    } else {
        add_shape(p, a->view);
        return false;
    }
    return true;
}

static void check_rows_of_pair(const Run *r, const Body *panels, const Access *write, const Access *other)
{
    Points p, q;
    const View *v = write->view, *w = other->view;
    if (bytes_at(r, v->buffer).space != bytes_at(r, w->buffer).space) return;
    bool by_rows = points_by_row(r, write, &p);
    by_rows &= points_by_row(r, other, &q);
    Meeting m = {.any_column = true, .never = !by_rows};
    if (!each_iteration(v, &p, w, &q, panels->out, points_fit, &m))
        unsound(r, "in panels a row of %s writes %s where another of %s touches %s", write->kernel->name,
                v->buffer->name, other->kernel->name, w->buffer->name);
}

/* Partial sums are of whole blocks of rows: no panel may end within one. */
static void check_blocks(const Run *r, const Kernel *panels, const Kernel *k)
{
    if (k->kind != PACK && (!kernel_rows(k) || kernel_rows(k) % panels->rows))
        unsound(r, "panels of %s have %lld rows, and kernel %s has %lld", panels->name, (long long)panels->rows,
                k->name, (long long)kernel_rows(k));
    if (k->block && max64(panels->unit, 1) * rows_each(k) % k->block)
        unsound(r, "panels of %s are of %lld rows, and kernel %s has sums of %lld rows together", panels->name,
                (long long)panels->unit, k->name, (long long)k->block);
}

/* Right operands are packed before any row is begun. */
static void check_panels(const Run *r, const Body *panels, int from, int to)
{
    for (int i = from; i < to; i++) {
        const Access *a = &r->all.at[i];
        check_blocks(r, panels->kernel, a->kernel);
        for (int j = from; j < to && a->writes && a->kernel->kind != PACK; j++)
            if (r->all.at[j].kernel->kind != PACK) check_rows_of_pair(r, panels, a, &r->all.at[j]);
    }
}

static const Body *panels_around(const Body *b)
{
    while (b && !(b->kernel && b->kernel->kind == PANELS)) b = b->out;
    return b;
}

void check_bytes(const Run *r)
{
    for (int from = 0, to = 0; from < r->all.n; from = to) {
        for (to = from; to < r->all.n && r->all.at[to].kernel == r->all.at[from].kernel;) to++;
        check_kernel(r, from, to);
    }
    for (int from = 0, to = 0; from < r->all.n; from = to) {
        const Body *panels = panels_around(r->all.at[from].body);
        for (to = from + 1; panels && to < r->all.n && inside(r->all.at[to].body, panels);) to++;
        if (panels) check_panels(r, panels, from, to);
    }
}
