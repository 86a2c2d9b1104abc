/* emit_threads.c: ROWS kernels as CUDA threads.
 *
 * Maps: a thread takes an element, or four side by side (of 16 bits eight) where they are contiguous.  Kernels that
 * reduce: a team of threads takes a row: one thread where it is short, a warp, or the whole block where it is long;
 * thread l of n takes elements l, l + n, …, sums them up in a register, and the team ends the sum in a fixed tree. A
 * reduction over all rows has two stages: each block of threads takes a block of rows, whose teams add up in shared
 * memory, or in registers where that is too small, and then in order to a partial result; a second kernel adds the
 * partials up in order.  Where nothing is reduced along the rows and they are long, blocks share the columns, too.
 * Nothing depends on when threads run: the same bits every time. */
#include "emit_index.h"
#include "emit_rows.h"

#include <string.h>

/* Shared memory is what a block has without asking for more. */
enum { ACCESS = 16, LONG = 1024, SHARED = 48 * 1024 };

/* ------------------------------------------------------------------ counting */

/* n as blocks of so many; "BATCH * SEQ * WIDTH / 4". */
const char *blocks_of(const char *n, const char *by) { return format("CEIL_DIV(%s, %s)", n, by); }

static const char *quarter(const Rows *r, const char *count)
{
    return r->beside == 1 ? count : format("%s / %d", count, r->beside);
}

static const char *rows_and_inner(const Rows *r)
{
    const char *rows = r->rows ? row_count_text(r) : NULL, *inner = r->f->axis[r->inner].count;
    return !rows ? inner : r->f->axis[r->inner].extent == 1 ? rows : format("%s * %s", rows, inner);
}

/* ------------------------------------------------------------------ four elements side by side */

/* Are a use's elements along the inner axis neighbours in memory? */
static bool side_by_side(const Rows *r, int use)
{
    const Use *u = &r->f->uses.at[use];
    return u->view.buffer && u->arg >= 0 && u->view.stride[r->inner] == 1;
}

/* Does what is passed always begin at a multiple of so many bytes?  The arena and the flat arrays do at 64, members of
 * structs lie where C puts them. */
bool aligned(const Arg *a, int64_t bytes)
{
    const Buffer *b = a->buffer;
    bool flat = b->home == PARAMETERS || b->home == GRADIENTS;
    if (b->home != WORK && !flat) return false;
    int64_t size = dtype_bytes(b->dtype), at = flat ? b->param->offset * size : b->offset;
    bool all = at % bytes == 0;
    for (int k = 0; k < a->nlead; k++) {
        all &= a->lead[k].constant * b->stride[k] * size % bytes == 0;
        for (int o = 0; o < a->lead[k].nover; o++) all &= a->lead[k].over[o].coef * b->stride[k] * size % bytes == 0;
    }
    return all;
}

/* The uses of the sweeps: loads and stores of elements. */
static bool swept(const Rows *r, int use)
{
    bool found = false;
    for (int i = 0; i < r->k->loads.n; i++) found |= r->load[i] == use;
    for (int p = 0; p < r->k->phases.n; p++)
        for (int i = 0; i < r->k->phases.at[p].stores.n; i++) found |= r->uses[p].store[i] == use;
    return found;
}

/* Does a sweep go through neighbours of this array in memory? */
static bool touches_neighbours(const Rows *r, int arg)
{
    for (int i = 0; i < r->f->uses.n; i++)
        if (r->f->uses.at[i].arg == arg && swept(r, i) && side_by_side(r, i)) return true;
    return false;
}

/* How many elements a thread takes side by side, of `threads` that share the axis: what one access holds, of 16 bits or
 * of 32, if there is enough for all; else 1. */
static int most_beside(const Rows *r, int threads)
{
    int64_t extent = r->f->axis[r->inner].extent;
    int most = 1;
    for (int i = 0; i < r->f->uses.n; i++) {
        if (!swept(r, i) || !side_by_side(r, i)) continue;
        int n = dtype_bytes(r->f->uses.at[i].view.buffer->dtype) == 2 ? ACCESS / 2 : ACCESS / 4;
        if (extent % n || extent < (int64_t)n * threads) n = ACCESS / 4;
        if (extent % n == 0 && extent >= (int64_t)n * threads && n > most) most = n;
    }
    return most;
}

