/* columns_threads.c: reductions over all rows on CUDA: where the teams of a block keep their sums
 * (schedule/columns.c), and how sums of teams and of blocks are added up. */
#include "emit/threads.h"

#include <string.h>

const char *teams_of_block(const Rows *r) { return r->team == WARP ? "WARPS" : "THREADS"; }

/* __shared__ float d_weight_sums[WARPS][WIDTH]; or float d_weight_sums[3][8]; */
static void declare_sums(Rows *r, Columns *columns, const char *before, const char *extents, const char *index)
{
    Column *column = columns->at;
    for (int p = 0; p < r->k->phases.n; p++) {
        int n = r->k->phases.at[p].columns.n;
        r->uses[p].running = NEW_ARRAY(const char *, n + 1);
        for (int i = 0; i < n; i++, column++) {
            const char *to = r->f->args.at[r->f->uses.at[column->partial].arg].name;
            const char *word = many_of(column->node);
            size_t stem = strlen(to) - (strstr(to, "_partial") ? strlen(strstr(to, "_partial")) : 0);
            column->sums = new_name(&r->f->names, format("%.*s_%s", (int)stem, to, word));
            r->uses[p].running[i] = format("%s%s", column->sums, index);
            line(&r->f->w, "%s%s %s[%s];", before, c_type(column->node->dtype), column->sums, extents);
        }
    }
}

static void share_columns(Rows *r, Columns *columns, const char *team)
{
    const char *extents = format("%s][%s", teams_of_block(r), r->f->axis[r->inner].count);
    declare_sums(r, columns, "__shared__ ", extents, format("[%s]", team));
}

/* Adds up the sums of the teams in order: these are the partial results of the block. */
static void gather_columns(Rows *r, const Columns *columns)
{
    Writer *w = &r->f->w;
    Axis *c = &r->f->axis[r->inner];
    int names = r->f->names.n;
    const char *team = new_name(&r->f->names, "i");
    line(w, "__syncthreads();");
    open_for(w, (For){.name = c->name, .from = "threadIdx.x", .to = c->count, .step = "THREADS"});
    c->now = c->name;
    for (int i = 0; i < columns->n; i++) {
        const Column *column = &columns->at[i];
        const char *name = name_told_apart(r, column->node, word_for_total(r, column->node));
        Expr next = {format("%s[%s][%s]", column->sums, team, c->now), PRIMARY};
        line(w, "%s %s = %s[0][%s];", c_type(column->node->dtype), name, column->sums, c->now);
        open_for(w, (For){.name = team, .from = "1", .to = teams_of_block(r)});
        line(w, "%s;", reduction_step(r->f->page, column->node, name, next));
        close_block(w);
        line(w, "%s = %s;", element(r->f, column->partial), name);
    }
    close_block(w);
    r->f->names.n = names;
}

/* The same for sums in registers. If a team is a warp, it first copies its sums to shared memory, one column at a
 * time. */
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
        close_down_to(&r->f->w, depth);
        one.at[0].sums = shared;
        if (team) gather_columns(r, &one);
    }
    r->f->names.n = names;
}

static void begin_teams(Rows *r, Columns *columns, const char *team)
{
    Function *f = r->f;
    if (r->n->columns == IN_SHARED) share_columns(r, columns, team);
    if (r->n->columns == IN_REGISTERS) {
        if (!r->turn) count_turns(r);
        declare_sums(r, columns, "", r->kept_count, "");
        r->running_at = r->kept_at;
    }
    say_aligned(r);
    if (r->n->blocks > 1) line(&f->w, "const int %s = %s;", f->axis[r->block].name, f->block);
    if (r->team == WARP) line(&f->w, "const int %s = threadIdx.x / WARP, lane = threadIdx.x %% WARP;", team);
    if (r->team == 1) line(&f->w, "const int %s = threadIdx.x;", team);
}

/* ------------------------------------------------------------------ some columns a thread */

/* How many blocks of threads share the columns of one block of rows. */
static int64_t blocks_beside(const Rows *r)
{
    int64_t each = (int64_t)THREADS * r->beside;
    return (r->f->axis[r->inner].extent + each - 1) / each;
}

/* const int k = blockIdx.x / blocks, c4 = (blockIdx.x % blocks * THREADS + threadIdx.x) * 4; */
static const char *columns_of_thread(Rows *r)
{
    Writer *w = &r->f->w;
    const Axis *c = &r->f->axis[r->inner], *k = &r->f->axis[r->block];
    int64_t blocks = r->n->blocks, n = blocks_beside(r);
    const char *own = r->beside == 1 ? c->name : new_name(&r->f->names, format("%s%d", c->name, r->beside));
    const char *last = r->beside == 1 ? "" : format(" * %d", r->beside);
    if (blocks > 1) {
        line(w, "const int %s = %s / %lld;", k->name, r->f->block, (long long)n);
        line(w, "const int %s = (%s %% %lld * THREADS + threadIdx.x)%s;", own, r->f->block, (long long)n, last);
    } else {
        line(w, "const int %s = (%s * THREADS + threadIdx.x)%s;", own, r->f->block, last);
    }
    line(w, "if (%s >= %s) return;", own, c->count);
    return own;
}

