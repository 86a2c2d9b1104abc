/* emit_across.c: ROWS kernels in C whose reductions go across the lines of memory: what lies side by side there belongs
 * to neighbouring rows, such as sums over time of [B][T][C].
 *
 * A row after the other would fetch a line for each element.  So WIDTH rows are reduced at once, each in an element of
 * a local array, in the order of the inner axis. */
#include "emit_rows.h"

enum { WIDTH = 64 };

/* Nothing but reductions in the first phase, and values per row after it. */
static bool only_reduces(const Kernel *k)
{
    const Phase *first = &k->phases.at[0];
    if (k->block || k->kept.n || !first->sums.n || first->stores.n || first->row.n) return false;
    for (int p = 1; p < k->phases.n; p++)
        if (k->phases.at[p].sums.n || k->phases.at[p].stores.n) return false;
    return true;
}

bool sums_go_across(const Rows *r)
{
    const Axis *axis = r->f->axis;
    int last = r->rows - 1, across = 0;
    if (last < 0 || !only_reduces(r->k) || axis[last].extent < 16 || axis[r->inner].extent < 2) return false;
    for (int i = 0; i < r->k->loads.n; i++) {
        const View *v = &r->f->uses.at[r->load[i]].view;
        if (!v->buffer || !v->stride[r->inner]) continue;
        if (v->stride[last] != 1) return false;
        across++;
    }
    return across > 0;
}

/* The axes around, the last of them in blocks of WIDTH rows. */
static int open_loops(Rows *r, bool parallel, const char *from)
{
    Function *f = r->f;
    const Axis *last = &f->axis[r->rows - 1];
    bool blocks = last->extent > WIDTH;
    int loops = r->rows - 1 + blocks, shared = !parallel || !loops ? 0 : f->axis[0].extent >= 16 || loops == 1 ? 1 : 2;
    for (int j = 0; j < loops; j++) {
        const Axis *a = &f->axis[j];
        const char *mark = j || !shared ? "" : shared == 1 ? "PARALLEL " : "PARALLEL_2 ";
        if (a == last)
            open_block(&f->w, "%sfor (int %s = 0; %s < %s; %s += %d)", mark, from, from, a->count, from, WIDTH);
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
        Total t = {n, new_name(&r->f->names, sum ? "sums" : "maxima"), true};
        line(&r->f->w, "%s %s[%lld]%s;", c_type(n->dtype), t.name, (long long)width, sum ? " = {0}" : "");
        if (!sum) line(&r->f->w, "for (int i = 0; i < %lld; i++) %s[i] = %s;", (long long)width, t.name, start_of(n));
        push(&r->totals, t);
    }
}

void rows_across(Rows *r, bool parallel)
{
    Function *f = r->f;
    Axis *last = &f->axis[r->rows - 1], *c = &f->axis[r->inner];
    bool blocks = last->extent > WIDTH;
    const char *from = blocks ? new_name(&f->names, "from") : NULL, *to = last->count, *at = last->name;
    int loops = open_loops(r, parallel, from);
    if (blocks) {
        to = format("%s + %d", from, WIDTH);
        at = format("%s - %s", last->name, from);
    }
    if (blocks && last->extent % WIDTH) {
        const char *end = new_name(&f->names, "to");
        line(&f->w, "const int %s = min_i32(%s, %s);", end, to, last->count);
        to = end;
    }
    r->known.n = 0;
    r->phase = &r->k->phases.at[0];
    start_running(r, blocks ? WIDTH : last->extent);
    const char *each =
        format("for (int %s = %s; %s < %s; %s++)", last->name, blocks ? from : "0", last->name, to, last->name);
    open_block(&f->w, "for (int %s = 0; %s < %s; %s++)", c->name, c->name, c->count, c->name);
    open_block(&f->w, "SIMD %s", each);
    one_element(r, at);
    close_block(&f->w);
    close_block(&f->w);
    open_block(&f->w, "%s%s", parallel ? "EACH " : "", each);
    for (int i = 0; i < r->totals.n; i++)
        know(r, r->totals.at[i].node, (Expr){format("%s[%s]", r->totals.at[i].name, at), PRIMARY});
    row_without_sweeps(r);
    close_block(&f->w);
    while (loops-- > 0) close_block(&f->w);
}
