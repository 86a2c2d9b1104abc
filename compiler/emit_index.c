/* emit_index.c: kernels that address by ids or walk along an axis: gather, scatter, overwrite, argmax, cumsum, topk:
 * what is the same for every target.  Ids are in range: known ones are checked by the front, those of the data where it
 * enters, others where they are read (emit_ids.c).  emit_index_loops.c puts loops around it, emit_index_threads.c
 * CUDA's threads. */
#include "emit_index.h"

#include <ctype.h>
#include <string.h>

/* ------------------------------------------------------------------ by ids */

bool loops_over(const Function *f, const View *v, int j) { return f->axis[j].extent > 1 && v->stride[j] != 0; }

/* x, and old (NULL: x again): the tensors with the picked axis; y: the one of the ids' shape in its place. */
static void set_picking(Function *f, Picking *g, const Kernel *k, const Operand *x, const Operand *ids,
                        const Operand *y, const Operand *old)
{
    int axis = (int)k->node->ints[0], nb = (int)k->node->ints[1];
    g->k = k;
    int nids = ids->view.shape.rank - nb, rest = x->view.shape.rank - axis - 1;
    int n = axis + nids + rest;
    must(n < MAXRANK);
    int from_x[MAXRANK], from_y[MAXRANK], from_ids[MAXRANK];
    for (int j = 0; j <= n; j++) {
        bool is_id = j >= axis && j < axis + nids;
        from_y[j] = j < n ? j : -1;
        from_x[j] = j == n ? axis : j < axis ? j : is_id ? -1 : j - nids + 1;
        from_ids[j] = j < nb ? j : is_id ? nb + j - axis : -1;
        f->axis[j] = (Axis){.extent = j == n ? x->view.shape.dim[axis] : y->view.shape.dim[j],
                            .what = j == n ? x->view.shape.axis[axis] : y->view.shape.axis[j]};
    }
    g->x = view_axes(x->view, n + 1, from_x);
    g->y = view_axes(y->view, n + 1, from_y);
    g->by = view_axes(ids->view, n + 1, from_ids);
    g->old = view_axes((old ? old : x)->view, n + 1, from_x);
    View *views[] = {&g->x, &g->y, &g->by, &g->old};
    push(&f->names, "id");
    f->axis[n].name = "v";
    if (rest) f->axis[n - 1].name = "c";
    g->id = merge_axes(f, n + 1, views, COUNT_OF(views), n) - 1;
    g->batch = g->ids = g->after = 0;
    for (int j = 0; j < g->id; j++)
        if (f->axis[j].extent > 1 && !loops_over(f, &g->x, j)) g->ids++; /* x is written where that matters */
        else if (!g->ids) g->batch++;
        else g->after++;
}

void declare_id(Function *f, const Picking *g)
{
    line(&f->w, "const int id = %s;",
         id_text(g->k, value_at(f, g->uby).text, f->axis[g->id].extent, f->axis[g->id].what));
    f->axis[g->id].now = "id";
}

void forget_id(Function *f, const Picking *g) { f->axis[g->id].now = f->axis[g->id].name; }

