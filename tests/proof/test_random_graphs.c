/* test_random_graphs.c: many random graphs as the entries of one generated file.  Compiled equals interpreted; the planned
 * arena equals one where nothing shares memory, bit for bit; fused equals unfused.  Prints what the graphs covered. */
#include "harness.h"
#include "graph/random_graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GRAPHS = 100, LONG_GRAPHS = 500, PER_FILE = 50 };

/* ------------------------------------------------------------------ what leaves hold */

/* The same for the interpreter and for the generated program: a function of the leaf's name and the element. */
static double leaf_value(const char *name, DType t, int64_t i, double nudge)
{
    Rng r = rng_of(hash_bytes(name, strlen(name), 17) + (uint64_t)i * 7919);
    double u = uniform(&r);
    if (t == I32)
        return floor(3 * u);
    if (t == BOOL)
        return u < 0.5;
    /* exact in fp32, so that both precisions compute from the same numbers */
    return (double)(float)((2 * u - 1) * (1 + nudge * (uniform(&r) - 0.5)));
}

static Value feed_leaf(void *user, const Node *leaf)
{
    Value v = {leaf->shape, NEW_ARRAY(double, elements(leaf->shape))};
    for (int64_t i = 0; i < elements(leaf->shape); i++)
        v.at[i] = leaf_value(leaf->name, leaf->dtype, i, *(double *)user);
    return v;
}

static void feed_live(Live *l, int entry)
{
    const Lathe_entry *e = &l->model->entry[entry];
    for (int k = 0; k < l->model->params; k++)
        for (int64_t i = 0; i < param_elements(&l->model->param[k]); i++)
            set_element(l->model->real, l->params, flat_place(&l->model->param[k], i), leaf_value(l->model->param[k].name, F32, i, 0));
    for (int k = 0; k < e->inputs; k++)
        for (int64_t i = 0; i < tensor_elements(&e->input[k]); i++)
            set_element(e->input[k].dtype, l->room[entry].in + e->input[k].offset, i,
                        leaf_value(e->input[k].name, (DType)e->input[k].dtype, i, 0));
}

/* ------------------------------------------------------------------ one graph's results */

typedef struct Result { const char *name; int64_t n; double *at; } Result;
typedef VEC(Result) Results;

/* Values under their names, gradients under "grad." and the parameter's. */
static Results interpret(const Graph *g, double nudge)
{
    Value *values = NEW_ARRAY(Value, g->outs.n);
    eval_graph(g, feed_leaf, &nudge, values);
    Results all = {0};
    for (int i = 0; i < g->outs.n; i++) {
        const Output *o = &g->outs.at[i];
        const char *name = o->kind == OUT_GRAD ? format("grad.%s", o->name) : o->name;
        push(&all, ((Result){name, elements(values[i].shape), values[i].at}));
    }
    return all;
}

static Results run(Live *l, int entry, const Results *like)
{
    Results all = {0};
    feed_live(l, entry);
    memset(l->grads, 0, (size_t)l->model->flat_elements * (l->model->real == LATHE_F64 ? 8 : 4));
    call_entry(l, entry);
    for (int i = 0; i < like->n; i++) {
        Result r = like->at[i];
        if (!starts_with(r.name, "grad."))
            r.at = read_output(l, entry, r.name);
        for (int k = 0; starts_with(r.name, "grad.") && k < l->model->params; k++)
            if (same(l->model->param[k].name, r.name + 5))
                r.at = read_param(l, l->grads, &l->model->param[k]);
        push(&all, r);
    }
    return all;
}

/* How far a result may be off: relative to its norm, and to how it answers to a small change of all the leaves, which is
 * how it answers to rounding as well.  So results that cancel are held to what can be known of them. */
static void compare(const char *what, int graph, const Results *expected, const Results *nudged, double nudge, const Results *got,
                    double bound, double *worst)
{
    for (int i = 0; i < expected->n; i++) {
        const Result *e = &expected->at[i], *g = &got->at[i];
        double norm = norm_of(e->at, e->n), answer = norm_of_difference(e->at, nudged->at[i].at, e->n) / nudge;
        double error = norm_of_difference(e->at, g->at, e->n);
        bool ok = error <= bound * (norm + answer) || norm_of_difference(e->at, g->at, e->n) == 0;
        expect(ok, "graph %d %s: %s differs by %.3g (norm %.3g, answer to a nudge %.3g)", graph, what, e->name, error, norm, answer);
        *worst = fmax(*worst, error / (norm + answer + 1e-300));
    }
}
