/* index_threads.c: index kernels as CUDA threads.
 *
 * A gather is a map: each thread takes an element. A scatter or an overwrite may send several ids to one place. They
 * are applied in the order of the ids, so the result has the same bits every time, and the same as on the CPU. A
 * block of threads takes one id. In a scatter, the block looks for an equal id before its own; if there is one, that
 * id's block does the work, else this block adds up all equal ids that follow. In an overwrite, it looks for an equal
 * id after its own, which would win. Ids in a text repeat soon, so most blocks end early.
 *
 * Each of these has a slow plain loop beside it, if that has another text: a trainer compares the two
 * (trainer/selftest.c). */
#include "emit/index.h"

/* ------------------------------------------------------------------ a thread an element */

/* The only axis among these that is longer than 1; -1: there is none, or several. */
static int only_axis(const Function *f, const int *axes, int n)
{
    int only = -1, many = 0;
    for (int i = 0; i < n; i++)
        if (f->axis[axes[i]].extent > 1) only = axes[i], many++;
    return many == 1 ? only : -1;
}

/* Computes the indices of the axes from the number of the thread. Threads beyond the end leave. */
const char *thread_indices(Function *f, const int *axes, int n)
{
    int64_t size = space_size(f, axes, n);
    const char *all = in_64_bits(space_text(f, axes, n), size);
    int only = only_axis(f, axes, n);
    if (size == 1) {
        leave_one_thread(f);
        return blocks_of(f, "1", 1, 1);
    }
    const char *number = only >= 0 ? f->axis[only].name : new_index(&f->names, "i", "element");
    number_threads(f, number, size, all);
    if (only < 0) say_indices(f, axes, n, number);
    return blocks_of(f, all, size, THREADS);
}

/* Likewise for n elements of the last axis, the first at `from`: const int r = i / (WIDTH / 4), c4 = i % (WIDTH / 4)
 * * 4; */
static const char *indices_beside(Function *f, const int *axes, int naxes, int n, const char *from)
{
    const Axis *c = &f->axis[axes[naxes - 1]];
    int only = only_axis(f, axes, naxes - 1);
    bool rows = space_size(f, axes, naxes - 1) > 1;
    const char *of = format("(%s)", divided(c->count, n)), *i = new_index(&f->names, "i", "element");
    int64_t size = space_size(f, axes, naxes);
    const char *all = divided(in_64_bits(space_text(f, axes, naxes), size), n);
    const char *r = only >= 0 ? f->axis[only].name : new_index(&f->names, "r", "row");
    number_threads(f, i, size / n, all);
    if (rows) line(&f->w, "const int %s = %s / %s, %s = %s %% %s * %d;", r, i, of, from, i, of, n);
    else line(&f->w, "const int %s = %s * %d;", from, i, n);
    if (rows && only < 0) say_indices(f, axes, naxes - 1, r);
    return blocks_of(f, all, size / n, THREADS);
}

static const char *gather_wholes(Function *f, Picking *g, const int *axes, int n)
{
    Axis *c = &f->axis[g->id - 1];
    const char *from = new_name(&f->names, format("%s%d", c->name, n));
    const char *blocks = indices_beside(f, axes, g->id, n, from);
    declare_id(f, g);
    c->now = from;
    const char *y = element(f, g->uy), *x = element(f, g->ux);
    use_id(f, y, x);
    line(&f->w, "write_wide(&%s, read_wide<%d>(&%s));", y, n, x);
    c->now = c->name;
    return blocks;
}

static const char *gather_one_by_one(Function *f, Picking *g, const int *axes, int n)
{
    Axis *c = &f->axis[g->id - 1];
    const char *from = new_name(&f->names, format("%s%d", c->name, n));
    for (int a = 0; a < f->args.n; a++)
        if ((f->uses.at[g->ux].arg == a || f->uses.at[g->uy].arg == a) && aligned(&f->args.at[a], 16))
            line(&f->w, "ALIGNED(%s);", f->args.at[a].name);
    const char *blocks = indices_beside(f, axes, g->id, n, from);
    declare_id(f, g);
    open_for(&f->w, (For){.mark = "UNROLL ", .name = c->name, .from = from, .to = format("%s + %d", from, n)});
    say_picked(f, g, true, g->k->writes.at[0].add);
    close_block(&f->w);
    return blocks;
}

