/* walk.c: what a kernel touches, over the axes that its nest walks. */
#include "kernels/nest.h"

bool is_picked(const Kernel *k) { return k->kind == GATHER || k->kind == SCATTER || k->kind == OVERWRITE; }
bool is_lengthwise(const Kernel *k) { return k->kind >= ARGMAX && k->kind <= TOPK; }

static void set_axes(Space *s, Shape shape)
{
    s->own = s->shape = shape;
    for (int j = 0; j < shape.rank; j++) s->of[j] = 1u << j;
}

/* ------------------------------------------------------------------ rows */

static Operands own_operands(const Operands *o)
{
    Operands r = {0};
    for (int i = 0; i < o->n; i++) push(&r, o->at[i]);
    return r;
}

/* The view of a column, which has the inner axis alone, over the whole space. */
static View views_over_space(View v, int rank)
{
    if (v.shape.rank == rank) return v;
    int from[MAXRANK];
    for (int j = 0; j < rank; j++) from[j] = j == rank - 1 && v.shape.rank ? v.shape.rank - 1 : -1;
    return view_axes(v, rank, from);
}

static void add_views(Space *s, Operands *o)
{
    for (int i = 0; i < o->n; i++) push(&s->views, &o->at[i].view);
}

/* Views change when axes merge, so the nest has a copy. */
static void walk_rows(Nest *n, const Kernel *k)
{
    Kernel *c = n->rows = copy_of(k, sizeof *k);
    set_axes(&n->space, k->space);
    c->loads = own_operands(&k->loads);
    add_views(&n->space, &c->loads);
    c->phases.at = copy_of(k->phases.at, sizeof *k->phases.at * (size_t)k->phases.n);
    for (int p = 0; p < k->phases.n; p++) {
        Phase *q = &c->phases.at[p];
        q->row_stores = own_operands(&q->row_stores);
        q->stores = own_operands(&q->stores);
        q->column_stores = own_operands(&q->column_stores);
        for (int i = 0; i < q->column_stores.n; i++)
            q->column_stores.at[i].view = views_over_space(q->column_stores.at[i].view, k->space.rank);
        add_views(&n->space, &q->row_stores);
        add_views(&n->space, &q->stores);
        add_views(&n->space, &q->column_stores);
    }
}

/* ------------------------------------------------------------------ by ids */

static bool same_place(const View *a, const View *b)
{
    bool equal = bytes_of(a->buffer) == bytes_of(b->buffer) && a->base == b->base && a->nover == b->nover;
    for (int o = 0; equal && o < a->nover; o++)
        equal = a->over[o].loop == b->over[o].loop && a->over[o].stride == b->over[o].stride;
    for (int j = 0; equal && j < a->shape.rank; j++) equal = a->shape.dim[j] == 1 || a->stride[j] == b->stride[j];
    return equal;
}

/* x and old have the picked axis; y has the axes of the ids in its place. */
static void walk_picked(Nest *n, const Kernel *k)
{
    const Operand *ids = &k->reads.at[1], *result = &k->writes.at[0], *other = &k->reads.at[0];
    const Operand *x = k->kind == GATHER ? other : result;
    const Operand *y = k->kind == GATHER ? result : k->kind == SCATTER ? other : &k->reads.at[2];
    int axis = (int)k->node->ints[0], nb = (int)k->node->ints[1];
    int nids = ids->view.shape.rank - nb, last = axis + nids + x->view.shape.rank - axis - 1;
    int from_x[MAXRANK], from_y[MAXRANK], from_ids[MAXRANK];
    Shape shape = {.rank = last + 1};
    must(last < MAXRANK);
    for (int j = 0; j <= last; j++) {
        bool is_id = j >= axis && j < axis + nids;
        from_y[j] = j < last ? j : -1;
        from_x[j] = j == last ? axis : j < axis ? j : is_id ? -1 : j - nids + 1;
        from_ids[j] = j < nb ? j : is_id ? nb + j - axis : -1;
        const Shape *of = j == last ? &x->view.shape : &y->view.shape;
        shape.dim[j] = of->dim[j == last ? axis : j];
        shape.axis[j] = of->axis[j == last ? axis : j];
    }
    Picked *p = n->picked = NEW(Picked);
    bool overwrites = k->kind == OVERWRITE;
    set_axes(&n->space, shape);
    p->x = view_axes(x->view, last + 1, from_x);
    p->y = view_axes(y->view, last + 1, from_y);
    p->by = view_axes(ids->view, last + 1, from_ids);
    p->old = view_axes((overwrites ? other : x)->view, last + 1, from_x);
    p->old_is_other = overwrites && !same_place(&other->view, &result->view);
    p->starts = k->kind == SCATTER ? !result->add : p->old_is_other;
    View *views[] = {&p->x, &p->y, &p->by, &p->old};
    for (int i = 0; i < COUNT_OF(views); i++) push(&n->space.views, views[i]);
}

