/* index.c: kernels that address by ids or walk along an axis, for both targets: gather, scatter, overwrite, argmax,
 * scans, sorting, topk.
 *
 * Ids are in range: the front checks known ones, the trainer checks data when it reads it, and others are checked
 * where they are used (emit/ids.c). emit/walk.c puts loops or CUDA threads around these texts; emit/index_threads.c
 * has what threads do together. */
#include "emit/index.h"
#include "graph/parts.h"

#include <ctype.h>
#include <string.h>

/* ------------------------------------------------------------------ by ids */

bool loops_over(const Function *f, const View *v, int j) { return f->axis[j].extent > 1 && v->stride[j] != 0; }

static Picking picking_of(Function *f, const Kernel *k)
{
    const Nest *n = k->nest;
    const Picked *p = n->picked;
    const Space *s = &n->space;
    int last = s->own.rank - 2; /* of the axes before the picked axis */
    Picking g = {.k = k, .n = n, .batch = p->batch, .ids = p->ids, .after = p->after, .id = p->id};
    g.x = p->x, g.y = p->y, g.by = p->by, g.uold = -1;
    g.blocks = k->kind == OVERWRITE && in_blocks(k->node->dtype);
    push(&f->names, "id");
    f->axis[p->id].name = "v";
    bool rest = last >= (int)k->node->ints[0] + k->reads.at[1].view.shape.rank - (int)k->node->ints[1];
    if (rest && p->id && is_made_of(s, p->id - 1, last)) f->axis[p->id - 1].name = "c";
    begin_axes(f, s);
    return g;
}

void declare_id(Function *f, const Picking *g)
{
    line(&f->w, "const int id = %s;",
         id_text(f->page, g->k, value_at(f, g->uby).text, f->axis[g->id].extent, f->axis[g->id].what));
    f->axis[g->id].now = "id";
}

void forget_id(Function *f, const Picking *g) { f->axis[g->id].now = f->axis[g->id].name; }