static void begin_some_columns(Rows *r, Columns *columns)
{
    Axis *c = &r->f->axis[r->inner];
    say_aligned(r);
    r->four = columns_of_thread(r);
    r->running_at = format("%s - %s", c->name, r->four);
    if (r->beside == 1) c->name = new_name(&r->f->names, "c1");
    c->now = c->name;
    declare_sums(r, columns, "", format("%d", r->beside), "");
}

static void store_some_columns(Rows *r, const Columns *columns)
{
    int depth = r->f->w.depth;
    open_sweep(r);
    r->f->axis[r->inner].now = r->f->axis[r->inner].name;
    for (int i = 0; i < columns->n; i++)
        line(&r->f->w, "%s = %s;", element(r->f, columns->at[i].partial), sum_at(r, &columns->at[i], NULL));
    close_down_to(&r->f->w, depth);
}

/* ------------------------------------------------------------------ a block of rows */

const char *begin_launched_block(Rows *r, Columns *columns)
{
    make_team(r);
    if (r->n->columns == APART) {
        begin_some_columns(r, columns);
        return NULL;
    }
    const char *team = r->team == THREADS ? NULL : new_name(&r->f->names, "w");
    begin_teams(r, columns, team);
    return team;
}

const char *end_launched_block(Rows *r, Columns *columns, const char *team)
{
    int64_t blocks = r->n->blocks;
    switch (r->n->columns) {
    case IN_SHARED: gather_columns(r, columns); break;
    case IN_REGISTERS: gather_from_registers(r, columns, team); break;
    case APART: store_some_columns(r, columns), blocks *= blocks_beside(r); break;
    default: break;
    }
    r->running_at = NULL;
    return blocks_of(r->f, format("%lld", (long long)blocks), blocks, 1);
}

/* ------------------------------------------------------------------ all blocks */

static void store_column(Rows *r, const Column *column, const char *name)
{
    char *to = element(r->f, column->store);
    if (column->add) line(&r->f->w, "%s;", reduction_step(r->f->page, column->node, to, (Expr){name, PRIMARY}));
    else line(&r->f->w, "%s = %s;", to, name);
}

static void sum_by_thread(Rows *r, const Column *column)
{
    Writer *w = &r->f->w;
    Axis *k = &r->f->axis[r->block];
    const Node *n = column->node;
    const char *name = name_told_apart(r, n, word_for_total(r, n));
    k->now = "0";
    line(w, "%s %s = %s;", c_type(n->dtype), name, element(r->f, column->partial));
    if (k->extent > 1) {
        k->now = k->name;
        open_for(w, (For){.name = k->name, .from = "1", .to = format("%lld", (long long)k->extent)});
        line(w, "%s;", reduction_step(r->f->page, n, name, (Expr){element(r->f, column->partial), PRIMARY}));
        close_block(w);
    }
    store_column(r, column, name);
}

/* For many blocks: each warp adds up some of them in order, then the first warp adds up the results of all warps. */
static void sum_by_warps(Rows *r, const Column *column, const char *warp)
{
    Writer *w = &r->f->w;
    Axis *k = &r->f->axis[r->block], *c = &r->f->axis[r->inner];
    const Node *n = column->node;
    const char *name = name_told_apart(r, n, word_for_total(r, n));
    const char *shared = new_name(&r->f->names, format("%s_of_warp", name)), *i = new_name(&r->f->names, "i");
    long long each = (k->extent + WARPS - 1) / WARPS;
    const char *rest = k->extent % WARPS ? format(" && %s < %lld", k->name, (long long)k->extent) : "";
    k->now = k->name;
    line(w, "__shared__ %s %s[WARPS][WARP];", c_type(n->dtype), shared);
    line(w, "%s %s = %s;", c_type(n->dtype), name, start_of(n));
    open_block(w, "for (int %s = %s * %lld; %s < (%s + 1) * %lld%s && %s < %s; %s++)", k->name, warp, each, k->name,
               warp, each, rest, c->now, c->count, k->name);
    line(w, "%s;", reduction_step(r->f->page, n, name, (Expr){element(r->f, column->partial), PRIMARY}));
    close_block(w);
    line(w, "%s[%s][lane] = %s;", shared, warp, name);
    line(w, "__syncthreads();");
    open_block(w, "if (%s == 0 && %s < %s)", warp, c->now, c->count);
    line(w, "%s = %s[0][lane];", name, shared);
    open_for(w, (For){.name = i, .from = "1", .to = "WARPS"});
    line(w, "%s;", reduction_step(r->f->page, n, name, (Expr){format("%s[%s][lane]", shared, i), PRIMARY}));
    close_block(w);
    store_column(r, column, name);
    close_block(w);
}

/* Each thread takes a column; by warps, each lane does. */
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
        number_threads(r->f, c->name, c->extent, c->count);
    } else {
        leave_one_thread(r->f);
    }
    return warp;
}

const char *add_launched_blocks(Rows *r, Columns *columns)
{
    const Axis *c = &r->f->axis[r->inner];
    bool by_warps = r->n->by_warps;
    const char *warp = warp_of_column(r, by_warps);
    for (int i = 0; i < columns->n; i++)
        if (by_warps) sum_by_warps(r, &columns->at[i], warp);
        else sum_by_thread(r, &columns->at[i]);
    return blocks_of(r->f, c->count, c->extent, by_warps ? WARP : THREADS);
}
