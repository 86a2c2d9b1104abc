/* test_round.c: parameters in bf16 (math/round.h, step/optim.c): rounding has the number itself as its mean; an update
 * is that of plain loops in doubles, rounded by a Philox of our own; the same bits for any threads and any cut into
 * segments. */
#include "harness.h"
#include "math/round.h"
#include "step/step.h"
#include "base/words.h"
#include "interface/lathe_model.h"
#include "math/math.h"
#include "step/optim.h"
#include <math.h>
#include <omp.h>
#include <string.h>

/* ------------------------------------------------------------------ in words of the page that describes it */

/* Philox4x32-10 (Salmon et al. 2011): counter (block, its upper half, step, 0), key (seed, 0x726f756e). */
static uint32_t word_of(uint32_t seed, uint64_t step, uint64_t element)
{
    uint64_t block = element / 4;
    uint32_t c[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)step, 0};
    uint32_t key[2] = {seed ^ (uint32_t)(step >> 32), 0x726f756e};
    for (int round = 0; round < 10; round++) {
        uint64_t a = 0xD2511F53ull * c[0], b = 0xCD9E8D57ull * c[2];
        uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ key[0], (uint32_t)b, (uint32_t)(a >> 32) ^ c[3] ^ key[1],
                            (uint32_t)a};
        memcpy(c, next, sizeof c);
        key[0] += 0x9E3779B9u;
        key[1] += 0xBB67AE85u;
    }
    return c[element % 4];
}

static double value_of(uint16_t stored)
{
    double size = ldexp(stored & 0x7f, -7), sign = stored >> 15 ? -1 : 1;
    int power = stored >> 7 & 0xff;
    return sign * (power ? ldexp(1 + size, power - 127) : ldexp(size, -126));
}

/* ------------------------------------------------------------------ the mean */

/* Over all draws: exactly the number, by its two neighbours alone. */
static void test_mean(void)
{
    static const float some[] = {0,       1,      -1,         1.0009765625f, -3.14159f, 0.001f,    1e-30f,
                                 6.1e30f, 1e-39f, 1.9921875f, 1.99999f,      -1e-20f,   -0.12349f, 0x1.fdfffep126f};
    for (int k = 0; k < COUNT_OF(some); k++) {
        double sum = 0, low = INFINITY, high = -INFINITY;
        for (uint32_t draw = 0; draw < 65536; draw++) {
            double y = value_of(round_at_random(some[k], draw << 16 | 0x1234));
            sum += y;
            low = fmin(low, y);
            high = fmax(high, y);
        }
        double x = (double)some[k], step = high - low;
        expect(sum / 65536 == x, "%.9g has the mean %.17g", x, sum / 65536);
        expect(low <= x && x <= high && step <= ldexp(fabs(x), -7) + ldexp(1, -133), "%.9g: %.9g … %.9g", x, low, high);
        expect((uint16_t)round_at_random(some[k], 0) == (uint16_t)(bits_of_f32(some[k]) >> 16), "%.9g: draw 0", x);
    }
    expect(isnan(value_of(0x7fc0)) || (round_at_random(NAN, 0xffffffff) & 0x7fff) > 0x7f80, "NaN stays NaN");
    expect(round_at_random(INFINITY, 0xffffffff) == 0x7f80 && round_at_random(-INFINITY, 5) == 0xff80, "infinity");
}

/* One element an update, of one number: how often each neighbour is taken, along elements, steps and seeds.  With the
 * probability f of the upper one, n independent draws have the mean f with a deviation of √(f (1 - f) / n): five of
 * them are passed by one in 1.7 million.  Neighbours in any direction are independent: their product's mean is f². */
