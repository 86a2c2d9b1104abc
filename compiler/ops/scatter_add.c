/* scatter_add.c: updates added along an axis at ids, in order, to zeros: the transpose of gather. */
#include "ops/ids.h"

#include <string.h>

Node *scatter_add(Node *updates, Node *ids, Shape s, int axis, int nbatch)
{
    must(ids->dtype == I32 && updates->dtype != BOOL);
    must(same_shape(updates->shape, shape_by_ids(s, ids->shape, axis, nbatch)));
    return node_of(OP_scatter_add, updates->dtype, s, 2, (Node *[]){updates, ids}, 2, (int64_t[]){axis, nbatch});
}

/* Updates must have the shape that a gather from the result would have. */
const char *scatter_add_fault(const Node *n, Type *results)
{
    Shape y;
    const Node *updates = n->in[0];
    const char *fault = ids_fault(n, n->shape, n->in[1], &y);
    if (fault) return fault;
    *results = (Type){updates->dtype, n->shape};
    if (!same_shape(y, updates->shape)) return "updates must have the shape of what they replace";
    return updates->dtype == BOOL ? "bools cannot be added" : NULL;
}

void scatter_add_eval(const Node *n, const Value *in, Value *out)
{
    memset(out->at, 0, sizeof(double) * (size_t)elements(n->shape));
    for (Walk w = walk(in[0].shape); w.i < w.n; step(&w)) {
        double *to = &out->at[place_by_id(n, n->shape, &in[1], w.at)];
        double pair[] = {*to, in[0].at[w.i]};
        *to = eval_element(OP_add, n->dtype, n->dtype, pair);
    }
}

/* Rows that are all added to the same entries: a total; or each to entries of its own. */
Row_fact scatter_add_rows(Rows *r, Row_pair *p)
{
    int axis = (int)p->node->ints[0], nbatch = (int)p->node->ints[1], ids_rank = p->node->in[1]->shape.rank;
    Row_fact u = row_demand(r, p, 0), ids = row_demand(r, p, 1);
    if (u.kind != ROWS_EACH && ids.kind != ROWS_EACH) return row_join(p, u, ids);
    if (u.kind > ROWS_EACH || ids.kind > ROWS_EACH || !u.kind || !ids.kind) return row_join(p, u, ids);
    int last = axis + ids_rank - nbatch; /* updates: [:axis], ids[nbatch:], [axis + 1:] */
    if (ids.kind == ROWS_EACH && ids.axis >= nbatch) ids.axis += axis - nbatch;
    Row_fact f = u.kind == ROWS_EACH ? u : ids;
    if (u.kind == ids.kind && !same_rows(u, ids)) return meets_by_ids(p);
    f.learned = u.learned || ids.learned;
    f.counted = u.counted || ids.counted;
    if (f.axis >= axis && f.axis < last) return row_total_of(r, f, f);
    if (f.axis >= last) f.axis -= last - axis - 1;
    return f;
}

void scatter_add_gradient(Grad_level *lv, Node *n, Node *g)
{
    contribute(lv, n->in[0], gather(g, value(lv, n->in[1]), (int)n->ints[0], (int)n->ints[1]));
}

/* Only the updates vary, and no axes are shared: one more axis before `axis`; else one more that is shared. */
Node *scatter_add_split(const Node *n, const Trips *in, int64_t trip)
{
    int axis = (int)n->ints[0], nbatch = (int)n->ints[1];
    bool alone = !in[1].varies && !nbatch;
    Node *updates = spread_trips(in[0], trip), *ids = alone ? in[1].node : spread_trips(in[1], trip);
    return scatter_add(updates, ids, in_front(trip, n->shape), axis + 1, nbatch + !alone);
}

/* The updates of all trips, one after another.  updates [trip] + s[:axis] + ids[nbatch:] + …: the iteration axis goes
 * before those of the ids, as it does in them. */
Node *scatter_add_total(const Node *n, const Trips *in, int64_t trip)
{
    int axis = (int)n->ints[0], nbatch = (int)n->ints[1], perm[MAXRANK];
    Node *updates = spread_trips(in[0], trip), *ids = spread_trips(in[1], trip);
    for (int i = 0; i < updates->shape.rank; i++) perm[i] = i < axis ? i + 1 : i == axis ? 0 : i;
    updates = permute(updates, perm);
    for (int i = 0; i < ids->shape.rank; i++) perm[i] = i < nbatch ? i + 1 : i == nbatch ? 0 : i;
    return scatter_add(updates, permute(ids, perm), n->shape, axis, nbatch);
}

/* The number of ids of one trip. */
int64_t scatter_add_terms(const Node *n) { return elements(n->in[1]->shape); }

const Kernel_part scatter_add_kernel = {
    .kind = SCATTER, .says = "{y}[{ids}] += {x}, in order", .anywhere = true, .adds = true};
