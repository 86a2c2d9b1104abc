/* known.c: gathers by ids that are known while compiling become views, where views can say it: rotations,
 * strides, rasters, permutations of axes.  Views are read by the kernels around them, and have derivatives that are
 * views.
 *
 * A list of ids is affine if for some extents n_1 … n_m, whose product is its length, entry (i_1, …, i_m) of it is
 * base + Σ stride_k · i_k.  With strides made positive (by flips) and in falling order, an axis of that many rows is
 * cut at the largest stride: into [n_1][stride_1], of which the inner axis has to hold what the others reach; and so
 * on.  Needs nothing; leaves ids that are no such list, nor a few of them one after another along an axis, as they are.
 */
#include "passes/passes.h"

#include <string.h>

typedef struct Affine {
    int n; /* axes, outermost first; of extent 2 or more */
    int64_t extent[MAXRANK], stride[MAXRANK], base;
} Affine;

static int64_t run_length(const double *v, int64_t n, int64_t by)
{
    int64_t r = 2;
    while (r < n && v[r * by] - v[(r - 1) * by] == v[by] - v[0]) r++;
    return r;
}

static bool says(const Affine *a, const double *v, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t at = i, id = a->base;
        for (int k = a->n - 1; k >= 0; at /= a->extent[k--]) id += a->stride[k] * (at % a->extent[k]);
        if ((double)id != v[i]) return false;
    }
    return true;
}

/* Axes are found from the innermost out: each ends where its run of equal differences does. */
static bool find_affine(const double *v, int64_t n, Affine *a)
{
    *a = (Affine){.base = (int64_t)v[0]};
    for (int64_t by = 1; by < n;) {
        int64_t left = n / by, r = run_length(v, left, by);
        if (left % r || a->n == MAXRANK) return false;
        memmove(a->extent + 1, a->extent, sizeof *a->extent * (size_t)a->n);
        memmove(a->stride + 1, a->stride, sizeof *a->stride * (size_t)a->n);
        a->extent[0] = r;
        a->stride[0] = (int64_t)(v[by] - v[0]);
        a->n++;
        by *= r;
    }
    return says(a, v, n);
}

/* ------------------------------------------------------------------ as views */

static Shape with_axes(Shape s, int axis, int gone, int n, const int64_t *extent)
{
    Shape r = {0};
    for (int i = 0; i < axis; i++) r = with_axis(r, s, i);
    for (int i = 0; i < n; i++) r.dim[r.rank++] = extent[i];
    for (int i = axis + gone; i < s.rank; i++) r = with_axis(r, s, i);
    return r;
}

static Node *sliced_ids(Node *x, int axis, int64_t start, int64_t extent, int64_t step)
{
    int64_t from[MAXRANK] = {0}, by[MAXRANK];
    Shape s = x->shape;
    for (int i = 0; i < s.rank; i++) by[i] = 1;
    from[axis] = start;
    by[axis] = extent == 1 ? 1 : step;
    s.dim[axis] = extent;
    return slice(x, from, s.dim, by);
}

/* The axes whose stride is not 0, by falling stride; flipped: those that run downwards, which starts from the other
 * end. */
static int in_falling_order(Affine *a, int *order, int *flipped, int *nflipped)
{
    int n = 0;
    *nflipped = 0;
    for (int k = 0; k < a->n; k++) {
        if (a->stride[k] == 0) continue;
        int at = n++;
        while (at > 0 && llabs(a->stride[order[at - 1]]) < llabs(a->stride[k])) order[at] = order[at - 1], at--;
        order[at] = k;
    }
    for (int i = 0; i < n; i++) {
        int k = order[i];
        if (a->stride[k] > 0) continue;
        a->base += a->stride[k] * (a->extent[k] - 1);
        a->stride[k] = -a->stride[k];
        flipped[(*nflipped)++] = i;
    }
    return n;
}

/* A part of stride s at which an axis of n rows is cut: the e blocks that are taken begin at `from` or a little behind,
 * and each holds what the others reach; 0: there is none. */
static int64_t block_of_ids(int64_t n, int64_t base, int64_t s, int64_t e, int64_t reach, int64_t *from)
{
    for (int64_t u = reach + 1; u <= s; u++) {
        *from = min64(base, n - ((e - 1) * (s / u) + 1) * u);
        if (s % u == 0 && *from >= 0 && base - *from + reach < u) return u;
    }
    return 0;
}

/* Axis `axis` of x cut into those axes, in their order; NULL: they overlap, or reach too far. */
static Node *cut(Node *x, int axis, const Affine *a, const int *order, int n)
{
    int64_t base = a->base, reach = 0;
    for (int i = 0; i < n; i++) reach += a->stride[order[i]] * (a->extent[order[i]] - 1);
    for (int i = 0; i < n; i++) {
        int64_t e = a->extent[order[i]], s = a->stride[order[i]], from;
        if (i == n - 1) return sliced_ids(x, axis + i, base, e, s);
        reach -= s * (e - 1);
        int64_t u = block_of_ids(x->shape.dim[axis + i], base, s, e, reach, &from);
        if (!u) return NULL;
        int64_t rows = (e - 1) * (s / u) + 1;
        x = sliced_ids(x, axis + i, from, rows * u, 1);
        x = reshape(x, with_axes(x->shape, axis + i, 1, 2, (int64_t[]){rows, u}));
        x = sliced_ids(x, axis + i, 0, e, s / u);
        base -= from;
    }
    return sliced_ids(x, axis, base, 1, 1); /* all ids are one */
}