/* Does the expression contain the word id? hidden[r] does not. */
static bool mentions_id(const char *text)
{
    for (const char *at = text; (at = strstr(at, "id")); at += 2)
        if ((at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_')) &&
            !(isalnum((unsigned char)at[2]) || at[2] == '_'))
            return true;
    return false;
}

void use_id(Function *f, const char *y, const char *x)
{
    if (!mentions_id(y) && !mentions_id(x)) line(&f->w, "(void)id;"); /* the array has one row */
}

void say_picked(Function *f, const Picking *g, bool y_is_result, bool add)
{
    const char *y = y_is_result ? element(f, g->uy) : value_at(f, g->uy).text;
    const char *x = y_is_result ? value_at(f, g->ux).text : element(f, g->ux);
    use_id(f, y, x);
    DType t = (y_is_result ? &g->y : &g->x)->buffer->dtype;
    line(&f->w, "%s;", store_text(t, y_is_result ? y : x, add, y_is_result ? x : y));
}

/* A block of x from its numbers, which the last index but that of ids runs over. */
static void say_block(Function *f, const Picking *g)
{
    Axis *c = &f->axis[g->id - 1];
    const char *now = c->now, *block = new_name(&f->names, "block"), *i = new_name(&f->names, "e");
    const char *x = block_place(f, g->ux);
    must(g->x.stride[g->id - 1] == 1 && c->extent % LATHE_BLOCK == 0);
    line(&f->w, "float %s[LATHE_BLOCK];", block);
    c->now = format("%s + %s", now, i);
    const char *y = value_at(f, g->uy).text;
    use_id(f, y, x);
    open_for(&f->w, (For){.name = i, .to = "LATHE_BLOCK"});
    line(&f->w, "%s[%s] = %s;", block, i, y);
    close_block(&f->w);
    c->now = now;
    line(&f->w, "to_%s(&%s, %s);", type_suffix(g->x.buffer->dtype), x, block);
}

const char *walk_ids(Function *f, const Picking *g, Walk w, bool y_is_result, bool add)
{
    int depth = f->w.depth;
    w.by = g;
    w.by_blocks = g->blocks;
    const char *blocks = open_walk(f, &w);
    if (g->blocks) say_block(f, g);
    else say_picked(f, g, y_is_result, add);
    close_down_to(&f->w, depth);
    forget_id(f, g);
    return blocks;
}

/* ------------------------------------------------------------------ gather */

static void gather_elements(Function *f, const Picking *g)
{
    Walk w = {.threads = g->n->threads};
    share_axes(&w, 0, g->id);
    begin_part(f);
    end_part(f, NULL, walk_ids(f, g, w, true, g->k->writes.at[0].add));
}

static void gather_ids(Function *f, Picking *g)
{
    int names = f->names.n;
    if (g->n->beside > 1) gather_side_by_side(f, g);
    else gather_elements(f, g);
    f->names.n = names;
    if (g->n->plain) gather_plainly(f, g);
}

/* ------------------------------------------------------------------ scatter, overwrite */

/* The values of x before any id is applied: 0, or the old ones. */
static void start_x(Function *f, const Picking *g)
{
    int depth = f->w.depth, names = f->names.n;
    Walk w = {.threads = g->n->start_shared};
    share_axes(&w, 0, g->batch);
    share_axes(&w, g->id, g->id + 1);
    share_axes(&w, g->batch + g->ids, g->id);
    begin_part(f);
    w.by_blocks = g->blocks;
    const char *blocks = open_walk(f, &w);
    if (g->blocks) line(&f->w, "%s = %s;", block_place(f, g->ux), block_place(f, g->uold));
    else line(&f->w, "%s = %s;", element(f, g->ux), g->uold < 0 ? "0" : value_at(f, g->uold).text);
    close_down_to(&f->w, depth);
    end_part(f, g->uold < 0 ? "zero, to add to" : "what is not overwritten", blocks);
    f->names.n = names;
}

/* C: each thread goes through all ids, and takes some columns of the last axis. */
static void nest_by_columns(Function *f, const Picking *g, Walk w, bool add)
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
    w.inside = true;
    walk_ids(f, g, w, false, add);
    *c = whole;
    close_block(&f->w);
}

/* The ids are applied in order. C: threads share the axes beside them. */
static void ids_in_order(Function *f, const Picking *g, bool add)
{
    Walk w = {.threads = g->n->threads};
    walk_axes(&w, 0, g->id);
    if (g->n->by_columns) nest_by_columns(f, g, w, add);
    else walk_ids(f, g, w, false, add);
}

static void scatter_ids(Function *f, Picking *g, bool add)
{
    if (g->n->picked->starts) start_x(f, g);
    if (g->n->team == TEAM_OF_BLOCK) ids_by_blocks(f, g, add);
    else ids_in_order(f, g, add);
    if (g->n->plain) scatter_plainly(f, g, add);
}

static void emit_picked(Function *f, const Kernel *k)
{
    Picking g = picking_of(f, k);
    if (k->kind == GATHER) g.uy = add_use(f, g.y, true);
    g.ux = add_use(f, g.x, k->kind != GATHER);
    if (k->nest->picked->old_is_other) g.uold = add_use(f, k->nest->picked->old, false);
    if (k->kind != GATHER) g.uy = add_use(f, g.y, false);
    g.uby = add_use(f, g.by, false);
    fit_args(f);
    if (k->kind == GATHER) gather_ids(f, &g);
    else scatter_ids(f, &g, k->kind == SCATTER);
}

/* ------------------------------------------------------------------ along an axis */

static Along along_of(Function *f, const Kernel *k)
{
    const Lengthwise *l = k->nest->along;
    Along a = {.n = k->nest, .x = l->x, .rows = l->rows, .axis = l->axis};
    begin_axes(f, &k->nest->space);
    for (int i = 0; i < k->writes.n; i++) a.uy[i] = add_use(f, l->y[i], true);
    a.ux = add_use(f, a.x, false);
    fit_args(f);
    return a;
}

