/* emit_index_loops.c: index kernels as loops of C. */
#include "emit_index.h"

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

/* x's elements before the ids' turn. */
static void start_x(Function *f, const Picking *g)
{
    int axes[MAXRANK], n = axes_of_x(g, axes);
    bool parallel = worth_threads(space_size(f, axes, n), 1), threaded = false;
    for (int i = 0; i < n; i++) open_axis(f, axes[i], mark_of(f, &parallel, &threaded, axes[i], i == n - 1));
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
        open_axis(f, j, mark_of(f, &parallel, &threaded, j, j == g->id - 1 && j > at));
        if (j == at) declare_id(f, g);
    }
    say_picked(f, g, y_is_result, add);
    for (int j = g->id; j-- > 0;) close_axis(f, j);
    forget_id(f, g);
}

static bool nest_is_worth(const Function *f, const Picking *g)
{
    int axes[MAXRANK];
    for (int j = 0; j < g->id; j++) axes[j] = j;
    return worth_threads(space_size(f, axes, g->id), 1);
}

static void gather_ids(Function *f, Picking *g)
{
    begin(f);
    picking_nest(f, g, nest_is_worth(f, g), false, true, g->add);
    end(f);
}

enum { SLICE = 16 }; /* columns that threads do not share: column_from() */

/* Each thread goes through all ids, and takes some columns of the last axis. */
static void nest_by_columns(Function *f, const Picking *g, bool add)
{
    Axis *c = &f->axis[g->id - 1], whole = *c;
    const char *part = new_name(&f->names, "part"), *parts = new_name(&f->names, "parts");
    const char *low = new_name(&f->names, "low"), *high = new_name(&f->names, "high");
    line(&f->w, "const int %s = column_parts(%s);", parts, whole.count);
    open_block(&f->w, "PARALLEL for (int %s = 0; %s < %s; %s++)", part, part, parts, part);
    line(&f->w, "const int %s = column_from(%s, %s, %s), %s = column_from(%s, %s + 1, %s);", low, whole.count, part,
         parts, high, whole.count, part, parts);
    c->now = format("%s + %s", low, c->name);
    c->count = format("%s - %s", high, low);
    picking_nest(f, g, false, true, false, add);
    *c = whole;
    close_block(&f->w);
}

/* The ids run in order; threads share what lies beside them: batches, or columns of the last axis.  Of rows of few
 * numbers one thread adds faster than two that both look at every id. */
static void ordered_nest(Function *f, const Picking *g, bool add)
{
    bool worth = nest_is_worth(f, g);
    if (worth && !g->batch && g->after && f->axis[g->id - 1].extent >= 2 * SLICE) nest_by_columns(f, g, add);
    else picking_nest(f, g, worth && g->batch > 0, false, false, add);
}

static void scatter_ids(Function *f, Picking *g)
{
    begin(f);
    if (!g->add) start_x(f, g);
    ordered_nest(f, g, true);
    end(f);
}

static void overwrite_ids(Function *f, Picking *g)
{
    begin(f);
    if (g->uold >= 0) start_x(f, g);
    ordered_nest(f, g, false);
    end(f);
}

/* ------------------------------------------------------------------ along an axis */

static void open_rows(Function *f, const Along *a, int work)
{
    int axes[MAXRANK];
    for (int j = 0; j <= a->rows; j++) axes[j] = j;
    bool parallel = worth_threads(space_size(f, axes, a->rows + 1), work);
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

static void each_row(Function *f, Along *a, One_row row, int work, const Kernel *k)
{
    open_rows(f, a, work);
    row(f, a, k);
    close_rows(f, a);
}

static void largest(Function *f, Along *a, One_row row, const Kernel *k)
{
    open_rows(f, a, 2);
    row(f, a, k);
    line(&f->w, "%s = best;", element(f, a->uy[0]));
    close_rows(f, a);
}

const Index_nests index_loops = {gather_ids, scatter_ids, overwrite_ids, each_row, largest};
