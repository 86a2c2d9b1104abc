/* nest.c: ROWS kernels as loops of C: loops over the row axes around the sweeps of a row; and what C needs around a
 * block of rows (columns.c).
 *
 * A reduction over the inner axis runs in LANES lanes and ends in a fixed tree. A reduction over all rows has a row
 * of partial results for each block of rows; these are added up in order. */
#include "desc/target.h"
#include "emit/rows.h"

#include <string.h>

/* ------------------------------------------------------------------ rows */

/* The rows that the caller asks for, by number. If there are several row axes, their indices follow from the number. */
static void some_rows(Rows *r)
{
    const char *row = row_name(r);
    open_for(&r->f->w, (For){.name = row, .from = "from", .to = "to"});
    row_indices(r, row);
    one_row(r);
    close_block(&r->f->w);
}

void nest_of_loops(Rows *r)
{
    Function *f = r->f;
    if (f->some_rows) {
        some_rows(r);
        return;
    }
    if (r->n->across) {
        rows_across(r);
        return;
    }
    int opened = 0, shared = r->n->threads;
    for (int j = 0; j < r->rows; j++) {
        const char *mark = j >= shared ? short_mark(r, j) : j ? "" : shared == 1 ? "PARALLEL " : "PARALLEL_2 ";
        open_axis(f, j, mark);
        opened++;
    }
    one_row(r);
    while (opened-- > 0) close_block(&f->w);
}

/* ------------------------------------------------------------------ reductions over all rows */

/* BATCH * SEQ / 24 blocks of 24 rows; the number itself if the last block is shorter. */
static const char *blocks_text(const Rows *r)
{
    bool whole = row_count(r) == r->n->blocks * r->k->block;
    const char *rows = row_count_text(r);
    if (whole && strspn(rows, "0123456789") < strlen(rows)) return format("%s / %lld", rows, (long long)r->k->block);
    return format("%lld", (long long)r->n->blocks);
}

static const char *begin_block(Rows *r, Columns *columns)
{
    (void)columns;
    Function *f = r->f;
    const char *k = f->axis[r->block].name;
    long long rows = r->k->block;
    if (r->n->blocks > 1 && f->some_rows)
        open_block(&f->w, "for (int %s = from / %lld; %s * %lld < to; %s++)", k, rows, k, rows, k);
    else if (r->n->blocks > 1)
        open_for(&f->w, (For){.mark = r->n->threads ? "PARALLEL " : NULL, .name = k, .to = blocks_text(r)});
    return NULL;
}

static const char *end_block(Rows *r, Columns *columns, const char *team)
{
    (void)columns, (void)team;
    if (r->n->blocks > 1) close_block(&r->f->w);
    return NULL;
}

/* for (int c = 0; c < WIDTH; c++) to[c] += partial[k][c]; */
static void take_partials(Rows *r, const Column *column, bool add)
{
    Writer *w = &r->f->w;
    bool loop = r->f->axis[r->inner].extent > 1;
    if (loop) open_axis(r->f, r->inner, NULL);
    char *to = element(r->f, column->store);
    Expr part = {element(r->f, column->partial), PRIMARY};
    if (add) line(w, "%s;", reduction_step(r->f->page, column->node, to, part));
    else line(w, "%s = %s;", to, part.text);
    if (loop) close_block(w);
}

/* The partial results of the first block start the sum, unless the sum is added to what is there. */
static void add_up(Rows *r, const Column *column)
{
    Axis *k = &r->f->axis[r->block];
    k->now = "0";
    if (!column->add || r->n->blocks == 1) take_partials(r, column, column->add);
    if (r->n->blocks == 1) return;
    k->now = k->name;
    open_for(&r->f->w, (For){.name = k->name, .from = column->add ? "0" : "1", .to = blocks_text(r)});
    take_partials(r, column, true);
    close_block(&r->f->w);
}

static const char *add_up_blocks(Rows *r, Columns *columns)
{
    for (int i = 0; i < columns->n; i++) add_up(r, &columns->at[i]);
    return NULL;
}

static void open_function(Function *f) { open_block(&f->w, "%s", ""); }
static void close_function(Function *f) { close_block(&f->w); }

const Spelling loops_of_c = {.begin = open_function,
                             .end = close_function,
                             .begin_block = begin_block,
                             .end_block = end_block,
                             .add_blocks = add_up_blocks};

static const char *const no_words[] = {NULL};

const Target target_cpu = {.name = "cpu",
                           .row_budget = 16 * 1024,
                           .column_blocks = 32,
                           .columns_alone = INT64_MAX,
                           .narrow = 64,
                           .panels = true,
                           .packs = true,
                           .by_value = true,
                           .call = "",
                           .first_argument = "",
                           .interface = "lathe_rt.h",
                           .stream = "",
                           .entry = "",
                           .run = "static",
                           .untyped = "(void *)",
                           .table = "static const",
                           .table_at = "%s",
                           .fill_work = "memset(c->work, 0xff, %lld)",
                           .over_ranks = "over_ranks(%s, %s, %lld);",
                           .says = {[LATHE_NEEDED] = "parameters_needed(&%s, sizeof %s);",
                                    [LATHE_DROPPED] = "parameters_dropped(&%s, sizeof %s);",
                                    [LATHE_BEGUN] = "gradients_begun(&%s, sizeof %s);",
                                    [LATHE_DONE] = "gradients_done(&%s, sizeof %s);"},
                           .product = product_call,
                           .attention = attention_call,
                           .words = no_words,
                           .loops = true,
                           .spelling = &loops_of_c};
