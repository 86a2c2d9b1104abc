/* test_optim.c: train_optim.c: trajectories recorded from torch.optim, decay by segments in strided layouts, the norm,
 * clipping, learning rates, the same bits for any number of threads. */
#include "harness.h"
#include "rt_internal.h"
#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

enum { STEPS = 6, WEIGHTS = 4, BIASES = 2, ALL = WEIGHTS + BIASES };

/* Two parameter groups, the second without decay; torch 2.15 in float64: betas 0.9 0.95, eps 1e-8, decay 0.1; momentum
 * 0.9; the learning rate of step s is 0.01 (s + 1), gradients are clipped to a norm of 1.5. */
static const double start[ALL] = {0.5, -1.25, 2.0, 1e-3, -0.75, 3.0};
static const double adamw[STEPS][ALL] = {{0.50949999980000005, -1.2587499995, 2.0079999995, -0.0090009998000000029,
                                          -0.75999999900000015, 3.0099999996666669},
                                         {0.52829828000052692, -1.2732571037430171, 2.0029313679746843,
                                          -0.0061305612234571092, -0.77623282456425768, 3.023572953954683},
                                         {0.54269060547096548, -1.276303053151181, 1.9787550926334074,
                                          -0.0027619922392538932, -0.77559613492325896, 3.0131071124247906},
                                         {0.5351172666495293, -1.2787942702815729, 1.9700606642541103,
                                          -0.013210056205619516, -0.77128674120132446, 3.0242910012644795},
                                         {0.54454338117980217, -1.2916622715978305, 1.9639205305879959,
                                          -0.0015510993575363428, -0.77557624817121384, 3.044211489328561},
                                         {0.5585125512278144, -1.2815366417913638, 1.9459391307708787,
                                          0.018567337980446724, -0.79804662854804398, 3.0598833164898376}};
static const double momentum[STEPS][ALL] = {
    {0.505, -1.252, 2.0019999999999998, -0.0040000000000000001, -0.751, 3.0030000000000001},
    {0.52200000000000002, -1.2756000000000001, 2.0015999999999998, -0.0009999999999999985, -0.76880000000000004,
     3.0084},
    {0.53864874256304907, -1.2885562276891471, 1.9758549702521961, 0.0030500000000000032, -0.76762497025219623,
     2.9967862276891473},
    {0.52930657594841579, -1.3041037009161238, 1.9742815922451238, -0.014080493267719077, -0.75888477013225863,
     3.0195005230289889},
    {0.55785330163171165, -1.3508871056400411, 1.9822757077683568, 0.015468530712044813, -0.76858037655970801,
     3.0645824368486898},
    {0.60030271290829396, -1.3433184450487579, 1.9676714574562029, 0.070619371687435387, -0.83714636919446728,
     3.1016519562353442}};
static const double sgd[STEPS][ALL] = {
    {0.505, -1.252, 2.0019999999999998, -0.0040000000000000001, -0.751, 3.0030000000000001},
    {0.51300000000000001, -1.272, 1.9979999999999998, 0.0080000000000000019, -0.76700000000000002, 3.0030000000000001},
    {0.50669874256304903, -1.2530962276891471, 1.9727949702521961, 0.0080000000000000019, -0.74179497025219621,
     2.9840962276891472},
    {0.4773780848727569, -1.2530962276891471, 2.0021156279424881, -0.013990493267719081, -0.73446480582962315,
     3.0207470498020124},
    {0.51643474799751521, -1.2823887250327157, 2.0118797937236779, 0.034830335638228779, -0.75399313739200224,
     3.0402753813643915},
    {0.52805369553613801, -1.2242939873396017, 1.9886418986464323, 0.058068230715474359, -0.81208787508511615,
     3.0286564338257689}};

static double gradient(int step, int i) { return ((i * 7 + step * 3) % 11 - 5) * 0.1 * (1 + step); }

static const Lathe_param two[] = {
    {.name = "w", .export_name = "w", .rank = 1, .dim = {WEIGHTS}, .stride = {1}, .offset = 0, .decay = true},
    {.name = "b", .export_name = "b", .rank = 1, .dim = {BIASES}, .stride = {1}, .offset = 16}};
static int64_t place(int i) { return i < WEIGHTS ? i : 16 + i - WEIGHTS; }

static void check_trajectory(const char *what, Lathe_dtype real, Lathe_recipe recipe, const double expected[STEPS][ALL])
{
    Lathe_model m = {.real = real, .params = 2, .param = two, .flat_elements = 32};
    char *params = alloc(32 * 8), *grads = alloc(32 * 8);
    Optimizer o;
    optimizer_init(&o, &m, &recipe, alloc(optimizer_bytes(&m, &recipe) + 1));
    for (int i = 0; i < ALL; i++) set_element(real, params, place(i), start[i]);
    double limit = real == LATHE_F64 ? 1e-14 : 4 * FLT_EPSILON;
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < ALL; i++) set_element(real, grads, place(i), gradient(step, i));
        optimizer_step(&o, params, grads, step, 0.01 * (step + 1), clip_scale(gradient_norm(&o, grads), 1.5));
        for (int i = 0; i < ALL; i++) {
            double got = get_element(real, params, place(i)), want = expected[step][i];
            expect(fabs(got - want) <= limit * (1 + fabs(want)), "%s, step %d, element %d: %.17g, not %.17g", what,
                   step, i, got, want);
        }
        for (int i = 0; i < 32; i++)
            expect((i < WEIGHTS || (i >= 16 && i < 18)) || get_element(real, params, i) == 0, "%s: padding changed",
                   what);
    }
    optimizer_free(&o);
}

static void test_trajectories(void)
{
    static const Lathe_dtype reals[] = {LATHE_F64, LATHE_F32};
    for (int i = 0; i < 2; i++) {
        check_trajectory(
            "adamw", reals[i],
            (Lathe_recipe){.optimizer = LATHE_ADAMW, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .decay = 0.1}, adamw);
        check_trajectory("momentum", reals[i], (Lathe_recipe){.optimizer = LATHE_SGD, .momentum = 0.9}, momentum);
        check_trajectory("sgd", reals[i], (Lathe_recipe){.optimizer = LATHE_SGD}, sgd);
    }
}

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
        optimizer_step(&o, params, grads, 0, 0.5, 1);
        for (int i = 0; i < 96; i++) {
            bool q = i % 48 < 30 && i % 48 % 6 < 3, padding = i % 48 >= 30 && (i % 48 < 32 || i % 48 >= 35);
            expect(padding || params[i] == (q ? 0.75f : 1.0f), "decay of element %d", i);
        }
        for (int i = 96; i < FLAT; i++) expect(params[i] == 0.75f, "decay of element %d", i);
        optimizer_free(&o);
    }
}

static void test_threads(void)
{
    enum { N = 100003 };
    static const int threads[] = {1, 2, 3, 8};
    static const Lathe_param one[] = {
        {.name = "w", .export_name = "w", .rank = 1, .dim = {N}, .stride = {1}, .decay = true}};
    Lathe_model m = {.real = LATHE_F32, .params = 1, .param = one, .flat_elements = N};
    Lathe_recipe r = {.optimizer = LATHE_ADAMW, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .decay = 0.1};
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
        for (int step = 0; step < 3; step++) optimizer_step(&o, params, grads, step, 1e-2, 0.5);
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
    test_decay();
    test_threads();
    test_norm();
    test_rates();
    return finish();
}