static void say_aligned(Rows *r)
{
    Function *f = r->f;
    for (int a = 0; a < f->args.n && r->beside > 1; a++)
        if (touches_neighbours(r, a) && aligned(&f->args.at[a], ACCESS))
            line(&f->w, "ALIGNED(%s);", f->args.at[a].name);
}

/* UNROLL for (int c = c4; c < c4 + 4; c++) */
static void open_beside(Rows *r, const char *from)
{
    Axis *c = &r->f->axis[r->inner];
    open_block(&r->f->w, "UNROLL for (int %s = %s; %s < %s + %d; %s++)", c->name, from, c->name, from, r->beside,
               c->name);
}

/* ------------------------------------------------------------------ maps */

static const char *row_name(Rows *r) { return r->rows == 1 ? r->f->axis[0].name : new_name(&r->f->names, "r"); }

static bool is_map(const Kernel *k)
{
    const Phase *p = &k->phases.at[0];
    return !k->block && k->phases.n == 1 && !p->sums.n && !p->row_stores.n && !k->kept.n;
}

/* The element's indices, from the number of the thread. */
static const char *indices_of_map(Rows *r)
{
    Axis *c = &r->f->axis[r->inner];
    Writer *w = &r->f->w;
    const char *own = r->beside == 1 ? c->name : new_name(&r->f->names, format("%s%d", c->name, r->beside));
    const char *thread = format("%s * THREADS + threadIdx.x", r->f->block), *all = quarter(r, rows_and_inner(r));
    if (row_count(r) * c->extent == 1) {
        line(w, "if (threadIdx.x > 0) return;");
        return own;
    }
    if (r->rows == 0) {
        line(w, r->beside == 1 ? "const int %s = %s;" : "const int %s = (%s) * %d;", own, thread, r->beside);
        line(w, "if (%s >= %s) return;", own, rows_and_inner(r));
        return own;
    }
    const char *row = r->rows == 1 ? r->f->axis[0].name : new_name(&r->f->names, "r");
    if (c->extent == 1) {
        line(w, "const int %s = %s;", row, thread);
        line(w, "if (%s >= %s) return;", row, all);
    } else {
        const char *i = new_name(&r->f->names, "i"), *of = in_parentheses(quarter(r, c->count));
        line(w, "const int %s = %s;", i, thread);
        line(w, "if (%s >= %s) return;", i, all);
        const char *last = r->beside == 1 ? "" : format(" * %d", r->beside);
        line(w, "const int %s = %s / %s, %s = %s %% %s%s;", row, i, of, own, i, of, last);
    }
    row_indices(r, row);
    return own;
}

static void one_element_a_thread(Rows *r) { one_element(r, ""); }

static void four_a_thread(Rows *r)
{
    open_beside(r, r->four);
    one_element(r, "");
    close_block(&r->f->w);
}

static const char *map(Rows *r)
{
    if (r->k->sliced) return map_of_slice(r);
    const Axis *c = &r->f->axis[r->inner];
    r->beside = most_beside(r, 1);
    say_aligned(r);
    r->four = indices_of_map(r);
    r->sweep = r->beside == 1 ? one_element_a_thread : four_a_thread;
    one_row(r);
    return row_count(r) * c->extent == 1 ? "1" : blocks_of(quarter(r, rows_and_inner(r)), "THREADS");
}

/* ------------------------------------------------------------------ a row by a team */

static const char *first_of_team(const Rows *r) { return r->team == WARP ? "lane" : "threadIdx.x"; }
static const char *size_of_team(const Rows *r) { return r->team == WARP ? "WARP" : "THREADS"; }

static void start_totals(Rows *r)
{
    r->totals.n = 0;
    for (int i = 0; i < r->phase->sums.n; i++) {
        const Node *n = r->phase->sums.at[i];
        Total t = {.node = n, .name = new_name(&r->f->names, n->op == OP_sum ? "sum" : "largest")};
        line(&r->f->w, "%s %s = %s;", c_type(n->dtype), t.name, start_of(n));
        push(&r->totals, t);
    }
}

