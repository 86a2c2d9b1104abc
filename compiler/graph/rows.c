/* rows.c: pairs the nodes of two traces and computes the facts of rows.h: it iterates over all pairs, inputs first,
 * until nothing changes, since a carry of a loop depends on itself. */
#include "graph/rows.h"

#include <string.h>

/* ------------------------------------------------------------------ pairs */

Row_pair *find_pair(const Rows *r, const Node *node, const Node *wider)
{
    Row_pair *p = table_get(&r->by_node, wider);
    while (p && p->node != node) p = p->next;
    return p;
}

static Row_pair *pair_of(Rows *r, Node *node, Node *wider)
{
    Row_pair *p = find_pair(r, node, wider);
    if (p) return p;
    p = NEW(Row_pair);
    void **slot = table_at(&r->by_node, wider);
    *p = (Row_pair){.node = node, .wider = wider, .next = *slot};
    *slot = p;
    return p;
}

/* Draws number rows over the whole batch in any case, so their row numbers are ignored. */
static bool is_row_number(const Node *n, int k)
{
    if (n->op == OP_philox) return true;
    if (n->op != OP_attention) return false;
    Attention a = attention_of(n);
    return n->in[k] == a.row || n->in[k] == a.base;
}

/* The nodes that n's fact depends on: its inputs; of a loop what goes in and the results of its body. */
static void children_of(const Rows *r, Node *n, Nodes *out)
{
    Loop *l = n->loop;
    if (n->op == OP_loop_arg) {
        if (l == r->graph->micro || l == r->wide->micro || n->ints[0] == ARG_INDEX) return;
        push(out, n->ints[0] == ARG_X ? l->xs.at[n->ints[1]].outer : l->carries.at[n->ints[1]].init);
    } else if (n->op == OP_loop) {
        for (int k = 0; k < l->carries.n; k++) push(out, l->carries.at[k].init);
        for (int k = 0; k < l->xs.n; k++) push(out, l->xs.at[k].outer);
        for (int k = 0; k < l->carries.n; k++) push(out, l->carries.at[k].next);
        for (int k = 0; k < l->ys.n; k++) push(out, l->ys.at[k]);
    } else {
        for (int k = 0; k < n->nin; k++) push(out, is_row_number(n, k) ? NULL : n->in[k]);
    }
}

static bool nodes_alike(const Node *a, const Node *b)
{
    if (a->op != b->op || a->dtype != b->dtype || a->nin != b->nin || a->nints != b->nints) return false;
    if (a->shape.rank != b->shape.rank || !same(a->name, b->name)) return false;
    if (!a->loop) return true;
    return a->loop->trip == b->loop->trip && a->loop->carries.n == b->loop->carries.n &&
           a->loop->xs.n == b->loop->xs.n && a->loop->ys.n == b->loop->ys.n;
}

static void find_inputs(Rows *r, Row_pair *p)
{
    Nodes own = {0}, wider = {0};
    p->elided = (op_info[p->wider->op].facts & REPEATS) && !(op_info[p->node->op].facts & REPEATS);
    if (p->elided) {
        p->in = NEW_ARRAY(Row_pair *, 1);
        p->edit = NEW(Row_edit);
        p->nin = 1;
        p->in[0] = pair_of(r, p->node, p->wider->in[0]);
        return;
    }
    p->misfit = !nodes_alike(p->node, p->wider);
    if (p->misfit) return;
    children_of(r, p->node, &own);
    children_of(r, p->wider, &wider);
    p->misfit = own.n != wider.n;
    if (p->misfit) return;
    p->in = NEW_ARRAY(Row_pair *, own.n + 1);
    p->edit = NEW_ARRAY(Row_edit, own.n + 1);
    p->nin = own.n;
    for (int k = 0; k < own.n; k++)
        if (own.at[k] && wider.at[k]) p->in[k] = pair_of(r, own.at[k], wider.at[k]);
}

typedef struct Visit {
    Row_pair *pair;
    int child;
} Visit;

static void list_pairs(Rows *r, Row_pair *root)
{
    VEC(Visit) stack = {0};
    push(&stack, ((Visit){root, -1}));
    while (stack.n) {
        Visit *v = &stack.at[stack.n - 1];
        if (v->child < 0) {
            if (v->pair->fact.kind == ROWS_SAME) { /* listed, or being visited */
                stack.n--;
                continue;
            }
            v->pair->fact.kind = ROWS_SAME;
            find_inputs(r, v->pair);
            v->child = 0;
        } else if (v->child < v->pair->nin) {
            Row_pair *next = v->pair->in[v->child++];
            if (next) push(&stack, ((Visit){next, -1}));
        } else {
            push(&r->pairs, v->pair);
            stack.n--;
        }
    }
}

/* ------------------------------------------------------------------ facts */

static bool same_fact(Row_fact a, Row_fact b)
{
    return a.kind == b.kind && a.axis == b.axis && a.outer == b.outer && a.inner == b.inner && a.power == b.power &&
           a.learned == b.learned && a.affine == b.affine && a.counted == b.counted;
}

static bool go_through(Rows *r)
{
    bool changed = false;
    for (int i = 0; i < r->pairs.n; i++) {
        Row_pair *p = r->pairs.at[i];
        Row_fact new = row_fact(r, p);
        changed |= !same_fact(new, p->fact);
        p->fact = new;
    }
    return changed;
}

Rows *rows_of(const Graph *g, const Graph *wide, int64_t batch, bool single)
{
    enum { ROUNDS = 1000 }; /* far more than nested loops need */
    Rows *r = NEW(Rows);
    *r = (Rows){.graph = g, .wide = wide, .single = single, .batch = batch};
    for (int k = 0; k < g->statistics.n; k++) *table_at(&r->statistics, g->statistics.at[k]) = r;
    for (int k = 0; k < g->outs.n; k++) list_pairs(r, pair_of(r, g->outs.at[k].node, wide->outs.at[k].node));
    for (int i = 0; i < r->pairs.n; i++) r->pairs.at[i]->fact = (Row_fact){0};
    int round = 0;
    while (go_through(r) && ++round < ROUNDS) continue;
    r->recording = true;
    bool settled = !go_through(r);
    for (int k = 0; k < g->outs.n && !settled; k++)
        row_output(r, k)->fact = row_meets(row_output(r, k), "it is unclear how rows depend on each other in a loop");
    return r;
}

Row_pair *row_output(const Rows *r, int k) { return find_pair(r, r->graph->outs.at[k].node, r->wide->outs.at[k].node); }

bool is_raw_total(const Row_fact *f) { return f->kind == ROWS_TOTAL && !f->counted && !f->affine && f->power <= 0; }

bool has_edits(const Row_pair *p)
{
    for (int k = 0; k < p->nin; k++)
        if (p->edit[k].whole || p->edit[k].power) return true;
    return false;
}
