/* parts.c: which part of a training step a kernel belongs to.
 *
 * A value is of the forward part if loss, metrics or states need it; all else is there for gradients alone, what is
 * computed again for them too.  A kernel that makes anything of the forward part is of it (the head's, where the
 * derivative overwrites the logits; a layer's, which keeps a copy for later).  A loop in one launch or a group of
 * panels is counted where most of the bytes belong that its kernels write.  What is packed for a product is of its
 * part. */
#include "../lower.h"

static const char *forward; /* by a node's id; NULL: the program has no gradients */

void find_parts(const Program *p) { forward = p->graph->wants_grads ? needed_forward(p->graph) : NULL; }

static double signed_bytes(const Node *n, double bytes) { return forward[n->id] ? -bytes : bytes; }

static void add_stores(const Operands *stores, double *bytes, bool *any)
{
    for (int i = 0; i < stores->n; i++) {
        *any |= forward[stores->at[i].node->id];
        *bytes += view_bytes(&stores->at[i].view);
    }
}

static double excess_of_rows(const Kernel *k)
{
    double bytes = 0;
    bool any = false;
    for (int i = 0; i < k->phases.n; i++) {
        const Phase *q = &k->phases.at[i];
        add_stores(&q->stores, &bytes, &any);
        add_stores(&q->row_stores, &bytes, &any);
        add_stores(&q->column_stores, &bytes, &any);
    }
    return any ? -bytes : bytes;
}

/* By how many bytes more the backward part's kernels write than the forward part's; attention and index kernels count
 * by what they move.  What is packed has no bytes of its own here: a byte says whose it is. */
static double excess(const Kernel *k)
{
    if (k->kind == GEMM || k->kind == PACK) return signed_bytes(k->gemm.c.node, view_bytes(&k->gemm.c.view) + 1);
    if (k->node) return signed_bytes(k->node, k->bytes);
    double bytes = excess_of_rows(k);
    for (int i = 0; i < k->body.n; i++) bytes += excess(k->body.at[i]);
    return bytes;
}

Side first_part(const Kernel *k)
{
    if (k->kind == REPEAT && !k->barrier && k->body.n) return first_part(k->body.at[0]);
    return !forward ? NO_SIDE : excess(k) > 0 ? BACKWARD : FORWARD;
}

Side last_part(const Kernel *k)
{
    return k->kind == REPEAT && !k->barrier && k->body.n ? last_part(k->body.at[k->body.n - 1]) : first_part(k);
}
