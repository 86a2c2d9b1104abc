/* convolution.c: convolutions as kernels: which operands the runtime can read and write in place.
 *
 * Axes of batch and of pixels may have any strides, so slices of channels are read and written where they lie; a weight
 * has no gaps. */
#include "lower/lower.h"

static bool is_weight_of(const Convolution *v, const Node *n) { return v->side != TOWARDS_W && n == v->w; }

void straighten_convolution(Cut *cut, Node *n)
{
    Convolution v = convolution_of(n);
    for (int k = 0; k < n->nin; k++) {
        Reading r = reading(cut, n->in[k]);
        bool fits = is_weight_of(&v, n->in[k]) ? view_is_dense(&r.view) : neighbours(&r.view);
        if (!fits || r.view.guarded || !has_address(cut, n->in[k])) info(cut, n->in[k])->forced = true;
    }
}

bool convolution_fits_at(const Node *result, const View *v)
{
    return convolution_of(result->in[0]).side == TOWARDS_W ? view_is_dense(v) : neighbours(v);
}

void fill_convolution(Cut *cut, Node *n, Kernel *k)
{
    Convolution v = convolution_of(n);
    const Shape *y = v.side == TOWARDS_Y ? &whole_result(n, 0)->shape : &v.y->shape;
    int64_t channels = v.side == TOWARDS_W ? v.x->shape.dim[v.x->shape.rank - 1] / v.groups : v.w->shape.dim[1];
    k->kind = CONVOLUTION;
    k->flops = 2 * (double)elements(*y) * (double)channels;
    for (int i = 0; i < v.n; i++) k->flops *= (double)v.axis[i].kernel;
    for (int i = 0; i < n->nin; i++) push(&k->reads, ((Operand){.node = n->in[i], .view = final_view(cut, n->in[i])}));
}
