/* move.c: ops that only rearrange: reshape, permute, expand, slice, pad, flip, concat. */
#include "desc/desc.h"

Node *reshape(Node *a, Shape s)
{
    if (same_shape(a->shape, s)) return a;
    must(elements(a->shape) == elements(s));
    return node_of(OP_reshape, a->dtype, s, 1, &a, 0, NULL);
}

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

Node *expand(Node *a, Shape s)
{
    if (same_shape(a->shape, s)) return a;
    must(a->shape.rank == s.rank);
    for (int i = 0; i < s.rank; i++) must(a->shape.dim[i] == s.dim[i] || a->shape.dim[i] == 1);
    return node_of(OP_expand, a->dtype, s, 1, &a, 0, NULL);
}

Node *broadcast(Node *a, Shape s)
{
    must(a->shape.rank <= s.rank);
    Shape aligned = {0}, one = {1, {1}, {0}};
    for (int i = 0, extra = s.rank - a->shape.rank; i < s.rank; i++)
        aligned = i < extra ? with_axis(aligned, one, 0) : with_axis(aligned, a->shape, i - extra);
    return expand(reshape(a, aligned), s);
}

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

Node *pad(Node *a, const int64_t *before, const int64_t *after)
{
    Shape s = a->shape;
    int64_t ints[2 * MAXRANK];
    bool none = true;
    for (int i = 0; i < s.rank; i++) {
        must(before[i] >= 0 && after[i] >= 0);
        ints[i] = before[i];
        ints[s.rank + i] = after[i];
        none &= before[i] + after[i] == 0;
        s.axis[i] = (uint16_t)axis_longer(s.axis[i], before[i] + after[i]);
        s.dim[i] += before[i] + after[i];
    }
    return none ? a : node_of(OP_pad, a->dtype, s, 1, &a, 2 * s.rank, ints);
}

Node *flip(Node *a, int naxes, const int *axes)
{
    bool flipped[MAXRANK] = {false};
    for (int i = 0; i < naxes; i++) {
        must(axes[i] >= 0 && axes[i] < a->shape.rank && !flipped[axes[i]]);
        flipped[axes[i]] = true;
    }
    int64_t ints[MAXRANK];
    int n = 0;
    for (int i = 0; i < a->shape.rank; i++)
        if (flipped[i] && a->shape.dim[i] > 1) ints[n++] = i;
    return n ? node_of(OP_flip, a->dtype, a->shape, 1, &a, n, ints) : a;
}

Node *concat(int n, Node *const *parts, int axis)
{
    must(n > 0 && axis >= 0 && axis < parts[0]->shape.rank);
    if (n == 1) return parts[0];
    Shape s = parts[0]->shape;
    for (int p = 1; p < n; p++) {
        must(parts[p]->dtype == parts[0]->dtype && parts[p]->shape.rank == s.rank);
        for (int i = 0; i < s.rank; i++) must(i == axis || parts[p]->shape.dim[i] == s.dim[i]);
        s.dim[axis] += parts[p]->shape.dim[axis];
        s.axis[axis] = (uint16_t)axis_sum(s.axis[axis], parts[p]->shape.axis[axis]);
    }
    return node_of(OP_concat, parts[0]->dtype, s, n, parts, 1, &(int64_t){axis});
}