/* Each thread takes a row and goes through it in order. */
static void each_row(Function *f, Along *a, One_row row, const Kernel *k)
{
    int depth = f->w.depth;
    Walk w = {.threads = a->n->threads};
    share_axes(&w, 0, a->rows);
    begin_part(f);
    const char *blocks = open_walk(f, &w);
    row(f, a, k);
    close_down_to(&f->w, depth);
    end_part(f, NULL, blocks);
}

/* The first of the largest elements. The search starts from element 0. */
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

static void whole_argmax(Function *f, Along *a, const Kernel *k)
{
    row_argmax(f, a, k);
    line(&f->w, "%s = best;", element(f, a->uy[0]));
}

static void emit_argmax(Function *f, const Kernel *k)
{
    push(&f->names, "best");
    Along a = along_of(f, k);
    if (a.n->team == TEAM_OF_WARP) largest_by_warp(f, &a, row_argmax, k);
    if (a.n->team != TEAM_OF_WARP || a.n->plain) each_row(f, &a, whole_argmax, k);
}

/* Opens the loop over the row, forwards or backwards. */
static void open_row(Function *f, const Along *a, bool backwards)
{
    Axis *c = &f->axis[a->axis];
    if (backwards) open_block(&f->w, "for (int %s = %s - 1; %s >= 0; %s--)", c->name, c->count, c->name, c->name);
    else open_axis(f, a->axis, NULL);
    if (c->extent == 1) c->now = "0";
}

/* Where the largest element so far is. A NaN is larger than all. */
static void row_places(Function *f, Along *a, const Kernel *k)
{
    Axis *c = &f->axis[a->axis];
    bool back = k->node->ints[1], may_be_nan = is_real(k->node->in[0]->dtype);
    line(&f->w, back ? "int best = %s - 1;" : "int best = 0;", c->count);
    open_row(f, a, back);
    const char *here = within(value_at(f, a->ux), PLUS), *now = c->now;
    c->now = "best";
    const char *best = within(value_at(f, a->ux), PLUS);
    c->now = now;
    if (may_be_nan) line(&f->w, "if (%s >= %s || %s != %s) best = %s;", here, best, here, here, now);
    else line(&f->w, "if (%s >= %s) best = %s;", here, best, now);
    line(&f->w, "%s = best;", element(f, a->uy[0]));
    close_block(&f->w);
}

/* A running value that takes the elements in order. */
static void row_scan(Function *f, Along *a, const Kernel *k)
{
    const Kernel_part *p = op_parts[k->node->op].kernel;
    line(&f->w, "%s %s = %s;", c_type(k->node->dtype), p->running, p->start);
    open_row(f, a, k->node->ints[1]);
    line(&f->w, may_wrap(k->node) ? p->wraps : p->step, value_at(f, a->ux).text);
    line(&f->w, "%s = %s;", element(f, a->uy[0]), p->running);
    close_block(&f->w);
}

static void emit_scan(Function *f, const Kernel *k)
{
    const Kernel_part *p = op_parts[k->node->op].kernel;
    push(&f->names, p->running);
    Along a = along_of(f, k);
    each_row(f, &a, p->places ? row_places : row_scan, k);
}

/* x or y at an index that is a variable */
static const char *x_at(Function *f, const Along *a, const char *index)
{
    f->axis[a->axis].now = index;
    return value_at(f, a->ux).text;
}

static const char *y_at(Function *f, const Along *a, const char *index)
{
    f->axis[a->axis].now = index;
    return element(f, a->uy[0]);
}

