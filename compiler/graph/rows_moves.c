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

Row_fact row_total_of(const Rows *r, Row_fact a, Row_fact b)
{
    bool counted = a.counted || b.counted;
    int power = r->single ? counted ? 0 : -1 : a.power + b.power + 1;
    return (Row_fact){.kind = ROWS_TOTAL, .power = power, .learned = a.learned || b.learned, .counted = counted};
}

/* ------------------------------------------------------------------ whole ops */

/* Batch axes come first in all that it reads and gives. */
static Row_fact attended(Rows *r, Row_pair *p)
{
    int nbatch = p->in[0]->node->shape.rank - 3;
    Row_fact f = {.kind = ROWS_SAME};
    for (int k = 0; k < p->nin; k++)
        if (p->in[k]) f = row_join(p, f, row_demand(r, p, k));
    return f.kind == ROWS_EACH && f.axis >= nbatch ? row_meets(p, "attention goes along the batch axis") : f;
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
    case OP_attention:
    case OP_attention_back: return attended(r, p);
    case OP_linear_cross_entropy: return head(r, p);
    default: die("%s has no file that says how it depends on rows", op_info[p->node->op].name);
    }
}
