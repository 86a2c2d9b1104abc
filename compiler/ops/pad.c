/* pad.c: a tensor with zeros before and after it along each axis. */
#include "ops/moves.h"

Node *pad(Node *a, const int64_t *before, const int64_t *after)
{
    Shape s = a->shape;
    int64_t ints[2 * MAXRANK];
    bool none = true;
    for (int i = 0; i < s.rank; i++) {
        must(before[i] >= 0 && after[i] >= 0);
        ints[i] = before[i];
        ints[s.rank + i] = after[i];
        none &= before[i] + after[i] == 0;
        s.axis[i] = (uint16_t)axis_longer(s.axis[i], before[i] + after[i]);
        s.dim[i] += before[i] + after[i];
    }
    return none ? a : node_of(OP_pad, a->dtype, s, 1, &a, 2 * s.rank, ints);
}

const char *pad_fault(const Node *n, Type *results)
{
    Shape s = n->in[0]->shape;
    int rank = s.rank;
    if (n->nints != 2 * rank) return "pad needs two numbers for each axis";
    for (int i = 0; i < rank; i++) {
        int64_t before = n->ints[i], after = n->ints[rank + i];
        if (before < 0 || after < 0 || before > MOST_ELEMENTS || after > MOST_ELEMENTS)
            return "its ints are out of range";
        s.dim[i] += before + after;
    }
    return valid_shape(s) ? moved_into(n, s, results) : "it is too large";
}

void pad_eval(const Node *n, const Value *in, Value *out) { placed_eval(n, in, out); }

Place pad_place(const Node *n, int axis) { return (Place){axis, -n->ints[axis], 1}; }

Row_fact pad_rows(Rows *r, Row_pair *p)
{
    Row_fact f = row_input(p, 0);
    const Node *n = p->wider;
    if (f.kind != ROWS_EACH) return f;
    int64_t before = n->ints[f.axis], after = n->ints[n->shape.rank + f.axis], block = r->batch * f.inner;
    if (before % block || after % block) return row_meets(p, "the batch axis is padded");
    f.outer = n->shape.dim[f.axis] / block;
    return f;
}

Range pad_range(const Node *n, int result, const Range *in)
{
    (void)n, (void)result;
    return range_union(in[0], (Range){0, 0});
}

void pad_gradient(Grad_level *lv, Node *n, Node *g)
{
    contribute(lv, n->in[0], slice(g, n->ints, n->in[0]->shape.dim, NULL));
}

Node *pad_split(const Node *n, const Trips *in, int64_t trip)
{
    (void)trip;
    int rank = n->shape.rank;
    int64_t before[MAXRANK] = {0}, after[MAXRANK] = {0};
    for (int i = 0; i < rank; i++) {
        before[i + 1] = n->ints[i];
        after[i + 1] = n->ints[rank + i];
    }
    return pad(in[0].node, before, after);
}

void pad_axes(Node *n) { n->weak = n->in[0]->weak; }
