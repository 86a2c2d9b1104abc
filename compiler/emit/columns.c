/* columns.c: reductions over all rows, as CUDA threads, in two stages (schedule/columns.c): blocks of rows, then
 * their partial results. */
#include "emit/threads.h"

#include <string.h>

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
    close_down_to(&r->f->w, depth);
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
    open_for(w, (For){.name = c->name, .from = "threadIdx.x", .to = c->count, .step = "THREADS"});
    c->now = c->name;
    for (int i = 0; i < columns->n; i++) {
        const Column *column = &columns->at[i];
        const char *name = name_told_apart(r, column->node, word_for_total(r, column->node));
        Expr next = {format("%s[%s][%s]", column->sums, team, c->now), PRIMARY};
        line(w, "%s %s = %s[0][%s];", c_type(column->node->dtype), name, column->sums, c->now);
        open_for(w, (For){.name = team, .from = "1", .to = teams(r)});
        line(w, "%s;", reduction_step(r->f->page, column->node, name, next));
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
        close_down_to(&r->f->w, depth);
        one.at[0].sums = shared;
        if (team) gather_columns(r, &one);
    }
    r->f->names.n = names;
}

static int64_t block_count(const Rows *r) { return r->n->blocks; }

static const char *number_of_blocks(const Rows *r, int64_t n)
{
    return blocks_of(r->f, format("%lld", (long long)n), n, 1);
}

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
    const Column_sums at = r->n->columns;
    int64_t blocks = block_count(r);
    make_team(r);
    Columns columns = all_columns(r);
    const char *team = r->team == THREADS ? NULL : new_name(&f->names, "w");
    if (at == IN_SHARED) share_columns(r, &columns, team);
    if (at == IN_REGISTERS) {
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
    if (at == IN_SHARED) gather_columns(r, &columns);
    if (at == IN_REGISTERS) gather_from_registers(r, &columns, team);
    r->running_at = NULL;
    return number_of_blocks(r, blocks);
}

/* ------------------------------------------------------------------ columns: some of them a thread */

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
    make_team(r);
    say_aligned(r);
    r->four = columns_of_thread(r);
    r->running_at = format("%s - %s", c->name, r->four);
    if (r->beside == 1) c->name = new_name(&r->f->names, "c1"), c->now = c->name;
    declare_sums(r, &columns, "", format("%d", r->beside), "");
    each_of_thread(r, &columns, false);
    rows_of_block(r, NULL);
    each_of_thread(r, &columns, true);
    r->running_at = NULL;
    int64_t each = (int64_t)THREADS * r->beside;
    return number_of_blocks(r, block_count(r) * ((c->extent + each - 1) / each));
}

/* ------------------------------------------------------------------ columns: all blocks */

static void store_column(Rows *r, const Operand *o, int store, const char *name)
{
    char *to = element(r->f, store);
    if (o->add) line(&r->f->w, "%s;", reduction_step(r->f->page, o->node, to, (Expr){name, PRIMARY}));
    else line(&r->f->w, "%s = %s;", to, name);
}

static void sum_of_blocks(Rows *r, const Operand *o, int store)
{
    Writer *w = &r->f->w;
    Axis *k = &r->f->axis[r->block];
    const Node *column = o->node;
    int partial = partial_of(r, &column);
    const char *name = name_told_apart(r, column, word_for_total(r, column));
    k->now = "0";
    line(w, "%s %s = %s;", c_type(column->dtype), name, element(r->f, partial));
    if (k->extent > 1) {
        k->now = k->name;
        open_for(w, (For){.name = k->name, .from = "1", .to = format("%lld", (long long)k->extent)});
        line(w, "%s;", reduction_step(r->f->page, column, name, (Expr){element(r->f, partial), PRIMARY}));
        close_block(w);
    }
    store_column(r, o, store, name);
}

/* Of many blocks: each warp adds up some, one after another, then the first what the warps have. */
static void add_blocks_by_warps(Rows *r, const Operand *o, int store, const char *warp)
{
    Writer *w = &r->f->w;
    Axis *k = &r->f->axis[r->block], *c = &r->f->axis[r->inner];
    const Node *column = o->node;
    int partial = partial_of(r, &column);
    const char *name = name_told_apart(r, column, word_for_total(r, column));
    const char *shared = new_name(&r->f->names, format("%s_of_warp", name)), *i = new_name(&r->f->names, "i");
    long long each = (k->extent + WARPS - 1) / WARPS;
    const char *rest = k->extent % WARPS ? format(" && %s < %lld", k->name, (long long)k->extent) : "";
    k->now = k->name;
    line(w, "__shared__ %s %s[WARPS][WARP];", c_type(column->dtype), shared);
    line(w, "%s %s = %s;", c_type(column->dtype), name, start_of(column));
    open_block(w, "for (int %s = %s * %lld; %s < (%s + 1) * %lld%s && %s < %s; %s++)", k->name, warp, each, k->name,
               warp, each, rest, c->now, c->count, k->name);
    line(w, "%s;", reduction_step(r->f->page, column, name, (Expr){element(r->f, partial), PRIMARY}));
    close_block(w);
    line(w, "%s[%s][lane] = %s;", shared, warp, name);
    line(w, "__syncthreads();");
    open_block(w, "if (%s == 0 && %s < %s)", warp, c->now, c->count);
    line(w, "%s = %s[0][lane];", name, shared);
    open_for(w, (For){.name = i, .from = "1", .to = "WARPS"});
    line(w, "%s;", reduction_step(r->f->page, column, name, (Expr){format("%s[%s][lane]", shared, i), PRIMARY}));
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
        number_threads(r->f, c->name, c->extent, c->count);
    } else {
        leave_one_thread(r->f);
    }
    return warp;
}

static const char *all_blocks(Rows *r)
{
    const Axis *c = &r->f->axis[r->inner];
    bool by_warps = r->n->by_warps;
    const char *warp = warp_of_column(r, by_warps);
    for (int p = 0; p < r->k->phases.n; p++)
        for (int i = 0; i < r->k->phases.at[p].column_stores.n; i++) {
            const Operand *o = &r->k->phases.at[p].column_stores.at[i];
            if (by_warps) add_blocks_by_warps(r, o, r->uses[p].column_store[i], warp);
            else sum_of_blocks(r, o, r->uses[p].column_store[i]);
        }
    return blocks_of(r->f, c->count, c->extent, by_warps ? WARP : THREADS);
}

/* ------------------------------------------------------------------ both stages */

void columns_by_threads(Rows *r)
{
    print_part(r, NULL, r->n->columns == APART ? some_columns_a_thread : block_by_block);
    print_part(r, "the partial sums of the blocks above, in order", all_blocks);
}