static void test_draws(void)
{
    enum { N = 40000 };
    const double f = 0.3125;
    const float x = 1 + 0.3125f / 128;
    for (int along = 0; along < 3; along++) {
        double up = 0, both = 0;
        bool before = false;
        for (int64_t i = 0; i <= N; i++) {
            bool now = round_at_random(
                           x, rounding_draw(along == 2 ? (int32_t)i : 3, along == 1 ? i : 7, along ? 11 : i)) > 0x3f80;
            up += now && i < N;
            both += now && before;
            before = now;
        }
        double off = fabs(up / N - f) / sqrt(f * (1 - f) / N),
               together = fabs(both / N - f * f) / sqrt(f * f * (1 - f * f) / N);
        /* pairs overlap: of two neighbours' products the covariance is f³ - f⁴, twice, which makes 1.3 times the
         * deviation */
        expect(off < 5 && together < 5 * 1.3, "along %d: %g deviations off, pairs %g", along, off, together);
    }
    for (int64_t i = 0; i < 1000; i++) {
        int64_t element = i * 40000037, step = i << 28;
        expect(rounding_draw(-5, step, element) == word_of((uint32_t)-5, (uint64_t)step, (uint64_t)element), "draw %ld",
               i);
    }
}

/* ------------------------------------------------------------------ updates */

enum { FLAT = 16384 + 2000, SEED = 9, STEP = 41 };
static const Lathe_param params[] = {
    {.name = "a", .export_name = "a", .rank = 1, .dim = {5}, .stride = {1}, .offset = 0, .decay = true},
    {.name = "b", .export_name = "b", .rank = 1, .dim = {16382}, .stride = {1}, .offset = 5},
    {.name = "c", .export_name = "c", .rank = 1, .dim = {1990}, .stride = {1}, .offset = 16387, .decay = true},
    {.name = "d", .export_name = "d", .rank = 1, .dim = {3}, .stride = {1}, .offset = 18377}};
static const Lathe_group groups[] = {{"a", 2, -1, -1, -1}, {"d", -1, -1, -1, 1}};

typedef struct Arrays {
    uint16_t p[FLAT];
    float g[FLAT], moment[2][FLAT];
} Arrays;

static const struct {
    Lathe_optimizer kind;
    double momentum;
    int64_t nesterov;
} kinds[] = {{LATHE_SGD, 0, 0},   {LATHE_SGD, 0.9, 0}, {LATHE_SGD, 0.9, 1},    {LATHE_ADAM, 0, 0},
             {LATHE_ADAMW, 0, 0}, {LATHE_LION, 0, 0},  {LATHE_RMSPROP, 0.9, 0}};

static void fill(Arrays *a, uint64_t seed)
{
    Rng r = rng_of(seed);
    memset(a, 0, sizeof *a);
    for (int i = 0; i < FLAT; i++) {
        a->p[i] = to_bf16_f32((float)normal(&r));
        a->g[i] = (float)normal(&r);
        a->moment[0][i] = 0.1f * (float)normal(&r);
        a->moment[1][i] = fabsf((float)normal(&r));
    }
}

/* In doubles: what element i becomes before it is rounded. */
static double expected(int k, const Arrays *a, int i, const Pace *pace, double beta2, double eps, double decay)
{
    const Lathe_optimizer kind = kinds[k].kind;
    double p = value_of(a->p[i]), g = (double)a->g[i] * pace->scale, m = (double)a->moment[0][i],
           v = (double)a->moment[1][i];
    double lr = pace->lr * (i < 5 ? 2 : 1), b = pace->momentum, d = i < 5 || i >= 16387 ? decay : 0;
    if (kind == LATHE_LION) {
        double c = b * m + (1 - b) * g;
        return p - lr * d * p - lr * (c > 0 ? 1 : c < 0 ? -1 : 0);
    }
    if (kind == LATHE_SGD) {
        double u = kinds[k].momentum > 0 ? b * m + g : g;
        return p - lr * d * p - lr * (kinds[k].nesterov ? g + b * u : u);
    }
    if (kind == LATHE_RMSPROP) {
        g += d * p;
        return p - lr * (b * m + g / (sqrt(beta2 * v + (1 - beta2) * g * g) + eps));
    }
    if (kind == LATHE_ADAM) g += d * p;
    m = b * m + (1 - b) * g;
    v = beta2 * v + (1 - beta2) * g * g;
    double step = lr * (m / (1 - pow(b, STEP + 1))) / (sqrt(v / (1 - pow(beta2, STEP + 1))) + eps);
    return p - (kind == LATHE_ADAM ? 0 : lr * d * p) - step;
}

