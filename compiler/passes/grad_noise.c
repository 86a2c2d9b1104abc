/* grad_noise.c: the squared norm of the gradient of each part of a batch, for the gradient noise scale
 * (runtime/step/noise.c).
 *
 * The gradients in the open loop over parts are their shares of the whole batch's, so a part's own gradient is `parts`
 * times as large. Where a loop over layers stacks gradients, its body adds up the squares of each layer: a layer's are
 * still near then, and no stack has to be kept for them. */
#include "graph/parts.h"
#include "ops/grad.h"
#include "passes/passes.h"

/* A node with the same elements in another order has the same sum of squares. */
static const Node *in_its_order(const Node *n)
{
    while (op_info[n->op].facts & REARRANGES) n = n->in[0];
    return n;
}

static Node *sum_of_all(Node *n)
{
    int axes[MAXRANK];
    for (int k = 0; k < n->shape.rank; k++) axes[k] = k;
    return n->shape.rank ? reduce(OP_sum, n, n->shape.rank, axes) : n;
}

/* The value that a loop stacks as n; NULL: n is something else. */
static Node *value_stacked_as(const Node *n)
{
    if (n->op != OP_pick || n->in[0]->op != OP_loop || n->ints[0] != PICK_STACK) return NULL;
    const Loop *l = n->in[0]->loop;
    Node *each = l->ys.at[n->ints[1]];
    return each->in_loop == l ? each : NULL;
}

static Node *sum_of_squares(Node *n)
{
    const Node *plain = in_its_order(n);
    Node *each = value_stacked_as(plain);
    if (each) return sum_of_all(loop_stack(plain->in[0]->loop, sum_of_squares(each)));
    return sum_of_all(map2(OP_mul, n, n));
}

void add_part_squares(Graph *g)
{
    const double parts = (double)g->micro->trip;
    Nodes squares = {0};
    for (int i = 0; i < g->outs.n; i++) {
        const Output *o = &g->outs.at[i];
        if (o->kind != OUT_GRAD || o->node->in_loop != g->micro) continue;
        make_at(o->node->where);
        push(&squares, sum_of_squares(o->node));
    }
    if (!squares.n) return;
    Node *all = sum_of(&squares);
    all = map2(OP_mul, all, scalar(parts * parts, all->dtype));
    give_title(all, "part_squares", TITLE_OUTPUT, "");
    push(&g->outs, ((Output){OUT_VALUE, LATHE_PART_SQUARES, all}));
}
