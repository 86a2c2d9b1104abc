/* simplify_view.c: the algebra of moves: two become one, what they undo goes, constants pass through; and
 * reductions of views. Elements and the order in which they are summed stay. */
#include "passes/simplify.h"

#include <string.h>

static const Node *below(const Node *n) { return n->in[0]; }

/* ------------------------------------------------------------------ reshape, permute, expand, flip */

static Node *reshape_step(Node *n)
{
    if (same_shape(n->shape, below(n)->shape)) return n->in[0];
    return below(n)->op == OP_reshape ? reshape(below(n)->in[0], n->shape) : NULL;
}

/* Axes of extent 1 may stand anywhere: if the others keep their order nothing moves. */
static bool only_unit_axes_move(const Node *n)
{
    int64_t last = -1;
    for (int i = 0; i < n->shape.rank; i++) {
        if (n->shape.dim[i] == 1) continue;
        if (n->ints[i] < last) return false;
        last = n->ints[i];
    }
    return true;
}

static Node *permute_step(Node *n)
{
    const Node *x = below(n);
    if (only_unit_axes_move(n)) return reshape(n->in[0], n->shape);
    if (x->op != OP_permute) return NULL;
    int perm[MAXRANK];
    for (int i = 0; i < n->shape.rank; i++) perm[i] = (int)x->ints[n->ints[i]];
    return permute(x->in[0], perm);
}

static Node *expand_step(Node *n)
{
    if (same_shape(n->shape, below(n)->shape)) return n->in[0];
    return below(n)->op == OP_expand ? expand(below(n)->in[0], n->shape) : NULL;
}

static Node *flip_step(Node *n)
{
    const Node *x = below(n);
    if (x->op != OP_flip) return NULL;
    bool flipped[MAXRANK] = {false};
    for (int i = 0; i < n->nints; i++) flipped[n->ints[i]] = true;
    for (int i = 0; i < x->nints; i++) flipped[x->ints[i]] = !flipped[x->ints[i]];
    int axes[MAXRANK], naxes = 0;
    for (int i = 0; i < n->shape.rank; i++)
        if (flipped[i]) axes[naxes++] = i;
    return flip(x->in[0], naxes, axes);
}

/* ------------------------------------------------------------------ slice */

static Node *slice_of_slice(Node *n)
{
    const Node *x = below(n);
    int rank = n->shape.rank;
    int64_t start[MAXRANK], by[MAXRANK];
    for (int i = 0; i < rank; i++) {
        start[i] = x->ints[i] + n->ints[i] * x->ints[rank + i];
        by[i] = n->shape.dim[i] == 1 ? 1 : x->ints[rank + i] * n->ints[rank + i];
    }
    return slice(x->in[0], start, n->shape.dim, by);
}

/* The slice's part inside the padded tensor is a slice of that tensor; the part in the padding is zero. */
static Node *slice_of_pad(Node *n)
{
    const Node *x = below(n), *y = x->in[0];
    int rank = n->shape.rank;
    int64_t start[MAXRANK];
    for (int i = 0; i < rank; i++) {
        start[i] = n->ints[i] - x->ints[i];
        int64_t last = start[i] + (n->shape.dim[i] - 1) * n->ints[rank + i];
        if (last < 0 || start[i] >= y->shape.dim[i]) return filled(0, n->dtype, n->shape);
        if (start[i] < 0 || last >= y->shape.dim[i]) return NULL;
    }
    return slice(x->in[0], start, n->shape.dim, n->ints + rank);
}

static Node *slice_of_concat(Node *n)
{
    const Node *x = below(n);
    int axis = (int)x->ints[0], rank = n->shape.rank;
    int64_t first = n->ints[axis], last = first + (n->shape.dim[axis] - 1) * n->ints[rank + axis], start[MAXRANK];
    memcpy(start, n->ints, sizeof *start * (size_t)rank);
    for (int p = 0; p < x->nin; p++) {
        int64_t extent = x->in[p]->shape.dim[axis];
        if (first >= 0 && last < extent) {
            start[axis] = first;
            return slice(x->in[p], start, n->shape.dim, n->ints + rank);
        }
        first -= extent;
        last -= extent;
    }
    return NULL;
}

/* Copies are made of the slice. */
static Node *slice_of_expand(const Rules *rules, Node *n)
{
    const Node *x = below(n), *y = x->in[0];
    int rank = n->shape.rank;
    int64_t start[MAXRANK], extent[MAXRANK], by[MAXRANK];
    for (int i = 0; i < rank; i++) {
        bool copied = y->shape.dim[i] == 1;
        start[i] = copied ? 0 : n->ints[i];
        extent[i] = copied ? 1 : n->shape.dim[i];
        by[i] = copied ? 1 : n->ints[rank + i];
    }
    return expand(simplified(rules, slice(x->in[0], start, extent, by)), n->shape);
}

static Node *slice_step(const Rules *rules, Node *n)
{
    int rank = n->shape.rank;
    if (same_shape(n->shape, below(n)->shape)) return n->in[0];
    for (int i = 0; i < rank; i++) /* one element has no step */
        if (n->shape.dim[i] == 1 && n->ints[rank + i] != 1) {
            int64_t by[MAXRANK];
            for (int k = 0; k < rank; k++) by[k] = n->shape.dim[k] == 1 ? 1 : n->ints[rank + k];
            return slice(n->in[0], n->ints, n->shape.dim, by);
        }
    switch (below(n)->op) {
    case OP_slice: return slice_of_slice(n);
    case OP_pad: return slice_of_pad(n);
    case OP_concat: return slice_of_concat(n);
    case OP_expand: return slice_of_expand(rules, n);
    default: return NULL;
    }
}

