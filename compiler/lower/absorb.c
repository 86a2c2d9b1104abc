/* absorb.c: removes additions. If the kernels of the operands can add to memory, they add to the buffer of the sum, and
 * the addition needs no kernel. This holds for what a loop adds up, and for sums of products, of scatters and of such
 * loops, if the addition is their only reader; a sum of products has a place of its own, which anybody reads. */
#include "graph/parts.h"
#include "lower/lower.h"

/* next = add(carry, x): x is added to the carry in place, if nothing else reads the carry. */
static void absorb_next(Cut *cut, Level *level, Node *n)
{
    (void)level;
    if (n->op != OP_loop || n->loop->apart) return;
    const Loop *l = n->loop;
    for (int k = 0; k < l->carries.n; k++) {
        Node *next = l->carries.at[k].next, *arg = l->carries.at[k].arg;
        bool adds = next->op == OP_add && (next->in[0] == arg) != (next->in[1] == arg);
        if (adds && !loop_stacks(l, arg) && next->in_loop == l && info(cut, arg)->uses == 1 &&
            info(cut, next)->uses == 1)
            info(cut, next)->absorbed = true;
    }
}

Node *beneath(Cut *cut, Node *n)
{
    while ((op_info[n->op].facts & REARRANGES) && !info(cut, n)->forced) n = n->in[0];
    return n;
}

Node *added_to(Cut *cut, const struct Carry *c)
{
    const Info *of = info(cut, c->next);
    return of->absorbed && !of->stands ? c->next->in[c->next->in[0] == c->arg] : NULL;
}

bool adds_up_from_zero(Cut *cut, const Node *n)
{
    double x;
    if (n->op != OP_pick || n->in[0]->op != OP_loop || n->ints[0] != PICK_CARRY) return false;
    const struct Carry *c = &n->in[0]->loop->carries.at[n->ints[1]];
    return added_to(cut, c) && is_filled(c->init, &x) && x == 0;
}

bool can_be_added(const Node *dot) { return dot_end(dot) == END_NONE || dot_end(dot) == END_BIAS; }

/* A sum of what kernels can add to what is there (products, scatters, what loops add up) for its one reader. */
static bool adds_up(Cut *cut, Node *n, Loop *level)
{
    Node *below = beneath(cut, n);
    if (below->in_loop != level || info(cut, below)->uses != 1) return false;
    if (below->op == OP_add)
        return below->in[0] != below->in[1] && adds_up(cut, below->in[0], level) && adds_up(cut, below->in[1], level);
    const Kernel_part *k = op_parts[below->op].kernel;
    return (below->op == OP_dot && can_be_added(below)) || (k && k->adds) || adds_up_from_zero(cut, below);
}

/* n will be wanted at some place, and is made there without kernels for its additions. */
static void absorb_sum(Cut *cut, Node *n, Loop *level)
{
    Node *below = beneath(cut, n);
    if (below->op != OP_add || !adds_up(cut, n, level)) return;
    info(cut, below)->absorbed = true;
    for (int k = 0; k < 2; k++) absorb_sum(cut, below->in[k], level);
}

static void absorb_sums(Cut *cut, Level *level, Node *n)
{
    (void)level;
    for (int k = 0; n->op == OP_loop && !without(cut->desc, PASS_fuse) && k < n->loop->carries.n; k++) {
        Node *added = added_to(cut, &n->loop->carries.at[k]);
        if (added) absorb_sum(cut, added, n->loop);
    }
}

/* A sum of products alone, which may be views. */
static bool sums_products(Cut *cut, Node *n)
{
    Node *below = beneath(cut, n);
    return below->op == OP_dot ||
           (below->op == OP_add && sums_products(cut, below->in[0]) && sums_products(cut, below->in[1]));
}

/* The largest sums first: what is absorbed by one is no sum of its own. */
static void absorb_products(Cut *cut, Level *level)
{
    for (int i = level->nodes.n; i-- > 0;) {
        Node *n = level->nodes.at[i];
        if (n->op != OP_add || n->in[0] == n->in[1] || info(cut, n)->absorbed) continue;
        if (!adds_up(cut, n->in[0], level->loop) || !adds_up(cut, n->in[1], level->loop) || !sums_products(cut, n)) continue;
        info(cut, n)->absorbed = info(cut, n)->stands = true;
        for (int k = 0; k < 2; k++) absorb_sum(cut, n->in[k], level->loop);
    }
    for (int i = 0; i < level->inside.n; i++) absorb_products(cut, level->inside.at[i]);
}

void pass_absorb(Cut *c)
{
    if (without(c->desc, PASS_absorb)) return;
    each_level(c, c->top, absorb_next);
    each_level(c, c->top, absorb_sums);
    for (int i = 0; i < c->graph->outs.n; i++)
        if (c->graph->outs.at[i].kind != OUT_STATE && !without(c->desc, PASS_fuse))
            absorb_sum(c, c->graph->outs.at[i].node, NULL);
    if (!without(c->desc, PASS_fuse)) absorb_products(c, c->top);
}
