/* dot.c: contraction of two tensors over any axes, with any shared (batch) axes; and what it may end with. */
#include "desc/desc.h"

#include <string.h>

int free_axes(int rank, int nb, const int *batch, int nc, const int *contracted, int *out)
{
    int n = 0;
    for (int i = 0; i < rank; i++) {
        bool bound = false;
        for (int k = 0; k < nb; k++) bound |= batch[k] == i;
        for (int k = 0; k < nc; k++) bound |= contracted[k] == i;
        if (!bound) out[n++] = i;
    }
    return n;
}

Node *dot_into(DType t, Node *a, Node *b, Dot_axes x)
{
    must(a->dtype == b->dtype && (t == a->dtype || is_stored(a->dtype)));
    for (int k = 0; k < x.nb; k++) must(a->shape.dim[x.ab[k]] == b->shape.dim[x.bb[k]]);
    for (int k = 0; k < x.nc; k++) must(a->shape.dim[x.ac[k]] == b->shape.dim[x.bc[k]]);
    int fa[MAXRANK], fb[MAXRANK];
    int na = free_axes(a->shape.rank, x.nb, x.ab, x.nc, x.ac, fa);
    int nb = free_axes(b->shape.rank, x.nb, x.bb, x.nc, x.bc, fb);
    must(na == a->shape.rank - x.nb - x.nc && nb == b->shape.rank - x.nb - x.nc);
    must(x.nb + na + nb <= MAXRANK);
    Shape s = {0};
    for (int k = 0; k < x.nb; k++) {
        bool named = a->shape.axis[x.ab[k]];
        s = named ? with_axis(s, a->shape, x.ab[k]) : with_axis(s, b->shape, x.bb[k]);
    }
    for (int k = 0; k < na; k++) s = with_axis(s, a->shape, fa[k]);
    for (int k = 0; k < nb; k++) s = with_axis(s, b->shape, fb[k]);
    int64_t ints[2 + 4 * MAXRANK];
    int n = 0;
    ints[n++] = x.nb;
    ints[n++] = x.nc;
    for (int k = 0; k < x.nb; k++) ints[n++] = x.ab[k];
    for (int k = 0; k < x.nb; k++) ints[n++] = x.bb[k];
    for (int k = 0; k < x.nc; k++) ints[n++] = x.ac[k];
    for (int k = 0; k < x.nc; k++) ints[n++] = x.bc[k];
    return node_of(OP_dot, t, s, 2, (Node *[]){a, b}, n, ints);
}

Node *dot(Node *a, Node *b, Dot_axes x) { return dot_into(a->dtype, a, b, x); }

Dot_axes dot_axes(const Node *n)
{
    Dot_axes x = {.nb = (int)n->ints[0], .nc = (int)n->ints[1]};
    const int64_t *at = n->ints + 2;
    for (int k = 0; k < x.nb; k++) x.ab[k] = (int)*at++;
    for (int k = 0; k < x.nb; k++) x.bb[k] = (int)*at++;
    for (int k = 0; k < x.nc; k++) x.ac[k] = (int)*at++;
    for (int k = 0; k < x.nc; k++) x.bc[k] = (int)*at++;
    return x;
}

/* ------------------------------------------------------------------ what it ends with */

int dot_ints(const Node *n) { return 2 + 2 * (int)(n->ints[0] + n->ints[1]); }

Product_end dot_end(const Node *n)
{
    return n->nints > dot_ints(n) ? (Product_end)n->ints[dot_ints(n)] : n->nin > 2 ? END_BIAS : END_NONE;
}

int64_t dot_columns(const Node *n)
{
    int64_t columns = 1;
    for (int i = n->in[0]->shape.rank - (int)n->ints[1]; i < n->shape.rank; i++) columns *= n->shape.dim[i];
    return columns;
}

Node *ended_dot(const Node *old, int nin, Node *const *in, Product_end end)
{
    int axes = dot_ints(old);
    int64_t *ints = NEW_ARRAY(int64_t, axes + 1);
    Node key = *old;
    memcpy(ints, old->ints, sizeof *ints * (size_t)axes);
    ints[axes] = end;
    key.in = (Node **)in;
    key.nin = nin;
    key.ints = ints;
    key.nints = axes + (end != END_BIAS);
    Making was = make_beside(old);
    Node *n = intern(key);
    make_with(was);
    return n;
}
