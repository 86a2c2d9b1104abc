/* concat.c: tensors one after another along an axis. */
#include "ops/moves.h"

#include <string.h>

Node *concat(int n, Node *const *parts, int axis)
{
    must(n > 0 && axis >= 0 && axis < parts[0]->shape.rank);
    if (n == 1) return parts[0];
    Shape s = parts[0]->shape;
    for (int p = 1; p < n; p++) {
        must(parts[p]->dtype == parts[0]->dtype && parts[p]->shape.rank == s.rank);
        for (int i = 0; i < s.rank; i++) must(i == axis || parts[p]->shape.dim[i] == s.dim[i]);
        s.dim[axis] += parts[p]->shape.dim[axis];
        s.axis[axis] = (uint16_t)axis_sum(s.axis[axis], parts[p]->shape.axis[axis]);
    }
    return node_of(OP_concat, parts[0]->dtype, s, n, parts, 1, &(int64_t){axis});
}

const char *concat_fault(const Node *n, Type *results)
{
    if (n->nin < 1) return "concat needs inputs";
    Shape s = n->in[0]->shape;
    if (n->nints != 1 || !valid_axes(n, 0, 1, s.rank, false)) return "concat needs an axis";
    for (int p = 1; p < n->nin; p++) {
        Shape part = n->in[p]->shape;
        bool fits = part.rank == s.rank && n->in[p]->dtype == n->in[0]->dtype;
        for (int i = 0; fits && i < s.rank; i++) fits = i == n->ints[0] || part.dim[i] == s.dim[i];
        if (!fits) return "its inputs may differ only along the axis";
        s.dim[n->ints[0]] += part.dim[n->ints[0]];
        if (!valid_shape(s)) return "it is too large";
    }
    return moved_into(n, s, results);
}

void concat_eval(const Node *n, const Value *in, Value *out)
{
    int axis = (int)n->ints[0];
    int64_t start = 0;
    for (int p = 0; p < n->nin; start += in[p].shape.dim[axis], p++) {
        for (Walk w = walk(in[p].shape); w.i < w.n; step(&w)) {
            int64_t to[MAXRANK];
            memcpy(to, w.at, sizeof to);
            to[axis] += start;
            out->at[offset_at(n->shape, to)] = in[p].at[w.i];
        }
    }
}

/* Are inputs joined along the axis of the batch's rows? */
static bool joins_rows(const Row_pair *p)
{
    for (int k = 0; k < p->nin; k++) {
        Row_fact f = row_input(p, k);
        if (f.kind == ROWS_EACH && f.axis == p->node->ints[0]) return true;
    }
    return false;
}

/* Blocks of rows one after another. */
static Row_fact joined_blocks(Rows *r, Row_pair *p)
{
    Row_fact f = row_demand(r, p, 0);
    int64_t outer = f.outer;
    for (int k = 1; k < p->nin; k++) {
        Row_fact g = row_demand(r, p, k);
        bool alike = g.kind == f.kind && g.axis == f.axis && g.inner == f.inner;
        if (!alike) return row_meets(p, "rows are concatenated with values that are not rows of the batch");
        outer += g.outer;
        g.outer = f.outer;
        f = row_join(p, f, g);
    }
    f.outer = outer;
    return f;
}

Row_fact concat_rows(Rows *r, Row_pair *p)
{
    if (joins_rows(p)) return joined_blocks(r, p);
    Row_fact f = row_input(p, 0);
    for (int k = 1; k < p->nin; k++) {
        Row_fact g = row_input(p, k);
        if (g.power != f.power)
            return row_meets(p, "values that depend on the batch size are concatenated with others");
        if (f.kind == ROWS_TOTAL && g.kind == ROWS_TOTAL) f.learned |= g.learned, f.affine |= g.affine;
        else if (f.kind == ROWS_TOTAL || g.kind == ROWS_TOTAL)
            return row_meets(p, "a sum over rows is concatenated with other values");
        else f = row_join(p, f, g);
    }
    return f;
}

void concat_gradient(Grad_level *lv, Node *n, Node *g)
{
    int64_t start[MAXRANK] = {0};
    for (int i = 0; i < n->nin; i++) {
        if (grad_active(lv, n->in[i])) contribute(lv, n->in[i], slice(g, start, n->in[i]->shape.dim, NULL));
        start[n->ints[0]] += n->in[i]->shape.dim[n->ints[0]];
    }
}

Node *concat_split(const Node *n, const Trips *in, int64_t trip)
{
    Nodes parts = {0};
    for (int i = 0; i < n->nin; i++) push(&parts, spread_trips(in[i], trip));
    return concat(parts.n, parts.at, (int)n->ints[0] + 1);
}
