/* sides.c: pass sides: which part of a training step a kernel belongs to.
 *
 * A value is of the forward part if loss, metrics or states need it; all else is there for gradients alone, what is
 * computed again for them too.  A kernel that makes anything of the forward part is of it (the head's, where the
 * derivative overwrites the logits; a layer's, which keeps a copy for later).  A loop in one launch or a group of
 * panels is counted where most of the bytes belong that its kernels write.  What is packed for a product is of its
 * part. */
#include "lower/lower.h"

static double signed_bytes(const Node *n, double bytes, const char *forward) { return forward[n->id] ? -bytes : bytes; }

static void add_stores(const Operands *stores, const char *forward, double *bytes, bool *any)
{
    for (int i = 0; i < stores->n; i++) {
        *any |= forward[stores->at[i].node->id];
        *bytes += view_bytes(&stores->at[i].view);
    }
}

static double excess_of_rows(const Kernel *k, const char *forward)
{
    double bytes = 0;
    bool any = false;
    for (int i = 0; i < k->phases.n; i++) {
        const Phase *q = &k->phases.at[i];
        add_stores(&q->stores, forward, &bytes, &any);
        add_stores(&q->row_stores, forward, &bytes, &any);
        add_stores(&q->column_stores, forward, &bytes, &any);
    }
    return any ? -bytes : bytes;
}

/* Bytes that k writes for the backward part, less those for the forward part. Attention and index kernels count the
 * bytes that they move. A packed operand counts one byte, which is enough to say whose it is. */
static double excess(const Kernel *k, const char *forward)
{
    if (k->kind == GEMM || k->kind == PACK)
        return signed_bytes(k->gemm.c.node, view_bytes(&k->gemm.c.view) + 1, forward);
    if (k->node) return signed_bytes(k->node, k->bytes, forward);
    double bytes = excess_of_rows(k, forward);
    for (int i = 0; i < k->body.n; i++) bytes += excess(k->body.at[i], forward);
    return bytes;
}

Side part_of(const Kernel *k, const char *forward)
{
    return !forward ? NO_SIDE : excess(k, forward) > 0 ? BACKWARD : FORWARD;
}

static void find_sides(Kernel *const *kernels, int n, const char *forward)
{
    for (int i = 0; i < n; i++) {
        kernels[i]->part = part_of(kernels[i], forward);
        find_sides(kernels[i]->body.at, kernels[i]->body.n, forward);
    }
}

void pass_sides(Program *p, const Desc *d)
{
    (void)d;
    const char *forward = p->graph->wants_grads ? needed_forward(p->graph) : NULL;
    find_sides(p->kernels.at, p->kernels.n, forward);
}

/* The first and last part of a loop whose iterations launch each kernel are those of its first and last kernel. */
static bool has_ends(const Kernel *k) { return k->kind == REPEAT && !k->barrier && k->body.n; }

Side first_part(const Kernel *k)
{
    while (has_ends(k)) k = k->body.at[0];
    return k->part;
}

Side last_part(const Kernel *k)
{
    while (has_ends(k)) k = k->body.at[k->body.n - 1];
    return k->part;
}
