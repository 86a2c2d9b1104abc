/* quantise.c: gives parameters that are stored in blocks their type, such as Q8_0 (--frozen q8_0).
 *
 * Needs: frozen parameters, of which Desc says how each is stored (front/frozen.c).  Leaves: such a parameter as a leaf
 * of that type.  Products (as the right operand, all of whose rows lie one behind another), products by ids and gathers
 * of rows read it as it is; so do slices of loops and slices of rows.  All others read a cast, which is made where it
 * is read: nothing is widened to memory but for a reader that needs an address.  In fp64 all read casts. */
#include "passes/passes.h"

static bool is_unpacked(const Node *n) { return n->op == OP_cast && in_blocks(n->in[0]->dtype); }

static Node *unpacked(Node *blocks, DType real) { return cast_op(blocks, real); }

static Node *quantised_leaf(const Node *old, const Desc *d)
{
    const Param *p = find_param(d, old->name);
    if (!p || p->blocks == BOOL) return NULL;
    return unpacked(parameter_like(old, old->name, p->blocks, old->shape), old->dtype);
}

/* Whole rows are whole blocks. */
static bool slices_rows(const Node *n)
{
    int last = n->shape.rank - 1;
    return n->op == OP_slice && n->shape.dim[last] == n->in[0]->shape.dim[last];
}

/* One free axis and one contracted one: a matrix in memory, whatever the layer of a stack. */
static bool reads_matrix(const Node *dot)
{
    Dot_axes x = dot_axes(dot);
    return x.nb == 0 && x.nc == 1 && dot->in[1]->shape.rank == 2 && dot->dtype == F32;
}

static Node *over_blocks(const Node *old, Node *const *in, int which)
{
    Node **own = NEW_ARRAY(Node *, old->nin), key = *old;
    for (int k = 0; k < old->nin; k++) own[k] = k == which ? in[k]->in[0] : in[k];
    key.in = own;
    return intern(key);
}

static Node *quantised(Rewrite *r, Node *old, Node *const *in)
{
    if (old->op == OP_parameter) return quantised_leaf(old, r->user);
    if (old->op == OP_dot && is_unpacked(in[1]) && reads_matrix(old)) return over_blocks(old, in, 1);
    if (old->op == OP_dot_by_ids && is_unpacked(in[1]) && in[0]->dtype == F32) return over_blocks(old, in, 1);
    if (!old->nin || !is_unpacked(in[0])) return NULL;
    if ((op_info[old->op].facts & LOOKS_UP) && old->dtype == F32 && old->ints[0] < in[0]->shape.rank - 1)
        return over_blocks(old, in, 0);
    if (!slices_rows(old)) return NULL;
    Node key = *old;
    key.in = &in[0]->in[0];
    key.dtype = in[0]->in[0]->dtype;
    return unpacked(intern(key), old->dtype);
}

/* Loops' slices are of the blocks. */
static Node *quantised_slice(Rewrite *r, const Loop *old, int k, Loop *new)
{
    Node *outer = rewritten(r, old->xs.at[k].outer);
    if (!is_unpacked(outer) || outer->shape.rank < 2) return NULL;
    Making was = make_in_phase(old->node ? old->node->phase : 0);
    Node *n = unpacked(loop_x(new, outer->in[0]), outer->dtype);
    make_with(was);
    return n;
}

static bool has_quantised(const Desc *d)
{
    bool any = false;
    for (int i = 0; i < d->params.n; i++) any |= d->params.at[i]->blocks != BOOL;
    return any;
}

void pass_quantise(Graph *g, const Desc *d)
{
    Rewrite r = {.node = quantised, .needs = loops_first, .slice = quantised_slice, .user = (void *)d};
    if (has_quantised(d) || (d->teacher && has_quantised(d->teacher))) rewrite_graph(&r, g);
}
