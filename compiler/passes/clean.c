/* clean.c: rebuilds loops without the carries, stacks read and stacks made that nothing wanted depends on.
 *
 * The search begins at the outputs. A result of a loop wants that carry or stack alone. A carry's argument wants the
 * carry's initial and next values, so carries that only feed each other are not wanted.  A carry whose next value is
 * itself is replaced by its initial value. Needs closed loops.  Leaves no dead value in a loop, except in the open loop
 * over micro-batches. */
#include "passes/passes.h"

#include <string.h>

typedef struct Cleaning {
    char *wanted; /* by id of the graph as it was */
    Nodes todo;
    Nodes stacks;    /* picks of stacks that are wanted */
    Node **argument; /* by id: the new argument of a rebuilt loop */
    int ids;
} Cleaning;

/* ------------------------------------------------------------------ what is wanted */

static void want_node(Cleaning *c, Node *n)
{
    if (c->wanted[n->id]) return;
    c->wanted[n->id] = true;
    push(&c->todo, n);
}

static bool stands_still(const struct Carry *carry) { return carry->next == carry->arg; }

static void want_argument(Cleaning *c, const Node *n)
{
    const Loop *l = n->loop;
    int64_t k = n->ints[1];
    if (n->ints[0] == ARG_X) want_node(c, l->xs.at[k].outer);
    if (n->ints[0] != ARG_CARRY) return;
    want_node(c, l->carries.at[k].init);
    if (l->carries.at[k].next) want_node(c, l->carries.at[k].next);
}

static void want_result(Cleaning *c, Node *n)
{
    const Loop *l = n->in[0]->loop;
    c->wanted[n->in[0]->id] = true;
    if (n->ints[0] == PICK_CARRY) {
        want_node(c, l->carries.at[n->ints[1]].arg);
    } else {
        want_node(c, l->ys.at[n->ints[1]]);
        push(&c->stacks, n);
    }
}

static void follow_wants(Cleaning *c)
{
    while (c->todo.n) {
        Node *n = c->todo.at[--c->todo.n];
        if (n->op == OP_loop_arg) want_argument(c, n);
        else if (n->op == OP_pick && n->in[0]->op == OP_loop) want_result(c, n);
        for (int i = 0; i < n->nin; i++)
            if (n->in[i]->op != OP_loop) want_node(c, n->in[i]);
    }
}

static void find_wanted(Cleaning *c, const Graph *g)
{
    for (int i = 0; i < g->outs.n; i++) want_node(c, g->outs.at[i].node);
    for (int k = 0; g->micro && k < g->micro->carries.n; k++) want_node(c, g->micro->carries.at[k].arg);
    for (int k = 0; g->micro && k < g->micro->xs.n; k++) want_node(c, g->micro->xs.at[k].arg);
    follow_wants(c);
}

/* Gradients, and their squares for the noise scale (passes/grad_noise.c). */
static bool is_of_gradients(const Graph *g, const Output *o)
{
    return o->kind == OUT_GRAD || same(o->name, LATHE_PART_SQUARES) || (entry_of(g)->pulls && is_of_gradient(o->name));
}

const char *needed_forward(const Graph *g)
{
    Cleaning c = {.ids = node_count()};
    c.wanted = NEW_ARRAY(char, c.ids);
    for (int i = 0; i < g->outs.n; i++)
        if (!is_of_gradients(g, &g->outs.at[i])) want_node(&c, g->outs.at[i].node);
    follow_wants(&c);
    return c.wanted;
}

const char *needed_by_ranks(const Graph *g)
{
    Cleaning c = {.ids = node_count()};
    Nodes all = {0};
    c.wanted = NEW_ARRAY(char, c.ids);
    all_nodes(g, &all);
    for (int i = 0; i < all.n; i++)
        if (all.at[i]->op == OP_over_ranks) want_node(&c, all.at[i]->in[0]);
    if (!c.todo.n) return NULL;
    follow_wants(&c);
    return c.wanted;
}

/* ------------------------------------------------------------------ rebuilding */

static bool kept(const Cleaning *c, const struct Carry *carry)
{
    return c->wanted[carry->arg->id] && !stands_still(carry);
}

