/* emit_index.c: kernels that address by ids or walk along an axis, as loops: gather, scatter, overwrite, argmax,
 * cumsum, topk.  Ids are in range: they are checked where data enters.
 *
 * The axes of gather and its kin: batch, before (the axis), ids, after, and last the picked axis itself, whose index is
 * written `id` inside the ids' loops. */
#include "emit.h"

#include <ctype.h>
#include <string.h>

/* ------------------------------------------------------------------ nests */

static void open_axis(Function *f, int j, const char *mark)
{
    Axis *a = &f->axis[j];
    if (same(a->now, "0")) return;
    open_block(&f->w, "%sfor (int %s = 0; %s < %s; %s++)", mark, a->name, a->name, a->count, a->name);
}

/* Threads share the outermost loop; inside, the innermost one has independent iterations. */
static const char *mark_of(const Function *f, bool *parallel, bool *threaded, int j, bool innermost)
{
    if (f->axis[j].extent == 1) return "";
    if (!*parallel) return innermost && *threaded ? "EACH " : "";
    *parallel = false;
    *threaded = true;
    return "PARALLEL ";
}

static void close_axis(Function *f, int j)
{
    if (!same(f->axis[j].now, "0")) close_block(&f->w);
}

static bool loops_over(const Function *f, const View *v, int j) { return f->axis[j].extent > 1 && v->stride[j] != 0; }

/* One statement for each element of a view, over its axes in the order given. */
static void each_element(Function *f, const int *order, int n, bool parallel,
                         const char *(*statement)(Function *, void *), void *user)
{
    bool threaded = false;
    for (int i = 0; i < n; i++) open_axis(f, order[i], mark_of(f, &parallel, &threaded, order[i], i == n - 1));
    line(&f->w, "%s;", statement(f, user));
    for (int i = n; i-- > 0;) close_axis(f, order[i]);
}

static void begin(Function *f) { open_block(&f->w, "%s", ""); }
static void end(Function *f) { close_block(&f->w); }

/* ------------------------------------------------------------------ by ids */

typedef struct Picking {
    int batch, before, ids, after, id; /* numbers of axes; the axis `id` is the last */
    View x, y, by;                     /* of the addressed tensor, the other one, and the ids, over the axes */
    View old;                          /* of what an overwrite starts from; else x */
    int ux, uy, uby;
} Picking;