/* All threads of the team call the end of a reduction, so it stands by itself and not where the value is read. */
static void finish_totals(Rows *r)
{
    for (int i = 0; i < r->totals.n; i++) {
        const Total *t = &r->totals.at[i];
        if (r->team > 1)
            line(&r->f->w, "%s = %s_%s_%s(%s);", t->name, r->team == WARP ? "warp" : "block", end_of(t->node),
                 type_suffix(t->node->dtype), t->name);
        know(r, t->node, (Expr){t->name, PRIMARY});
    }
}

/* for (int c = lane; c < C; c += WARP), or four of them at a time.  Where a thread keeps elements of its row its turns
 * are counted, so that a compiler sees which: they stay in registers. */
static void open_steps(Rows *r, const char *from, const char *first, const char *size)
{
    const Axis *c = &r->f->axis[r->inner];
    Writer *w = &r->f->w;
    const char *each = r->beside == 1 ? "" : format(" * %d", r->beside);
    if (!r->turn) {
        open_block(w, "for (int %s = %s%s; %s < %s; %s += %s%s)", from, first, each, from, c->count, from, size, each);
        return;
    }
    open_block(w, "UNROLL for (int %s = 0; %s < %s; %s++)", r->turn, r->turn, r->turns, r->turn);
    line(w, r->beside == 1 ? "const int %s = %s * %s + %s;" : "const int %s = (%s * %s + %s) * %d;", from, r->turn,
         size, first, r->beside);
    if (c->extent % (r->team * r->beside)) line(w, "if (%s >= %s) break;", from, c->count);
}

/* The loops over the inner axis, in which each thread of the team takes the elements that it takes in every sweep. */
static void open_sweep(Rows *r)
{
    Axis *c = &r->f->axis[r->inner];
    if (r->team == 1 && c->extent > 1) {
        open_block(&r->f->w, "for (int %s = 0; %s < %s; %s++)", c->name, c->name, c->count, c->name);
    } else if (r->team > 1) {
        open_steps(r, r->four, first_of_team(r), size_of_team(r));
        if (r->beside > 1) open_beside(r, r->four);
        c->now = c->name;
    }
}

static void close_down_to(Rows *r, int depth)
{
    while (r->f->w.depth > depth) close_block(&r->f->w);
}

static void sweep_by_team(Rows *r)
{
    int depth = r->f->w.depth;
    start_totals(r);
    int names = r->f->names.n;
    open_sweep(r);
    one_element(r, "");
    close_down_to(r, depth);
    r->f->names.n = names;
    finish_totals(r);
}

/* What a thread keeps of its row, or adds up of all: the elements of its turns. */
static void count_turns(Rows *r)
{
    const Axis *c = &r->f->axis[r->inner];
    const char *size = size_of_team(r);
    r->turn = new_name(&r->f->names, "k");
    r->turns = blocks_of(c->count, r->beside == 1 ? size : format("%s * %d", size, r->beside));
    r->kept_count = r->beside == 1 ? r->turns : format("%s][%d", r->turns, r->beside);
    r->kept_at = r->beside == 1 ? r->turn : format("%s][%s - %s", r->turn, c->name, r->four);
}

static void make_team(Rows *r, int team)
{
    const Axis *c = &r->f->axis[r->inner];
    r->team = team;
    r->beside = team > 1 ? most_beside(r, team) : 1;
    r->first = team == 1 ? NULL : team == WARP ? "lane == 0" : "threadIdx.x == 0";
    r->meet = team == 1 ? NULL : team == WARP ? "__syncwarp();" : "__syncthreads();";
    r->sweep = sweep_by_team;
    r->four = r->beside > 1 ? new_name(&r->f->names, format("%s%d", c->name, r->beside)) : c->name;
    r->turn = NULL;
    if (team > 1 && r->k->kept.n) count_turns(r);
}

