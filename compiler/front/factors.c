/* factors.c: pulls a common factor out of a sum over rows if it depends on totals over the rows: Σ x · (w / Σ w)
 * becomes (Σ x · w) / Σ w, which scores.c can compute from sums over many batches. */
#include "front/objective.h"
#include "graph/rows.h"

enum { DEEPEST = 100 }; /* levels of maps and views to look through below a sum */

typedef struct Split {
    Node *rest, *factor; /* value = rest · factor; factor: one element; NULL: 1 */
} Split;

typedef enum Verdict { UNKNOWN, FACTOR, NO_FACTOR } Verdict;

typedef struct Pulling {
    const Table *factors; /* old node: Verdict */
    Table split;          /* old node: Split */
} Pulling;

static Split split_factor(Rewrite *r, Node *old, int depth);

static bool is_factor(const Row_pair *p)
{
    if (elements(p->node->shape) != 1 || elements(p->wider->shape) != 1 || !is_real(p->node->dtype)) return false;
    return (p->fact.kind == ROWS_SAME && p->fact.counted) || (p->fact.kind == ROWS_TOTAL && !p->fact.learned);
}

/* With a batch of one row, one node may correspond to several of the wider trace. */
static void note_factor(Table *factors, const Node *n, bool factor)
{
    void **slot = table_at(factors, n);
    bool refused = (intptr_t)*slot == NO_FACTOR;
    *slot = (void *)(intptr_t)(factor && !refused ? FACTOR : NO_FACTOR);
}

static Node *both_factors(Op op, Node *a, Node *b)
{
    if (!b) return a;
    if (!a && op == OP_mul) return b;
    if (!a) a = filled(1, b->dtype, b->shape);
    return map2(op, a, b);
}

static Split of_two(Rewrite *r, Node *old, int depth)
{
    Split a = split_factor(r, old->in[0], depth), b = split_factor(r, old->in[1], depth);
    return (Split){both_factors(old->op, a.rest, b.rest), both_factors(old->op, a.factor, b.factor)};
}

/* A view or negation of the rest. */
static Split of_one(Rewrite *r, Node *old, int depth)
{
    Split s = split_factor(r, old->in[0], depth);
    if (!s.rest) s.rest = filled(1, old->in[0]->dtype, old->in[0]->shape);
    s.rest = remade(old, &s.rest);
    return s;
}

/* where(c, x, 0) */
static Split of_choice(Rewrite *r, Node *old, int depth)
{
    Split s = split_factor(r, old->in[1], depth);
    if (!s.rest) s.rest = filled(1, old->in[1]->dtype, old->in[1]->shape);
    s.rest = where_op(rewritten(r, old->in[0]), s.rest, rewritten(r, old->in[2]));
    return s;
}

/* As a scalar. */
static Node *factor_number(Node *n)
{
    while (n->op == OP_reshape) n = n->in[0];
    return n->shape.rank ? reshape(n, (Shape){0}) : n;
}

static Split split_now(Rewrite *r, Node *old, int depth)
{
    const Pulling *p = r->user;
    double other;
    if ((intptr_t)table_get(p->factors, old) == FACTOR) return (Split){NULL, factor_number(rewritten(r, old))};
    if (depth >= DEEPEST) return (Split){rewritten(r, old), NULL};
    if (shows_all(old)) return of_one(r, old, depth + 1);
    switch (old->op) {
    case OP_mul:
    case OP_div: return of_two(r, old, depth + 1);
    case OP_neg: return of_one(r, old, depth + 1);
    case OP_where:
        if (is_filled(old->in[2], &other) && other == 0) return of_choice(r, old, depth + 1);
        break;
    default: break;
    }
    return (Split){rewritten(r, old), NULL};
}

/* Splits a value below a sum; its inputs are already rewritten. */
static Split split_factor(Rewrite *r, Node *old, int depth)
{
    void **slot = table_at(&((Pulling *)r->user)->split, old);
    if (*slot) return *(Split *)*slot;
    Split *made = NEW(Split);
    *made = split_now(r, old, depth);
    if (!made->factor) *made = (Split){rewritten(r, old), NULL};
    *table_at(&((Pulling *)r->user)->split, old) = made;
    return *made;
}

static Node *pulled(Rewrite *r, Node *old, Node *const *in)
{
    if ((old->op != OP_sum && old->op != OP_dot) || old->in_loop) return NULL;
    Node *factor = NULL, *rests[3] = {in[0], old->nin > 1 ? in[1] : NULL};
    if (old->nin > 2) return NULL;
    for (int k = 0; k < old->nin; k++) {
        Split s = split_factor(r, old->in[k], 0);
        rests[k] = s.rest ? s.rest : filled(1, in[k]->dtype, in[k]->shape);
        factor = both_factors(OP_mul, s.factor, factor);
    }
    if (!factor) return NULL;
    Node *sum = remade(old, rests);
    return map2(OP_mul, sum, broadcast(factor, sum->shape));
}

static void pull(Graph *g, const Table *factors)
{
    Pulling p = {.factors = factors};
    Rewrite r = {.node = pulled, .user = &p};
    rewrite_graph(&r, g);
}

void pull_factors(Graph *g, Graph *wide, const Rows *rows)
{
    Table factors = {0};
    for (int i = 0; i < rows->pairs.n; i++) {
        const Row_pair *p = rows->pairs.at[i];
        note_factor(&factors, p->node, is_factor(p));
        if (p->wider != p->node) note_factor(&factors, p->wider, is_factor(p));
    }
    pull(g, &factors);
    if (wide != g) pull(wide, &factors);
}
