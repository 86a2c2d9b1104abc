/* overwrite.c: a tensor with entries replaced along an axis at ids; the last of equal ids wins.  Real updates of a
 * tensor in blocks are rounded to such: whole rows of it, since neighbours share a scale. */
#include "ops/ids.h"

#include <string.h>

DType type_of_updates(const Node *x) { return in_blocks(x->dtype) ? F32 : x->dtype; }

Node *overwrite(Node *x, Node *ids, Node *updates, int axis, int nbatch)
{
    must(ids->dtype == I32 && updates->dtype == type_of_updates(x));
    must(same_shape(updates->shape, shape_by_ids(x->shape, ids->shape, axis, nbatch)));
    return node_of(OP_overwrite, x->dtype, x->shape, 3, (Node *[]){x, ids, updates}, 2, (int64_t[]){axis, nbatch});
}

/* Updates must have the shape that a gather from the result would have. */
const char *overwrite_fault(const Node *n, Type *results)
{
    Shape y;
    const Node *x = n->in[0], *updates = n->in[2];
    const char *fault = ids_fault(n, x->shape, n->in[1], &y);
    if (fault) return fault;
    *results = (Type){x->dtype, x->shape};
    if (!same_shape(y, updates->shape)) return "updates must have the shape of what they replace";
    if (in_blocks(x->dtype) && n->ints[0] == x->shape.rank - 1) return "entries in blocks are whole rows";
    return updates->dtype != type_of_updates(x) ? "updates must be of the type of x, or f32 where that is in blocks"
                                                : NULL;
}

void overwrite_eval(const Node *n, const Value *in, Value *out)
{
    memcpy(out->at, in[0].at, sizeof(double) * (size_t)elements(n->shape));
    for (Walk w = walk(in[2].shape); w.i < w.n; step(&w))
        out->at[place_by_id(n, n->shape, &in[1], w.at)] = in[2].at[w.i];
    if (in_blocks(n->dtype)) eval_stored(n->dtype, out); /* others are rounded already, which changes nothing */
}

/* Updates are [:axis], ids[nbatch:], [axis + 1:] of what they go into. */
Row_fact overwrite_rows(Rows *r, Row_pair *p)
{
    int axis = (int)p->node->ints[0], nbatch = (int)p->node->ints[1], more = p->node->in[1]->shape.rank - nbatch;
    Row_fact f = row_demand(r, p, 0), ids = row_demand(r, p, 1), u = row_demand(r, p, 2);
    bool by_row = ids.kind == ROWS_EACH && ids.axis >= nbatch;
    if (u.kind == ROWS_EACH && u.axis >= axis) {
        by_row |= u.axis < axis + more;
        u.axis -= more - 1;
    }
    if (by_row) return meets_by_ids(p);
    f = row_join(p, row_join(p, f, ids), u);
    return f.kind == ROWS_EACH && f.axis == axis ? meets_by_ids(p) : f;
}

/* Which of the updates of n stay: the last among equal ids.  Bool, of the updates' shape; NULL: all. */
static Node *winners(const Node *n, Node *ids)
{
    int axis = (int)n->ints[0], nbatch = (int)n->ints[1];
    Shape flat = {.rank = nbatch + 1}, table = {.rank = nbatch + 1}, aligned = {.rank = n->in[2]->shape.rank};
    flat.dim[nbatch] = 1;
    for (int i = nbatch; i < ids->shape.rank; i++) flat.dim[nbatch] *= ids->shape.dim[i];
    for (int i = 0; i < nbatch; i++) flat.dim[i] = table.dim[i] = ids->shape.dim[i];
    table.dim[nbatch] = n->shape.dim[axis];
    if (flat.dim[nbatch] == 1) return NULL;
    Node *order = iota(flat, nbatch), *at = reshape(ids, flat);
    Node *last = overwrite(filled(-1, I32, table), at, order, nbatch, nbatch);
    Node *wins = map2(OP_eq, gather(last, at, nbatch, nbatch), order);
    for (int i = 0; i < aligned.rank; i++) aligned.dim[i] = 1;
    for (int i = 0; i < ids->shape.rank; i++) aligned.dim[i < nbatch ? i : axis + i - nbatch] = ids->shape.dim[i];
    return expand(reshape(wins, aligned), n->in[2]->shape);
}

void overwrite_gradient(Grad_level *lv, Node *n, Node *g)
{
    Node *ids = value(lv, n->in[1]), *updates = n->in[2];
    int axis = (int)n->ints[0], nbatch = (int)n->ints[1];
    if (grad_active(lv, n->in[0]))
        contribute(lv, n->in[0], overwrite(g, ids, filled(0, updates->dtype, updates->shape), axis, nbatch));
    if (!grad_active(lv, updates)) return;
    Node *part = gather(g, ids, axis, nbatch), *stays = winners(n, ids);
    contribute(lv, updates, stays ? where_op(stays, part, filled(0, part->dtype, part->shape)) : part);
}

Node *overwrite_split(const Node *n, const Trips *in, int64_t trip)
{
    Node *x = spread_trips(in[0], trip), *ids = spread_trips(in[1], trip);
    return overwrite(x, ids, spread_trips(in[2], trip), (int)n->ints[0] + 1, (int)n->ints[1] + 1);
}

const Kernel_part overwrite_kernel = {.kind = OVERWRITE, .says = "{y}[{ids}] = {updates}", .anywhere = true};
