/* attention.c: attention and its derivative as kernels: which operands the runtime can read and write in place.
 *
 * Axes of batch, time and heads may have any strides, so slices of a fused projection are read where they lie, and
 * gradients are written into such slices; along the width elements are neighbours. */
#include "lower/lower.h"

/* Written as a number by the call.  Without batch axes an array has rank 0, too, but wants an address. */
static bool is_one_number(const Node *n, const Attention *a)
{
    const Node *arrays[] = {a->lengths, a->q_segments, a->k_segments, a->row, a->base};
    for (int i = 0; i < COUNT_OF(arrays); i++)
        if (n == arrays[i]) return false;
    return n->shape.rank == 0 && is_filled(n, NULL);
}

/* Has a width as its last axis: everything real but lse, the bias on scores and the numbers. */
static bool has_width(const Node *n, const Attention *a)
{
    return (is_real(n->dtype) || is_stored(n->dtype)) && n->shape.rank && n != a->lse && n != a->bias;
}

void straighten_attention(Cut *cut, Node *n)
{
    Attention a = attention_of(n);
    for (int k = 0; k < n->nin; k++) {
        Node *in = n->in[k];
        if (is_one_number(in, &a)) continue;
        Reading r = reading(cut, in);
        bool readable = !r.view.guarded && has_address(cut, in);
        if (!readable || (has_width(in, &a) && !neighbours(&r.view))) info(cut, in)->forced = true;
    }
}

const char *attention_result_name(const Node *result)
{
    static const char *const names[2][3] = {{"heads", "lse", "probabilities"}, {"q", "k", "v"}};
    return names[result->in[0]->op == OP_attention_back][result->ints[0]];
}

bool attention_fits_at(const Node *result, const View *v)
{
    bool lse = result->in[0]->op == OP_attention && result->ints[0] == 1;
    return lse || neighbours(v);
}

/* Whole scores: a mask that hides half of them halves the work, but not what is asked for. */
static double attention_flops(const Node *n, const Attention *a)
{
    double scores = (double)elements(a->q->shape) * (double)a->k->shape.dim[a->k->shape.rank - 3];
    double v = scores / (double)a->q->shape.dim[a->q->shape.rank - 1] * (double)a->v->shape.dim[a->v->shape.rank - 1];
    double again = a->flags & PROBABILITIES ? scores : 0;
    return n->op == OP_attention ? 2 * (scores + v + again) : 2 * (3 * scores + 2 * v);
}

/* Reads all inputs in order, numbers without a buffer. */
void fill_attention(Cut *cut, Node *n, Kernel *k)
{
    Attention a = attention_of(n);
    k->kind = ATTENTION;
    k->flops = attention_flops(n, &a);
    for (int i = 0; i < n->nin; i++) {
        bool number = is_one_number(n->in[i], &a);
        push(&k->reads,
             ((Operand){.node = n->in[i], .view = number ? view_dense((Shape){0}) : final_view(cut, n->in[i])}));
    }
}
