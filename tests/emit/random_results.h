/* random_results.h: what a random graph gives: leaves that are fed alike to the interpreter and to generated code, the
 * results of both, and how far these may be off. */
#ifndef TEST_RANDOM_RESULTS_H
#define TEST_RANDOM_RESULTS_H

#include "harness.h"
#include "graph/random_graph.h"
#include "graph/eval.h"

#include <math.h>
#include <string.h>

static const double nudge = 1e-7; /* relative */

/* Units in the last place by which results inside are off together, after the few dozen roundings of a graph: the
 * double's own zero of graph 473 is 4.8 of them. */
static const double units = 16;

/* ------------------------------------------------------------------ what leaves hold */

static double nudged_by;

/* The same for the interpreter and for generated code: by name. */
static Value feed(void *user, const Node *leaf)
{
    Value v = random_feed(user, leaf);
    Rng r = rng_of(elements(v.shape) > 0 ? (uint64_t)(int64_t)(v.at[0] * 1e6) : 0);
    for (int64_t i = 0; i < elements(v.shape) && is_real(leaf->dtype); i++)
        v.at[i] *= 1 + nudged_by * (2 * uniform(&r) - 1);
    return v;
}

static Value value_of(Op op, const char *name, DType t, int rank, const int64_t *dim)
{
    uint64_t seed = 1;
    Node leaf = {.op = op, .name = name, .dtype = t, .shape = shape_of(rank, dim)};
    return feed(&seed, &leaf);
}

static void feed_tensors(int n, const Lathe_tensor *list, char *to)
{
    for (int k = 0; k < n; k++) {
        Value v = value_of(OP_input, list[k].name, (DType)list[k].dtype, list[k].rank, list[k].dim);
        for (int64_t i = 0; i < elements(v.shape); i++) set_element(list[k].dtype, to + list[k].offset, i, v.at[i]);
    }
}

static void feed_gradients(Live *l)
{
    for (int k = 0; k < l->model->params; k++) {
        const Lathe_param *p = &l->model->param[k];
        Value v = value_of(OP_gradient, p->name, F32, p->rank, p->dim);
        for (int64_t i = 0; i < param_elements(p); i++)
            set_element(l->model->real, l->grads, flat_place(p, i), v.at[i]);
    }
}

static void feed_live(Live *l, int entry)
{
    for (int k = 0; k < l->model->params; k++) {
        const Lathe_param *p = &l->model->param[k];
        write_param(l, p, value_of(OP_parameter, p->name, F32, p->rank, p->dim).at);
    }
    feed_tensors(l->model->states, l->model->state, l->state);
    feed_tensors(l->model->entry[entry].inputs, l->model->entry[entry].input, l->room[entry].in);
    memset(l->grads, 0, (size_t)(l->model->flat_elements * (l->model->real == LATHE_F64 ? 8 : 4)));
    if (same(l->model->entry[entry].name, name_of_entry(ENTRY_direction, NULL))) feed_gradients(l);
}

/* ------------------------------------------------------------------ one graph's results */

typedef struct Result {
    OutKind kind;
    const char *name;
    int64_t n;
    double *at;
} Result;
typedef VEC(Result) Results;

/* Leaves off by `leaves` of themselves, results inside by `inside`. */
static Results interpret(const Graph *g, double leaves, double inside)
{
    uint64_t seed = 1;
    Value *values = NEW_ARRAY(Value, g->outs.n);
    Results all = {0};
    nudged_by = leaves;
    eval_graph_off(g, feed, &seed, inside, values);
    nudged_by = 0;
    for (int i = 0; i < g->outs.n; i++)
        push(&all, ((Result){g->outs.at[i].kind, g->outs.at[i].name, elements(values[i].shape), values[i].at}));
    return all;
}

static double *read_state(const Live *l, const char *name)
{
    const Lathe_tensor *t = find_tensor(l->model->state, l->model->states, name);
    double *values = NEW_ARRAY(double, tensor_elements(t));
    for (int64_t i = 0; i < tensor_elements(t); i++) values[i] = get_element(t->dtype, l->state + t->offset, i);
    return values;
}

static double *read_gradient(const Live *l, const char *name)
{
    for (int k = 0; k < l->model->params; k++)
        if (same(l->model->param[k].name, name)) return read_param(l, l->grads, &l->model->param[k]);
    die("there is no parameter %s", name);
}

static Results run(Live *l, int entry, const Results *like)
{
    Results all = {0};
    feed_live(l, entry);
    call_entry(l, entry);
    for (int i = 0; i < like->n; i++) {
        Result r = like->at[i];
        r.at = r.kind == OUT_STATE  ? read_state(l, r.name)
               : r.kind == OUT_GRAD ? read_gradient(l, r.name)
                                    : read_output(l, entry, r.name);
        push(&all, r);
    }
    return all;
}

/* ------------------------------------------------------------------ what they may be off */

typedef struct Reference {
    Results exact, nudged, rounded;
} Reference;

static Reference reference_of(const Graph *g)
{
    return (Reference){interpret(g, 0, 0), interpret(g, nudge, 0), interpret(g, 0, nudge)};
}

static int zeros; /* results that are nothing but rounding */

/* How far a result may be off: relative to its norm, and to how much it answers to a small change of all the leaves,
 * since that is how it answers to rounding as well.  So what cancels is held to what can be known of it.  A result that
 * is zero by its structure answers to no leaf, and holds what rounding inside left there: some units in the last place
 * of its type, of what it answers to changes inside.  In fp32 that is also one of which double still knows a little:
 * graph 149's gradients are 1e-7 of what they are the difference of.  Returns the worst. */
static double compare(const char *graph, const char *what, double bound, const Reference *ref, const Results *got)
{
    double most = 0, unit = bound > 1e-9 ? 0x1p-24 : 0x1p-53;
    for (int i = 0; i < ref->exact.n; i++) {
        const Result *e = &ref->exact.at[i], *g = &got->at[i];
        must(same(e->name, g->name) && e->n == g->n);
        double norm = norm_of(e->at, e->n), error = norm_of_difference(e->at, g->at, e->n);
        double answer = norm_of_difference(e->at, ref->nudged.at[i].at, e->n) / nudge, scale = norm + answer;
        double inside = norm_of_difference(e->at, ref->rounded.at[i].at, e->n) / nudge;
        bool nothing = fmax(norm, answer * nudge) <= units * unit * inside;
        double limit = nothing ? units * unit * inside : bound * scale;
        expect(error <= limit, "%s %s: %s is off by %.3g (norm %.3g, answer to a nudge %.3g, inside %.3g)", graph, what,
               e->name, error, norm, answer, inside);
        zeros += nothing && error > 0;
        if (limit > 0) most = fmax(most, bound * error / limit);
    }
    return most;
}

static void compare_bits(const char *graph, const char *variant, const Results *a, const Results *b)
{
    for (int i = 0; i < a->n; i++)
        expect(memcmp(a->at[i].at, b->at[i].at, sizeof(double) * (size_t)a->at[i].n) == 0,
               "%s %s: %s is not the same as with shared memory", graph, variant, a->at[i].name);
}

#endif