/* x, and old (NULL: x again): the tensors with the picked axis; y: the one of the ids' shape in its place. */
static void set_picking(Function *f, Picking *g, const Kernel *k, const Operand *x, const Operand *ids,
                        const Operand *y, const Operand *old)
{
    int axis = (int)k->node->ints[0], nb = (int)k->node->ints[1];
    int nids = ids->view.shape.rank - nb, rest = x->view.shape.rank - axis - 1;
    int n = axis + nids + rest;
    must(n < MAXRANK);
    int from_x[MAXRANK], from_y[MAXRANK], from_ids[MAXRANK];
    for (int j = 0; j <= n; j++) {
        bool is_id = j >= axis && j < axis + nids;
        from_y[j] = j < n ? j : -1;
        from_x[j] = j == n ? axis : j < axis ? j : is_id ? -1 : j - nids + 1;
        from_ids[j] = j < nb ? j : is_id ? nb + j - axis : -1;
        f->axis[j] = (Axis){.extent = j == n ? x->view.shape.dim[axis] : y->view.shape.dim[j]};
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
    g->batch = g->before = g->ids = g->after = 0;
    for (int j = 0; j < g->id; j++)
        if (loops_over(f, &g->by, j) && !loops_over(f, &g->x, j)) g->ids++;
        else if (!g->ids) g->batch++;
        else g->after++;
}

/* const int id = ids[…]; after the loops that it depends on */
static void declare_id(Function *f, const Picking *g)
{
    line(&f->w, "const int id = %s;", value_at(f, g->uby).text);
    f->axis[g->id].now = "id";
}

/* Is id among the words of an expression?  Not so in hidden[r]. */
static bool mentions_id(const char *text)
{
    for (const char *at = text; (at = strstr(at, "id")); at += 2)
        if ((at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_')) &&
            !(isalnum((unsigned char)at[2]) || at[2] == '_'))
            return true;
    return false;
}

static int last_axis_of_ids(const Function *f, const Picking *g)
{
    int last = -1;
    for (int j = 0; j < g->id; j++)
        if (loops_over(f, &g->by, j)) last = j;
    return last;
}

static void picking_nest(Function *f, const Picking *g, bool parallel, bool threaded, bool y_is_result, bool add)
{
    int at = last_axis_of_ids(f, g);
    if (at < 0) declare_id(f, g);
    for (int j = 0; j < g->id; j++) {
        open_axis(f, j, mark_of(f, &parallel, &threaded, j, j == g->id - 1 && j > at));
        if (j == at) declare_id(f, g);
    }
    const char *y = y_is_result ? element(f, g->uy) : value_at(f, g->uy).text;
    const char *x = y_is_result ? value_at(f, g->ux).text : element(f, g->ux);
    if (!mentions_id(y) && !mentions_id(x)) line(&f->w, "(void)id;"); /* all entries are one */
    DType t = (y_is_result ? &g->y : &g->x)->buffer->dtype;
    line(&f->w, "%s;", store_text(t, y_is_result ? y : x, add, y_is_result ? x : y));
    for (int j = g->id; j-- > 0;) close_axis(f, j);
    f->axis[g->id].now = f->axis[g->id].name;
}

static int64_t space_size(const Function *f, int n)
{
    int64_t size = 1;
    for (int j = 0; j < n; j++) size *= f->axis[j].extent;
    return size;
}

static void emit_gather(Function *f, const Kernel *k)
{
    Picking g;
    set_picking(f, &g, k, &k->reads.at[0], &k->reads.at[1], &k->writes.at[0], NULL);
    g.uy = add_use(f, g.y, true);
    g.ux = add_use(f, g.x, false);
    g.uby = add_use(f, g.by, false);
    fit_args(f);
    begin(f);
    picking_nest(f, &g, worth_threads(space_size(f, g.id), 1), false, true, k->writes.at[0].add);
    end(f);
}

typedef struct Fill {
    int to, from;
} Fill;

static const char *zero_statement(Function *f, void *user) { return format("%s = 0", element(f, ((Fill *)user)->to)); }

static const char *copy_statement(Function *f, void *user)
{
    Fill *c = user;
    return format("%s = %s", element(f, c->to), value_at(f, c->from).text);
}

/* Over all of x: batch and before, the picked axis, after. */
static void over_x(Function *f, const Picking *g, const char *(*statement)(Function *, void *), Fill fill)
{
    int order[MAXRANK], n = 0;
    int64_t size = 1;
    for (int j = 0; j < g->batch; j++) order[n++] = j;
    order[n++] = g->id;
    for (int j = g->batch + g->ids; j < g->id; j++) order[n++] = j;
    for (int i = 0; i < n; i++) size *= f->axis[order[i]].extent;
    each_element(f, order, n, worth_threads(size, 1), statement, &fill);
}

enum { SLICE = 32 }; /* columns of a scatter that one thread adds up */

/* The ids run in order; threads share what lies beside them: batches, or slices of the last axis. */
static void ordered_nest(Function *f, Picking *g, bool add)
{
    bool worth = worth_threads(space_size(f, g->id), 1);
    if (g->batch > 0 || !worth || !g->after || f->axis[g->id - 1].extent % SLICE) {
        picking_nest(f, g, worth && g->batch > 0, false, false, add);
        return;
    }
    Axis *c = &f->axis[g->id - 1];
    const char *k = new_name(&f->names, "k");
    open_block(&f->w, "PARALLEL for (int %s = 0; %s < %s; %s += %d)", k, k, c->count, k, SLICE);
    Axis whole = *c;
    c->now = format("%s + %s", k, c->name);
    c->count = format("%d", SLICE);
    picking_nest(f, g, false, true, false, add);
    *c = whole;
    close_block(&f->w);
}

static void emit_scatter(Function *f, const Kernel *k)
{
    Picking g;
    bool add = k->writes.at[0].add;
    set_picking(f, &g, k, &k->writes.at[0], &k->reads.at[1], &k->reads.at[0], NULL);
    g.ux = add_use(f, g.x, true);
    g.uy = add_use(f, g.y, false);
    g.uby = add_use(f, g.by, false);
    fit_args(f);
    begin(f);
    if (!add) over_x(f, &g, zero_statement, (Fill){g.ux, 0});
    ordered_nest(f, &g, true);
    end(f);
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
    Picking g;
    const Operand *old = &k->reads.at[0], *new = &k->writes.at[0];
    bool in_place = same_place(&old->view, &new->view);
    set_picking(f, &g, k, new, &k->reads.at[1], &k->reads.at[2], old);
    g.ux = add_use(f, g.x, true);
    int from = in_place ? -1 : add_use(f, g.old, false);
    g.uy = add_use(f, g.y, false);
    g.uby = add_use(f, g.by, false);
    fit_args(f);
    begin(f);
    if (!in_place) over_x(f, &g, copy_statement, (Fill){g.ux, from});
    ordered_nest(f, &g, false);
    end(f);
}

/* ------------------------------------------------------------------ along an axis */

typedef struct Along {
    int rows, axis;
    View x, y[2];
    int ux, uy[2];
} Along; /* y: without the axis, or of another extent */

static void set_along(Function *f, Along *a, const Kernel *k, bool y_has_axis, int ny)
{
    const View *x = &k->reads.at[0].view;
    int axis = (int)k->node->ints[0], rank = x->shape.rank, from_x[MAXRANK], from_y[MAXRANK];
    for (int j = 0, at = 0; j < rank; j++) {
        int source = j == rank - 1 ? axis : at == axis ? ++at : at;
        at += j < rank - 1;
        from_x[j] = source;
        from_y[j] = j == rank - 1 ? (y_has_axis ? axis : -1) : source - (!y_has_axis && source > axis);
        f->axis[j] = (Axis){.extent = x->shape.dim[source]};
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

static void open_rows(Function *f, const Along *a, int work)
{
    bool parallel = worth_threads(space_size(f, a->rows + 1), work);
    begin(f);
    for (int j = 0; j < a->rows; j++) {
        open_axis(f, j, parallel && f->axis[j].extent > 1 ? "PARALLEL " : "");
        if (f->axis[j].extent > 1) parallel = false;
    }
}

static void close_rows(Function *f, const Along *a)
{
    for (int j = a->rows; j-- > 0;) close_axis(f, j);
    end(f);
}

static void emit_argmax(Function *f, const Kernel *k)
{
    Along a;
    push(&f->names, "best");
    set_along(f, &a, k, false, 1);
    open_rows(f, &a, 2);
    Axis *c = &f->axis[a.axis];
    line(&f->w, "int best = 0;");
    if (c->extent > 1) {
        open_block(&f->w, "for (int %s = 1; %s < %s; %s++)", c->name, c->name, c->count, c->name);
        char *here = within(value_at(f, a.ux), PLUS);
        c->now = "best";
        line(&f->w, "if (%s > %s) best = %s;", here, within(value_at(f, a.ux), PLUS), c->name);
        close_block(&f->w);
    }
    line(&f->w, "%s = best;", element(f, a.uy[0]));
    close_rows(f, &a);
}

static void emit_cumsum(Function *f, const Kernel *k)
{
    Along a;
    push(&f->names, "sum");
    set_along(f, &a, k, true, 1);
    open_rows(f, &a, 2);
    Axis *c = &f->axis[a.axis];
    line(&f->w, "%s sum = 0;", c_type(k->node->dtype));
    if (k->node->ints[1])
        open_block(&f->w, "for (int %s = %s - 1; %s >= 0; %s--)", c->name, c->count, c->name, c->name);
    else open_block(&f->w, "for (int %s = 0; %s < %s; %s++)", c->name, c->name, c->count, c->name);
    if (c->extent == 1) c->now = "0";
    const char *x = value_at(f, a.ux).text;
    line(&f->w, may_wrap(k->node) ? "sum = add_i32(sum, %s);" : "sum += %s;", x);
    line(&f->w, "%s = sum;", element(f, a.uy[0]));
    close_block(&f->w);
    close_rows(f, &a);
}

/* The k largest so far, in falling order, in two small arrays; an equal one that comes later stays behind. */
static void emit_topk(Function *f, const Kernel *k)
{
    Along a;
    static const char *const own[] = {"top", "id", "at", "found", "x"};
    for (int i = 0; i < COUNT_OF(own); i++) push(&f->names, own[i]);
    set_along(f, &a, k, true, k->writes.n);
    Axis *c = &f->axis[a.axis];
    const char *type = c_type(k->node->dtype);
    long long many = (long long)k->node->ints[1];
    Writer *w = &f->w;
    open_rows(f, &a, (int)many);
    line(w, "%s top[%lld];", type, many);
    line(w, "int id[%lld], found = 0;", many);
    open_block(w, "for (int %s = 0; %s < %s; %s++)", c->name, c->name, c->count, c->name);
    line(w, "const %s x = %s;", type, value_at(f, a.ux).text);
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
        line(w, "%s = %s[at];", element(f, a.uy[i]), k->writes.at[i].node->ints[0] ? "id" : "top");
    close_block(w);
    close_rows(f, &a);
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
