/* emit_parts.c: which part of a training step a kernel belongs to.
 *
 * A value is of the forward part if loss, metrics or states need it; all else is there for gradients alone, what is
 * computed again for them too.  A kernel that makes values of both parts (the head's, where the derivative overwrites
 * the logits), or a group of panels that has kernels of both, is counted as backward.  What is packed for a product is
 * of the product's part. */
#include "emit.h"

static const char *forward; /* by a node's id; NULL: the program has no gradients */

void find_parts(const Program *p) { forward = p->graph->wants_grads ? needed_forward(p->graph) : NULL; }

static bool any_backward(const Operands *stores)
{
    for (int i = 0; i < stores->n; i++)
        if (!forward[stores->at[i].node->id]) return true;
    return false;
}

static bool is_backward(const Kernel *k)
{
    if (k->kind == GEMM || k->kind == PACK) return !forward[k->gemm.c.node->id];
    for (int i = 0; i < k->body.n; i++)
        if (is_backward(k->body.at[i])) return true;
    if (k->node) return !forward[k->node->id];
    for (int i = 0; i < k->phases.n; i++) {
        const Phase *q = &k->phases.at[i];
        if (any_backward(&q->stores) || any_backward(&q->row_stores) || any_backward(&q->column_stores)) return true;
    }
    return false;
}

Side first_part(const Kernel *k)
{
    if (k->kind == REPEAT && !is_one_launch(k) && k->body.n) return first_part(k->body.at[0]);
    return !forward ? NO_SIDE : is_backward(k) ? BACKWARD : FORWARD;
}

Side last_part(const Kernel *k)
{
    return k->kind == REPEAT && !is_one_launch(k) && k->body.n ? last_part(k->body.at[k->body.n - 1]) : first_part(k);
}
