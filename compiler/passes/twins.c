/* twins.c: a value and its recomputation for backward that meet in one kernel are one: the forward one. */
#include "../lower.h"

#include <string.h>

static Node *first_of(Node *n) { return info(n)->twin ? info(n)->twin : n; }

static bool alike(Node *a, Node *b);

/* Views and free maps belong to no group: they are looked through. */
static bool alike_inputs(Node *a, Node *b)
{
    return first_of(a) == first_of(b) || ((is_view(a) || is_free(a)) && alike(a, b));
}

static bool alike(Node *a, Node *b)
{
    if (a->op != b->op || a->dtype != b->dtype || !same_shape(a->shape, b->shape)) return false;
    if (a->nin != b->nin || a->nints != b->nints || a->loop != b->loop || !same(a->name, b->name)) return false;
    if (memcmp(&a->value, &b->value, sizeof a->value) != 0 || a->data != b->data) return false;
    for (int i = 0; i < a->nints; i++)
        if (a->ints[i] != b->ints[i]) return false;
    for (int i = 0; i < a->nin; i++)
        if (!alike_inputs(a->in[i], b->in[i])) return false;
    return true;
}

/* A concat of twins again: its parts lie in the forward one. */
static bool find_twin_concat(const Level *level, int at)
{
    Node *n = level->nodes.at[at];
    bool again = false;
    for (int i = 0; i < n->nin; i++) again |= first_of(n->in[i]) != n->in[i];
    for (int i = 0; again && i < at && !info(n)->twin; i++) {
        Node *m = level->nodes.at[i];
        if (m->op == OP_concat && m->phase != n->phase && alike(m, n)) info(n)->twin = first_of(m);
    }
    return info(n)->twin;
}

static bool find_twins(const Level *level)
{
    bool any = false;
    for (int i = 0; i < level->nodes.n; i++) {
        Node *n = level->nodes.at[i];
        if (n->op == OP_concat) any |= find_twin_concat(level, i);
        const Group *g = info(n)->group;
        for (int k = 0; g && k < g->nodes.n && g->nodes.at[k] != n && !info(n)->twin; k++)
            if (g->nodes.at[k]->phase != n->phase && alike(g->nodes.at[k], n)) {
                info(n)->twin = first_of(g->nodes.at[k]);
                any = true;
            }
    }
    for (int i = 0; i < level->inside.n; i++) any |= find_twins(level->inside.at[i]);
    return any;
}

static Node *twin(Rewrite *r, Node *old) { return first_of(old) != old ? rewritten(r, first_of(old)) : NULL; }

void pass_twins(Graph *g, const Desc *d)
{
    if (without(d, PASS_twins) || without(d, PASS_fuse) || !g->wants_grads) return;
    Cut *c = trial_cut(g, d);
    if (find_twins(c->top)) rewrite_graph(&(Rewrite){.before = twin}, g);
    drop_cut(c);
}