static void count_picked(Nest *n)
{
    Picked *p = n->picked;
    const Shape *s = &n->space.shape;
    p->id = s->rank - 1;
    p->batch = p->ids = p->after = 0;
    for (int j = 0; j < p->id; j++)
        if (s->dim[j] > 1 && !p->x.stride[j]) p->ids++; /* if x does not move along it, the axis belongs to the ids */
        else if (!p->ids) p->batch++;
        else p->after++;
}

/* ------------------------------------------------------------------ along an axis */

static void walk_along(Nest *n, const Kernel *k)
{
    const View *x = &k->reads.at[0].view;
    bool y_has_axis = k->kind != ARGMAX;
    int axis = (int)k->node->ints[0], rank = x->shape.rank, from_x[MAXRANK], from_y[MAXRANK];
    Shape shape = {.rank = rank};
    for (int j = 0, at = 0; j < rank; j++) {
        int source = j == rank - 1 ? axis : at == axis ? ++at : at;
        at += j < rank - 1;
        from_x[j] = source;
        from_y[j] = j == rank - 1 ? (y_has_axis ? axis : -1) : source - (!y_has_axis && source > axis);
        shape.dim[j] = x->shape.dim[source];
        shape.axis[j] = x->shape.axis[source];
    }
    Lengthwise *a = n->along = NEW(Lengthwise);
    set_axes(&n->space, shape);
    a->x = view_axes(*x, rank, from_x);
    push(&n->space.views, &a->x);
    for (int i = 0; i < k->writes.n; i++) {
        a->y[i] = view_axes(k->writes.at[i].view, rank, from_y);
        push(&n->space.views, &a->y[i]);
    }
}

/* ------------------------------------------------------------------ all */

/* Blocks of rows are an axis after the inner one. Only the views of partial results move along it. */
static void add_axis_of_blocks(Nest *n)
{
    int64_t block = n->rows->block;
    int at = n->space.shape.rank;
    if (!block) return;
    must(at < MAXRANK);
    n->blocks = (extent_of(&n->space, 0, at - 1) + block - 1) / block;
    for (int i = 0; i < n->space.views.n; i++) {
        View *v = n->space.views.at[i];
        v->stride[at] = v->low[at] = 0;
        v->high[at] = n->blocks;
    }
}

void end_space(Nest *n)
{
    if (n->rows) add_axis_of_blocks(n);
    if (n->picked) count_picked(n);
    if (n->along) n->along->rows = n->along->axis = n->space.shape.rank - 1;
}

Nest *new_nest(const Kernel *k)
{
    bool called = k->kind == GEMM || k->kind == ATTENTION || k->kind == CONVOLUTION || k->kind == BY_IDS;
    if (k->kind != ROWS && !called && k->kind != REPEAT && !is_picked(k) && !is_lengthwise(k)) return NULL;
    Nest *n = NEW(Nest);
    if (k->kind == ROWS) walk_rows(n, k);
    if (is_picked(k)) walk_picked(n, k);
    if (is_lengthwise(k)) walk_along(n, k);
    return n;
}

static void visit_nests(Kernel *const *kernels, int n, Visit_nest visit, const Desc *d)
{
    for (int i = 0; i < n; i++) {
        visit_nests((Kernel *const *)kernels[i]->body.at, kernels[i]->body.n, visit, d);
        if (kernels[i]->nest) visit(kernels[i], d);
    }
}

void each_nest(Program *p, Visit_nest visit, const Desc *d)
{
    visit_nests((Kernel *const *)p->kernels.at, p->kernels.n, visit, d);
}
