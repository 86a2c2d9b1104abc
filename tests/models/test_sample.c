/* test_sample.c: entries `sample`: generated code against the interpreter with the same draws; what they draw has the
 * distribution it must have: numbers of known mean and deviation, and the reverse chain of models/diffusion.lua, whose
 * distribution is worked out here where scores are known. */
#include "harness.h"

#include <math.h>
#include <string.h>

#define TINY                                                                                                           \
    "models/diffusion.lua --set layers=2 --set width=12 --set heads=2 --set cond=4 --set seq=6 --set batch=3 "         \
    "--set vocab=5 --set chain=4 --precision fp64"

static void set_scalar(Live *l, int entry, const char *name, int32_t value)
{
    *(int32_t *)input_at(l, entry, name) = value;
}

/* ------------------------------------------------------------------ against the interpreter */

typedef struct Fed {
    Live *l;
    int entry;
} Fed;

static Value fed(void *user, const Node *leaf)
{
    const Fed *f = user;
    Value v = {leaf->shape, NULL};
    int64_t n = elements(leaf->shape);
    for (int i = 0; leaf->op == OP_parameter && i < f->l->model->params; i++)
        if (same(f->l->model->param[i].name, leaf->name)) v.at = read_param(f->l, f->l->params, &f->l->model->param[i]);
    if (leaf->op != OP_input) return v;
    v.at = NEW_ARRAY(double, n);
    for (int64_t i = 0; i < n; i++) v.at[i] = get_element(LATHE_I32, input_at(f->l, f->entry, leaf->name), i);
    return v;
}

static const Graph *traced_sample(Desc *d)
{
    for (int i = 0; i < d->graphs.n; i++)
        if (same(d->graphs.at[i]->name, "sample")) return d->graphs.at[i];
    return NULL;
}

/* As TINY says. */
static Desc *traced(void)
{
    static const char *const sets[] = {"layers=2", "width=12", "heads=2", "cond=4",
                                       "seq=6",    "batch=3",  "vocab=5", "chain=4"};
    Options o = {.model_file = "models/diffusion.lua", .target = &target_cpu};
    for (int i = 0; i < COUNT_OF(sets); i++) push(&o.sets, sets[i]);
    return front(&o);
}

/* Row 1 begins with two characters that are given. */
static void give(Live *l, int entry)
{
    int32_t *tokens = input_at(l, entry, "tokens");
    for (int i = 0; i < 18; i++) tokens[i] = -1;
    tokens[6] = 3;
    tokens[7] = 0;
}

static void compare_with_interpreter(void)
{
    Rng r = rng_of(5);
    const Graph *g = traced_sample(traced());
    Live *l = build_model(TINY);
    int entry = entry_index(l, "sample"), changed = 0;
    if (!expect(g && entry >= 0, "diffusion has an entry sample")) return;
    fill_params(l, &r);
    give(l, entry);
    double first[18];
    for (int seed = 1; seed <= 5; seed++) {
        Value want;
        set_scalar(l, entry, "seed", seed);
        set_scalar(l, entry, "step", 7);
        call_entry(l, entry);
        eval_graph(g, fed, &(Fed){l, entry}, &want);
        const double *got = read_output(l, entry, "tokens");
        for (int i = 0; i < 18; i++) {
            expect(got[i] == want.at[i], "seed %d, token %d: %g, the interpreter says %g", seed, i, got[i], want.at[i]);
            changed += seed > 1 && got[i] != first[i];
        }
        expect(got[6] == 3 && got[7] == 0, "what is given stays");
        memcpy(first, got, sizeof first);
    }
    expect(changed > 20, "other seeds draw other texts");
    unload(l);
}

/* ------------------------------------------------------------------ the reverse chain */

enum { V = 5, CHAIN = 6, BATCH = 64, SEQ = 16, CALLS = 40 };

static double noise(double t) { return exp((1 - t) * log(1e-4) + t * log(20.0)); }

/* One step: to[y] of from[x] by the analytic kernel of Lou, Meng and Ermon (2024), uniform transitions, where the score
 * is s[y] for every y but the character there, whose score is 1. */
static void one_step(double *at, const double *s, double less)
{
    double next[V] = {0}, stay = exp(-less);
    for (int x = 0; x < V; x++) {
        double p[V], sum = 0, all = 0;
        for (int y = 0; y < V; y++) sum += y == x ? 1 : s[y];
        for (int y = 0; y < V; y++) {
            double staggered = (stay - 1) / (V * stay) * sum + (y == x ? 1 : s[y]) / stay;
            double came = y == x ? 1 - (V - 1) * (1 - stay) / V : (1 - stay) / V;
            p[y] = fmax(staggered * came, 0);
            all += p[y];
        }
        for (int y = 0; y < V; y++) next[y] += at[x] * p[y] / all;
    }
    memcpy(at, next, sizeof next);
}

