/* across.c: ROWS kernels in C whose reductions go across the lines of memory: what lies side by side there belongs
 * to neighbouring rows, such as sums over time of [B][T][C].
 *
 * A row after the other would fetch a line for each element.  So many rows are reduced at once, each in an element of
 * a local array, in the order of the inner axis. */
#include "emit/rows.h"

/* The axes around, the last of them in blocks of rows. */
static int open_loops(Rows *r, const char *from)
{
    Function *f = r->f;
    const Axis *last = &f->axis[r->rows - 1];
    int loops = r->rows - 1 + (last->extent > r->n->across), shared = r->n->threads;
    for (int j = 0; j < loops; j++) {
        const Axis *a = &f->axis[j];
        const char *mark = j || !shared ? "" : shared == 1 ? "PARALLEL " : "PARALLEL_2 ";
        if (a == last)
            open_block(&f->w, "%sfor (int %s = 0; %s < %s; %s += %d)", mark, from, from, a->count, from,
                       (int)r->n->across);
        else open_block(&f->w, "%sfor (int %s = 0; %s < %s; %s++)", mark, a->name, a->name, a->count, a->name);
    }
    return loops;
}

static void start_running(Rows *r, int64_t width)
{
    r->totals.n = 0;
    for (int i = 0; i < r->phase->sums.n; i++) {
        const Node *n = r->phase->sums.at[i];
        bool sum = n->op == OP_sum;
        Total t = {n, name_told_apart(r, n, word_for_lanes(r, n)), true};
        line(&r->f->w, "%s %s[%lld]%s;", c_type(n->dtype), t.name, (long long)width, sum ? " = {0}" : "");
        if (!sum) line(&r->f->w, "for (int i = 0; i < %lld; i++) %s[i] = %s;", (long long)width, t.name, start_of(n));
        push(&r->totals, t);
    }
}

void rows_across(Rows *r)
{
    Function *f = r->f;
    Axis *last = &f->axis[r->rows - 1], *c = &f->axis[r->inner];
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
    start_running(r, blocks ? width : last->extent);
    const char *each =
        format("for (int %s = %s; %s < %s; %s++)", last->name, blocks ? from : "0", last->name, to, last->name);
    open_block(&f->w, "for (int %s = 0; %s < %s; %s++)", c->name, c->name, c->count, c->name);
    open_block(&f->w, "SIMD %s", each);
    one_element(r, at);
    close_block(&f->w);
    close_block(&f->w);
    open_block(&f->w, "%s%s", r->n->apart ? "EACH " : "", each);
    for (int i = 0; i < r->totals.n; i++)
        know(r, r->totals.at[i].node, (Expr){format("%s[%s]", r->totals.at[i].name, at), PRIMARY});
    row_without_sweeps(r);
    close_block(&f->w);
    while (loops-- > 0) close_block(&f->w);
}
