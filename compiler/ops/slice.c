/* slice.c: along each axis every step-th element from start on. */
#include "ops/moves.h"

Node *slice(Node *a, const int64_t *start, const int64_t *extent, const int64_t *step)
{
    Shape s = a->shape;
    int64_t ints[2 * MAXRANK];
    bool whole = true;
    for (int i = 0; i < s.rank; i++) {
        int64_t by = step ? step[i] : 1;
        must(by > 0 && start[i] >= 0 && extent[i] > 0 && start[i] + (extent[i] - 1) * by < s.dim[i]);
        ints[i] = start[i];
        ints[s.rank + i] = by;
        whole &= extent[i] == s.dim[i];
        if (extent[i] != s.dim[i]) s.axis[i] = 0;
        s.dim[i] = extent[i];
    }
    return whole ? a : node_of(OP_slice, a->dtype, s, 1, &a, 2 * s.rank, ints);
}

const char *slice_fault(const Node *n, Type *results)
{
    Shape from = n->in[0]->shape;
    if (n->nints != 2 * from.rank || n->shape.rank != from.rank) return "slice needs a start and a step for each axis";
    for (int i = 0; i < from.rank; i++) {
        int64_t start = n->ints[i], by = n->ints[from.rank + i];
        if (start < 0 || start >= from.dim[i] || by < 1) return "a start or step is out of range";
        if (n->shape.dim[i] == 1) continue;
        if (n->shape.dim[i] > from.dim[i] || by > from.dim[i] || start + (n->shape.dim[i] - 1) * by >= from.dim[i])
            return "it reaches beyond its input";
    }
    return moved_into(n, n->shape, results);
}

void slice_eval(const Node *n, const Value *in, Value *out) { placed_eval(n, in, out); }

Place slice_place(const Node *n, int axis) { return (Place){axis, n->ints[axis], n->ints[n->shape.rank + axis]}; }

/* A part of the batch axis: whole blocks of its outer factor, or the rows differ by their place. */
Row_fact slice_rows(Rows *r, Row_pair *p)
{
    Row_fact f = row_input(p, 0);
    const Node *n = p->wider;
    if (f.kind != ROWS_EACH || n->shape.dim[f.axis] == p->in[0]->wider->shape.dim[f.axis]) return f;
    Place place = slice_place(n, f.axis);
    int64_t block = r->batch * f.inner, extent = n->shape.dim[f.axis];
    if (place.step != 1 || place.start % block || extent % block)
        return row_meets(p, "rows are selected by their index in the batch");
    f.outer = extent / block;
    return f;
}

Range slice_range(const Node *n, int result, const Range *in)
{
    (void)n, (void)result;
    return in[0];
}

/* step - 1 zeros after each element along axis. */
static Node *dilated(Node *g, int axis, int64_t step)
{
    Shape s = g->shape;
    Shape parts = {.rank = 3, .dim = {1, 1, 1}};
    for (int i = 0; i <= axis; i++) parts.dim[0] *= s.dim[i];
    for (int i = axis + 1; i < s.rank; i++) parts.dim[2] *= s.dim[i];
    s.dim[axis] *= step;
    return reshape(pad(reshape(g, parts), (int64_t[]){0, 0, 0}, (int64_t[]){0, step - 1, 0}), s);
}

void slice_gradient(Grad_level *lv, Node *n, Node *g)
{
    Shape whole = n->in[0]->shape;
    int64_t zero[MAXRANK] = {0}, before[MAXRANK], after[MAXRANK];
    for (int i = 0; i < whole.rank; i++) {
        int64_t start = n->ints[i], step = n->ints[whole.rank + i];
        if (step > 1 && g->shape.dim[i] > 1) {
            Shape fits = (g = dilated(g, i, step))->shape;
            fits.dim[i] = min64(fits.dim[i], whole.dim[i] - start); /* zeros after the last element may reach too far */
            g = slice(g, zero, fits.dim, NULL);
        }
        before[i] = start;
        after[i] = whole.dim[i] - start - g->shape.dim[i];
    }
    contribute(lv, n->in[0], pad(g, before, after));
}

Node *slice_split(const Node *n, const Trips *in, int64_t trip)
{
    int rank = n->shape.rank;
    int64_t start[MAXRANK] = {0}, by[MAXRANK] = {1};
    for (int i = 0; i < rank; i++) {
        start[i + 1] = n->ints[i];
        by[i + 1] = n->ints[rank + i];
    }
    return slice(in[0].node, start, in_front(trip, n->shape).dim, by);
}

void slice_axes(Node *n) { n->weak = n->in[0]->weak; }