void gather_side_by_side(Function *f, Picking *g)
{
    int axes[MAXRANK], n = g->n->beside;
    for (int j = 0; j < g->id; j++) axes[j] = j;
    begin_part(f);
    const char *blocks = g->n->wide ? gather_wholes(f, g, axes, n) : gather_one_by_one(f, g, axes, n);
    forget_id(f, g);
    end_part(f, NULL, blocks);
}

/* ------------------------------------------------------------------ the plain loops */

static void reset_axes(Function *f, int from, int n)
{
    for (int j = from; j < from + n; j++)
        if (f->axis[j].extent > 1) f->axis[j].now = f->axis[j].name;
}

/* Each thread takes a row of y. */
void gather_plainly(Function *f, Picking *g)
{
    Walk w = {0};
    reset_axes(f, 0, g->id);
    share_axes(&w, 0, g->batch + g->ids);
    walk_axes(&w, g->batch + g->ids, g->id);
    begin_part(f);
    end_part(f, NULL, walk_ids(f, g, w, true, g->k->writes.at[0].add));
}

/* Each thread takes a column of x, and goes through all ids in order. */
void scatter_plainly(Function *f, Picking *g, bool add)
{
    Walk w = {0};
    reset_axes(f, 0, g->id);
    share_axes(&w, 0, g->batch);
    share_axes(&w, g->batch + g->ids, g->id);
    walk_axes(&w, g->batch, g->batch + g->ids);
    begin_part(f);
    end_part(f, NULL, walk_ids(f, g, w, false, add));
}

/* ------------------------------------------------------------------ a block an id */

typedef struct Ids { /* the axes of the ids, walked as one, and the text of that index */
    int axes[MAXRANK], n;
    const char *count;
} Ids;

static Ids ids_of(const Function *f, const Picking *g)
{
    Ids s = {.n = g->ids};
    for (int i = 0; i < g->ids; i++) s.axes[i] = g->batch + i;
    s.count = space_text(f, s.axes, s.n);
    return s;
}

/* Its indices are computed where they are used. */
static void set_id_number(Function *f, const Ids *s, const char *number)
{
    for (int i = 0; i < s->n; i++)
        if (f->axis[s->axes[i]].extent > 1) f->axis[s->axes[i]].now = index_in(f, s->axes, s->n, i, number);
}

/* const int r = blockIdx.x / SEQ, t = blockIdx.x % SEQ; returns t, the number of the id. */
static const char *block_indices(Function *f, const Picking *g, const Ids *s)
{
    int batch[MAXRANK];
    for (int j = 0; j < g->batch; j++) batch[j] = j;
    int64_t ids = space_size(f, s->axes, s->n);
    const char *t = ids == 1 ? "0" : s->n == 1 ? f->axis[s->axes[0]].name : new_name(&f->names, "n");
    if (space_size(f, batch, g->batch) == 1) {
        if (ids > 1) line(&f->w, "const int %s = %s;", t, f->block);
    } else {
        if (ids > 1) line(&f->w, "const int %s = %s %% %s;", t, f->block, in_parentheses(s->count));
        for (int j = 0; j < g->batch; j++) {
            const char *number = ids > 1 ? format("%s / %lld", f->block, (long long)ids) : f->block;
            if (f->axis[j].extent > 1)
                line(&f->w, "const int %s = %s;", f->axis[j].name, index_in(f, batch, g->batch, j, number));
        }
    }
    set_id_number(f, s, t);
    return t;
}

static const char *blocks_of_ids(const Function *f, const Picking *g)
{
    int axes[MAXRANK], n = g->batch + g->ids;
    for (int j = 0; j < n; j++) axes[j] = j;
    return blocks_of(f, space_text(f, axes, n), space_size(f, axes, n), 1);
}

/* Opens the loops over the axes after the ids, which the threads of the block share. */
static int open_after(Function *f, const Picking *g)
{
    int axes[MAXRANK] = {0}, only = -1, many = 0;
    for (int j = 0; j < g->after; j++) {
        axes[j] = g->batch + g->ids + j;
        if (f->axis[axes[j]].extent > 1) only = axes[j], many++;
    }
    if (!many) {
        open_block(&f->w, "if (threadIdx.x == 0)");
        return f->w.depth;
    }
    const char *c = many == 1 ? f->axis[only].name : new_index(&f->names, "i", "element");
    const char *all = space_text(f, axes, g->after);
    open_for(&f->w, (For){.name = c, .from = "threadIdx.x", .to = all, .step = "THREADS"});
    if (many > 1) say_indices(f, axes, g->after, c);
    return f->w.depth;
}

