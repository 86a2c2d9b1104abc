/* nest.c: ROWS kernels as loops of C: a nest over the row axes, and for each row the phases' sweeps over the inner
 * axis.
 *
 * A reduction over the inner axis runs in LANES lanes and ends in a fixed tree.  A reduction over all rows is a row of
 * partial results for each block of rows, added up in order at the end. */
#include "desc/target.h"
#include "emit/rows.h"

/* ------------------------------------------------------------------ rows and columns */

/* Rows by their number; with several row axes their indices are worked out from it. */
static void rows_between(Rows *r, const char *mark, const char *from, const char *and, const char *to)
{
    Function *f = r->f;
    const char *row = row_name(r);
    if (*and) and = format("%s < %s && ", row, and);
    open_block(&f->w, "%sfor (int %s = %s; %s%s < %s; %s++)", mark, row, from, and, row, to, row);
    row_indices(r, row);
    one_row(r);
    close_block(&f->w);
}

static void all_rows(Rows *r)
{
    Function *f = r->f;
    if (f->some_rows) {
        rows_between(r, "", "from", "", "to");
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

static void rows_of_block(Rows *r, int64_t blocks)
{
    int64_t rows = row_count(r), block = r->k->block;
    const char *k = r->f->axis[r->block].name, *count = row_count_text(r);
    const char *mark = short_mark(r, r->block);
    if (blocks == 1) rows_between(r, mark, "0", "", count);
    else
        rows_between(r, mark, format("%s * %lld", k, (long long)block), rows % block ? count : "",
                     format("(%s + 1) * %lld", k, (long long)block));
}

static void clear_partials(Rows *r)
{
    Axis *c = &r->f->axis[r->inner];
    if (c->extent > 1) open_axis(r->f, r->inner, NULL);
    for (int p = 0; p < r->k->phases.n; p++)
        for (int i = 0; i < r->k->phases.at[p].columns.n; i++)
            line(&r->f->w, "%s = %s;", element(r->f, r->uses[p].partial[i]),
                 start_of(r->k->phases.at[p].columns.at[i]));
    if (c->extent > 1) close_block(&r->f->w);
}

static void say_column(Rows *r, const Node *n, bool add, int64_t blocks, int store, int partial)
{
    Function *f = r->f;
    Axis *c = &f->axis[r->inner], *k = &f->axis[r->block];
    bool loop = c->extent > 1;
    for (int from = 0; from < (blocks > 1 ? 2 : 1); from++) {
        bool first = from == 0, feed = add || !first;
        if (add && first && blocks > 1) continue; /* one loop does them all */
        k->now = "0";
        if (!first) {
            k->now = k->name;
            open_block(&f->w, "for (int %s = %d; %s < %lld; %s++)", k->name, !add, k->name, (long long)blocks, k->name);
        }
        if (loop) open_block(&f->w, "for (int %s = 0; %s < %s; %s++)", c->name, c->name, c->count, c->name);
        char *to = element(f, store);
        Expr part = {element(f, partial), PRIMARY};
        if (feed) line(&f->w, "%s;", reduction_step(r->f->page, n, to, part));
        else line(&f->w, "%s = %s;", to, part.text);
        if (loop) close_block(&f->w);
        if (!first) close_block(&f->w);
    }
}

static void say_columns(Rows *r, int64_t blocks)
{
    for (int p = 0; p < r->k->phases.n; p++)
        for (int i = 0; i < r->k->phases.at[p].column_stores.n; i++) {
            const Operand *o = &r->k->phases.at[p].column_stores.at[i];
            const Node *column = o->node;
            int partial = partial_of(r, &column);
            say_column(r, column, o->add, blocks, r->uses[p].column_store[i], partial);
        }
}

static void rows_with_columns(Rows *r)
{
    Function *f = r->f;
    Axis *k = &f->axis[r->block];
    int64_t blocks = r->n->blocks;
    k->now = blocks > 1 ? k->name : "0";
    if (blocks > 1 && f->some_rows)
        open_block(&f->w, "for (int %s = from / %lld; %s * %lld < to; %s++)", k->name, (long long)r->k->block, k->name,
                   (long long)r->k->block, k->name);
    else if (blocks > 1)
        open_block(&f->w, "%sfor (int %s = 0; %s < %lld; %s++)", r->n->threads ? "PARALLEL " : "", k->name, k->name,
                   (long long)blocks, k->name);
    clear_partials(r);
    rows_of_block(r, blocks);
    if (blocks > 1) close_block(&f->w);
    if (!f->some_rows) say_columns(r, blocks);
}

void nest_of_loops(Rows *r)
{
    if (r->k->share == COLUMN_SUMS) say_columns(r, r->n->blocks);
    else if (r->k->block) rows_with_columns(r);
    else all_rows(r);
}

static void open_function(Function *f) { open_block(&f->w, "%s", ""); }
static void close_function(Function *f) { close_block(&f->w); }

const Spelling loops_of_c = {.begin = open_function, .end = close_function};

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
                           .over_ranks = "memcpy(%s, %s, %lld);",
                           .product = product_call,
                           .attention = attention_call,
                           .words = no_words,
                           .loops = true,
                           .spelling = &loops_of_c};
