/* gather.c: entries of a tensor picked along an axis by ids. */
#include "ops/ids.h"

Node *gather(Node *x, Node *ids, int axis, int nbatch)
{
    must(ids->dtype == I32);
    Shape s = shape_by_ids(x->shape, ids->shape, axis, nbatch);
    return node_of(OP_gather, in_blocks(x->dtype) ? F32 : x->dtype, s, 2, (Node *[]){x, ids}, 2,
                   (int64_t[]){axis, nbatch});
}

const char *gather_fault(const Node *n, Type *results)
{
    results->dtype = in_blocks(n->in[0]->dtype) ? F32 : n->in[0]->dtype;
    return ids_fault(n, n->in[0]->shape, n->in[1], &results->shape);
}

void gather_eval(const Node *n, const Value *in, Value *out)
{
    for (Walk w = walk(n->shape); w.i < w.n; step(&w))
        out->at[w.i] = in[0].at[place_by_id(n, in[0].shape, &in[1], w.at)];
}

Row_fact gather_rows(Rows *r, Row_pair *p)
{
    int axis = (int)p->node->ints[0], nbatch = (int)p->node->ints[1], more = p->node->in[1]->shape.rank - nbatch - 1;
    Row_fact x = row_input(p, 0), ids = row_demand(r, p, 1);
    if (x.kind == ROWS_TOTAL) {
        if (ids.kind == ROWS_SAME) return x;
        x = row_demand(r, p, 0);
    }
    Row_fact f = x.kind == ROWS_EACH ? x : ids;
    if (x.kind > ROWS_EACH || ids.kind > ROWS_EACH || !x.kind || !ids.kind) return row_join(p, x, ids);
    if (x.kind == ROWS_EACH && ids.kind == ROWS_EACH) {
        if (!same_rows(x, ids) || x.axis >= nbatch) return meets_by_ids(p);
    } else if (x.kind == ROWS_EACH) {
        if (x.axis == axis) return meets_by_ids(p);
        f.axis += x.axis > axis ? more : 0;
    } else if (ids.kind == ROWS_EACH && ids.axis >= nbatch) {
        f.axis = axis + ids.axis - nbatch;
    }
    f.power = x.power;
    f.learned = x.learned || ids.learned;
    f.counted = x.counted || ids.counted;
    return f;
}

Range gather_range(const Node *n, int result, const Range *in)
{
    (void)n, (void)result;
    return in[0];
}

void gather_gradient(Grad_level *lv, Node *n, Node *g)
{
    Node *x = n->in[0];
    contribute(lv, x, scatter_add(g, value(lv, n->in[1]), x->shape, (int)n->ints[0], (int)n->ints[1]));
}

/* Where only ids vary, and no axes are shared, the iteration axis joins the ids'; where only x does, x has one more
 * axis before `axis`; else it is one more axis that is shared. */
Node *gather_split(const Node *n, const Trips *in, int64_t trip)
{
    int axis = (int)n->ints[0], nbatch = (int)n->ints[1];
    if (!in[0].varies && !nbatch) return to_front(gather(in[0].node, in[1].node, axis, 0), axis);
    bool alone = !in[1].varies && !nbatch;
    Node *x = spread_trips(in[0], trip), *ids = alone ? in[1].node : spread_trips(in[1], trip);
    return gather(x, ids, axis + 1, nbatch + !alone);
}

const Kernel_part gather_kernel = {.kind = GATHER, .says = "{y} = {x}[{ids}]", .anywhere = true};