/* Moves what comes after id up, from below `at`, until id can stand at `at`. */
static void sift_id(Function *f, const Along *a, const Kernel *k)
{
    Writer *w = &f->w;
    DType t = k->node->in[0]->dtype;
    const char *after = format("comes_after_%s", type_suffix(t)), *falling = k->node->ints[1] ? "true" : "false";
    open_block(w, "for (int below = 2 * at + 1; below < end; below = 2 * at + 1)");
    line(w, "const int beside = below + 1 < end ? below + 1 : below;");
    line(w, "const int left = %s, right = %s;", y_at(f, a, "below"), y_at(f, a, "beside"));
    const char *x_right = x_at(f, a, "right"), *x_left = x_at(f, a, "left");
    line(w, "if (%s(%s, right, %s, left, %s)) below = beside;", after, x_right, x_left, falling);
    line(w, "const int next = %s;", y_at(f, a, "below"));
    line(w, "if (!%s(%s, next, x, id, %s)) break;", after, x_at(f, a, "next"), falling);
    line(w, "%s = next;", y_at(f, a, "at"));
    line(w, "at = below;");
    close_block(w);
    line(w, "%s = id;", y_at(f, a, "at"));
}

/* Heap sort, in place: y[heap … end - 1] is a heap with what comes last on top; y[end …] is in order. Equal elements
 * are told apart by their indices, so there is only one order. */
static void row_argsort(Function *f, Along *a, const Kernel *k)
{
    Axis *c = &f->axis[a->axis];
    Writer *w = &f->w;
    open_axis(f, a->axis, NULL);
    line(w, "%s = %s;", element(f, a->uy[0]), c->now);
    close_block(w);
    if (c->extent == 1) return;
    line(w, "int heap = %s / 2, end = %s;", in_parentheses(c->count), c->count);
    open_block(w, "while (end > 1)");
    line(w, "const int from = heap > 0 ? --heap : --end, id = %s;", y_at(f, a, "from"));
    line(w, "const %s x = %s;", c_type(k->node->in[0]->dtype), x_at(f, a, "id"));
    line(w, "int at = heap;");
    line(w, "%s = %s;", y_at(f, a, "from"), y_at(f, a, "at"));
    sift_id(f, a, k);
    close_block(w);
}

static void emit_argsort(Function *f, const Kernel *k)
{
    static const char *const own[] = {"heap",  "end",    "from", "id",    "x",   "at",
                                      "below", "beside", "left", "right", "next"};
    for (int i = 0; i < COUNT_OF(own); i++) push(&f->names, own[i]);
    Along a = along_of(f, k);
    each_row(f, &a, row_argsort, k);
}

/* The k largest so far are in two small arrays, in falling order. Of equal elements the first comes first. */
static void row_topk(Function *f, Along *a, const Kernel *k)
{
    Axis *c = &f->axis[a->axis];
    const char *type = c_type(k->node->dtype);
    long long many = (long long)k->node->ints[1];
    Writer *w = &f->w;
    line(w, "%s top[%lld];", type, many);
    line(w, "int id[%lld], found = 0;", many);
    open_axis(f, a->axis, NULL);
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
    open_for(w, (For){.name = "at", .to = format("%lld", many)});
    for (int i = 0; i < k->writes.n; i++)
        line(w, "%s = %s[at];", element(f, a->uy[i]), k->writes.at[i].node->ints[0] ? "id" : "top");
    close_block(w);
}

static void emit_topk(Function *f, const Kernel *k)
{
    static const char *const own[] = {"top", "id", "at", "found", "x"};
    for (int i = 0; i < COUNT_OF(own); i++) push(&f->names, own[i]);
    Along a = along_of(f, k);
    each_row(f, &a, row_topk, k);
}

void emit_index(Function *f, const Kernel *k)
{
    switch (k->kind) {
    case GATHER:
    case SCATTER:
    case OVERWRITE: emit_picked(f, k); break;
    case ARGMAX: emit_argmax(f, k); break;
    case SCAN: emit_scan(f, k); break;
    case ARGSORT: emit_argsort(f, k); break;
    case TOPK: emit_topk(f, k); break;
    default: die("kernel %s is of no index kind", k->name);
    }
}
