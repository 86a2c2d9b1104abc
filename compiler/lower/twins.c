/* twins.c: a value and its recomputation for backward that meet in one kernel are one: the forward one. */
#include "lower/lower.h"

#include <string.h>

static Node *first_twin(Cut *cut, Node *n) { return info(cut, n)->twin ? info(cut, n)->twin : n; }

static bool alike(Cut *cut, Node *a, Node *b);

/* Views and free maps belong to no group: they are looked through. */
static bool alike_inputs(Cut *cut, Node *a, Node *b)
{
    return first_twin(cut, a) == first_twin(cut, b) || ((is_view(a) || is_free(cut, a)) && alike(cut, a, b));
}

static bool alike(Cut *cut, Node *a, Node *b)
{
    if (a->op != b->op || a->dtype != b->dtype || !same_shape(a->shape, b->shape)) return false;
    if (a->nin != b->nin || a->nints != b->nints || a->loop != b->loop || !same(a->name, b->name)) return false;
    if (memcmp(&a->value, &b->value, sizeof a->value) != 0 || a->data != b->data) return false;
    for (int i = 0; i < a->nints; i++)
        if (a->ints[i] != b->ints[i]) return false;
    for (int i = 0; i < a->nin; i++)
        if (!alike_inputs(cut, a->in[i], b->in[i])) return false;
    return true;
}

/* A concat of twins again: its parts lie in the forward one. */
static bool find_twin_concat(Cut *cut, const Level *level, int at)
{
    Node *n = level->nodes.at[at];
    bool again = false;
    for (int i = 0; i < n->nin; i++) again |= first_twin(cut, n->in[i]) != n->in[i];
    for (int i = 0; again && i < at && !info(cut, n)->twin; i++) {
        Node *m = level->nodes.at[i];
        if (op_info[m->op].kind == JOIN && m->phase != n->phase && alike(cut, m, n))
            info(cut, n)->twin = first_twin(cut, m);
    }
    return info(cut, n)->twin;
}

static bool find_twins(Cut *cut, const Level *level)
{
    bool any = false;
    for (int i = 0; i < level->nodes.n; i++) {
        Node *n = level->nodes.at[i];
        if (op_info[n->op].kind == JOIN) any |= find_twin_concat(cut, level, i);
        const Group *g = info(cut, n)->group;
        for (int k = 0; g && k < g->nodes.n && g->nodes.at[k] != n && !info(cut, n)->twin; k++)
            if (g->nodes.at[k]->phase != n->phase && alike(cut, g->nodes.at[k], n)) {
                info(cut, n)->twin = first_twin(cut, g->nodes.at[k]);
                any = true;
            }
    }
    for (int i = 0; i < level->inside.n; i++) any |= find_twins(cut, level->inside.at[i]);
    return any;
}

static Node *twin(Rewrite *r, Node *old)
{
    Node *first = first_twin(r->user, old);
    return first != old ? rewritten(r, first) : NULL;
}

void pass_twins(Graph *g, const Desc *d)
{
    if (without(d, PASS_twins) || without(d, PASS_fuse) || !g->wants_grads) return;
    Cut *c = trial_cut(g, d);
    if (find_twins(c, c->top)) rewrite_graph(&(Rewrite){.before = twin, .user = c}, g);
    drop_cut(c);
}