/* ------------------------------------------------------------------ pad, concat */

static Node *pad_step(Node *n)
{
    const Node *x = below(n);
    int rank = n->shape.rank;
    double value;
    if (same_shape(n->shape, x->shape)) return n->in[0];
    if (is_filled(x, &value) && value == 0) return filled(0, n->dtype, n->shape);
    if (x->op != OP_pad) return NULL;
    int64_t before[MAXRANK], after[MAXRANK];
    for (int i = 0; i < rank; i++) {
        before[i] = n->ints[i] + x->ints[i];
        after[i] = n->ints[rank + i] + x->ints[rank + i];
    }
    return pad(x->in[0], before, after);
}

static bool all_filled(const Node *n, double *value)
{
    double other;
    if (!is_filled(n->in[0], value)) return false;
    for (int p = 1; p < n->nin; p++)
        if (!is_filled(n->in[p], &other) || memcmp(&other, value, sizeof other) != 0) return false;
    return true;
}

static Node *concat_step(Node *n)
{
    double value;
    Nodes flat = {0};
    if (n->nin == 1) return n->in[0];
    if (all_filled(n, &value)) return filled(value, n->dtype, n->shape);
    for (int p = 0; p < n->nin; p++) {
        Node *part = n->in[p];
        bool same_axis = part->op == OP_concat && part->ints[0] == n->ints[0];
        for (int k = 0; k < (same_axis ? part->nin : 1); k++) push(&flat, same_axis ? part->in[k] : part);
    }
    return flat.n > n->nin ? concat(flat.n, flat.at, (int)n->ints[0]) : NULL;
}

/* ------------------------------------------------------------------ reductions */

static Node *reduce_of_filled(Node *n, double value)
{
    double count = (double)(elements(below(n)->shape) / elements(n->shape));
    if (n->op == OP_rmax || n->op == OP_rmin) return filled(value, n->dtype, n->shape);
    if (n->op != OP_sum || (n->dtype == I32 && (value * count > INT32_MAX || value * count < INT32_MIN))) return NULL;
    return filled(value * count, n->dtype, n->shape);
}

/* Axes of extent 1 are no reduction. */
static Node *reduce_of_unit_axes(const Rules *rules, Node *n)
{
    Shape s = {0};
    int axes[MAXRANK], naxes = 0;
    for (int i = 0, k = 0; i < below(n)->shape.rank; i++) {
        bool reduced = k < n->nints && n->ints[k] == i;
        k += reduced;
        if (reduced && below(n)->shape.dim[i] == 1) continue;
        if (reduced) axes[naxes++] = s.rank;
        s = with_axis(s, below(n)->shape, i);
    }
    if (naxes == n->nints) return NULL;
    return reduce(n->op, simplified(rules, reshape(n->in[0], s)), naxes, axes);
}

static int64_t extent_of_view(Shape s, int from, int to)
{
    int64_t n = 1;
    for (int i = from; i < to; i++) n *= s.dim[i];
    return n;
}

/* All last (or all first) axes of a reshape are as well the last (the first) ones of what it reshapes, if these are as
 * many elements: [A][B·C] seen as [A][B][C] and summed over the last two.  Not if one of them has extent 1: see above.
 */
static Node *reduce_of_reshape(const Rules *rules, Node *n)
{
    const Node *x = below(n), *y = x->in[0];
    int rank = x->shape.rank, axes[MAXRANK];
    bool last = n->ints[0] == rank - n->nints, first = n->ints[n->nints - 1] == n->nints - 1;
    int64_t reduced = elements(x->shape) / elements(n->shape);
    for (int k = 1; (last || first) && k <= y->shape.rank; k++) {
        int from = last ? y->shape.rank - k : 0, to = last ? y->shape.rank : k;
        if (extent_of_view(y->shape, from, to) != reduced) continue;
        for (int i = from; i < to; i++) {
            if (y->shape.dim[i] == 1) return NULL;
            axes[i - from] = i;
        }
        return reshape(simplified(rules, reduce(n->op, x->in[0], k, axes)), n->shape);
    }
    return NULL;
}

static Node *simplified_reduction(const Rules *rules, Node *n)
{
    double value;
    if (is_filled(below(n), &value)) return reduce_of_filled(n, value);
    Node *less = reduce_of_unit_axes(rules, n);
    if (less || below(n)->op != OP_reshape) return less;
    return reduce_of_reshape(rules, n);
}

/* ------------------------------------------------------------------ */

static Node *move_step(const Rules *rules, Node *n)
{
    if (is_filled(n, NULL)) return refilled(n, n->shape);
    switch (n->op) {
    case OP_reshape: return reshape_step(n);
    case OP_permute: return permute_step(n);
    case OP_expand: return expand_step(n);
    case OP_slice: return slice_step(rules, n);
    case OP_pad: return pad_step(n);
    case OP_flip: return flip_step(n);
    case OP_concat: return concat_step(n);
    default: return NULL;
    }
}

Node *by_views(const Rules *rules, Node *n)
{
    Node *m = NULL;
    if (is_move(n)) m = move_step(rules, n);
    else if (op_info[n->op].kind == REDUCE) m = simplified_reduction(rules, n);
    else if (n->op == OP_iota && n->shape.dim[n->ints[0]] == 1) m = filled(0, I32, n->shape);
    return m == n ? NULL : m;
}
