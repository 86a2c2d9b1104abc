/* emit_parts.c: which part of a training step a kernel belongs to.
 *
 * A value is of the forward part if loss, metrics or states need it; all else is there for gradients alone, what is
 * computed again for them too.  A kernel that makes values of both parts (the head's, where the derivative overwrites
 * the logits; a layer's, which keeps a copy for later), a loop in one launch or a group of panels is counted where most
 * of the bytes belong that it writes.  What is packed for a product is of the product's part. */
#include "emit.h"
#include "lower.h"

static const char *forward; /* by a node's id; NULL: the program has no gradients */

void find_parts(const Program *p) { forward = p->graph->wants_grads ? needed_forward(p->graph) : NULL; }

static double signed_bytes(const Node *n, double bytes) { return forward[n->id] ? -bytes : bytes; }

static double excess_of(const Operands *stores)
{
    double bytes = 0;
    for (int i = 0; i < stores->n; i++) bytes += signed_bytes(stores->at[i].node, view_bytes(&stores->at[i].view));
    return bytes;
}

/* By how many bytes more a kernel writes for gradients alone than for the forward part; attention and index kernels by
 * what they move.  What is packed has no bytes of its own here: a byte says whose it is. */
static double excess(const Kernel *k)
{
    double bytes = 0;
    if (k->kind == GEMM || k->kind == PACK) return signed_bytes(k->gemm.c.node, view_bytes(&k->gemm.c.view) + 1);
    if (k->node) return signed_bytes(k->node, k->bytes);
    for (int i = 0; i < k->body.n; i++) bytes += excess(k->body.at[i]);
    for (int i = 0; i < k->phases.n; i++) {
        const Phase *q = &k->phases.at[i];
        bytes += excess_of(&q->stores) + excess_of(&q->row_stores) + excess_of(&q->column_stores);
    }
    return bytes;
}

Side first_part(const Kernel *k)
{
    if (k->kind == REPEAT && !is_one_launch(k) && k->body.n) return first_part(k->body.at[0]);
    return !forward ? NO_SIDE : excess(k) > 0 ? BACKWARD : FORWARD;
}

Side last_part(const Kernel *k)
{
    return k->kind == REPEAT && !is_one_launch(k) && k->body.n ? last_part(k->body.at[k->body.n - 1]) : first_part(k);
}