/* Is id among the words of an expression?  Not so in hidden[r]. */
static bool mentions_id(const char *text)
{
    for (const char *at = text; (at = strstr(at, "id")); at += 2)
        if ((at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_')) &&
            !(isalnum((unsigned char)at[2]) || at[2] == '_'))
            return true;
    return false;
}

void say_picked(Function *f, const Picking *g, bool y_is_result, bool add)
{
    const char *y = y_is_result ? element(f, g->uy) : value_at(f, g->uy).text;
    const char *x = y_is_result ? value_at(f, g->ux).text : element(f, g->ux);
    if (!mentions_id(y) && !mentions_id(x)) line(&f->w, "(void)id;"); /* all entries are one */
    DType t = (y_is_result ? &g->y : &g->x)->buffer->dtype;
    line(&f->w, "%s;", store_text(t, y_is_result ? y : x, add, y_is_result ? x : y));
}

int axes_of_x(const Picking *g, int *axes)
{
    int n = 0;
    for (int j = 0; j < g->batch; j++) axes[n++] = j;
    axes[n++] = g->id;
    for (int j = g->batch + g->ids; j < g->id; j++) axes[n++] = j;
    return n;
}

const char *first_value(Function *f, const Picking *g) { return g->uold < 0 ? "0" : value_at(f, g->uold).text; }

static void emit_gather(Function *f, const Kernel *k)
{
    Picking g = {.add = k->writes.at[0].add, .uold = -1};
    set_picking(f, &g, k, &k->reads.at[0], &k->reads.at[1], &k->writes.at[0], NULL);
    g.uy = add_use(f, g.y, true);
    g.ux = add_use(f, g.x, false);
    g.uby = add_use(f, g.by, false);
    fit_args(f);
    options.target->index->gather(f, &g);
}

static void emit_scatter(Function *f, const Kernel *k)
{
    Picking g = {.add = k->writes.at[0].add, .uold = -1};
    set_picking(f, &g, k, &k->writes.at[0], &k->reads.at[1], &k->reads.at[0], NULL);
    g.ux = add_use(f, g.x, true);
    g.uy = add_use(f, g.y, false);
    g.uby = add_use(f, g.by, false);
    fit_args(f);
    options.target->index->scatter(f, &g);
}

static bool same_place(const View *a, const View *b)
{
    bool equal = bytes_of(a->buffer) == bytes_of(b->buffer) && a->base == b->base && a->nover == b->nover;
    for (int o = 0; equal && o < a->nover; o++)
        equal = a->over[o].loop == b->over[o].loop && a->over[o].stride == b->over[o].stride;
    for (int j = 0; equal && j < a->shape.rank; j++) equal = a->shape.dim[j] == 1 || a->stride[j] == b->stride[j];
    return equal;
}

static void emit_overwrite(Function *f, const Kernel *k)
{
    Picking g = {.uold = -1};
    const Operand *old = &k->reads.at[0], *new = &k->writes.at[0];
    set_picking(f, &g, k, new, &k->reads.at[1], &k->reads.at[2], old);
    g.ux = add_use(f, g.x, true);
    if (!same_place(&old->view, &new->view)) g.uold = add_use(f, g.old, false);
    g.uy = add_use(f, g.y, false);
    g.uby = add_use(f, g.by, false);
    fit_args(f);
    options.target->index->overwrite(f, &g);
}

/* ------------------------------------------------------------------ along an axis */

static void set_along(Function *f, Along *a, const Kernel *k, bool y_has_axis, int ny)
{
    const View *x = &k->reads.at[0].view;
    int axis = (int)k->node->ints[0], rank = x->shape.rank, from_x[MAXRANK], from_y[MAXRANK];
    for (int j = 0, at = 0; j < rank; j++) {
        int source = j == rank - 1 ? axis : at == axis ? ++at : at;
        at += j < rank - 1;
        from_x[j] = source;
        from_y[j] = j == rank - 1 ? (y_has_axis ? axis : -1) : source - (!y_has_axis && source > axis);
        f->axis[j] = (Axis){.extent = x->shape.dim[source], .what = x->shape.axis[source]};
    }
    View *views[3] = {&a->x};
    a->x = view_axes(*x, rank, from_x);
    for (int i = 0; i < ny; i++) {
        a->y[i] = view_axes(k->writes.at[i].view, rank, from_y);
        views[i + 1] = &a->y[i];
    }
    a->axis = a->rows = merge_axes(f, rank, views, ny + 1, rank - 1) - 1;
    for (int i = 0; i < ny; i++) a->uy[i] = add_use(f, a->y[i], true);
    a->ux = add_use(f, a->x, false);
    fit_args(f);
}

/* The first of the largest; starts from element 0. */
static void row_argmax(Function *f, Along *a, const Kernel *k)
{
    Axis *c = &f->axis[a->axis];
    (void)k;
    line(&f->w, "int best = 0;");
    if (c->extent == 1) return;
    open_block(&f->w, "for (int %s = %s; %s < %s; %s)", c->name, a->first ? a->first : "1", c->name, c->count,
               a->step ? a->step : format("%s++", c->name));
    char *here = within(value_at(f, a->ux), PLUS);
    c->now = "best";
    line(&f->w, "if (%s > %s) best = %s;", here, within(value_at(f, a->ux), PLUS), c->name);
    close_block(&f->w);
}

static void emit_argmax(Function *f, const Kernel *k)
{
    Along a = {0};
    push(&f->names, "best");
    set_along(f, &a, k, false, 1);
    options.target->index->largest(f, &a, row_argmax, k);
}

static void row_cumsum(Function *f, Along *a, const Kernel *k)
{
    Axis *c = &f->axis[a->axis];
    line(&f->w, "%s total = 0;", c_type(k->node->dtype));
    if (k->node->ints[1])
        open_block(&f->w, "for (int %s = %s - 1; %s >= 0; %s--)", c->name, c->count, c->name, c->name);
    else open_block(&f->w, "for (int %s = 0; %s < %s; %s++)", c->name, c->name, c->count, c->name);
    if (c->extent == 1) c->now = "0";
    const char *x = value_at(f, a->ux).text;
    line(&f->w, may_wrap(k->node) ? "total = add_i32(total, %s);" : "total += %s;", x);
    line(&f->w, "%s = total;", element(f, a->uy[0]));
    close_block(&f->w);
}

static void emit_cumsum(Function *f, const Kernel *k)
{
    Along a = {0};
    push(&f->names, "total");
    set_along(f, &a, k, true, 1);
    options.target->index->rows(f, &a, row_cumsum, 2, k);
}

/* The k largest so far, in falling order, in two small arrays; an equal one that comes later stays behind. */
static void row_topk(Function *f, Along *a, const Kernel *k)
{
    Axis *c = &f->axis[a->axis];
    const char *type = c_type(k->node->dtype);
    long long many = (long long)k->node->ints[1];
    Writer *w = &f->w;
    line(w, "%s top[%lld];", type, many);
    line(w, "int id[%lld], found = 0;", many);
    open_block(w, "for (int %s = 0; %s < %s; %s++)", c->name, c->name, c->count, c->name);
    line(w, "const %s x = %s;", type, value_at(f, a->ux).text);
    line(w, "int at = found < %lld ? found++ : %lld;", many, many - 1);
    line(w, "if (at == %lld && found == %lld && %s >= %lld && !(x > top[at])) continue;", many - 1, many, c->name,
         many);
    open_block(w, "for (; at > 0 && x > top[at - 1]; at--)");
    line(w, "top[at] = top[at - 1];");
    line(w, "id[at] = id[at - 1];");
    close_block(w);
    line(w, "top[at] = x;");
    line(w, "id[at] = %s;", c->name);
    close_block(w);
    c->now = "at";
    open_block(w, "for (int at = 0; at < %lld; at++)", many);
    for (int i = 0; i < k->writes.n; i++)
        line(w, "%s = %s[at];", element(f, a->uy[i]), k->writes.at[i].node->ints[0] ? "id" : "top");
    close_block(w);
}

static void emit_topk(Function *f, const Kernel *k)
{
    Along a = {0};
    static const char *const own[] = {"top", "id", "at", "found", "x"};
    for (int i = 0; i < COUNT_OF(own); i++) push(&f->names, own[i]);
    set_along(f, &a, k, true, k->writes.n);
    options.target->index->rows(f, &a, row_topk, (int)k->node->ints[1], k);
}

void emit_index(Function *f, const Kernel *k)
{
    switch (k->kind) {
    case GATHER: emit_gather(f, k); break;
    case SCATTER: emit_scatter(f, k); break;
    case OVERWRITE: emit_overwrite(f, k); break;
    case ARGMAX: emit_argmax(f, k); break;
    case CUMSUM: emit_cumsum(f, k); break;
    case TOPK: emit_topk(f, k); break;
    default: die("kernel %s is of no index kind", k->name);
    }
}
