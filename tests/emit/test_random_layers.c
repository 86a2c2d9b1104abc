/* test_random_layers.c: layers and losses of the library drawn by a seed (random_layers.lua): gradients through
 * generated code against differences of the loss; the same results, running statistics among them, where whole ops are
 * their definitions in primitives and nothing is fused; the same bits where all that can runs in panels; fp32 near
 * fp64. Fails where too few layers and losses were drawn; in the long form, where one never was.
 *
 *   test_random_layers [FIRST [COUNT]]      other seeds, without the check of coverage */
#include "harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { QUICK = 8, LONG = 150, PROBES = 2 };

static const struct Variant {
    const char *name, *arguments;
    double bound; /* of a tensor's norm and of what a small change of all parameters does to it */
    bool rounded;
} variants[] = {
    {"as defined", "--precision fp64 --no-whole --no-fuse --no-simplify", 1e-12, false},
    {"in panels", "--precision fp64 --all-panels", 0, false},
    {"fp32", "--precision fp32", 1e-4, true},
};

static const double nudge = 1e-7; /* relative */

static const char *description(uint64_t seed, const char *arguments)
{
    return format("tests/emit/random_layers.lua --set seed=%llu %s", (unsigned long long)seed, arguments);
}

/* The same parameters whatever their type. */
static void fill(Live *l, uint64_t seed, double off)
{
    Rng r = rng_of(seed), direction = rng_of(seed + 1);
    for (int k = 0; k < l->model->params; k++) {
        const Lathe_param *p = &l->model->param[k];
        int64_t n = param_elements(p);
        double *values = NEW_ARRAY(double, n);
        for (int64_t i = 0; i < n; i++) {
            values[i] = (float)(0.7 * normal(&r));
            values[i] *= 1 + off * (2 * uniform(&direction) - 1);
        }
        write_param(l, p, values);
    }
}

/* ------------------------------------------------------------------ what an entry gives */

typedef struct Result {
    const char *name;
    int64_t n;
    double *at;
} Result;
typedef VEC(Result) Results;

static double *read_state(const Live *l, const Lathe_tensor *s)
{
    double *values = NEW_ARRAY(double, tensor_elements(s));
    for (int64_t i = 0; i < tensor_elements(s); i++) values[i] = get_element(s->dtype, l->state + s->offset, i);
    return values;
}

static bool is_drawn(const char *name) { return !strncmp(name, "drew_", 5); }

static Results results_of(Live *l, uint64_t seed, double off)
{
    int entry = entry_index(l, "grad");
    const Lathe_entry *e = &l->model->entry[entry];
    Results all = {0};
    fill(l, seed, off);
    fill_statistics(l->model, l->state);
    call_entry(l, entry);
    for (int k = 0; k < l->model->states; k++) {
        const Lathe_tensor *s = &l->model->state[k];
        push(&all, ((Result){s->name, tensor_elements(s), read_state(l, s)}));
    }
    for (int k = 0; k < e->outputs; k++)
        if (!is_drawn(e->output[k].name))
            push(&all, ((Result){e->output[k].name, tensor_elements(&e->output[k]),
                                 read_output(l, entry, e->output[k].name)}));
    for (int k = 0; k < l->model->params; k++) {
        const Lathe_param *p = &l->model->param[k];
        push(&all, ((Result){p->name, param_elements(p), read_param(l, l->grads, p)}));
    }
    return all;
}

/* A result is held to how it answers to a small change of all parameters, since that is how it answers to rounding;
 * and, in fp32, to how far two ways to compute it in fp64 are apart: some results are zero but for rounding. */
static double compare(uint64_t seed, const struct Variant *v, const Results *exact, const Results *nudged,
                      const Results *got, const Results *defined)
{
    double worst = 0, scale = 0;
    for (int i = 0; i < exact->n; i++) scale = fmax(scale, norm_of(exact->at[i].at, exact->at[i].n));
    must(exact->n == got->n);
    for (int i = 0; i < exact->n; i++) {
        const Result *e = &exact->at[i], *g = &got->at[i];
        must(same(e->name, g->name) && e->n == g->n);
        double error = norm_of_difference(e->at, g->at, e->n), norm = norm_of(e->at, e->n);
        double answer = norm_of_difference(e->at, nudged->at[i].at, e->n) / nudge;
        double apart = defined ? norm_of_difference(e->at, defined->at[i].at, e->n) * 0x1p29 : 0;
        double limit = v->bound * (norm + answer + 1e-3 * scale) + 4 * apart;
        expect(error <= limit, "seed %llu, %s: %s is off by %.3g (norm %.3g, answer to a nudge %.3g)",
               (unsigned long long)seed, v->name, e->name, error, norm, answer);
        worst = fmax(worst, error / limit * v->bound);
    }
    return worst;
}

/* ------------------------------------------------------------------ what processes leave for the last one */

typedef struct Tally {
    double worst[COUNT_OF(variants)], worst_gradient;
    double kinds; /* of layers and losses that can be drawn */
    int drawn;
    char name[100][32];
} Tally;

static Tally *tally;

static void add_name(const char *name)
{
    for (int i = 0; i < tally->drawn; i++)
        if (same(tally->name[i], name)) return;
    must(tally->drawn < COUNT_OF(tally->name));
    snprintf(tally->name[tally->drawn++], sizeof *tally->name, "%s", name);
}

static void add_drawn(const Live *l, int entry)
{
    const Lathe_entry *e = &l->model->entry[entry];
    tally->kinds = *read_output(l, entry, "kinds");
    for (int k = 0; k < e->outputs; k++)
        if (is_drawn(e->output[k].name)) add_name(e->output[k].name + 5);
}

/* ------------------------------------------------------------------ */

static void check_seed(void *user)
{
    uint64_t seed = *(const uint64_t *)user;
    const char *name = format("seed %llu", (unsigned long long)seed);
    Live *l = build_model(description(seed, "--precision fp64"));
    int entry = entry_index(l, "grad");
    Rng r = rng_of(seed);
    Results exact = results_of(l, seed, 0);
    add_drawn(l, entry);
    Results nudged = results_of(l, seed, nudge);
    fill(l, seed, 0);
    tally->worst_gradient = fmax(tally->worst_gradient, check_gradients(l, entry, name, "", PROBES, &r));
    Results defined = {0};
    for (int v = 0; v < COUNT_OF(variants); v++) {
        Live *other = build_model(description(seed, variants[v].arguments));
        Results got = results_of(other, seed, 0);
        tally->worst[v] = fmax(
            tally->worst[v], compare(seed, &variants[v], &exact, &nudged, &got, variants[v].rounded ? &defined : NULL));
        if (v == 0) defined = got;
        unload(other);
    }
    unload(l);
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int n = argc > 2 ? atoi(argv[2]) : argc > 1 ? 1 : long_run() ? LONG : QUICK;
    tally = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    must(tally != MAP_FAILED);
    for (uint64_t seed = first; seed < first + (uint64_t)n; seed++)
        expect(run_apart(check_seed, &seed), "seed %llu failed", (unsigned long long)seed);
    expect(argc > 1 || tally->drawn >= (long_run() ? tally->kinds : 0.75 * tally->kinds),
           "only %d of %.0f layers and losses were drawn", tally->drawn, tally->kinds);
    printf("note: %d of %.0f layers and losses drawn, worst gradient %.1e\n", tally->drawn, tally->kinds,
           tally->worst_gradient);
    for (int v = 0; v < COUNT_OF(variants); v++)
        printf("note: %-10s worst difference %.1e of %.0e\n", variants[v].name, tally->worst[v], variants[v].bound);
    return finish();
}
