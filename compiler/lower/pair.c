/* pair.c: if a product that ends in gelu is also read without gelu, one kernel makes both: the gelu, and the sum it is
 * computed from. */
#include "lower/lower.h"

static bool same_product(const Node *a, const Node *b)
{
    if (a->op != OP_dot || a->nin != b->nin || a->dtype != b->dtype || a->phase != b->phase) return false;
    for (int i = 0; i < a->nin; i++)
        if (a->in[i] != b->in[i]) return false;
    for (int i = 0; i < dot_ints(a); i++)
        if (a->ints[i] != b->ints[i]) return false;
    return true;
}

/* Products of a level, by operand, and those that a sum takes in. */
typedef struct Products {
    Table by_input; /* the first operand -> the Nodes that multiply it */
    Table added;    /* those that are made by being added to what is there */
} Products;

static Products products_of(Cut *cut, const Level *level)
{
    Products p = {0};
    for (int i = 0; i < level->nodes.n; i++) {
        Node *n = level->nodes.at[i];
        for (int k = 0; info(cut, n)->absorbed && k < n->nin; k++) *table_at(&p.added, beneath(cut, n->in[k])) = n;
        if (n->op != OP_dot) continue;
        void **slot = table_at(&p.by_input, n->in[0]);
        if (!*slot) *slot = NEW(Nodes);
        push((Nodes *)*slot, n);
    }
    return p;
}

static void pair_gelus(Cut *cut, const Level *level)
{
    Products p = products_of(cut, level);
    for (int i = 0; i < level->nodes.n; i++) {
        Node *ended = level->nodes.at[i];
        if (ended->op != OP_dot || dot_end(ended) != END_GELU) continue;
        const Nodes *same = table_get(&p.by_input, ended->in[0]);
        for (int k = 0; k < same->n; k++) {
            Node *dot = same->at[k];
            if (dot == ended || !same_product(dot, ended) || !can_be_added(dot) || table_get(&p.added, dot)) continue;
            info(cut, ended)->before_gelu = dot;
            info(cut, dot)->product = ended;
        }
    }
    for (int i = 0; i < level->inside.n; i++) pair_gelus(cut, level->inside.at[i]);
}

void pass_pair(Cut *c)
{
    if (!without(c->desc, PASS_pair)) pair_gelus(c, c->top);
}
