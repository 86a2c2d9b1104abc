/* whole.c: whole operations as kernels: what attention and convolutions share. */
#include "lower/lower.h"

bool neighbours(const View *v)
{
    int last = v->shape.rank - 1;
    return v->stride[last] == 1 || v->shape.dim[last] == 1;
}

const char *whole_result_name(const Node *result)
{
    const Node *n = result->in[0];
    if (n->op == OP_dot_by_ids) return sums_by_ids(n) ? "sums" : "chosen";
    if (n->op != OP_convolution) return attention_result_name(result);
    return convolution_of(n).side == TOWARDS_W ? "weight_parts" : "convolved";
}

void straighten_whole(Cut *cut, Node *n)
{
    if (n->op == OP_convolution) straighten_convolution(cut, n);
    else if (n->op == OP_dot_by_ids) straighten_by_ids(cut, n);
    else straighten_attention(cut, n);
}

bool whole_fits_at(const Node *result, const View *v)
{
    if (result->in[0]->op == OP_dot_by_ids) return by_ids_fits_at(result, v);
    return result->in[0]->op == OP_convolution ? convolution_fits_at(result, v) : attention_fits_at(result, v);
}

static double value_bytes(const Node *n) { return (double)(elements(n->shape) * dtype_bytes(n->dtype)); }

/* Writes: the results that somebody picks. */
Kernel *whole_kernel(Cut *cut, Node *n)
{
    Kernel *k = NEW(Kernel);
    k->node = n;
    k->where = n->where;
    if (n->op == OP_convolution) fill_convolution(cut, n, k);
    else if (n->op == OP_dot_by_ids) fill_by_ids(cut, n, k);
    else fill_attention(cut, n, k);
    for (int i = 0; i < k->reads.n; i++)
        if (k->reads.at[i].view.buffer) k->bytes += value_bytes(n->in[i]);
    for (int i = 0; i < info(cut, n)->picks.n; i++) {
        Node *p = info(cut, n)->picks.at[i];
        push(&k->writes, ((Operand){.node = p, .view = info(cut, p)->place}));
        k->bytes += value_bytes(p);
    }
    k->name = n->op == OP_convolution  ? convolution_kernel_name(cut, k)
              : n->op == OP_dot_by_ids ? by_ids_kernel_name(cut, k)
                                       : attention_kernel_name(cut, k);
    return k;
}
