/* moves.c: what the moves share. */
#include "ops/moves.h"

const char *moved_into(const Node *n, Shape s, Type *results)
{
    *results = (Type){n->in[0]->dtype, s};
    return NULL;
}

void placed_eval(const Node *n, const Value *in, Value *out)
{
    Place place[MAXRANK];
    for (int k = 0; k < in->shape.rank; k++) place[k] = op_parts[n->op].place(n, k);
    for (Walk w = walk(n->shape); w.i < w.n; step(&w)) {
        int64_t from[MAXRANK];
        bool inside = true;
        for (int k = 0; k < in->shape.rank; k++) {
            from[k] = place[k].start + place[k].step * w.at[place[k].axis];
            inside &= from[k] >= 0 && from[k] < in->shape.dim[k];
        }
        out->at[w.i] = inside ? in->at[offset_at(in->shape, from)] : 0;
    }
}
