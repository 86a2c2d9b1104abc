/* dot_passes.c: what passes make of a dot: its gradient, its form for all trips of a loop, its normal form. */
#include "ops/parts.h"

#include <string.h>

/* ------------------------------------------------------------------ gradient */

/* One operand of a dot, seen from its gradient: where its axes lie in it, in the other operand and in the result. */
typedef struct Dot_side {
    const int *batch, *contracted; /* its own axes */
    const int *other_batch, *other_contracted;
    int free[MAXRANK], nfree, other_free[MAXRANK], nother;
    int result_other; /* first axis in the result of the other's free axes */
} Dot_side;

static int count_below(const int *v, int n, int than)
{
    int count = 0;
    for (int i = 0; i < n; i++) count += v[i] < than;
    return count;
}

static bool is_identity(const int *perm, int n)
{
    for (int i = 0; i < n; i++)
        if (perm[i] != i) return false;
    return true;
}

/* Axes of dot(g, other) are batch, free, contracted (in the other's order); those of dot(other, g) batch, contracted,
 * free. The one that needs no permutation is taken, if there is one. */
static Node *grad_side(const Dot_side *s, Dot_axes x, Node *g, Node *other)
{
    int g_first[MAXRANK], other_first[MAXRANK], rank = x.nb + x.nc + s->nfree;
    for (int k = 0; k < x.nb; k++) g_first[s->batch[k]] = other_first[s->batch[k]] = k;
    for (int k = 0; k < x.nc; k++) {
        int place = count_below(s->other_contracted, x.nc, s->other_contracted[k]);
        g_first[s->contracted[k]] = x.nb + s->nfree + place;
        other_first[s->contracted[k]] = x.nb + place;
    }
    for (int k = 0; k < s->nfree; k++) {
        g_first[s->free[k]] = x.nb + k;
        other_first[s->free[k]] = x.nb + x.nc + k;
    }
    Dot_axes r = {.nb = x.nb, .nc = s->nother};
    bool swap = !is_identity(g_first, rank) && is_identity(other_first, rank);
    int *gb = swap ? r.bb : r.ab, *gc = swap ? r.bc : r.ac, *ob = swap ? r.ab : r.bb, *oc = swap ? r.ac : r.bc;
    for (int k = 0; k < x.nb; k++) gb[k] = k, ob[k] = s->other_batch[k];
    for (int k = 0; k < s->nother; k++) gc[k] = s->result_other + k, oc[k] = s->other_free[k];
    return swap ? dot(other, g, r) : permute(dot(g, other, r), g_first);
}

void dot_gradient(Grad_level *lv, Node *n, Node *g)
{
    Dot_axes x = dot_axes(n);
    Dot_side a = {.batch = x.ab, .contracted = x.ac, .other_batch = x.bb, .other_contracted = x.bc};
    Dot_side b = {.batch = x.bb, .contracted = x.bc, .other_batch = x.ab, .other_contracted = x.ac};
    a.nfree = b.nother = free_axes(n->in[0]->shape.rank, x.nb, x.ab, x.nc, x.ac, a.free);
    b.nfree = a.nother = free_axes(n->in[1]->shape.rank, x.nb, x.bb, x.nc, x.bc, b.free);
    memcpy(a.other_free, b.free, sizeof b.free);
    memcpy(b.other_free, a.free, sizeof a.free);
    a.result_other = x.nb + a.nfree;
    b.result_other = x.nb;
    if (grad_active(lv, n->in[0])) contribute(lv, n->in[0], grad_side(&a, x, g, value(lv, n->in[1])));
    if (grad_active(lv, n->in[1])) contribute(lv, n->in[1], grad_side(&b, x, g, value(lv, n->in[0])));
}

/* ------------------------------------------------------------------ all trips at once */

static void shift(int *axes, int n, bool by_one)
{
    for (int k = 0; k < n && by_one; k++) axes[k]++;
}

/* The axes of dot n where the varying operands have one more in front. */
static Dot_axes shifted(const Node *n, const Trips *in)
{
    Dot_axes x = dot_axes(n);
    shift(x.ab, x.nb, in[0].varies);
    shift(x.ac, x.nc, in[0].varies);
    shift(x.bb, x.nb, in[1].varies);
    shift(x.bc, x.nc, in[1].varies);
    return x;
}

/* Both vary: one more batch axis.  One varies: the iteration axis is the first of its free axes, so that the
 * contraction has more rows. */
