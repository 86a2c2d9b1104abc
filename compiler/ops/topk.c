/* topk.c: the k largest along an axis in falling order, result 0, and their indices, result 1.  ints: axis, k. */
#include "ops/lines.h"

#include <string.h>

Node *topk(Node *x, int axis, int64_t k)
{
    must(axis >= 0 && axis < x->shape.rank && k > 0 && k <= x->shape.dim[axis] && is_real(x->dtype));
    return node_of(OP_topk, x->dtype, (Shape){0}, 1, &x, 2, (int64_t[]){axis, k});
}

const char *topk_fault(const Node *n, Type *results)
{
    const Node *x = n->in[0];
    const char *fault = line_fault(n, 2);
    if (fault) return fault;
    if (!is_real(x->dtype)) return "topk takes reals";
    if (n->ints[1] < 1 || n->ints[1] > x->shape.dim[n->ints[0]]) return "k must be between 1 and the axis' extent";
    Shape s = x->shape;
    s.dim[n->ints[0]] = n->ints[1];
    s.axis[n->ints[0]] = 0;
    results[0] = (Type){x->dtype, s};
    results[1] = (Type){I32, s};
    return NULL;
}

/* Takes the first largest that is not yet taken, k times. */
void topk_eval(const Node *n, const Value *in, Value *out)
{
    Lines l = lines_along(in->shape, (int)n->ints[0]);
    int64_t wanted = n->ints[1];
    bool *taken = take(l.extent);
    for (int64_t i = 0; i < l.outer; i++)
        for (int64_t j = 0; j < l.inner; j++) {
            const double *line = in->at + i * l.extent * l.inner + j;
            memset(taken, 0, (size_t)l.extent);
            for (int64_t k = 0; k < wanted; k++) {
                int64_t best = -1;
                for (int64_t c = 0; c < l.extent; c++)
                    if (!taken[c] && (best < 0 || line[c * l.inner] > line[best * l.inner])) best = c;
                taken[best] = true;
                out[0].at[(i * wanted + k) * l.inner + j] = line[best * l.inner];
                out[1].at[(i * wanted + k) * l.inner + j] = (double)best;
            }
        }
    give(taken);
}

Row_fact topk_rows(Rows *r, Row_pair *p)
{
    return rows_along(p, row_demand(r, p, 0), "the largest are chosen along the batch axis");
}

Range topk_range(const Node *n, int result, const Range *in)
{
    (void)result, (void)in; /* the integers are indices */
    return (Range){0, n->in[0]->shape.dim[n->ints[0]] - 1};
}

/* The values' goes back to where they came from.  Works on the axis moved to the end. */
void topk_gradient(Grad_level *lv, Node *values, Node *g)
{
    Node *n = values->in[0], *x = n->in[0];
    int rank = x->shape.rank, axis = (int)n->ints[0], last[MAXRANK], back[MAXRANK];
    if (values->ints[0] != 0) return;
    Making was = make_in_phase(0);
    Node *which = pick(n, 1, 0);
    make_with(was);
    for (int i = 0; i < rank; i++) last[i] = i < axis ? i : i < rank - 1 ? i + 1 : axis;
    for (int i = 0; i < rank; i++) back[last[i]] = i;
    Shape s = x->shape;
    for (int i = 0; i < rank; i++) s.dim[i] = x->shape.dim[last[i]];
    Node *ids = permute(value(lv, which), last);
    contribute(lv, x, permute(scatter_add(permute(g, last), ids, s, rank - 1, rank - 1), back));
}

Node *topk_split(const Node *n, const Trips *in, int64_t trip)
{
    (void)trip;
    return topk(in[0].node, (int)n->ints[0] + 1, n->ints[1]);
}

const Kernel_part topk_kernel = {.kind = TOPK, .says = "{y} = the {k} largest of {x}"};
