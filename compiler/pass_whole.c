/* pass_whole.c: says of every whole op what becomes of it: it stays, for a kernel of its own, or something made of
 * smaller ops takes the place of its results (expand).  With --no-whole its definition does.
 *
 * Needs: gradients made.  Leaves: whole ops that lowering has kernels for. */
#include "lathe.h"

#include <string.h>

typedef struct Expansion { /* of one whole op */
    bool wanted[MOST_RESULTS];
    bool stays;
    Node *results[MOST_RESULTS];
} Expansion;

typedef struct Expanding {
    const Desc *d;
    Table wanted, done; /* by the whole op as it was: -> bool[MOST_RESULTS], -> Expansion */
} Expanding;

static void find_wanted(Expanding *e, Loop *level, const Nodes *roots)
{
    Nodes body = {0};
    nodes_at(level, roots->at, roots->n, &body);
    for (int i = 0; i < body.n; i++) {
        const Node *n = body.at[i];
        Nodes inner = {0};
        if (n->op == OP_loop) {
            loop_roots(n->loop, &inner);
            find_wanted(e, n->loop, &inner);
        } else if (n->op == OP_pick && op_info[n->in[0]->op].kind == WHOLE) {
            void **slot = table_at(&e->wanted, n->in[0]);
            if (!*slot) *slot = NEW_ARRAY(bool, MOST_RESULTS);
            ((bool *)*slot)[n->ints[0]] = true;
        }
    }
}

/* What becomes of the op `now`, which was `old`; found once. */
static Expansion *expansion_of(Expanding *e, Node *old, Node *now)
{
    void **slot = table_at(&e->done, old);
    if (*slot) return *slot;
    Expansion *x = *slot = NEW(Expansion);
    memcpy(x->wanted, table_get(&e->wanted, old), sizeof x->wanted);
    if (!options.no_whole) {
        x->stays = !whole_info[now->op].expand(now, x->wanted, x->results, e->d);
        return x;
    }
    for (int k = 0; k < MOST_RESULTS; k++)
        if (x->wanted[k]) x->results[k] = whole_info[now->op].define(now, k);
    return x;
}

static Node *expanded(Rewrite *r, Node *old, Node *const *in)
{
    if (old->op != OP_pick || op_info[in[0]->op].kind != WHOLE) return NULL;
    const Expansion *x = expansion_of(r->user, old->in[0], in[0]);
    if (x->stays) return NULL;
    must(x->results[old->ints[0]]);
    return x->results[old->ints[0]];
}

void pass_whole(Graph *g, const Desc *d)
{
    Expanding e = {.d = d};
    Nodes roots = {0};
    must(!g->micro);
    graph_roots(g, &roots);
    find_wanted(&e, NULL, &roots);
    Rewrite r = {.node = expanded, .user = &e};
    rewrite_graph(&r, g);
}