static void expected_shares(double *at, const double *bias)
{
    double s[V];
    for (int y = 0; y < V; y++) s[y] = exp(bias[y]), at[y] = 1.0 / V;
    for (int i = 0; i < CHAIN; i++) {
        double t = 1 - i * (1 - 1e-4) / CHAIN;
        one_step(at, s, noise(t) - noise(t - (1 - 1e-4) / CHAIN));
    }
    one_step(at, s, noise(1e-4));
}

/* All parameters zero but the head's bias: scores are its exponentials whatever is read. */
static void give_scores(Live *l, const double *bias)
{
    for (int i = 0; i < l->model->params; i++) {
        const Lathe_param *p = &l->model->param[i];
        double *zero = NEW_ARRAY(double, param_elements(p));
        write_param(l, p, same(p->name, "head.bias") ? bias : zero);
    }
}

static void compare_distribution(void)
{
    static const double bias[V] = {0.4, -0.9, 1.1, 0, -0.2};
    double want[V], count[V] = {0}, chi = 0, n = (double)CALLS * BATCH * SEQ, even = 0;
    Live *l = build_model(format("models/diffusion.lua --set layers=1 --set width=8 --set heads=1 --set cond=2 --set "
                                 "seq=%d --set batch=%d --set vocab=%d --set chain=%d",
                                 SEQ, BATCH, V, CHAIN));
    int entry = entry_index(l, "sample");
    give_scores(l, bias);
    memset(input_at(l, entry, "tokens"), -1, sizeof(int32_t) * BATCH * SEQ);
    set_scalar(l, entry, "step", 0);
    for (int call = 0; call < CALLS; call++) {
        set_scalar(l, entry, "seed", call);
        call_entry(l, entry);
        const double *got = read_output(l, entry, "tokens");
        for (int i = 0; i < BATCH * SEQ; i++) count[(int)got[i]]++;
    }
    expected_shares(want, bias);
    for (int y = 0; y < V; y++) {
        chi += pow(count[y] - n * want[y], 2) / (n * want[y]);
        even += pow(count[y] - n / V, 2) / (n / V);
        printf("character %d: %.4f of all, %.4f expected\n", y, count[y] / n, want[y]);
    }
    expect(chi < 18.5, "chi squared %.1f with 4 degrees of freedom", chi); /* once in a thousand times */
    expect(even > 1000, "the scores tell in what is drawn");
    unload(l);
}

/* ------------------------------------------------------------------ numbers */

static void moments(const double *x, int64_t n, double *mean, double *variance)
{
    *mean = *variance = 0;
    for (int64_t i = 0; i < n; i++) *mean += x[i] / (double)n;
    for (int64_t i = 0; i < n; i++) *variance += (x[i] - *mean) * (x[i] - *mean) / (double)n;
}

/* Mean and deviation of the features are the head's weights; the walk is the sum of five normal numbers. */
static void check_numbers(void)
{
    enum { ROWS = 4096 };
    const double weight[] = {2, -1, 0.5, 0, log(0.5), log(3)};
    double mean, variance, column[ROWS];
    Live *l = build_model(format("tests/models/drawn.lua --set batch=%d", ROWS));
    int entry = entry_index(l, "sample");
    write_param(l, &l->model->param[0], weight);
    set_scalar(l, entry, "seed", 3);
    set_scalar(l, entry, "step", 0);
    call_entry(l, entry);
    const double *x = read_output(l, entry, "x"), *walk = read_output(l, entry, "walk");
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < ROWS; i++) column[i] = x[3 * i + k];
        double deviation = exp(weight[3 + k]);
        moments(column, ROWS, &mean, &variance);
        expect(fabs(mean - weight[k]) < 3.3 * deviation / sqrt(ROWS), "mean %g of %g", mean, weight[k]);
        expect(fabs(sqrt(variance) / deviation - 1) < 3.3 / sqrt(2 * ROWS), "deviation %g of %g", sqrt(variance),
               deviation);
    }
    moments(walk, ROWS, &mean, &variance);
    expect(fabs(mean) < 3.3 * sqrt(5.0 / ROWS), "mean %g of a walk", mean);
    expect(fabs(variance / 5 - 1) < 3.3 * sqrt(2.0 / ROWS), "variance %g of a walk of five steps", variance);
    unload(l);
}

int main(void)
{
    compare_with_interpreter();
    compare_distribution();
    check_numbers();
    return finish();
}
