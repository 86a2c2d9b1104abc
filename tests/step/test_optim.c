/* test_optim.c: step/optim.c, step/schedule.c: trajectories, rates and momenta recorded from torch.optim, groups, rates
 * by layers, decay by segments in strided layouts, the norm, clipping, the same bits for any number of threads. */
#include "harness.h"
#include "step/step.h"
#include "base/words.h"
#include "interface/lathe_model.h"
#include "step/average.h"
#include "step/optim.h"
#include "trainer/knobs.h"
#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

/* ------------------------------------------------------------------ against torch.optim (tests/reference/record.py) */

/* w [12] decays, b [5] and c [3] do not; 16 apart. */
static const Lathe_param three[] = {
    {.name = "w", .export_name = "w", .rank = 1, .dim = {12}, .stride = {1}, .offset = 0, .decay = true},
    {.name = "b", .export_name = "b", .rank = 1, .dim = {5}, .stride = {1}, .offset = 16},
    {.name = "c", .export_name = "c", .rank = 1, .dim = {3}, .stride = {1}, .offset = 32}};
static const Lathe_group some_groups[] = {{"b", 0.5, 0.05, 1, -1}, {"c", 7, -1, -1, -1}, {"c*", -1, -1, -1, 1}};
enum { FLAT_3 = 48 };

/* By the trainer's own reading of --set. */
static Lathe_recipe recipe_said(const Recording *r, const char *name)
{
    static Lathe_model none;
    Trainer t = {.model = &none,
                 .recipe = {.lr = 1,
                            .eps = 1e-8,
                            .warm_fraction = 0.3,
                            .start_div = 25,
                            .final_div = 1e4,
                            .cycle_momentum = 1,
                            .low_momentum = 0.85,
                            .high_momentum = 0.95}};
    char *words = copy_string(said(r, name)), *next;
    for (char *word = words; word; word = next) {
        next = strchr(word, ' ');
        if (next) *next++ = 0;
        set_knob_text(&t, word);
    }
    return t.recipe;
}

static void put(Lathe_dtype real, void *flat, const Lathe_param *p, const double *from)
{
    for (int i = 0; i < p->dim[0]; i++) set_element(real, flat, p->offset + i, from[i]);
}

/* The worst difference, in units of 1 + |expected|. */
static double off_by(Lathe_dtype real, const void *flat, const Lathe_param *p, const double *expected)
{
    double worst = 0;
    for (int i = 0; i < p->dim[0]; i++) {
        double off = fabs(get_element(real, flat, p->offset + i) - expected[i]) / (1 + fabs(expected[i]));
        if (!(off <= worst)) worst = isnan(off) ? INFINITY : off; /* fmax would leave out a NaN */
    }
    return worst;
}

static void check_trajectory(const Recording *r, const char *name, Lathe_dtype real)
{
    bool grouped = same(name, "groups"), scheduled = strstr(said(r, name), "schedule=") != NULL;
    Lathe_model m = {.real = real, .params = 3, .param = three, .flat_elements = FLAT_3};
    m.groups = grouped ? COUNT_OF(some_groups) : 0;
    m.group = some_groups;
    Lathe_recipe recipe = recipe_said(r, name);
    char *params = alloc(FLAT_3 * 8), *grads = alloc(FLAT_3 * 8);
    double limit = real == LATHE_F64 ? 1e-14 : 4 * FLT_EPSILON, worst = 0;
    Optimizer o;
    optimizer_init(&o, &m, &recipe, alloc(optimizer_bytes(&m, &recipe) + 1));
    for (int k = 0; k < 3; k++) put(real, params, &three[k], recorded(r, format("start.%s", three[k].name)).at);
    begin_averages(&o, params);
    for (int step = 0; step < recipe.steps; step++) {
        for (int k = 0; k < (grouped ? 3 : 2); k++)
            put(real, grads, &three[k], recorded(r, format("grad.%s", three[k].name)).at + step * three[k].dim[0]);
        drop_frozen(&o, grads);
        Pace pace = pace_at(&recipe, step, gradient_norm(&o, grads));
        if (!scheduled) pace.lr = 0.01 * (1 + step % 5);
        if (o.average) pace.averaged = averaged_share(&o, &recipe, step);
        optimizer_step(&o, params, grads, step, &pace);
        for (int k = 0; k < 2; k++) {
            const char *own = three[k].name;
            const int at = step * (int)three[k].dim[0];
            worst = fmax(worst, off_by(real, params, &three[k], recorded(r, format("%s.%s", name, own)).at + at));
            if (!o.average) continue;
            const double *average = recorded(r, format("%s.average.%s", name, own)).at + at;
            worst = fmax(worst, off_by(real, o.average, &three[k], average));
        }
    }
    expect(worst <= limit, "%s: off by %.1e", name, worst);
    const double *c = recorded(r, "start.c").at, most = recipe.clip_weights > 0 ? recipe.clip_weights : INFINITY;
    double still[] = {fmin(fmax(c[0], -most), most), fmin(fmax(c[1], -most), most), fmin(fmax(c[2], -most), most)};
    expect(off_by(real, params, &three[2], still) == 0, "%s: c has changed", name);
    for (int i = 0; i < FLAT_3; i++)
        expect(i % 16 < (i < 16 ? 12 : i < 32 ? 5 : 3) || get_element(real, params, i) == 0, "padding changed");
    optimizer_free(&o);
}

