/* scores.c: an evaluation over many batches gives what one batch of all rows would.
 *
 * Outputs that are means over the rows of a batch are averaged over batches by the trainer.  For an output that is
 * divided by a count, or is another function of sums over rows, eval gives the sums, the trainer adds them up, and the
 * entry `score` computes the output from the totals.  A mean in such a function is multiplied by the batch's share of
 * all rows. */
#include "front/objective.h"
#include "graph/rows.h"

#include <string.h>

enum { MOST_TOTALS = 4096 }; /* elements of each */

typedef struct Scoring {
    Desc *desc;
    const Rows *rows;
    Table made;              /* node of a pair: its copy in score */
    VEC(Row_pair *) totals;  /* outputs of eval */
    VEC(const char *) names; /* of the totals */
    const Graph *eval;
} Scoring;

static const Row_pair *behind_objective(const Row_pair *p)
{
    while (p->elided) p = p->in[0];
    return p;
}

/* ------------------------------------------------------------------ what can be made of totals */

static bool can_be_total(const Row_pair *p)
{
    return is_raw_total(&p->fact) && is_real(p->node->dtype) && elements(p->node->shape) <= MOST_TOTALS &&
           !p->node->in_loop;
}

/* Whether root can be computed from totals and from values that depend on no row. */
static bool is_made_of_totals(const Row_pair *root)
{
    VEC(const Row_pair *) todo = {0};
    Table seen = {0};
    push(&todo, root);
    while (todo.n) {
        const Row_pair *p = behind_objective(todo.at[--todo.n]);
        void **slot = table_at(&seen, p->node);
        if (*slot || can_be_total(p)) continue;
        *slot = &seen;
        if (p->fact.kind == ROWS_SAME && !p->fact.counted && !p->node->in_loop) continue;
        bool kind = p->fact.kind == ROWS_SAME || p->fact.kind == ROWS_TOTAL || p->fact.kind == ROWS_FUNCTION;
        if (!kind || p->misfit || op_info[p->node->op].kind == LOOP || p->nin != p->node->nin) return false;
        for (int k = 0; k < p->nin; k++) {
            if (!p->in[k]) return false;
            push(&todo, p->in[k]);
        }
    }
    return true;
}

/* ------------------------------------------------------------------ the entry */

static const char *free_name(const Graph *eval, int number)
{
    const char *name = format("total_%d", number);
    for (int i = 0; i < eval->outs.n; i++)
        if (same(eval->outs.at[i].name, name)) return free_name(eval, number + 100);
    return name;
}

static Node *total_input(Scoring *s, Row_pair *p)
{
    const char *name = free_name(s->eval, s->totals.n + 1);
    push(&s->totals, p);
    push(&s->names, name);
    push(&s->desc->inputs,
         ((Tensor_spec){
             .name = name, .dtype = F32, .shape = p->node->shape, .role = LATHE_TOTAL, .where = p->node->where}));
    return input_node(name, F32, p->node->shape);
}

/* n, of one batch, times share^-power */
static Node *shared(Desc *d, Node *n, int power)
{
    if (!power) return n;
    must(power == -1);
    bool have = false;
    for (int i = 0; i < d->inputs.n; i++) have |= d->inputs.at[i].role == LATHE_SHARE;
    if (!have) push(&d->inputs, ((Tensor_spec){.name = "share", .dtype = F32, .role = LATHE_SHARE}));
    return map2(OP_mul, n, broadcast(input_node("share", F32, (Shape){0}), n->shape));
}

typedef struct Step {
    Row_pair *pair;
    bool entered;
} Step;

static void make_score(Scoring *s, Row_pair *p)
{
    Node **in = NEW_ARRAY(Node *, p->nin + 1);
    for (int k = 0; k < p->nin; k++)
        in[k] = shared(s->desc, table_get(&s->made, behind_objective(p->in[k])->node), p->edit[k].power);
    make_at(p->node->where);
    *table_at(&s->made, p->node) = remade(p->node, in);
}

static Node *made_of_totals(Scoring *s, Row_pair *root)
{
    VEC(Step) stack = {0};
    push(&stack, ((Step){(Row_pair *)behind_objective(root), false}));
    while (stack.n) {
        Step step = stack.at[--stack.n];
        Row_pair *p = step.pair;
        void **slot = table_at(&s->made, p->node);
        if (*slot) continue;
        if (can_be_total(p)) *slot = total_input(s, p);
        else if (p->fact.kind == ROWS_SAME && !p->fact.counted) *slot = p->node;
        else if (step.entered) make_score(s, p);
        else {
            push(&stack, ((Step){p, true}));
            for (int k = 0; k < p->nin; k++) push(&stack, ((Step){(Row_pair *)behind_objective(p->in[k]), false}));
        }
    }
    return shared(s->desc, table_get(&s->made, behind_objective(root)->node),
                  root->fact.kind == ROWS_TOTAL ? root->fact.power : 0);
}

