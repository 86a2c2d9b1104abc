/* tensor.c: pass tensor: which attention runs on CUDA tensor cores or in cuDNN. That is attention in 16 bits, unless
 * scores have a cap or a bias, or heads are too wide. */
#include "desc/passes.h"
#include "desc/target.h"
#include "kernels/nest.h"

enum { WIDEST = 256 };

static void take_tensor_cores(Kernel *k, const Desc *d)
{
    if (d->options->target->loops || k->kind != ATTENTION || !is_stored(k->node->dtype)) return;
    Attention a = attention_of(k->node);
    int last = a.q->shape.rank - 1;
    k->nest->tensor = max64(a.q->shape.dim[last], a.v->shape.dim[last]) <= WIDEST && !a.cap && !a.bias;
}

void pass_tensor(Program *p, const Desc *d)
{
    if (!without(d, PASS_tensor)) each_nest(p, take_tensor_cores, d);
}