static const char *row_by_row(Rows *r)
{
    Writer *w = &r->f->w;
    int64_t rows = row_count(r), inner = r->f->axis[r->inner].extent;
    make_team(r, inner < SHORT ? 1 : rows == 1 || inner > LONG ? THREADS : WARP);
    say_aligned(r);
    const char *all = r->rows ? row_count_text(r) : "1";
    if (rows == 1) {
        if (r->team == 1) line(w, "if (threadIdx.x > 0) return;");
    } else {
        const char *row = row_name(r);
        if (r->team == 1) line(w, "const int %s = %s * THREADS + threadIdx.x;", row, r->f->block);
        else if (r->team == WARP)
            line(w, "const int %s = %s * WARPS + threadIdx.x / WARP, lane = threadIdx.x %% WARP;", row, r->f->block);
        else line(w, "const int %s = %s;", row, r->f->block);
        if (r->team < THREADS) line(w, "if (%s >= %s) return;", row, all);
        row_indices(r, row);
    }
    one_row(r);
    return r->team == THREADS || rows == 1 ? all : blocks_of(all, r->team == WARP ? "WARPS" : "THREADS");
}

/* ------------------------------------------------------------------ columns: the rows of a block */

static int64_t column_bytes(const Kernel *k)
{
    int64_t bytes = 0;
    for (int i = 0; i < k->partials.n; i++) bytes += dtype_bytes(k->partials.at[i]->dtype);
    return bytes;
}

/* Numbers that a thread of a team adds up, of all columns. */
static int64_t sums_of_thread(const Rows *r, int team)
{
    return (r->f->axis[r->inner].extent + team - 1) / team * r->k->partials.n;
}

/* More registers than these for sums leave too few for the rest, and too many turns make long code. */
enum { OF_WARP = 96, OF_BLOCK = 32 };

typedef enum Added { IN_SHARED, IN_REGISTERS, IN_PARTIALS } Added; /* where sums of columns run */

/* Teams have sums of their own, in shared memory if those fit; else in registers, and one column after another goes
 * through that memory.  Where that is too small for one, the block works as one team. */
static int team_for_columns(const Rows *r, Added *added)
{
    int64_t inner = r->f->axis[r->inner].extent;
    int team = inner < SHORT ? 1 : WARP;
    *added = IN_SHARED;
    if (column_bytes(r->k) * inner * (THREADS / team) <= SHARED) return team;
    *added = IN_REGISTERS;
    if (team == WARP && (int64_t)sizeof(double) * inner * (THREADS / WARP) <= SHARED &&
        sums_of_thread(r, WARP) <= OF_WARP)
        return WARP;
    if (sums_of_thread(r, THREADS) > OF_BLOCK) *added = IN_PARTIALS;
    return THREADS;
}

static const char *teams(const Rows *r) { return r->team == WARP ? "WARPS" : "THREADS"; }

typedef struct Column {
    const Node *node;
    const char *sums; /* of the teams, in shared memory; or of a thread */
    int partial;
} Column;
typedef VEC(Column) Columns;

static Columns all_columns(const Rows *r)
{
    Columns all = {0};
    for (int p = 0; p < r->k->phases.n; p++)
        for (int i = 0; i < r->k->phases.at[p].columns.n; i++)
            push(&all, ((Column){r->k->phases.at[p].columns.at[i], NULL, r->uses[p].partial[i]}));
    return all;
}

/* __shared__ float d_weight_sums[WARPS][WIDTH]; or float d_weight_sums[3][8]; */
static void declare_sums(Rows *r, Columns *columns, const char *before, const char *extents, const char *index)
{
    Column *column = columns->at;
    for (int p = 0; p < r->k->phases.n; p++) {
        int n = r->k->phases.at[p].columns.n;
        r->uses[p].running = NEW_ARRAY(const char *, n + 1);
        for (int i = 0; i < n; i++, column++) {
            const char *to = r->f->args.at[r->f->uses.at[column->partial].arg].name;
            const char *word = column->node->op == OP_sum ? "sums" : "maxima";
            size_t stem = strlen(to) - (strstr(to, "_partial") ? strlen(strstr(to, "_partial")) : 0);
            column->sums = new_name(&r->f->names, format("%.*s_%s", (int)stem, to, word));
            r->uses[p].running[i] = format("%s%s", column->sums, index);
            line(&r->f->w, "%s%s %s[%s];", before, c_type(column->node->dtype), column->sums, extents);
        }
    }
}

static void share_columns(Rows *r, Columns *columns, const char *team)
{
    const char *extents = format("%s][%s", teams(r), r->f->axis[r->inner].count);
    declare_sums(r, columns, "__shared__ ", extents, format("[%s]", team));
}

