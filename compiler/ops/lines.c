/* lines.c: what operations share that walk along an axis in order. */
#include "ops/lines.h"

Lines lines_along(Shape s, int axis)
{
    Lines l = {1, s.dim[axis], 1};
    for (int k = 0; k < axis; k++) l.outer *= s.dim[k];
    for (int k = axis + 1; k < s.rank; k++) l.inner *= s.dim[k];
    return l;
}

const char *line_fault(const Node *n, int nints)
{
    if (n->nints != nints || n->ints[0] < 0 || n->ints[0] >= n->in[0]->shape.rank) return "it needs an axis";
    return n->in[0]->dtype == BOOL ? "it does not take bools" : NULL;
}

Row_fact rows_along(const Row_pair *p, Row_fact f, const char *why)
{
    return f.kind == ROWS_EACH && f.axis == p->node->ints[0] ? row_meets(p, why) : f;
}

/* ------------------------------------------------------------------ scans */

Node *scanned(Op op, Node *x, int axis, bool backwards)
{
    must(axis >= 0 && axis < x->shape.rank && x->dtype != BOOL);
    return node_of(op, op_parts[op].kernel->places ? I32 : x->dtype, x->shape, 1, &x, 2, (int64_t[]){axis, backwards});
}

const char *scan_fault(const Node *n, Type *results)
{
    const char *fault = line_fault(n, 2);
    if (fault) return fault;
    *results = (Type){op_parts[n->op].kernel->places ? I32 : n->in[0]->dtype, n->in[0]->shape};
    return n->ints[1] != 0 && n->ints[1] != 1 ? "its direction must be 0 or 1" : NULL;
}

void scan_eval(const Node *n, const Value *in, Value *out, double start, Op step)
{
    Lines l = lines_along(in->shape, (int)n->ints[0]);
    for (int64_t i = 0; i < l.outer; i++)
        for (int64_t j = 0; j < l.inner; j++) {
            double running = start;
            for (int64_t k = 0; k < l.extent; k++) {
                int64_t at = (i * l.extent + (n->ints[1] ? l.extent - 1 - k : k)) * l.inner + j;
                running = eval_element(step, n->dtype, n->dtype, (double[]){running, in->at[at]});
                out->at[at] = running;
            }
        }
}

Node *scan_split(const Node *n, const Trips *in) { return scanned(n->op, in[0].node, (int)n->ints[0] + 1, n->ints[1]); }