/* ------------------------------------------------------------------ outputs */

/* Can the mean over batches differ from the value for all rows? */
static bool needs_totals(const Row_fact *f)
{
    return f->kind == ROWS_FUNCTION || ((f->kind == ROWS_TOTAL || f->kind == ROWS_SAME) && f->counted);
}

static bool is_score(const Output *o) { return o->kind == OUT_VALUE && o->node->shape.rank == 0; }

/* The first score that needs totals but cannot be computed from them; NULL: none. */
static const Output *unmade(const Rows *r, const Graph *eval)
{
    for (int k = 0; k < eval->outs.n; k++) {
        const Row_pair *p = row_output(r, k);
        if (is_score(&eval->outs.at[k]) && needs_totals(&p->fact) && !is_made_of_totals(p)) return &eval->outs.at[k];
    }
    return NULL;
}

/* Must the output be computed from totals? In a metric of the description's own, a sum over rows is the sum of all
 * rows. Of a loss or an output of forward, the trainer tells the mean of the batches' sums. */
static bool is_of_totals(const Trace *trace, const Output *o, const Row_fact *f)
{
    bool is_sum = f->kind == ROWS_TOTAL && f->power == 0;
    return needs_totals(f) || (is_sum && is_own_metric(trace, o->name));
}

/* The description's own metrics must be those of all rows. */
static void check_own_metrics(const Trace *trace, const Rows *r, const Graph *eval)
{
    for (int k = 0; k < eval->outs.n; k++) {
        const Output *o = &eval->outs.at[k];
        const Row_pair *p = row_output(r, k);
        if (o->kind != OUT_VALUE || !is_own_metric(trace, o->name)) continue;
        if (p->fact.kind == ROWS_MEET) refuse_metric(trace, o, p->fact.fault->why);
        if (is_of_totals(trace, o, &p->fact) && !is_made_of_totals(p))
            refuse_metric(trace, o, "it is no function of sums over rows");
    }
}

/* Pulls factors out of sums if scores cannot be computed from totals otherwise. */
static Rows *facts_of(const Trace *trace, Graph *eval, Graph *wide, int64_t batch)
{
    Rows *r = rows_of(eval, wide, batch, true);
    if (unmade(r, eval)) {
        pull_factors(eval, wide, r);
        r = rows_of(eval, wide, batch, true);
    }
    const Output *o = unmade(r, eval);
    if (o && !is_own_metric(trace, o->name))
        warn(o->node->where,
             "'%s' cannot be computed from sums over batches, so `trainer eval` gives the mean of its values per "
             "batch, not the value over all rows\n"
             "  to avoid this, divide a sum over rows by the count, outside loops",
             o->name);
    return r;
}

Graph *take_scores(Trace *trace, Graph *eval, Graph *wide, int64_t batch)
{
    Rows *r = facts_of(trace, eval, wide, batch);
    check_own_metrics(trace, r, eval);
    Scoring s = {.desc = trace->desc, .rows = r, .eval = eval};
    Graph *score = graph_of(ENTRY_score);
    Making was = making();
    int kept = 0;
    for (int k = 0; k < eval->outs.n; k++) {
        Output *o = &eval->outs.at[k];
        Row_pair *p = row_output(r, k);
        if (p->fact.kind == ROWS_MEET) push(&eval->meeting, o->name);
        if (is_score(o) && is_of_totals(trace, o, &p->fact) && is_made_of_totals(p))
            push(&score->outs, ((Output){OUT_VALUE, o->name, made_of_totals(&s, p)}));
        else eval->outs.at[kept++] = *o;
    }
    eval->outs.n = kept;
    for (int i = 0; i < s.totals.n; i++) push(&eval->outs, ((Output){OUT_VALUE, s.names.at[i], s.totals.at[i]->node}));
    make_with(was);
    return score->outs.n ? score : NULL;
}

/* Such a prediction changes with the rows that a user happens to batch it with. */
void tell_meeting(const Graph *grad, int64_t batch)
{
    if (batch == 1) return;
    const Rows *r = rows_of(grad, grad, batch, true);
    for (int k = 0; k < grad->outs.n; k++) {
        const Output *o = &grad->outs.at[k];
        const Row_fact *f = &row_output(r, k)->fact;
        if (o->kind != OUT_VALUE || o->node->shape.rank == 0 || f->kind != ROWS_MEET) continue;
        warn(f->fault->where, "%s, so output '%s' of a row depends on the other rows of its batch, in evaluation too",
             f->fault->why, o->name);
    }
}