/* Where a thread's turn has the sum of column c now. */
static const char *sum_at(const Rows *r, const Column *column, const char *team)
{
    const char *c = r->f->axis[r->inner].now;
    if (!column->sums) return element(r->f, column->partial);
    return r->running_at ? format("%s[%s]", column->sums, r->running_at) : format("%s[%s][%s]", column->sums, team, c);
}

/* By the thread that will add to it: no barrier is needed between. */
static void clear_columns(Rows *r, const Columns *columns, const char *team)
{
    int depth = r->f->w.depth, names = r->f->names.n;
    open_sweep(r);
    for (int i = 0; i < columns->n; i++)
        line(&r->f->w, "%s = %s;", sum_at(r, &columns->at[i], team), start_of(columns->at[i].node));
    close_down_to(r, depth);
    r->f->names.n = names;
}

/* The teams' sums, one after another, are the block's. */
static void gather_columns(Rows *r, const Columns *columns)
{
    Writer *w = &r->f->w;
    Axis *c = &r->f->axis[r->inner];
    int names = r->f->names.n;
    const char *team = new_name(&r->f->names, "i");
    line(w, "__syncthreads();");
    open_block(w, "for (int %s = threadIdx.x; %s < %s; %s += THREADS)", c->name, c->name, c->count, c->name);
    c->now = c->name;
    for (int i = 0; i < columns->n; i++) {
        const Column *column = &columns->at[i];
        const char *name = new_name(&r->f->names, column->node->op == OP_sum ? "sum" : "largest");
        Expr next = {format("%s[%s][%s]", column->sums, team, c->now), PRIMARY};
        line(w, "%s %s = %s[0][%s];", c_type(column->node->dtype), name, column->sums, c->now);
        open_block(w, "for (int %s = 1; %s < %s; %s++)", team, team, teams(r), team);
        line(w, "%s;", reduction_step(column->node, name, next));
        close_block(w);
        line(w, "%s = %s;", element(r->f, column->partial), name);
    }
    close_block(w);
    r->f->names.n = names;
}

/* The same of what lies in registers: a team that is a warp puts its sums where the others find them, one column after
 * another. */
static void gather_from_registers(Rows *r, const Columns *columns, const char *team)
{
    int depth = r->f->w.depth, names = r->f->names.n;
    const Axis *c = &r->f->axis[r->inner];
    const char *shared = team ? new_name(&r->f->names, "of_warp") : NULL;
    if (team) line(&r->f->w, "__shared__ %s %s[WARPS][%s];", c_type(columns->at[0].node->dtype), shared, c->count);
    for (int i = 0; i < columns->n; i++) {
        Columns one = {0};
        push(&one, columns->at[i]);
        if (team && i > 0) line(&r->f->w, "__syncthreads();");
        open_sweep(r);
        const char *to = team ? format("%s[%s][%s]", shared, team, c->now) : element(r->f, one.at[0].partial);
        line(&r->f->w, "%s = %s;", to, sum_at(r, &one.at[0], team));
        close_down_to(r, depth);
        one.at[0].sums = shared;
        if (team) gather_columns(r, &one);
    }
    r->f->names.n = names;
}

static int64_t block_count(const Rows *r) { return (row_count(r) + r->k->block - 1) / r->k->block; }

static void rows_of_block(Rows *r, const char *team)
{
    Function *f = r->f;
    int64_t rows = row_count(r), block = r->k->block, blocks = block_count(r);
    const char *row = row_name(r), *from = team, *all = row_count_text(r), *until = all;
    if (blocks > 1) {
        const char *k = f->axis[r->block].name;
        from = format("%s * %lld%s%s", k, (long long)block, team ? " + " : "", team ? team : "");
        until = format("(%s + 1) * %lld", k, (long long)block);
        if (rows % block) until = format("%s && %s < %s", until, row, all);
    }
    const char *step = team ? format("%s += %s", row, teams(r)) : format("%s++", row);
    open_block(&f->w, "for (int %s = %s; %s < %s; %s)", row, from ? from : "0", row, until, step);
    row_indices(r, row);
    one_row(r);
    close_block(&f->w);
}