static void rebuild_arguments(Rewrite *r, Cleaning *c, const Loop *old, Loop *new)
{
    c->argument[old->index->id] = new->index;
    for (int k = 0; k < old->carries.n; k++) {
        const struct Carry *carry = &old->carries.at[k];
        if (kept(c, carry))
            c->argument[carry->arg->id] = as_argument(loop_carry(new, rewritten(r, carry->init)), carry->arg);
        else if (c->wanted[carry->arg->id]) c->argument[carry->arg->id] = rewritten(r, carry->init);
    }
    for (int k = 0; k < old->xs.n; k++) {
        const struct Stacked *x = &old->xs.at[k];
        if (c->wanted[x->arg->id]) c->argument[x->arg->id] = as_argument(loop_x(new, rewritten(r, x->outer)), x->arg);
    }
}

/* All stacks are there before the loop is closed: they decide what it lies in. */
static void rebuild_stacks(Rewrite *r, const Cleaning *c, const Node *old, Loop *new)
{
    for (int i = 0; i < c->stacks.n; i++) {
        const Node *n = c->stacks.at[i];
        if (n->in[0] != old) continue;
        loop_yield(new, rewritten(r, old->loop->ys.at[n->ints[1]]));
    }
}

static Node *rebuilt_loop(Rewrite *r, Cleaning *c, const Node *old)
{
    const Loop *l = old->loop;
    make_at(l->index->where);
    Loop *new = loop_again(l, l->reverse);
    rebuild_arguments(r, c, l, new);
    int at = 0;
    for (int k = 0; k < l->carries.n; k++)
        if (kept(c, &l->carries.at[k])) loop_next(new, at++, rewritten(r, l->carries.at[k].next));
    rebuild_stacks(r, c, old, new);
    make_with(making_of(old));
    return loop_close(new);
}

static Node *rebuilt_pick(Rewrite *r, const Cleaning *c, const Node *old)
{
    const Loop *l = old->in[0]->loop;
    int64_t which = old->ints[1];
    if (old->ints[0] == PICK_CARRY && stands_still(&l->carries.at[which]))
        return rewritten(r, l->carries.at[which].init);
    Loop *new = rewritten(r, old->in[0])->loop;
    Node *y = old->ints[0] == PICK_STACK ? rewritten(r, l->ys.at[which]) : NULL;
    make_with(making_of(old));
    if (y) return loop_stack(new, y);
    int at = 0;
    for (int k = 0; k < which; k++) at += kept(c, &l->carries.at[k]);
    return loop_result(new, at);
}

static Node *rebuilt(Rewrite *r, Node *old)
{
    Cleaning *c = r->user;
    bool result = old->op == OP_pick && old->in[0]->op == OP_loop;
    if (old->op == OP_loop_arg) return old->id < c->ids ? c->argument[old->id] : NULL;
    if (old->op != OP_loop && !result) return NULL;
    Making was = making();
    Node *n = result ? rebuilt_pick(r, c, old) : rebuilt_loop(r, c, old);
    make_with(was);
    return n;
}

static void needs(Rewrite *r, const Node *old, Nodes *out)
{
    const Cleaning *c = r->user;
    const Loop *l = old->op == OP_loop ? old->loop : old->op == OP_pick ? old->in[0]->loop : NULL;
    if (!l) return;
    if (old->op == OP_pick) {
        const struct Carry *carry = old->ints[0] == PICK_CARRY ? &l->carries.at[old->ints[1]] : NULL;
        push(out, carry && stands_still(carry) ? carry->init : old->in[0]);
        return;
    }
    for (int k = 0; k < l->carries.n; k++)
        if (c->wanted[l->carries.at[k].arg->id]) push(out, l->carries.at[k].init);
    for (int k = 0; k < l->xs.n; k++)
        if (c->wanted[l->xs.at[k].arg->id]) push(out, l->xs.at[k].outer);
}

void pass_clean(Graph *g, const Desc *d)
{
    if (without(d, PASS_clean)) return;
    Cleaning c = {.ids = node_count()};
    c.wanted = NEW_ARRAY(char, c.ids);
    c.argument = NEW_ARRAY(Node *, c.ids);
    find_wanted(&c, g);
    Rewrite r = {.needs = needs, .before = rebuilt, .user = &c};
    rewrite_graph(&r, g);
}