Node *dot_split(const Node *n, const Trips *in, int64_t trip)
{
    (void)trip;
    Dot_axes x = shifted(n, in);
    if (in[0].varies && in[1].varies) {
        for (int k = x.nb++; k > 0; k--) {
            x.ab[k] = x.ab[k - 1];
            x.bb[k] = x.bb[k - 1];
        }
        x.ab[0] = x.bb[0] = 0;
        return dot(in[0].node, in[1].node, x);
    }
    int free_of_a = n->in[0]->shape.rank - x.nb - x.nc;
    return to_front(dot(in[0].node, in[1].node, x), in[0].varies ? x.nb : x.nb + free_of_a);
}

Node *dot_total(const Node *n, const Trips *in, int64_t trip)
{
    (void)trip;
    Dot_axes x = shifted(n, in);
    for (int k = x.nc++; k > 0; k--) {
        x.ac[k] = x.ac[k - 1];
        x.bc[k] = x.bc[k - 1];
    }
    x.ac[0] = x.bc[0] = 0;
    return dot(in[0].node, in[1].node, x);
}

/* Rows that one trip contracts. */
int64_t dot_terms(const Node *n)
{
    Dot_axes x = dot_axes(n);
    int64_t rows = 1;
    for (int k = 0; k < x.nc; k++) rows *= n->in[0]->shape.dim[x.ac[k]];
    return rows;
}

/* ------------------------------------------------------------------ normal form */

/* x with its contracted axes last and as one. */
static Node *contracted_last(Node *x, int nc, const int *axes)
{
    int perm[MAXRANK], n = free_axes(x->shape.rank, 0, NULL, nc, axes, perm);
    Shape s = {.rank = n + 1, .dim = {0}};
    for (int i = 0; i < n; i++) s.dim[i] = x->shape.dim[perm[i]];
    s.dim[n] = 1;
    for (int k = 0; k < nc; k++) {
        perm[n + k] = axes[k];
        s.dim[n] *= x->shape.dim[axes[k]];
    }
    return reshape(permute(x, perm), s);
}

static int axis_without(int axis, int nc, const int *gone)
{
    int before = 0;
    for (int k = 0; k < nc; k++) before += gone[k] < axis;
    return axis - before;
}

static Node *with_one_contracted_axis(DType t, Node *a, Node *b, Dot_axes x)
{
    Dot_axes y = {.nb = x.nb, .nc = 1, .ac = {a->shape.rank - x.nc}, .bc = {b->shape.rank - x.nc}};
    for (int k = 0; k < x.nb; k++) {
        y.ab[k] = axis_without(x.ab[k], x.nc, x.ac);
        y.bb[k] = axis_without(x.bb[k], x.nc, x.bc);
    }
    return dot_into(t, contracted_last(a, x.nc, x.ac), contracted_last(b, x.nc, x.bc), y);
}

/* x as [batch…, free…, contracted…], its axis lists changed to match. */
static Node *batches_first(Node *x, int nb, int *batch, int nc, int *contracted)
{
    int perm[MAXRANK], nfree = free_axes(x->shape.rank, nb, batch, nc, contracted, perm + nb);
    for (int k = 0; k < nb; k++) perm[k] = batch[k], batch[k] = k;
    for (int k = 0; k < nc; k++) perm[nb + nfree + k] = contracted[k], contracted[k] = nb + nfree + k;
    return permute(x, perm);
}

/* The last but for axes of one element, which do not move in memory. */
static bool last_is_batch(const Node *x, int nb, const int *batch)
{
    int last = x->shape.rank - 1;
    while (last > 0 && x->shape.dim[last] == 1) last--;
    for (int k = 0; k < nb; k++)
        if (batch[k] == last && x->shape.dim[last] > 1) return true;
    return false;
}

static bool contracted_are_neighbours(const Dot_axes *x)
{
    for (int k = 0; k + 1 < x->nc; k++)
        if (x->ac[k + 1] != x->ac[k] + 1 || x->bc[k + 1] != x->bc[k] + 1) return false;
    return true;
}

Node *dot_normal(const Node *old, Node *const *in)
{
    Node *a = in[0], *b = in[1];
    Dot_axes x = dot_axes(old);
    bool left = last_is_batch(a, x.nb, x.ab), right = last_is_batch(b, x.nb, x.bb);
    if (contracted_are_neighbours(&x) && !left && !right) return NULL;
    if (left) a = batches_first(a, x.nb, x.ab, x.nc, x.ac);
    if (right) b = batches_first(b, x.nb, x.bb, x.nc, x.bc);
    return contracted_are_neighbours(&x) ? dot_into(old->dtype, a, b, x)
                                         : with_one_contracted_axis(old->dtype, a, b, x);
}