static void test_trajectories(void)
{
    static const char *const names[] = {
        "adamw",       "adam",      "lion",          "sgd",     "momentum",         "nesterov",         "both_clips",
        "groups",      "one_cycle", "one_cycle_sgd", "rmsprop", "rmsprop_momentum", "rmsprop_centered", "rmsprop_all",
        "clip_weights", "schedule_free", "ema"};
    Recording r = open_recording("tests/reference/optimizers.safetensors");
    for (int i = 0; i < COUNT_OF(names); i++) {
        check_trajectory(&r, names[i], LATHE_F64);
        check_trajectory(&r, names[i], LATHE_F32);
    }
}

static void test_schedules(void)
{
    static const char *const names[] = {"one_cycle",    "one_cycle_warm", "one_cycle_still", "step",
                                        "milestones",   "inverse_sqrt",   "linear",          "cosine",
                                        "cosine_short", "cooldown"};
    Recording r = open_recording("tests/reference/schedules.safetensors");
    for (int i = 0; i < COUNT_OF(names); i++) {
        Lathe_recipe recipe = recipe_said(&r, names[i]);
        Recorded rate = recorded(&r, format("%s.rate", names[i]));
        for (int s = 0; s < rate.n; s++)
            expect(fabs(rate_at(&recipe, s) - rate.at[s]) <= 1e-14, "%s, step %d: %.17g, not %.17g", names[i], s,
                   rate_at(&recipe, s), rate.at[s]);
        for (int s = 0; s < rate.n && has_recorded(&r, format("%s.momentum", names[i])); s++)
            expect(fabs(momentum_at(&recipe, s) - recorded(&r, format("%s.momentum", names[i])).at[s]) <= 1e-14,
                   "%s, step %d: momentum %.17g", names[i], s, momentum_at(&recipe, s));
        double last = rate_at(&recipe, rate.n + 1000);
        bool endless = same(names[i], "inverse_sqrt") || same(names[i], "step");
        expect(endless || last == rate_at(&recipe, rate.n), "%s stays at its last", names[i]);
    }
}

static void test_patterns(void)
{
    static const struct {
        const char *pattern, *name;
        bool matches;
    } cases[] = {{"*", "", true},           {"", "a", false},           {"*.bias", "h.3.up.bias", true},
                 {"*.bias", "bias", false}, {"h.1.*", "h.11.w", false}, {"h.?.w", "h.2.w", true},
                 {"*a*b", "xaab.b", true},  {"a*b*c", "abbc", true},    {"a*b*c", "abcb", false}};
    for (int i = 0; i < COUNT_OF(cases); i++)
        expect(lathe_matches(cases[i].pattern, cases[i].name) == cases[i].matches, "'%s' and '%s'", cases[i].pattern,
               cases[i].name);
}

/* ------------------------------------------------------------------ layouts */

/* Two layers, each a struct of q [5][3] and k [5][3] side by side in rows of 6, and a bias [3] of its own, 16 apart.
 * Only q decays; with no gradient, decay alone is left. */
