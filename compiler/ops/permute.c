/* permute.c: axes in another order. */
#include "ops/moves.h"

Node *permute(Node *a, const int *perm)
{
    Shape s = a->shape;
    int64_t ints[MAXRANK];
    bool moved = false, seen[MAXRANK] = {false};
    for (int i = 0; i < s.rank; i++) {
        must(perm[i] >= 0 && perm[i] < s.rank && !seen[perm[i]]);
        seen[perm[i]] = true;
        ints[i] = perm[i];
        s.dim[i] = a->shape.dim[perm[i]];
        s.axis[i] = a->shape.axis[perm[i]];
        moved |= perm[i] != i;
    }
    return moved ? node_of(OP_permute, a->dtype, s, 1, &a, s.rank, ints) : a;
}

const char *permute_fault(const Node *n, Type *results)
{
    Shape from = n->in[0]->shape, s = from;
    if (n->nints != s.rank || !valid_axes(n, 0, s.rank, s.rank, false)) return "permute needs each axis once";
    for (int i = 0; i < s.rank; i++) s.dim[i] = from.dim[n->ints[i]];
    return moved_into(n, s, results);
}

void permute_eval(const Node *n, const Value *in, Value *out) { placed_eval(n, in, out); }

/* The result's axis of the input's axis. */
static int permuted(const Node *n, int axis)
{
    int to = 0;
    while (n->ints[to] != axis) to++;
    return to;
}

Place permute_place(const Node *n, int axis) { return (Place){permuted(n, axis), 0, 1}; }

Row_fact permute_rows(Rows *r, Row_pair *p)
{
    (void)r;
    Row_fact f = row_input(p, 0);
    if (f.kind == ROWS_EACH) f.axis = permuted(p->node, f.axis);
    return f;
}

Range permute_range(const Node *n, int result, const Range *in)
{
    (void)n, (void)result;
    return in[0];
}

void permute_gradient(Grad_level *lv, Node *n, Node *g)
{
    int back[MAXRANK];
    for (int i = 0; i < n->nints; i++) back[n->ints[i]] = i;
    contribute(lv, n->in[0], permute(g, back));
}

Node *permute_split(const Node *n, const Trips *in, int64_t trip)
{
    (void)trip;
    int axes[MAXRANK] = {0};
    for (int i = 0; i < n->nints; i++) axes[i + 1] = (int)n->ints[i] + 1;
    return permute(in[0].node, axes);
}

void permute_axes(Node *n)
{
    n->weak = 0;
    for (int k = 0; k < n->shape.rank; k++) n->weak |= (n->in[0]->weak >> n->ints[k] & 1u) << k;
}