static void scatter_in_order(Function *f, Picking *g)
{
    Writer *w = &f->w;
    Ids s = ids_of(f, g);
    const char *e = new_name(&f->names, "e"), *from = new_name(&f->names, "from");
    const char *same = new_name(&f->names, "same"), *n = new_name(&f->names, "many");
    bool several = space_size(f, s.axes, s.n) > 1;
    if (several) line(w, "__shared__ int %s[THREADS];", same);
    const char *t = block_indices(f, g, &s);
    declare_id(f, g);
    if (!several) {
        open_after(f, g);
        say_picked(f, g, false, true);
        close_block(w);
        return;
    }
    open_block(w, "for (int %s = %s - 1; %s >= 0; %s -= THREADS)", from, t, from, from);
    line(w, "const int %s = %s - (int)threadIdx.x;", e, from);
    set_id_number(f, &s, e);
    line(w, "if (block_any(%s >= 0 && %s == id)) return;", e, within(value_at(f, g->uby), PLUS));
    close_block(w);
    open_for(w, (For){.name = from, .from = t, .to = s.count, .step = "THREADS"});
    line(w, "const int %s = %s + threadIdx.x;", e, from);
    line(w, "const int %s = block_list(%s < %s && %s == id, %s, %s);", n, e, s.count, within(value_at(f, g->uby), PLUS),
         e, same);
    const char *k = new_name(&f->names, "k");
    int outer = open_after(f, g);
    open_for(w, (For){.name = k, .to = n});
    set_id_number(f, &s, format("%s[%s]", same, k));
    say_picked(f, g, false, true);
    close_block(w);
    must(w->depth == outer);
    close_block(w);
    close_block(w);
}

static void overwrite_by_last(Function *f, Picking *g)
{
    Writer *w = &f->w;
    Ids s = ids_of(f, g);
    const char *e = new_name(&f->names, "e"), *from = new_name(&f->names, "from"), *t = block_indices(f, g, &s);
    declare_id(f, g);
    if (space_size(f, s.axes, s.n) > 1) {
        open_for(w, (For){.name = from, .from = format("%s + 1", t), .to = s.count, .step = "THREADS"});
        line(w, "const int %s = %s + threadIdx.x;", e, from);
        set_id_number(f, &s, e);
        line(w, "if (block_any(%s < %s && %s == id)) return;", e, s.count, within(value_at(f, g->uby), PLUS));
        close_block(w);
        set_id_number(f, &s, t);
    }
    open_after(f, g);
    say_picked(f, g, false, false);
    close_block(w);
}

void ids_by_blocks(Function *f, Picking *g, bool add)
{
    int names = f->names.n;
    begin_part(f);
    if (add) scatter_in_order(f, g);
    else overwrite_by_last(f, g);
    forget_id(f, g);
    end_part(f, NULL, blocks_of_ids(f, g));
    f->names.n = names;
}

/* ------------------------------------------------------------------ along an axis */

/* Each warp takes a row. Each lane finds the first of the largest among its elements. */
void largest_by_warp(Function *f, Along *a, One_row row, const Kernel *k)
{
    int axes[MAXRANK] = {0}, names = f->names.n;
    const Axis *c = &f->axis[a->axis];
    for (int j = 0; j < a->rows; j++) axes[j] = j;
    int only = only_axis(f, axes, a->rows);
    const char *all = space_text(f, axes, a->rows);
    const char *r = only >= 0 ? f->axis[only].name : new_index(&f->names, "r", "row");
    begin_part(f);
    number_warps(f, r, all);
    if (only < 0) say_indices(f, axes, a->rows, r);
    a->first = "1 + lane";
    a->step = format("%s += WARP", c->name);
    row(f, a, k);
    DType t = a->x.buffer ? a->x.buffer->dtype : I32;
    line(&f->w, "best = warp_first_%s(%s, best);", type_suffix(t), value_at(f, a->ux).text);
    line(&f->w, "if (lane == 0) %s = best;", element(f, a->uy[0]));
    end_part(f, NULL, blocks_of(f, all, space_size(f, axes, a->rows), WARPS));
    f->names.n = names;
    a->first = a->step = NULL;
    reset_axes(f, 0, a->rows + 1);
}