static const char *block_by_block(Rows *r)
{
    Function *f = r->f;
    Axis *k = &f->axis[r->block];
    Added added;
    int64_t blocks = block_count(r);
    make_team(r, team_for_columns(r, &added));
    Columns columns = all_columns(r);
    const char *team = r->team == THREADS ? NULL : new_name(&f->names, "w");
    if (added == IN_SHARED) share_columns(r, &columns, team);
    if (added == IN_REGISTERS) {
        if (!r->turn) count_turns(r);
        declare_sums(r, &columns, "", r->kept_count, "");
        r->running_at = r->kept_at;
    }
    say_aligned(r);
    k->now = blocks > 1 ? k->name : "0";
    if (blocks > 1) line(&f->w, "const int %s = %s;", k->name, f->block);
    if (r->team == WARP) line(&f->w, "const int %s = threadIdx.x / WARP, lane = threadIdx.x %% WARP;", team);
    if (r->team == 1) line(&f->w, "const int %s = threadIdx.x;", team);
    clear_columns(r, &columns, team);
    rows_of_block(r, team);
    if (added == IN_SHARED) gather_columns(r, &columns);
    if (added == IN_REGISTERS) gather_from_registers(r, &columns, team);
    r->running_at = NULL;
    return format("%lld", (long long)blocks);
}

/* ------------------------------------------------------------------ columns: some of them a thread, in a block of rows
 */

/* Nothing is reduced along a row, and no team could keep the sums of all of it. */
static bool are_apart(const Rows *r)
{
    Added added;
    bool sums = r->k->phases.n > 1 || r->k->phases.at[0].sums.n || r->k->phases.at[0].row_stores.n || r->k->kept.n;
    (void)team_for_columns(r, &added);
    return !sums && added == IN_PARTIALS;
}

/* const int k = blockIdx.x / blocks, c4 = (blockIdx.x % blocks * THREADS + threadIdx.x) * 4; */
static const char *columns_of_thread(Rows *r)
{
    Writer *w = &r->f->w;
    Axis *c = &r->f->axis[r->inner], *k = &r->f->axis[r->block];
    int64_t blocks = block_count(r), each = (int64_t)THREADS * r->beside, n = (c->extent + each - 1) / each;
    const char *own = r->beside == 1 ? c->name : new_name(&r->f->names, format("%s%d", c->name, r->beside));
    const char *last = r->beside == 1 ? "" : format(" * %d", r->beside);
    k->now = blocks > 1 ? k->name : "0";
    if (blocks > 1) {
        line(w, "const int %s = %s / %lld;", k->name, r->f->block, (long long)n);
        line(w, "const int %s = (%s %% %lld * THREADS + threadIdx.x)%s;", own, r->f->block, (long long)n, last);
    } else {
        line(w, "const int %s = (%s * THREADS + threadIdx.x)%s;", own, r->f->block, last);
    }
    line(w, "if (%s >= %s) return;", own, c->count);
    return own;
}

/* What all of a thread's columns begin with, or end in. */
static void each_of_thread(Rows *r, const Columns *columns, bool end)
{
    open_beside(r, r->four);
    r->f->axis[r->inner].now = r->f->axis[r->inner].name;
    for (int i = 0; i < columns->n; i++) {
        const Column *column = &columns->at[i];
        const char *sum = sum_at(r, column, NULL);
        if (end) line(&r->f->w, "%s = %s;", element(r->f, column->partial), sum);
        else line(&r->f->w, "%s = %s;", sum, start_of(column->node));
    }
    close_block(&r->f->w);
}

static const char *some_columns_a_thread(Rows *r)
{
    Axis *c = &r->f->axis[r->inner];
    Columns columns = all_columns(r);
    make_team(r, 1);
    r->beside = most_beside(r, 1);
    say_aligned(r);
    r->four = columns_of_thread(r);
    r->running_at = format("%s - %s", c->name, r->four);
    r->sweep = four_a_thread;
    if (r->beside == 1) c->name = new_name(&r->f->names, "c1"), c->now = c->name;
    declare_sums(r, &columns, "", format("%d", r->beside), "");
    each_of_thread(r, &columns, false);
    rows_of_block(r, NULL);
    each_of_thread(r, &columns, true);
    r->running_at = NULL;
    int64_t each = (int64_t)THREADS * r->beside;
    return format("%lld", (long long)(block_count(r) * ((c->extent + each - 1) / each)));
}

