/* whole.c: says of every whole op what becomes of it: it stays, for a kernel of its own, or something made of
 * smaller ops takes the place of its results (expand).  With --no-whole its definition does.
 *
 * An op that another one contains (part) is not made twice: the larger one gives its results.
 *
 * Needs: gradients made.  Leaves: whole ops that lowering has kernels for. */
#include "passes/passes.h"

#include <string.h>

typedef struct Expansion { /* of one whole op */
    bool wanted[MOST_RESULTS];
    bool stays;
    Node *results[MOST_RESULTS];
} Expansion;

typedef struct Expanding {
    const Desc *d;
    Table wanted, done; /* by the whole op as it was: -> bool[MOST_RESULTS], -> Expansion */
    Table container;    /* likewise: -> the op that gives its results */
    Nodes ops;          /* all of them */
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
            if (!*slot) {
                *slot = NEW_ARRAY(bool, MOST_RESULTS);
                push(&e->ops, n->in[0]);
            }
            ((bool *)*slot)[n->ints[0]] = true;
        }
    }
}

/* Does n need `part`, which is at the same level? */
static bool rests_on(Node *n, const Node *part)
{
    Nodes needs = {0};
    nodes_at(part->in_loop, &n, 1, &needs);
    for (int i = 0; i < needs.n; i++)
        if (needs.at[i] == part) return true;
    return false;
}

static void find_containers(Expanding *e)
{
    for (int i = 0; i < e->ops.n; i++) {
        Node *n = e->ops.at[i], *part = whole_info[n->op].part(n);
        bool *wanted = table_get(&e->wanted, n), *of_part = part ? table_get(&e->wanted, part) : NULL;
        if (!of_part || rests_on(n, part)) continue;
        *table_at(&e->container, part) = n;
        for (int k = 0; k < MOST_RESULTS; k++) wanted[k] |= of_part[k];
    }
}

static Node *from_container(Rewrite *r, Node *old)
{
    Expanding *e = r->user;
    Node *n = old->op == OP_pick ? table_get(&e->container, old->in[0]) : NULL;
    if (!n) return NULL;
    make_at(n->where);
    return rewritten(r, whole_result(n, (int)old->ints[0]));
}

/* The expansion of op `now`, which was `old`; found once. */
static Expansion *expansion_of(Expanding *e, Node *old, Node *now)
{
    void **slot = table_at(&e->done, old);
    if (*slot) return *slot;
    Expansion *x = *slot = NEW(Expansion);
    memcpy(x->wanted, table_get(&e->wanted, old), sizeof x->wanted);
    if (!without(e->d, PASS_whole)) {
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
    Node *result = x->results[old->ints[0]];
    must(result);
    if (old->gradient) title_instead(result, old); /* it is one of the forward part's, and made for this alone */
    return result;
}

void pass_whole(Graph *g, const Desc *d)
{
    Expanding e = {.d = d};
    Nodes roots = {0};
    must(!g->micro);
    graph_roots(g, &roots);
    find_wanted(&e, NULL, &roots);
    find_containers(&e);
    Rewrite r = {.node = expanded, .before = from_container, .user = &e};
    rewrite_graph(&r, g);
}