static void test_decay(void)
{
    static const Lathe_param p[] = {
        {.name = "q",
         .export_name = "%d.q",
         .rank = 3,
         .loops = 1,
         .dim = {2, 5, 3},
         .stride = {48, 6, 1},
         .offset = 0,
         .decay = true},
        {.name = "k",
         .export_name = "%d.k",
         .rank = 3,
         .loops = 1,
         .dim = {2, 5, 3},
         .stride = {48, 6, 1},
         .offset = 3},
        {.name = "b", .export_name = "%d.b", .rank = 2, .loops = 1, .dim = {2, 3}, .stride = {48, 1}, .offset = 32},
        {.name = "e", .export_name = "e", .rank = 2, .dim = {50000, 3}, .stride = {3, 1}, .offset = 96, .decay = true}};
    enum { FLAT = 96 + 150000 };
    Lathe_model m = {.real = LATHE_F32, .params = 4, .param = p, .flat_elements = FLAT};
    for (int kind = 0; kind < 3; kind++) {
        Lathe_recipe r = {.optimizer = kind ? LATHE_SGD : LATHE_ADAMW,
                          .beta1 = 0.9,
                          .beta2 = 0.99,
                          .eps = 1e-8,
                          .decay = 0.5,
                          .momentum = kind == 2 ? 0.9 : 0};
        float *params = alloc(FLAT * 4), *grads = alloc(FLAT * 4);
        for (int i = 0; i < FLAT; i++) params[i] = 1;
        Optimizer o;
        optimizer_init(&o, &m, &r, alloc(optimizer_bytes(&m, &r) + 1));
        optimizer_step(&o, params, grads, 0,
                       &(Pace){.lr = 0.5, .momentum = kind == 2 || !kind ? 0.9 : 0, .scale = 1, .most = INFINITY});
        for (int i = 0; i < 96; i++) {
            bool q = i % 48 < 30 && i % 48 % 6 < 3, padding = i % 48 >= 30 && (i % 48 < 32 || i % 48 >= 35);
            expect(padding || params[i] == (q ? 0.75f : 1.0f), "decay of element %d", i);
        }
        for (int i = 96; i < FLAT; i++) expect(params[i] == 0.75f, "decay of element %d", i);
        optimizer_free(&o);
    }
}

/* BEiT's rates (timm's num_layers is 4 here): below three layers 0.75^4, layers 0.75^3 … 0.75, above them 1; a group's
 * factor of layer 1 beside its own.  Gradients are 1, so that SGD moves each element by its rate. */
static void test_layer_rates(void)
{
    enum { LAYERS = 3, EACH = 16, FLAT = 16 + LAYERS * EACH + 16 };
    static const Lathe_param p[] = {
        {.name = "embed", .export_name = "embed", .rank = 1, .dim = {16}, .stride = {1}, .height = LAYERS + 1},
        {.name = "w",
         .export_name = "h.%d.w",
         .rank = 2,
         .loops = 1,
         .dim = {LAYERS, EACH},
         .stride = {EACH, 1},
         .offset = 16,
         .height = LAYERS},
        {.name = "head", .export_name = "head", .rank = 1, .dim = {16}, .stride = {1}, .offset = 16 + LAYERS * EACH}};
    static const double wanted[] = {0.31640625, 0.421875, 0.5 * 0.5625, 0.75, 1};
    static const Lathe_group half[] = {{"h.1.*", 0.5, -1, -1, -1}};
    Lathe_model m = {.real = LATHE_F64, .params = 3, .param = p, .flat_elements = FLAT, .groups = 1, .group = half};
    for (int on = 0; on < 2; on++) {
        Lathe_recipe r = {.optimizer = LATHE_SGD, .layer_decay = on ? 0.75 : 0};
        double params[FLAT] = {0}, grads[FLAT];
        for (int i = 0; i < FLAT; i++) grads[i] = 1;
        Optimizer o;
        optimizer_init(&o, &m, &r, NULL);
        optimizer_step(&o, params, grads, 0, &(Pace){.lr = 1, .scale = 1, .most = INFINITY});
        for (int i = 0; i < FLAT; i++) {
            double without = i / 16 == 2 ? 0.5 : 1;
            expect(params[i] == -(on ? wanted[i / 16] : without), "element %d moves by %.17g", i, params[i]);
        }
        optimizer_free(&o);
    }
}

