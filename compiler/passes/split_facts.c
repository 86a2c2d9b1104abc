/* split_facts.c: decides which values of a loop's body are computed in it, after it and before it; see
 * passes/split.c. */
#include "passes/split.h"

Fact *fact(Body *b, const Node *n)
{
    void **slot = table_at(&b->facts, n);
    if (!*slot) *slot = NEW(Fact);
    return *slot;
}

/* The values that n needs; if n is a loop, those outside of its body. */
static const Nodes *count_operands(Table *memo, const Node *n)
{
    void **slot = table_at(memo, n);
    if (*slot) return *slot;
    Nodes *out = *slot = NEW(Nodes);
    for (int i = 0; i < n->nin; i++) push(out, n->in[i]);
    if (n->op != OP_loop) return out;
    Loop *l = n->loop;
    Nodes roots = {0}, body = {0}, needs = {0};
    for (int k = 0; k < l->carries.n; k++) push(out, l->carries.at[k].init);
    for (int k = 0; k < l->xs.n; k++) push(out, l->xs.at[k].outer);
    loop_roots(l, &roots);
    nodes_at(l, roots.at, roots.n, &body);
    for (int i = 0; i < roots.n; i++) push(&needs, roots.at[i]);
    for (int i = 0; i < body.n; i++) {
        const Nodes *of = count_operands(memo, body.at[i]);
        for (int k = 0; k < of->n; k++) push(&needs, of->at[k]);
    }
    for (int i = 0; i < needs.n; i++)
        if (!loop_inside(needs.at[i]->in_loop, l)) push(out, needs.at[i]);
    return out;
}

/* ------------------------------------------------------------------ facts */

static void count_split_uses(Body *b)
{
    Nodes roots = {0};
    loop_roots(b->l, &roots);
    nodes_at(b->l, roots.at, roots.n, &b->nodes);
    for (int i = 0; i < roots.n; i++) fact(b, roots.at[i])->uses++;
    for (int i = 0; i < b->nodes.n; i++) {
        const Nodes *of = count_operands(b->operands, b->nodes.at[i]);
        for (int k = 0; k < of->n; k++) fact(b, of->at[k])->uses++;
    }
}

/* next = ((arg + c0) + c1) + …: the parts, if arg and the partial sums have no other use.  No parts: the carry is idle.
 */
static bool find_sum(Body *b, int k, Nodes *parts)
{
    Node *arg = b->l->carries.at[k].arg, *n = b->l->carries.at[k].next;
    while (n != arg) {
        if (n->op != OP_add || !in_body(b, n) || fact(b, n)->uses != 1) return false;
        int spine = n->in[1] == arg;
        push(parts, n->in[!spine]);
        n = n->in[spine];
    }
    return fact(b, arg)->uses == 1 && arg->shape.rank < MAXRANK;
}

static void find_sums(Body *b)
{
    b->is_sum = NEW_ARRAY(bool, b->l->carries.n + 1);
    b->parts = NEW_ARRAY(Nodes, b->l->carries.n + 1);
    b->whole = true;
    for (int k = 0; k < b->l->carries.n; k++) {
        b->is_sum[k] = find_sum(b, k, &b->parts[k]);
        b->whole &= b->is_sum[k];
    }
}

static void find_recurrent(Body *b)
{
    for (int i = 0; i < b->nodes.n; i++) {
        Node *n = b->nodes.at[i];
        Fact *f = fact(b, n);
        const Nodes *of = count_operands(b->operands, n);
        f->recurrent = is_carry(n) && !b->is_sum[n->ints[1]];
        f->can_precede = n->op == OP_loop_arg ? !is_carry(n) : has_along(n);
        for (int k = 0; k < of->n; k++) {
            if (!in_body(b, of->at[k])) continue;
            f->recurrent |= fact(b, of->at[k])->recurrent;
            f->can_precede &= fact(b, of->at[k])->can_precede;
        }
    }
}

/* All results of an op are computed where the op is. */
static void follow_their_op(Body *b)
{
    for (int i = 0; i < b->nodes.n; i++) {
        const Node *n = b->nodes.at[i];
        if (n->op != OP_pick || !in_body(b, n->in[0])) continue;
        fact(b, n)->fixed |= fact(b, n->in[0])->fixed;
        fact(b, n)->before |= fact(b, n->in[0])->before;
    }
}

static void find_fixed(Body *b)
{
    for (int k = 0; k < b->l->carries.n; k++)
        if (!b->is_sum[k]) fact(b, b->l->carries.at[k].next)->fixed = true;
    for (int i = b->nodes.n - 1; i >= 0; i--) {
        Node *n = b->nodes.at[i];
        if (n->op != OP_loop_arg) fact(b, n)->fixed |= !has_along(n);
        const Nodes *of = count_operands(b->operands, n);
        for (int k = 0; k < of->n; k++) fact(b, of->at[k])->fixed |= fact(b, n)->fixed;
    }
    follow_their_op(b);
}

/* A dot that gains from having all iterations at once: one operand is the same in all, the other has few rows. */
static bool gains(const Body *b, const Node *n)
{
    if (n->op != OP_dot) return false;
    if (b->whole) return true;
    bool a_varies = in_body(b, n->in[0]);
    if (a_varies == in_body(b, n->in[1])) return false;
    Dot_axes x = dot_axes(n);
    const Node *varying = n->in[!a_varies];
    int64_t rows = elements(varying->shape);
    for (int k = 0; k < x.nc; k++) rows /= varying->shape.dim[a_varies ? x.ac[k] : x.bc[k]];
    return rows < FEW;
}

static void find_after(Body *b)
{
    for (int i = 0; i < b->nodes.n; i++) {
        Node *n = b->nodes.at[i];
        Fact *f = fact(b, n);
        if (f->fixed || n->op == OP_loop_arg) continue;
        f->after = b->whole || gains(b, n);
        const Nodes *of = count_operands(b->operands, n);
        for (int k = 0; k < of->n; k++) f->after |= in_body(b, of->at[k]) && fact(b, of->at[k])->after;
    }
}

bool comes_back(Body *b, const Node *n)
{
    return fact(b, n)->before && fact(b, n)->fixed && !is_cheap(n) && !has_several(n);
}

static void find_before(Body *b)
{
    for (int i = b->nodes.n - 1; i >= 0; i--) {
        Node *n = b->nodes.at[i];
        Fact *f = fact(b, n);
        f->before |= f->fixed && f->can_precede && gains(b, n);
        const Nodes *of = count_operands(b->operands, n);
        for (int k = 0; f->before && k < of->n; k++)
            if (of->at[k]->op != OP_loop_arg) fact(b, of->at[k])->before = true;
    }
    follow_their_op(b);
    for (int i = 0; i < b->nodes.n; i++) {
        Node *n = b->nodes.at[i];
        const Nodes *of = count_operands(b->operands, n);
        for (int k = 0; k < of->n; k++)
            fact(b, n)->rebuilt |= in_body(b, of->at[k]) && (fact(b, of->at[k])->rebuilt || comes_back(b, of->at[k]));
    }
}

void find_facts(Body *b)
{
    count_split_uses(b);
    find_sums(b);
    find_recurrent(b);
    find_fixed(b);
    if (b->l->keeps) {
        for (int i = 0; i < b->nodes.n; i++) fact(b, b->nodes.at[i])->fixed = true;
        for (int k = 0; k < b->l->carries.n; k++) b->is_sum[k] = b->whole = false;
    } else {
        find_after(b);
        find_before(b);
    }
}
