/* sides.c: pass sides: which part of a training step a kernel belongs to.
 *
 * A value is of the forward part if loss, metrics or states need it; all else is there for gradients alone, what is
 * computed again for them too.  A kernel that makes anything of the forward part is of it (the head's, where the
 * derivative overwrites the logits; a layer's, which keeps a copy for later).  A loop in one launch or a group of
 * panels is counted where most of the bytes belong that its kernels write.  What is packed for a product is of its
 * part.
 *
 * A layer (--layer) runs in two halves, so there no kernel makes both what outputs need and what depends on their
 * gradients.  A step whose counts are summed over ranks has two, too: what is summed, and all else, which waits for
 * nothing but the sums. */
#include "lower/lower.h"

/* ------------------------------------------------------------------ two halves */

/* Loops of one level have no order: what a body's arguments bring is known once the loop is. */
static bool depends_on_given(const Node *n, const char *half, const Table *loops)
{
    if (n->op == OP_input) return is_of_gradient(n->name);
    if (n->op == OP_loop_arg || n->op == OP_loop) return table_get(loops, n->loop->index);
    for (int k = 0; k < n->nin; k++)
        if (half[n->in[k]->id] == SECOND_HALF) return true;
    return false;
}

static bool brings_given(const Loop *l, const char *half)
{
    Nodes read = {0};
    loop_roots(l, &read);
    loop_begins(l, &read);
    loop_walks(l, &read);
    for (int k = 0; k < read.n; k++)
        if (half[read.at[k]->id] == SECOND_HALF) return true;
    return false;
}

static bool spread_given(const Nodes *all, char *half, Table *loops)
{
    bool changed = false;
    for (int i = 0; i < all->n; i++) {
        const Node *n = all->at[i];
        if (half[n->id] == SECOND_HALF || !depends_on_given(n, half, loops)) continue;
        half[n->id] = SECOND_HALF;
        changed = true;
    }
    for (int i = 0; i < all->n; i++) {
        const Node *n = all->at[i];
        if (n->op != OP_loop || table_get(loops, n->loop->index) || !brings_given(n->loop, half)) continue;
        *table_at(loops, n->loop->index) = loops;
        changed = true;
    }
    return changed;
}

/* As often as loops are nested, or follow each other. */
static const char *halves_of_layer(const Graph *g)
{
    Nodes all = {0};
    Table loops = {0};
    const char *forward = needed_forward(g);
    char *half = NEW_ARRAY(char, node_count());
    all_nodes(g, &all);
    while (spread_given(&all, half, &loops)) {}
    for (int i = 0; i < all.n; i++)
        if (forward[all.at[i]->id]) half[all.at[i]->id] = FIRST_HALF;
    return half;
}

/* Counts are there before what is divided by them: that stays in the kernels that it is in without ranks. */
static const char *halves_of_ranks(const Graph *g)
{
    const char *summed = needed_by_ranks(g);
    if (!summed) return NULL;
    char *half = NEW_ARRAY(char, node_count());
    for (int i = 0; i < node_count(); i++) half[i] = summed[i] ? FIRST_HALF : SECOND_HALF;
    return half;
}

const char *halves_of(const Graph *g) { return entry_of(g)->pulls ? halves_of_layer(g) : halves_of_ranks(g); }

/* ------------------------------------------------------------------ sides */

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

bool has_forward(const Kernel *k)
{
    bool any = k->part == FORWARD && k->kind != REPEAT;
    for (int i = 0; !any && i < k->body.n; i++) any = has_forward(k->body.at[i]);
    return any;
}
