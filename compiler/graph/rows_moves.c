/* rows_moves.c: where the batch axis goes in what moves and contracts, and where rows meet by it. */
#include "graph/rows_ops.h"

static int64_t extents_from(Shape s, int axis)
{
    int64_t n = 1;
    for (int i = axis; i < s.rank; i++) n *= s.dim[i];
    return n;
}

/* ------------------------------------------------------------------ views */

Row_fact row_reshaped(const Rows *r, const Row_pair *p, Row_fact f, Shape old, Shape new)
{
    int64_t stride = extents_from(old, f.axis + 1) * f.inner, count = r->batch;
    for (int k = 0; k < new.rank; k++) {
        int64_t behind = extents_from(new, k + 1), whole = behind * new.dim[k];
        bool holds = stride % behind == 0 && whole % (stride * count) == 0;
        if (!holds) continue;
        f.axis = k;
        f.outer = whole / (stride * count);
        f.inner = stride / behind;
        return f;
    }
    return row_meets(p, "a reshape splits the batch axis");
}

/* ------------------------------------------------------------------ dot */

static int place_in(const int *list, int n, int axis)
{
    for (int i = 0; i < n; i++)
        if (list[i] == axis) return i;
    return -1;
}

/* Axis of the result for a free axis of an operand. */
static int free_axis(const Row_pair *p, int operand, int axis)
{
    Dot_axes x = dot_axes(p->node);
    int fa[MAXRANK], fb[MAXRANK];
    int na = free_axes(p->node->in[0]->shape.rank, x.nb, x.ab, x.nc, x.ac, fa);
    int nb = free_axes(p->node->in[1]->shape.rank, x.nb, x.bb, x.nc, x.bc, fb);
    return operand == 0 ? x.nb + place_in(fa, na, axis) : x.nb + na + place_in(fb, nb, axis);
}

Row_fact row_total_of(const Rows *r, Row_fact a, Row_fact b)
{
    bool counted = a.counted || b.counted;
    int power = r->single ? counted ? 0 : -1 : a.power + b.power + 1;
    return (Row_fact){.kind = ROWS_TOTAL, .power = power, .learned = a.learned || b.learned, .counted = counted};
}

/* Of one operand with rows; the other is the same for all. */
static Row_fact rows_times(const Rows *r, const Row_pair *p, int operand, Row_fact f, Row_fact other)
{
    Dot_axes x = dot_axes(p->node);
    const int *batch = operand ? x.bb : x.ab, *contracted = operand ? x.bc : x.ac;
    if (place_in(contracted, x.nc, f.axis) >= 0) return row_total_of(r, f, other);
    int at = place_in(batch, x.nb, f.axis);
    f.axis = at >= 0 ? at : free_axis(p, operand, f.axis);
    f.power += other.power;
    f.learned |= other.learned;
    f.counted |= other.counted;
    return f;
}

static Row_fact rows_times_rows(const Rows *r, const Row_pair *p, Row_fact a, Row_fact b)
{
    Dot_axes x = dot_axes(p->node);
    int batch = place_in(x.ab, x.nb, a.axis), contracted = place_in(x.ac, x.nc, a.axis);
    bool alike = a.outer == b.outer && a.inner == b.inner;
    if (alike && batch >= 0 && batch == place_in(x.bb, x.nb, b.axis)) {
        a.axis = batch;
        a.power += b.power;
        a.learned |= b.learned;
        a.counted |= b.counted;
        return a;
    }
    if (alike && contracted >= 0 && contracted == place_in(x.bc, x.nc, b.axis)) return row_total_of(r, a, b);
    return row_meets(p, "rows are multiplied with other rows");
}

static Row_fact contracted(Rows *r, Row_pair *p)
{
    Row_fact a = row_input(p, 0), b = row_input(p, 1);
    if (a.kind != ROWS_EACH && b.kind != ROWS_EACH) return row_product(r, p);
    if (a.kind == ROWS_TOTAL) a = row_demand(r, p, 0);
    if (b.kind == ROWS_TOTAL) b = row_demand(r, p, 1);
    if (a.kind == ROWS_EACH && b.kind == ROWS_EACH) return rows_times_rows(r, p, a, b);
    if (a.kind > ROWS_EACH || b.kind > ROWS_EACH || !a.kind || !b.kind) return row_join(p, a, b);
    return a.kind == ROWS_EACH ? rows_times(r, p, 0, a, b) : rows_times(r, p, 1, b, a);
}

/* ------------------------------------------------------------------ whole ops */

/* Batch axes come first in all that it reads and gives. */
static Row_fact attended(Rows *r, Row_pair *p)
{
    int nbatch = p->in[0]->node->shape.rank - 3;
    Row_fact f = {.kind = ROWS_SAME};
    for (int k = 0; k < p->nin; k++)
        if (p->in[k]) f = row_join(p, f, row_demand(r, p, k));
    return f.kind == ROWS_EACH && f.axis >= nbatch ? row_meets(p, "attention runs along the batch axis") : f;
}

static Row_fact head(Rows *r, Row_pair *p)
{
    Row_fact f = {.kind = ROWS_SAME};
    for (int k = 0; k < p->nin; k++) {
        Row_fact in = row_demand(r, p, k);
        bool rows = k == 0 || k == 2; /* x, ids */
        if (in.kind == ROWS_EACH && (!rows || in.axis != 0)) return row_meets(p, "the head's weight depends on rows");
        f = row_join(p, f, in);
    }
    return f;
}

Row_fact row_moved(Rows *r, Row_pair *p)
{
    switch (p->node->op) {
    case OP_dot: return contracted(r, p);
    case OP_attention:
    case OP_attention_back: return attended(r, p);
    case OP_linear_cross_entropy: return head(r, p);
    default: die("%s has no file that says how it depends on rows", op_info[p->node->op].name);
    }
}