/* What lies in falling order to the order of a, with axes that repeat. */
static Node *arranged(Node *y, int axis, const Affine *a, const int *order, int n)
{
    int perm[MAXRANK], at = axis, left = y->shape.rank;
    int64_t extent[MAXRANK];
    if (n == 0) y = reshape(y, with_axes(y->shape, axis, 1, 0, NULL)), left--;
    for (int i = 0; i < left; i++) perm[i] = i;
    for (int k = 0; k < a->n; k++)
        for (int i = 0; i < n; i++)
            if (order[i] == k) perm[at++] = axis + i;
    y = permute(y, perm);
    for (int k = 0; k < a->n; k++) extent[k] = a->stride[k] ? a->extent[k] : 1;
    Shape with_ones = with_axes(y->shape, axis, n, a->n, extent);
    y = reshape(y, with_ones);
    return expand(y, with_axes(y->shape, axis, a->n, a->n, a->extent));
}

static Node *view_of(Node *x, int axis, const double *v, Shape ids)
{
    Affine a;
    int order[MAXRANK], flipped[MAXRANK], nflipped;
    if (!find_affine(v, elements(ids), &a) || x->shape.rank - 1 + a.n > MAXRANK) return NULL;
    int n = in_falling_order(&a, order, flipped, &nflipped);
    Node *y = cut(x, axis, &a, order, n);
    if (!y) return NULL;
    for (int i = 0; i < nflipped; i++) flipped[i] += axis;
    if (nflipped) y = flip(y, nflipped, flipped);
    y = arranged(y, axis, &a, order, n);
    return reshape(y, with_axes(x->shape, axis, 1, ids.rank, ids.dim));
}

/* ------------------------------------------------------------------ piece by piece */

enum { PIECES = 4 }; /* at most; more are rather a table */

/* Entries first … first + extent - 1 along one axis of the ids. */
static double *entries(const double *v, Shape ids, int along, int64_t first, int64_t extent)
{
    int64_t inner = 1, outer = 1;
    for (int i = 0; i < along; i++) outer *= ids.dim[i];
    for (int i = along + 1; i < ids.rank; i++) inner *= ids.dim[i];
    double *part = NEW_ARRAY(double, outer *extent *inner);
    for (int64_t o = 0; o < outer; o++)
        memcpy(part + o * extent * inner, v + (o * ids.dim[along] + first) * inner,
               sizeof *v * (size_t)(extent * inner));
    return part;
}

/* Finds where the first line along an axis breaks into runs: the ends of its pieces; 0: there are too many, or one. */
static int piece_ends(const double *v, Shape ids, int along, int64_t *end)
{
    int64_t inner = 1, extent = ids.dim[along], from = 0;
    int n = 0;
    for (int i = along + 1; i < ids.rank; i++) inner *= ids.dim[i];
    while (from < extent) {
        if (n == PIECES) return 0;
        int64_t left = extent - from;
        from += left < 3 ? left : run_length(v + from * inner, left, inner);
        end[n++] = from;
    }
    return n > 1 ? n : 0;
}

static Node *pieces_of(Node *x, int axis, const double *v, Shape ids)
{
    for (int along = 0; along < ids.rank; along++) {
        int64_t end[PIECES], from = 0;
        Node *part[PIECES];
        int n = piece_ends(v, ids, along, end), made = 0;
        for (; made < n; from = end[made++]) {
            Shape s = ids;
            s.dim[along] = end[made] - from;
            part[made] = view_of(x, axis, entries(v, ids, along, from, s.dim[along]), s);
            if (!part[made]) break;
        }
        if (n && made == n) return concat(n, part, axis + along);
    }
    return NULL;
}

/* ------------------------------------------------------------------ the pass */

static bool in_range(const double *v, int64_t n, int64_t below)
{
    for (int64_t i = 0; i < n; i++)
        if (v[i] < 0 || v[i] >= (double)below) return false;
    return true;
}

static bool by_known_ids(const Node *n, Node *ids, Value *v)
{
    return (op_info[n->op].facts & LOOKS_UP) && n->ints[1] == 0 && known_values(ids, v);
}

static Node *seen_as_view(Rewrite *r, Node *old, Node *const *in)
{
    (void)r;
    Value v;
    if (!by_known_ids(old, in[1], &v)) return NULL;
    int axis = (int)old->ints[0];
    if (!in_range(v.at, elements(v.shape), in[0]->shape.dim[axis])) return NULL;
    Node *n = view_of(in[0], axis, v.at, v.shape);
    return n ? n : pieces_of(in[0], axis, v.at, v.shape);
}

void pass_known(Graph *g, const Desc *d)
{
    Nodes all = {0};
    Value v;
    bool any = false;
    all_nodes(g, &all);
    for (int i = 0; i < all.n && !any; i++) any = all.at[i]->nin == 2 && by_known_ids(all.at[i], all.at[i]->in[1], &v);
    Rewrite r = {.node = seen_as_view};
    if (any && !without(d, PASS_known)) rewrite_graph(&r, g);
}
