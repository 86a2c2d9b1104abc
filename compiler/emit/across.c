/* across.c: ROWS kernels in C that reduce across lines of memory: neighbouring elements belong to neighbouring rows,
 * as in a sum over time of [B][T][C].
 *
 * Reducing one row after another would fetch a line for each element. Several rows are therefore reduced at once.
 * Each has an element of a local array, and takes its elements in the order of the inner axis. */
#include "emit/rows.h"

/* Opens the loops over the row axes; the last one goes in blocks of rows. */
static int open_loops(Rows *r, const char *from)
{
    Function *f = r->f;
    const Axis *last = &f->axis[r->rows - 1];
    int loops = r->rows - 1 + (last->extent > r->n->across), shared = r->n->threads;
    for (int j = 0; j < loops; j++) {
        const Axis *a = &f->axis[j];
        const char *mark = j || !shared ? "" : shared == 1 ? "PARALLEL " : "PARALLEL_2 ";
        if (a == last)
            open_for(&f->w, (For){.mark = mark, .name = from, .to = a->count, .step = format("%d", (int)r->n->across)});
        else open_axis(f, j, mark);
    }
    return loops;
}

void rows_across(Rows *r)
{
    Function *f = r->f;
    Axis *last = &f->axis[r->rows - 1];
    int width = (int)r->n->across;
    bool blocks = last->extent > width;
    const char *from = blocks ? new_name(&f->names, "from") : NULL, *to = last->count, *at = last->name;
    int loops = open_loops(r, from);
    if (blocks) {
        to = format("%s + %d", from, width);
        at = format("%s - %s", last->name, from);
    }
    if (blocks && last->extent % width) {
        const char *end = new_name(&f->names, "to");
        line(&f->w, "const int %s = min_i32(%s, %s);", end, to, last->count);
        to = end;
    }
    r->known.n = 0;
    r->phase = &r->k->phases.at[0];
    start_totals(r, format("%lld", (long long)(blocks ? width : last->extent)));
    For each = {.mark = "SIMD ", .name = last->name, .from = from, .to = to};
    open_axis(f, r->inner, NULL);
    open_for(&f->w, each);
    one_element(r, at);
    close_block(&f->w);
    close_block(&f->w);
    each.mark = r->n->apart ? "EACH " : NULL;
    open_for(&f->w, each);
    finish_totals(r, at);
    row_without_sweeps(r);
    close_block(&f->w);
    while (loops-- > 0) close_block(&f->w);
}