/* ------------------------------------------------------------------ columns: all blocks */

static void store_column(Rows *r, const Operand *o, int store, const char *name)
{
    char *to = element(r->f, store);
    if (o->add) line(&r->f->w, "%s;", reduction_step(o->node, to, (Expr){name, PRIMARY}));
    else line(&r->f->w, "%s = %s;", to, name);
}

static void add_blocks(Rows *r, const Operand *o, int store)
{
    Writer *w = &r->f->w;
    Axis *k = &r->f->axis[r->block];
    const Node *column = o->node;
    int partial = partial_of(r, &column);
    const char *name = new_name(&r->f->names, column->op == OP_sum ? "sum" : "largest");
    k->now = "0";
    line(w, "%s %s = %s;", c_type(column->dtype), name, element(r->f, partial));
    if (k->extent > 1) {
        k->now = k->name;
        open_block(w, "for (int %s = 1; %s < %lld; %s++)", k->name, k->name, (long long)k->extent, k->name);
        line(w, "%s;", reduction_step(column, name, (Expr){element(r->f, partial), PRIMARY}));
        close_block(w);
    }
    store_column(r, o, store, name);
}

/* Of many blocks: each warp adds up some, one after another, then the first what the warps have. */
static void add_blocks_by_warps(Rows *r, const Operand *o, int store, const char *warp)
{
    enum { WARPS_HERE = THREADS / WARP };
    Writer *w = &r->f->w;
    Axis *k = &r->f->axis[r->block], *c = &r->f->axis[r->inner];
    const Node *column = o->node;
    int partial = partial_of(r, &column);
    const char *name = new_name(&r->f->names, column->op == OP_sum ? "sum" : "largest");
    const char *shared = new_name(&r->f->names, format("%s_of_warp", name)), *i = new_name(&r->f->names, "i");
    long long each = (k->extent + WARPS_HERE - 1) / WARPS_HERE;
    const char *rest = k->extent % WARPS_HERE ? format(" && %s < %lld", k->name, (long long)k->extent) : "";
    k->now = k->name;
    line(w, "__shared__ %s %s[WARPS][WARP];", c_type(column->dtype), shared);
    line(w, "%s %s = %s;", c_type(column->dtype), name, start_of(column));
    open_block(w, "for (int %s = %s * %lld; %s < (%s + 1) * %lld%s && %s < %s; %s++)", k->name, warp, each, k->name,
               warp, each, rest, c->now, c->count, k->name);
    line(w, "%s;", reduction_step(column, name, (Expr){element(r->f, partial), PRIMARY}));
    close_block(w);
    line(w, "%s[%s][lane] = %s;", shared, warp, name);
    line(w, "__syncthreads();");
    open_block(w, "if (%s == 0 && %s < %s)", warp, c->now, c->count);
    line(w, "%s = %s[0][lane];", name, shared);
    open_block(w, "for (int %s = 1; %s < WARPS; %s++)", i, i, i);
    line(w, "%s;", reduction_step(column, name, (Expr){format("%s[%s][lane]", shared, i), PRIMARY}));
    close_block(w);
    store_column(r, o, store, name);
    close_block(w);
}

/* A thread's column, or a lane's. */
static const char *warp_of_column(Rows *r, bool by_warps)
{
    Writer *w = &r->f->w;
    Axis *c = &r->f->axis[r->inner];
    const char *warp = by_warps ? new_name(&r->f->names, "w") : NULL;
    if (c->extent > 1) c->now = c->name;
    if (by_warps) {
        line(w, "const int %s = threadIdx.x / WARP, lane = threadIdx.x %% WARP;", warp);
        line(w, "const int %s = %s * WARP + lane;", c->name, r->f->block);
    } else if (c->extent > 1) {
        line(w, "const int %s = %s * THREADS + threadIdx.x;", c->name, r->f->block);
        line(w, "if (%s >= %s) return;", c->name, c->count);
    } else {
        line(w, "if (threadIdx.x > 0) return;");
    }
    return warp;
}

