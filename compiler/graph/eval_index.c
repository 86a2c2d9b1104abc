/* eval_index.c: the interpreter's ops that address by ids or walk along an axis. */
#include "graph/eval.h"

#include <string.h>

/* ------------------------------------------------------------------ gather, scatter_add, overwrite */

/* Element `at` of the gathered (the updates') shape lies in x (the big tensor) at the returned offset. */
static int64_t place_of_index(const Node *n, Shape x, const Value *ids, const int64_t *at)
{
    int axis = (int)n->ints[0], nbatch = (int)n->ints[1], nids = ids->shape.rank - nbatch;
    int64_t id_at[MAXRANK], to[MAXRANK];
    for (int k = 0; k < nbatch; k++) id_at[k] = at[k];
    for (int k = 0; k < nids; k++) id_at[nbatch + k] = at[axis + k];
    int64_t id = (int64_t)ids->at[offset_at(ids->shape, id_at)];
    if (id < 0 || id >= x.dim[axis])
        die("%s at %s:%d: id %lld is not below %lld", op_info[n->op].name, n->where.file ? n->where.file : "?",
            n->where.line, (long long)id, (long long)x.dim[axis]);
    for (int k = 0; k < axis; k++) to[k] = at[k];
    to[axis] = id;
    for (int k = axis + 1; k < x.rank; k++) to[k] = at[k - 1 + nids];
    return offset_at(x, to);
}

static void eval_gather(const Node *n, const Value *in, Value *out)
{
    for (Walk w = walk(n->shape); w.i < w.n; step(&w))
        out->at[w.i] = in[0].at[place_of_index(n, in[0].shape, &in[1], w.at)];
}

static void eval_scatter_add(const Node *n, const Value *in, Value *out)
{
    memset(out->at, 0, sizeof(double) * (size_t)elements(n->shape));
    for (Walk w = walk(in[0].shape); w.i < w.n; step(&w)) {
        double *to = &out->at[place_of_index(n, n->shape, &in[1], w.at)];
        double pair[] = {*to, in[0].at[w.i]};
        *to = eval_element(OP_add, n->dtype, n->dtype, pair);
    }
}

static void eval_overwrite(const Node *n, const Value *in, Value *out)
{
    memcpy(out->at, in[0].at, sizeof(double) * (size_t)elements(n->shape));
    for (Walk w = walk(in[2].shape); w.i < w.n; step(&w))
        out->at[place_of_index(n, n->shape, &in[1], w.at)] = in[2].at[w.i];
}

/* ------------------------------------------------------------------ along an axis */

/* The lines of a tensor along one axis: element k of line (i, j) is at[(i · extent + k) · inner + j]. */
typedef struct Lines {
    int64_t outer, extent, inner;
} Lines;

static Lines lines(Shape s, int axis)
{
    Lines l = {1, s.dim[axis], 1};
    for (int k = 0; k < axis; k++) l.outer *= s.dim[k];
    for (int k = axis + 1; k < s.rank; k++) l.inner *= s.dim[k];
    return l;
}

/* The first of the largest; a NaN counts as largest. */
static int64_t eval_largest(const double *at, const Lines *l)
{
    int64_t best = 0;
    for (int64_t k = 1; k < l->extent; k++) {
        double x = at[k * l->inner], y = at[best * l->inner];
        if (x > y || (x != x && y == y)) best = k;
    }
    return best;
}

static void eval_argmax(const Node *n, const Value *in, Value *out)
{
    Lines l = lines(in->shape, (int)n->ints[0]);
    for (int64_t i = 0; i < l.outer; i++)
        for (int64_t j = 0; j < l.inner; j++)
            out->at[i * l.inner + j] = (double)eval_largest(in->at + i * l.extent * l.inner + j, &l);
}

static void eval_cumsum(const Node *n, const Value *in, Value *out)
{
    Lines l = lines(in->shape, (int)n->ints[0]);
    for (int64_t i = 0; i < l.outer; i++)
        for (int64_t j = 0; j < l.inner; j++) {
            double sum = 0;
            for (int64_t k = 0; k < l.extent; k++) {
                int64_t at = (i * l.extent + (n->ints[1] ? l.extent - 1 - k : k)) * l.inner + j;
                sum = eval_element(OP_add, n->dtype, n->dtype, (double[]){sum, in->at[at]});
                out->at[at] = sum;
            }
        }
}

/* Takes the first largest that is not yet taken, k times. */
void eval_topk(const Node *n, const Value *in, Value *values, Value *ids)
{
    Lines l = lines(in->shape, (int)n->ints[0]);
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
                values->at[(i * wanted + k) * l.inner + j] = line[best * l.inner];
                ids->at[(i * wanted + k) * l.inner + j] = (double)best;
            }
        }
    give(taken);
}

void eval_index(const Node *n, const Value *in, Value *out)
{
    switch (n->op) {
    case OP_gather: eval_gather(n, in, out); break;
    case OP_scatter_add: eval_scatter_add(n, in, out); break;
    case OP_overwrite: eval_overwrite(n, in, out); break;
    case OP_argmax: eval_argmax(n, in, out); break;
    case OP_cumsum: eval_cumsum(n, in, out); break;
    case OP_over_ranks: memcpy(out->at, in->at, (size_t)elements(n->shape) * sizeof *out->at); break;
    default: die("%s is no index op", op_info[n->op].name);
    }
}