/* Rounded by the draw; fp32 may have it off by `slack` of 2^16ths of the step between neighbours, so that either is
 * right. */
static bool is_rounded(uint16_t got, double x, uint32_t draw, double slack, int *either)
{
    uint16_t below = (uint16_t)(bits_of_f32((float)x) >> 16), above = (uint16_t)(below + 1);
    if (fabs(value_of(below)) > fabs(x)) above = below, below--;
    double part = (x - value_of(below)) / (value_of(above) - value_of(below)) * 65536 + (draw >> 16) - 65536;
    bool close = fabs(part) < slack;
    *either += close;
    return close ? got == below || got == above : got == (part >= 0 ? above : below);
}

static Optimizer optimizer_of(int k, Arrays *a, const Lathe_model *m, Lathe_recipe *r)
{
    Optimizer o;
    *r = (Lathe_recipe){.optimizer = kinds[k].kind,
                        .momentum = kinds[k].momentum,
                        .nesterov = kinds[k].nesterov,
                        .beta1 = 0.9,
                        .beta2 = 0.99,
                        .eps = 1e-8,
                        .decay = 0.1};
    optimizer_init(&o, m, r, alloc(optimizer_bytes(m, r) + 1));
    for (int i = 0; i < o.moments; i++)
        o.moment[i] = a->moment[kinds[k].kind == LATHE_RMSPROP ? 1 - i : i]; /* its first: squares */
    return o;
}

static void test_update(int k)
{
    static Arrays a, before, first;
    Lathe_model m = {.real = LATHE_F32,
                     .weights = LATHE_BF16,
                     .params = COUNT_OF(params),
                     .param = params,
                     .groups = COUNT_OF(groups),
                     .group = groups,
                     .flat_elements = FLAT};
    Pace pace = {.lr = 3e-3,
                 .momentum = kinds[k].kind == LATHE_SGD ? kinds[k].momentum : 0.9,
                 .scale = 0.5,
                 .most = INFINITY,
                 .step = STEP,
                 .seed = SEED};
    Lathe_recipe r;
    int wrong = 0, either = 0, moved = 0;
    static const int threads[] = {1, 2, 3, 8};
    fill(&before, 5);
    for (int t = 0; t < COUNT_OF(threads); t++) {
        omp_set_num_threads(threads[t]);
        a = before;
        Optimizer o = optimizer_of(k, &a, &m, &r);
        optimizer_step(&o, a.p, a.g, STEP, &pace);
        optimizer_free(&o);
        if (t == 0) first = a;
        expect(!memcmp(&first, &a, sizeof a), "optimizer %d: other bits with %d threads", k, threads[t]);
    }
    omp_set_num_threads(1);
    for (int i = 0; i < 18377; i++) {
        double x = expected(k, &before, i, &pace, r.beta2, r.eps, r.decay);
        /* a few roundings of fp32 to the nearest, 2^-24 of what is added up, which may be larger than what comes of it
         */
        double size = fmax(fabs(x), fmax(fabs(value_of(before.p[i])), fabs(x - value_of(before.p[i]))));
        wrong += !is_rounded(a.p[i], x, word_of(SEED, STEP, (uint64_t)i), 8 * size / fabs(x), &either);
        moved += a.p[i] != before.p[i];
    }
    expect(wrong == 0, "optimizer %d: %d elements are not rounded by their draws", k, wrong);
    expect(either < 18377 / 100 && moved > 18377 / 8, "optimizer %d: %d could be either, %d moved", k, either, moved);
    expect(!memcmp(a.p + 18377, before.p + 18377, 3 * sizeof *a.p), "optimizer %d: frozen parameters moved", k);
}

int main(void)
{
    test_mean();
    test_draws();
    for (int k = 0; k < COUNT_OF(kinds); k++) test_update(k);
    return finish();
}