static const char *all_blocks(Rows *r)
{
    enum { MANY = 64 };
    const Axis *c = &r->f->axis[r->inner];
    bool by_warps = r->f->axis[r->block].extent >= MANY && c->extent > 1;
    const char *warp = warp_of_column(r, by_warps);
    for (int p = 0; p < r->k->phases.n; p++)
        for (int i = 0; i < r->k->phases.at[p].column_stores.n; i++) {
            const Operand *o = &r->k->phases.at[p].column_stores.at[i];
            if (by_warps) add_blocks_by_warps(r, o, r->uses[p].column_store[i], warp);
            else add_blocks(r, o, r->uses[p].column_store[i]);
        }
    return blocks_of(c->count, by_warps ? "WARP" : "THREADS");
}

/* ------------------------------------------------------------------ the parts of a kernel */

void begin_part(Function *f)
{
    f->w = (Writer){0};
    open_block(&f->w, "%s", "");
}

void end_part(Function *f, const char *suffix, const char *remark, const char *blocks)
{
    close_block(&f->w);
    push(&f->parts, ((Part){suffix, remark, blocks, f->w.text.at}));
}

static void part(Rows *r, const char *suffix, const char *remark, const char *(*body)(Rows *))
{
    int names = r->f->names.n;
    begin_part(r->f);
    end_part(r->f, suffix, remark, body(r));
    r->f->names.n = names;
}

static void threads(Rows *r)
{
    if (is_map(r->k)) part(r, "", NULL, map);
    else if (!r->k->block) part(r, "", NULL, row_by_row);
    else {
        part(r, "", NULL, are_apart(r) ? some_columns_a_thread : block_by_block);
        part(r, "_columns", "the partial sums of the blocks above, in order", all_blocks);
    }
}

/* Of CUDA and lathe_cuda.cuh; then those by which C++ is more than C. */
static const char *const words[] = {
    "lane",       "stream",     "threadIdx", "blockIdx", "blockDim",     "gridDim",
    "launch",     "max",        "min",       "norm",     "rsqrt",        "exp10",
    "clock",      "assert",     "sinpi",     "cospi",    "normcdf",      "rnorm",
    "THREADS",    "WARP",       "WARPS",     "UNROLL",   "ALIGNED",      "KERNEL",
    "DEVICE",     "CEIL_DIV",   "alignas",   "alignof",  "and",          "asm",
    "bitand",     "bitor",      "catch",     "class",    "compl",        "constexpr",
    "decltype",   "delete",     "explicit",  "export",   "friend",       "mutable",
    "namespace",  "new",        "noexcept",  "not",      "nullptr",      "operator",
    "or",         "private",    "protected", "public",   "template",     "this",
    "Any",        "TABLE",      "on_device", "LAP",      "number",       "least",
    "most",       "begin_of",   "head_of",   "kept",     "block_any",    "block_list",
    "tiles_of",   "samples_of", "block",     "grid",     "slice",        "slices",
    "keep",       "kept_bytes", "meet",      "most_of",  "step_product", "column_of",
    "PERSISTENT", "EACH_BLOCK", "cuda_lap",  "throw",    "try",          "gradients_done",
    "typename",   "using",      "virtual",   "xor",      "attention",    "attention_back",
    "typeid",     NULL};

/* Blocks of column partials: two for each of an H200's 132 processors. */
const Target target_cuda = {.name = "cuda",
                            .row_budget = 8 * 1024,
                            .column_blocks = 264,
                            .columns_alone = 128 * 1024,
                            .row_bytes = 16,
                            .narrow = INT32_MAX,
                            .ends = ENDS_BIAS | ENDS_SUM | ENDS_GELU,
                            .narrow_products = true,
                            .persists = true,
                            .by_value = false,
                            .call = "launch_",
                            .first_argument = "stream",
                            .interface = "lathe_model.h",
                            .stream = "cudaStream_t stream",
                            .entry = "static ",
                            .run = "extern \"C\"",
                            .untyped = "(Any)",
                            .table = "TABLE",
                            .table_at = "on_device(%s)",
                            .fill_work = "(void)cudaMemsetAsync(c->work, 0xff, %lld, (cudaStream_t)c->stream)",
                            .tells_gradients = true,
                            .product = cuda_product_call,
                            .attention = cuda_attention_call,
                            .device = "lathe_cuda",
                            .words = words,
                            .rows = threads,
                            .index = &index_threads};
