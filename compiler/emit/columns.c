/* columns.c: reductions over all rows, in two stages. The first reduces each block of rows to partial results, the
 * second adds these up in order. Each target has its own text around a block of rows and for the second stage
 * (Spelling). */
#include "desc/target.h"
#include "emit/threads.h"

static const Spelling *spelling_of_target(const Rows *r) { return r->f->page->target->spelling; }

static Columns summed_columns(const Rows *r)
{
    Columns all = {0};
    for (int p = 0; p < r->k->phases.n; p++)
        for (int i = 0; i < r->k->phases.at[p].columns.n; i++)
            push(&all, ((Column){.node = r->k->phases.at[p].columns.at[i], .partial = r->uses[p].partial[i]}));
    return all;
}

static Columns stored_columns(const Rows *r)
{
    Columns all = {0};
    for (int p = 0; p < r->k->phases.n; p++)
        for (int i = 0; i < r->k->phases.at[p].column_stores.n; i++) {
            const Operand *o = &r->k->phases.at[p].column_stores.at[i];
            Column c = {.node = o->node, .add = o->add, .store = r->uses[p].column_store[i]};
            c.partial = partial_of(r, &c.node);
            push(&all, c);
        }
    return all;
}

const char *sum_at(const Rows *r, const Column *column, const char *team)
{
    const char *c = r->f->axis[r->inner].now;
    if (!column->sums) return element(r->f, column->partial);
    if (r->running_at) return format("%s[%s]", column->sums, r->running_at);
    must(team);
    return format("%s[%s][%s]", column->sums, team, c);
}

/* On CUDA the thread that clears a sum is the one that adds to it, so no barrier is needed. */
static void clear_columns(Rows *r, const Columns *columns, const char *team)
{
    int depth = r->f->w.depth, names = r->f->names.n;
    open_sweep(r);
    for (int i = 0; i < columns->n; i++)
        line(&r->f->w, "%s = %s;", sum_at(r, &columns->at[i], team), start_of(columns->at[i].node));
    close_down_to(&r->f->w, depth);
    r->f->names.n = names;
}

/* row < (k + 1) * 24, and row < BATCH * SEQ if the last block is shorter. */
static const char *while_in_block(const Rows *r, const char *row)
{
    const char *all = format("%s < %s", row, row_count_text(r));
    const char *end = format("%s < (%s + 1) * %lld", row, r->f->axis[r->block].name, (long long)r->k->block);
    if (r->n->blocks == 1) return all;
    return row_count(r) % r->k->block == 0 ? end : format("%s && %s", end, all);
}

/* for (int row = k * 24 + w; row < (k + 1) * 24; row += WARPS) */
static void rows_of_block(Rows *r, const char *team)
{
    const char *row = row_name(r), *from = team ? team : "0";
    if (r->n->blocks > 1)
        from = format("%s * %lld%s%s", r->f->axis[r->block].name, (long long)r->k->block, team ? " + " : "",
                      team ? team : "");
    const char *step = team ? format("%s += %s", row, teams_of_block(r)) : format("%s++", row);
    open_block(&r->f->w, "%sfor (int %s = %s; %s; %s)", short_mark(r, r->block), row, from, while_in_block(r, row),
               step);
    row_indices(r, row);
    one_row(r);
    close_block(&r->f->w);
}

static const char *rows_to_partials(Rows *r)
{
    Columns columns = summed_columns(r);
    Axis *k = &r->f->axis[r->block];
    k->now = r->n->blocks > 1 ? k->name : "0";
    const char *team = spelling_of_target(r)->begin_block(r, &columns);
    clear_columns(r, &columns, team);
    rows_of_block(r, team);
    return spelling_of_target(r)->end_block(r, &columns, team);
}

static const char *partials_to_sums(Rows *r)
{
    Columns columns = stored_columns(r);
    return spelling_of_target(r)->add_blocks(r, &columns);
}

/* With panels, the two stages are separate functions: one is called for each panel, the other after all of them. */
void sums_over_rows(Rows *r)
{
    if (r->k->share != COLUMN_SUMS) print_part(r, NULL, rows_to_partials);
    if (!r->f->some_rows) print_part(r, "the partial sums of the blocks above, in order", partials_to_sums);
}
