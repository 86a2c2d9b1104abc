/* rows_moves.c: where moves and contractions put the batch axis, and which of them combine rows. */
#include "graph/rows_ops.h"

static int64_t extents_from(Shape s, int axis)
{
    int64_t n = 1;
    for (int i = axis; i < s.rank; i++) n *= s.dim[i];
    return n;
}

/* Elements of the fact's axis per value of its outer factor. */
static int64_t block_of(const Rows *r, Row_fact f) { return r->batch * f.inner; }

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

static Row_fact permuted_rows(const Row_pair *p, Row_fact f)
{
    for (int i = 0; i < p->node->nints; i++)
        if (p->node->ints[i] == f.axis) {
            f.axis = i;
            break;
        }
    return f;
}

/* A part of the batch axis must consist of whole blocks of the outer factor; otherwise it selects rows by index. */
static Row_fact sliced(const Rows *r, const Row_pair *p, Row_fact f)
{
    const Node *n = p->wider;
    int64_t start = n->ints[f.axis], step = n->ints[n->shape.rank + f.axis], extent = n->shape.dim[f.axis];
    int64_t block = block_of(r, f);
    if (extent == p->in[0]->wider->shape.dim[f.axis]) return f;
    if (step != 1 || start % block || extent % block)
        return row_meets(p, "rows are selected by their index in the batch");
    f.outer = extent / block;
    return f;
}

static Row_fact padded(const Rows *r, const Row_pair *p, Row_fact f)
{
    const Node *n = p->wider;
    int64_t before = n->ints[f.axis], after = n->ints[n->shape.rank + f.axis];
    if (before % block_of(r, f) || after % block_of(r, f)) return row_meets(p, "the batch axis is padded");
    f.outer = n->shape.dim[f.axis] / block_of(r, f);
    return f;
}

static Row_fact flipped(const Row_pair *p, Row_fact f)
{
    for (int i = 0; i < p->node->nints; i++)
        if (p->node->ints[i] == f.axis) return row_meets(p, "the batch axis is reversed");
    return f;
}

static Row_fact joined_rows(Rows *r, Row_pair *p)
{
    int axis = (int)p->node->ints[0];
    Row_fact f = row_input(p, 0);
    bool along = f.kind == ROWS_EACH && f.axis == axis;
    for (int k = 1; k < p->nin && !along; k++) {
        Row_fact g = row_input(p, k);
        along = g.kind == ROWS_EACH && g.axis == axis;
    }
    f = along ? row_demand(r, p, 0) : row_input(p, 0);
    int64_t outer = f.outer;
    for (int k = 1; k < p->nin; k++) {
        Row_fact g = along ? row_demand(r, p, k) : row_input(p, k);
        if (!along && g.power != f.power)
            return row_meets(p, "values that depend on the batch size are concatenated with others");
        bool alike = g.kind == f.kind && g.axis == f.axis && g.inner == f.inner;
        if (along && !alike) return row_meets(p, "rows are concatenated with values that are not rows of the batch");
        outer += g.outer;
        g.outer = f.outer;
        if (f.kind == ROWS_TOTAL && g.kind == ROWS_TOTAL) f.learned |= g.learned, f.affine |= g.affine;
        else if (f.kind == ROWS_TOTAL || g.kind == ROWS_TOTAL)
            return row_meets(p, "a sum over rows is concatenated with other values");
        else f = row_join(p, f, g);
    }
    if (along) f.outer = outer;
    return f;
}

static Row_fact viewed(Rows *r, Row_pair *p)
{
    if (p->node->op == OP_concat) return joined_rows(r, p);
    Row_fact f = row_input(p, 0);
    if (f.kind != ROWS_EACH) return f;
    switch (p->node->op) {
    case OP_reshape: return row_reshaped(r, p, f, p->in[0]->wider->shape, p->wider->shape);
    case OP_permute: return permuted_rows(p, f);
    case OP_slice: return sliced(r, p, f);
    case OP_pad: return padded(r, p, f);
    case OP_flip: return flipped(p, f);
    default: return f; /* expand */
    }
}

/* ------------------------------------------------------------------ dot */

static int place_in(const int *list, int n, int axis)
{
    for (int i = 0; i < n; i++)
        if (list[i] == axis) return i;
    return -1;
}

/* The result's axis for a free axis of an operand. */
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

/* f: of the operand with rows; the other is the same for all rows. */
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

/* Batch axes come first in all inputs and results. */
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
    default: return viewed(r, p);
    }
}
