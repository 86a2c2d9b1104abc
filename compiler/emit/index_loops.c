/* index_loops.c: index kernels as loops of C. */
#include "emit/index.h"

/* ------------------------------------------------------------------ nests */

static void open_unless_one(Function *f, int j, const char *mark)
{
    if (!same(f->axis[j].now, "0")) open_axis(f, j, mark);
}

/* Threads share the outermost loop; inside, the innermost one has independent iterations. */
static const char *mark_of(const Function *f, const Nest *n, bool *parallel, bool *threaded, int j, bool innermost)
{
    if (f->axis[j].extent == 1) return "";
    if (!*parallel) return innermost && *threaded && n->apart ? "EACH " : "";
    *parallel = false;
    *threaded = true;
    return "PARALLEL ";
}

static void close_axis(Function *f, int j)
{
    if (!same(f->axis[j].now, "0")) close_block(&f->w);
}

/* x's elements before the ids' turn. */
static void start_x(Function *f, const Picking *g)
{
    int axes[MAXRANK], n = axes_of_x(g, axes);
    bool parallel = g->n->start_shared, threaded = false;
    for (int i = 0; i < n; i++)
        open_unless_one(f, axes[i], mark_of(f, g->n, &parallel, &threaded, axes[i], i == n - 1));
    line(&f->w, "%s = %s;", element(f, g->ux), first_value(f, g));
    for (int i = n; i-- > 0;) close_axis(f, axes[i]);
}

static void begin(Function *f) { open_block(&f->w, "%s", ""); }
static void end(Function *f) { close_block(&f->w); }

/* ------------------------------------------------------------------ by ids */

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
        open_unless_one(f, j, mark_of(f, g->n, &parallel, &threaded, j, j == g->id - 1 && j > at));
        if (j == at) declare_id(f, g);
    }
    say_picked(f, g, y_is_result, add);
    for (int j = g->id; j-- > 0;) close_axis(f, j);
    forget_id(f, g);
}

static void gather_ids(Function *f, Picking *g)
{
    begin(f);
    picking_nest(f, g, g->n->threads, false, true, g->k->writes.at[0].add);
    end(f);
}

/* Each thread goes through all ids, and takes some columns of the last axis. */
static void nest_by_columns(Function *f, const Picking *g, bool add)
{
    Axis *c = &f->axis[g->id - 1], whole = *c;
    const char *part = new_name(&f->names, "part"), *parts = new_name(&f->names, "parts");
    const char *low = new_name(&f->names, "low"), *high = new_name(&f->names, "high");
    line(&f->w, "const int %s = column_parts(%s);", parts, whole.count);
    open_for(&f->w, (For){.mark = "PARALLEL ", .name = part, .to = parts});
    line(&f->w, "const int %s = column_from(%s, %s, %s), %s = column_from(%s, %s + 1, %s);", low, whole.count, part,
         parts, high, whole.count, part, parts);
    c->now = format("%s + %s", low, c->name);
    c->count = format("%s - %s", high, low);
    picking_nest(f, g, false, true, false, add);
    *c = whole;
    close_block(&f->w);
}

/* The ids run in order; threads share what lies beside them. */
static void ordered_nest(Function *f, const Picking *g, bool add)
{
    if (g->n->by_columns) nest_by_columns(f, g, add);
    else picking_nest(f, g, g->n->threads, false, false, add);
}

static void scatter_ids(Function *f, Picking *g)
{
    begin(f);
    if (g->n->picked->starts) start_x(f, g);
    ordered_nest(f, g, true);
    end(f);
}

static void overwrite_ids(Function *f, Picking *g)
{
    begin(f);
    if (g->n->picked->starts) start_x(f, g);
    ordered_nest(f, g, false);
    end(f);
}

/* ------------------------------------------------------------------ along an axis */

static void open_rows(Function *f, const Along *a)
{
    bool parallel = a->n->threads;
    begin(f);
    for (int j = 0; j < a->rows; j++) {
        open_unless_one(f, j, parallel && f->axis[j].extent > 1 ? "PARALLEL " : "");
        if (f->axis[j].extent > 1) parallel = false;
    }
}

static void close_rows(Function *f, const Along *a)
{
    for (int j = a->rows; j-- > 0;) close_axis(f, j);
    end(f);
}

static void each_row(Function *f, Along *a, One_row row, const Kernel *k)
{
    open_rows(f, a);
    row(f, a, k);
    close_rows(f, a);
}

static void emit_largest(Function *f, Along *a, One_row row, const Kernel *k)
{
    open_rows(f, a);
    row(f, a, k);
    line(&f->w, "%s = best;", element(f, a->uy[0]));
    close_rows(f, a);
}

const Nests loops_of_c = {nest_of_loops, gather_ids, scatter_ids, overwrite_ids, each_row, emit_largest};