static void test_threads(Lathe_optimizer kind)
{
    enum { N = 100003 };
    static const int threads[] = {1, 2, 3, 8};
    static const Lathe_param one[] = {
        {.name = "w", .export_name = "w", .rank = 1, .dim = {N}, .stride = {1}, .decay = true}};
    Lathe_model m = {.real = LATHE_F32, .params = 1, .param = one, .flat_elements = N};
    Lathe_recipe r = {
        .optimizer = kind, .momentum = 0.9, .nesterov = 1, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .decay = 0.1};
    Rng rng = rng_of(3);
    float *initial = alloc(N * 4), *grads = alloc(N * 4), *first = NULL;
    for (int i = 0; i < N; i++) initial[i] = (float)normal(&rng), grads[i] = (float)normal(&rng);
    double norm = 0;
    for (int t = 0; t < COUNT_OF(threads); t++) {
        omp_set_num_threads(threads[t]);
        float *params = copy_of(initial, N * 4);
        Optimizer o;
        optimizer_init(&o, &m, &r, alloc(optimizer_bytes(&m, &r)));
        double n = gradient_norm(&o, grads);
        for (int step = 0; step < 3; step++)
            optimizer_step(&o, params, grads, step, &(Pace){.lr = 1e-2, .momentum = 0.9, .scale = 0.5, .most = 1});
        if (!first) first = params, norm = n;
        expect(!memcmp(first, params, N * 4) && n == norm, "other bits with %d threads", threads[t]);
        optimizer_free(&o);
    }
    omp_set_num_threads(1);
}

static void test_norm(void)
{
    static const int64_t n[] = {0, 1, 15, 16, 17, 16384, 16385, 50000};
    Rng r = rng_of(5);
    for (int k = 0; k < COUNT_OF(n) * 2; k++) {
        int64_t N = n[k / 2];
        Lathe_dtype real = k % 2 ? LATHE_F64 : LATHE_F32;
        Lathe_model m = {.real = real, .flat_elements = N};
        Lathe_recipe recipe = {0};
        char *grads = alloc((size_t)N * 8 + 8);
        double sum = 0;
        for (int64_t i = 0; i < N; i++) {
            set_element(real, grads, i, normal(&r));
            sum += pow(get_element(real, grads, i), 2);
        }
        Optimizer o;
        optimizer_init(&o, &m, &recipe, NULL);
        double got = gradient_norm(&o, grads);
        expect(fabs(got - sqrt(sum)) <= 1e-13 * sqrt(sum), "norm of %ld elements: %.17g, not %.17g", N, got, sqrt(sum));
        if (N > 0) {
            set_element(real, grads, N - 1, 1e30);
            expect(gradient_norm(&o, grads) > 9e29, "a large gradient's square overflows");
            set_element(real, grads, N - 1, NAN);
            expect(isnan(gradient_norm(&o, grads)), "a NaN does not show in the norm");
        }
        optimizer_free(&o);
    }
    expect(clip_scale(2, 0) == 1 && clip_scale(0.5, 1) == 1 && fabs(clip_scale(4, 1) - 0.25) < 1e-6, "clip_scale");
}

static void test_rates(void)
{
    Lathe_recipe r = {.lr = 1, .final_lr = 0.1, .warmup = 4, .steps = 24, .schedule = LATHE_COSINE};
    expect(fabs(rate_at(&r, 0) - 0.2) < 1e-15 && fabs(rate_at(&r, 3) - 0.8) < 1e-15, "warm-up");
    expect(rate_at(&r, 4) == 1 && fabs(rate_at(&r, 14) - 0.55) < 1e-15 && rate_at(&r, 24) == 0.1 &&
               rate_at(&r, 99) == 0.1,
           "cosine");
    expect(fabs(rate_at(&r, 9) - (0.1 + 0.9 * 0.5 * (1 + cos(acos(-1) / 4)))) < 1e-15, "cosine, a quarter");
    r.schedule = LATHE_LINEAR;
    expect(rate_at(&r, 4) == 1 && fabs(rate_at(&r, 9) - 0.775) < 1e-15 && rate_at(&r, 24) == 0.1, "linear");
    r.schedule = LATHE_CONSTANT_RATE;
    expect(fabs(rate_at(&r, 1) - 0.4) < 1e-15 && rate_at(&r, 4) == 1 && rate_at(&r, 99) == 1, "constant");
    Lathe_recipe none = {.lr = 1, .final_lr = 0.1, .schedule = LATHE_COSINE, .steps = 0};
    expect(rate_at(&none, 0) == 0.1, "no steps at all");
}

int main(void)
{
    test_trajectories();
    test_schedules();
    test_patterns();
    test_decay();
    test_layer_rates();
    for (Lathe_optimizer kind = LATHE_SGD; kind <= LATHE_RMSPROP; kind++) test_threads(kind);
    test_norm();
    test_rates();
    return finish();
}
