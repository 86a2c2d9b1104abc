/* test_coded.c: moments in 8 bits (step/coded.c): tables and codes against bitsandbytes', 20 updates against the same
 * formulas in NumPy (tests/reference/coded.py), codes at their limits, memory, groups, the same bits for any number of
 * threads. */
#include "harness.h"
#include "step/coded.h"
#include "step/average.h"
#include "base/words.h"
#include "model/tables.h"
#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

/* ------------------------------------------------------------------ codes */

static bool is_close(double a, double b, double share) { return fabs(a - b) <= share * fmax(fabs(a), fabs(b)); }

/* The package's own codes for processors round to zero what its updates on GPUs do not (coded.h); and ties may differ,
 * since its table was rounded several times. */
static void test_package(const Recording *r, bool has_sign)
{
    const char *word = has_sign ? "signed" : "unsigned";
    Recorded table = recorded(r, word), codes = recorded(r, format("codes.%s", word)), x = recorded(r, "blocks");
    Code_table t;
    int differ = 0;
    make_code_table(&t, has_sign);
    for (int i = 0; i < CODES; i++)
        expect(is_close(t.codes.value[i], table.at[i], 2e-7), "%s code %d is %.9g, not %.9g", word, i, t.codes.value[i],
               table.at[i]);
    for (int b = 0; b < 8; b++) {
        float block[LATHE_CODED_BLOCK], largest;
        uint8_t code[LATHE_CODED_BLOCK];
        for (int i = 0; i < LATHE_CODED_BLOCK; i++) {
            block[i] = (float)x.at[b * LATHE_CODED_BLOCK + i];
            if (!has_sign) block[i] = fabsf(block[i]);
        }
        code_block_f32(&t, block, LATHE_CODED_BLOCK, code, &largest);
        expect(largest == (float)recorded(r, "largest").at[b], "block %d: largest", b);
        for (int i = 0; i < LATHE_CODED_BLOCK; i++) {
            int theirs = (int)codes.at[b * LATHE_CODED_BLOCK + i];
            bool kept = theirs == t.codes.zero && abs(code[i] - theirs) == 1; /* from zero */
            differ += code[i] != theirs && !kept;
        }
    }
    expect(differ <= 2, "%d of 2048 %s codes differ", differ, word);
}

static void test_limits(void)
{
    enum { N = 5 };
    static const float x[N] = {-1e-12f, 1e-12f, 0, -1, 1}, none[N] = {0};
    float largest, back[N];
    uint8_t code[N];
    Code_table t, squares;
    make_code_table(&t, true);
    make_code_table(&squares, false);
    code_block_f32(&t, x, N, code, &largest);
    decode_block_f32(&t, code, largest, N, back);
    expect(back[0] < 0 && back[1] == 0 && back[2] == 0 && back[3] < -0.99f && back[4] == 1, "signs of means");
    code_block_f32(&squares, x + 1, N - 1, code, &largest);
    decode_block_f32(&squares, code, largest, N - 1, back);
    expect(back[0] > 3e-7f && back[0] < 4e-7f && back[1] == 0 && back[3] == 1, "a small square is not zero");
    for (int k = 0; k < 2; k++) {
        const Code_table *own = k ? &squares : &t;
        code_block_f32(own, none, N, code, &largest);
        decode_block_f32(own, code, largest, N, back);
        for (int i = 0; i < N; i++) expect(code[i] == own->codes.zero && back[i] == 0, "nothing stays nothing");
    }
}

/* Around each middle, and at random: the nearest value, the lower one of two. */
static void test_nearest(bool has_sign)
{
    enum { N = 4096, PART = 128 };
    Code_table t;
    Rng rng = rng_of(9);
    make_code_table(&t, has_sign);
    for (int begin = 0; begin < N; begin += PART) {
        float x[PART + 1], largest;
        double wide[PART + 1];
        uint8_t code[PART + 1], code_wide[PART + 1];
        for (int i = 0; i < PART; i++) {
            int k = begin + i;
            x[i] = (float)(exp2(-26 * fabs(normal(&rng))) * (has_sign && k % 2 ? -1 : 1));
            if (k < 3 * 255)
                x[i] = k % 3 ? nextafterf(t.codes.middle[k / 3], k % 3 == 1 ? -2 : 2) : t.codes.middle[k / 3];
            wide[i] = nextafter(x[i], k % 5 ? 0 : 2);
        }
        x[PART] = 1, wide[PART] = 1;
        code_block_f32(&t, x, PART + 1, code, &largest);
        code_block_f64(&t, wide, PART + 1, code_wide, &largest);
        for (int i = 0; i < PART; i++) {
            int narrow_at = 0, wide_at = 0;
            for (int k = 0; k < CODES - 1; k++)
                narrow_at += x[i] > t.codes.middle[k], wide_at += wide[i] > (double)t.codes.middle[k];
            bool kept = abs(code[i] - narrow_at) == 1 && narrow_at == t.codes.zero && x[i] != 0,
                 kept_wide = abs(code_wide[i] - wide_at) == 1 && wide_at == t.codes.zero;
            expect(code[i] == narrow_at || kept, "%.9g has code %d, not %d", x[i], code[i], narrow_at);
            expect(code_wide[i] == wide_at || kept_wide, "%.17g has code %d, not %d", wide[i], code_wide[i], wide_at);
        }
    }
}

/* ------------------------------------------------------------------ updates */

/* w decays; 64 elements apart from v, which is behind b, as parameters of one struct may be. */
enum { W = 40 * 130, V = 4096, B = 33, FLAT = W + 48 + V + 16, STEPS = 20 };
static const Lathe_param three[] = {
    {.name = "w", .export_name = "w", .rank = 2, .dim = {40, 130}, .stride = {130, 1}, .offset = 0, .decay = true},
    {.name = "b", .export_name = "b", .rank = 1, .dim = {B}, .stride = {1}, .offset = W, .decay = true},
    {.name = "v", .export_name = "v", .rank = 1, .dim = {V}, .stride = {1}, .offset = W + 48}};

static Lathe_recipe eight_bits(void)
{
    return (Lathe_recipe){.optimizer = LATHE_ADAMW, .bits = 8, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .decay = 0.1};
}

/* As coded.py has it. */
static double number(uint32_t i, int step)
{
    uint32_t x = i * 2654435761u + (uint32_t)step * 340573321u;
    x = (x ^ x >> 15) * 0x2C1B3C6Du;
    x ^= x >> 12;
    double size = ldexp((double)((1 << 20) + (x >> 4 & ((1 << 20) - 1))), -22);
    return (x >> 25 & 1 ? -size : size) * exp2((double)(x >> 29) - 5 + step % 3);
}

static void put_numbers(const Lathe_model *m, void *flat, int step)
{
    for (int k = 0; k < m->params; k++) {
        const Lathe_param *p = &m->param[k];
        int n = (int)(p->dim[0] * (p->rank > 1 ? p->dim[1] : 1));
        for (int i = 0; i < n; i++) set_element(m->real, flat, p->offset + i, number((uint32_t)i, step));
    }
}

static void step_once(Optimizer *o, const Lathe_model *m, void *params, void *grads, int step)
{
    put_numbers(m, grads, step);
    Pace pace = {.lr = 0.001 * (1 + step % 5), .momentum = 0.9, .scale = 1, .most = INFINITY};
    optimizer_step(o, params, grads, step, &pace);
}

static double worst_of(const Lathe_model *m, const void *params, const Lathe_param *p, const double *expected,
                       int apart, int64_t n)
{
    double worst = 0;
    for (int64_t i = 0; i < n; i++)
        worst = fmax(worst, fabs(get_element(m->real, params, p->offset + i * apart) - expected[i]));
    return worst;
}

/* fp32 may round to the neighbouring code where a value is nearly between two: rarely, and by less than a code. */
static void test_updates(const Recording *r, Lathe_dtype real)
{
    Lathe_model m = {.real = real, .params = 3, .param = three, .flat_elements = FLAT};
    Lathe_recipe recipe = eight_bits();
    char *params = alloc(FLAT * 8), *grads = alloc(FLAT * 8);
    const double limit = real == LATHE_F64 ? 1e-9 : 1e-4;
    double worst = 0;
    Optimizer o;
    optimizer_init(&o, &m, &recipe, alloc(optimizer_bytes(&m, &recipe)));
    put_numbers(&m, params, 100);
    for (int step = 0; step < STEPS; step++) {
        step_once(&o, &m, params, grads, step);
        for (int k = 0; k < 3; k++) {
            Recorded every = recorded(r, format("every.%s", three[k].name));
            int64_t n = every.n / STEPS;
            worst = fmax(worst, worst_of(&m, params, &three[k], every.at + step * n, 37, n));
        }
    }
    for (int k = 0; k < 3; k++) {
        Recorded last = recorded(r, format("last.%s", three[k].name));
        worst = fmax(worst, worst_of(&m, params, &three[k], last.at, 1, last.n));
    }
    expect(worst <= limit, "%s: off by %.1e after 20 updates", real == LATHE_F64 ? "fp64" : "fp32", worst);
    printf("%s: off by %.1e\n", real == LATHE_F64 ? "fp64" : "fp32", worst);
    for (int i = W + B; i < W + 48; i++) expect(get_element(real, params, i) == 0, "padding changed");
    optimizer_free(&o);
}

static void test_bytes(void)
{
    Lathe_model m = {.real = LATHE_F32, .params = 3, .param = three, .flat_elements = FLAT};
    Lathe_recipe recipe = eight_bits();
    const int64_t blocks = 21 + 16; /* of w the last one has 80 elements */
    const size_t all = (size_t)round_up(2 * (W + V + 4 * blocks + 4 * B), 64);
    expect(optimizer_bytes(&m, &recipe) == all, "bytes: %zu", optimizer_bytes(&m, &recipe));
    recipe.ema = 0.9;
    expect(optimizer_bytes(&m, &recipe) == all + 4 * FLAT, "bytes with a mean of weights");
}

/* ------------------------------------------------------------------ layouts */

/* Two layers of u [20][300], in rows of 320 beside s [20][20], whose rows are shorter than a block; only u decays, and
 * s of layer 1 is frozen.  An EMA stands beside them. */
enum { LAYER = 20 * 320, LAYERS = 2 * LAYER };
static const Lathe_param stacked[] = {{.name = "u",
                                       .export_name = "%d.u",
                                       .rank = 3,
                                       .loops = 1,
                                       .dim = {2, 20, 300},
                                       .stride = {LAYER, 320, 1},
                                       .decay = true},
                                      {.name = "s",
                                       .export_name = "%d.s",
                                       .rank = 3,
                                       .loops = 1,
                                       .dim = {2, 20, 20},
                                       .stride = {LAYER, 320, 1},
                                       .offset = 300}};
static const Lathe_group frozen[] = {{"1.s", -1, -1, -1, 1}};

static void test_layout(Lathe_dtype weights)
{
    static const int threads[] = {1, 2, 3, 8};
    Lathe_model m = {.real = LATHE_F32,
                     .weights = weights,
                     .params = 2,
                     .param = stacked,
                     .flat_elements = LAYERS,
                     .groups = 1,
                     .group = frozen};
    Lathe_recipe recipe = eight_bits();
    char *first = NULL, *first_mean = NULL;
    size_t bytes = weights == LATHE_BF16 ? 2 : 4;
    recipe.ema = 0.9;
    for (int t = 0; t < COUNT_OF(threads); t++) {
        omp_set_num_threads(threads[t]);
        char *params = alloc(LAYERS * 4);
        float *grads = alloc(LAYERS * 4);
        for (int i = 0; i < LAYERS; i++)
            write_real(lathe_weights(&m), params, i, number((uint32_t)i, 7)), grads[i] = (float)number((uint32_t)i, 1);
        char *before = copy_of(params, LAYERS * 4);
        Optimizer o;
        optimizer_init(&o, &m, &recipe, alloc(optimizer_bytes(&m, &recipe)));
        begin_averages(&o, params);
        expect(o.coded->sizes.codes == 2 * 6000 && o.coded->sizes.plain == 2 * 400 &&
                   o.coded->sizes.blocks == 2 * 20 * 2,
               "sizes");
        for (int step = 0; step < 3; step++)
            optimizer_step(
                &o, params, grads, step,
                &(Pace){.lr = 1e-2, .momentum = 0.9, .scale = 1, .most = INFINITY, .averaged = 0.5, .step = step});
        for (int i = 0; i < LAYERS; i++) {
            bool still = i / LAYER == 1 && i % 320 >= 300;
            double then = read_element(lathe_weights(&m), before, i), now = read_element(lathe_weights(&m), params, i);
            expect(still ? then == now : then != now || weights == LATHE_BF16, "element %d: %g, then %g", i, then, now);
        }
        if (!first) first = params, first_mean = copy_of(o.average, LAYERS * 4);
        expect(!memcmp(first, params, LAYERS * bytes) && !memcmp(first_mean, o.average, LAYERS * 4),
               "other bits with %d threads", threads[t]);
        optimizer_free(&o);
    }
    omp_set_num_threads(1);
}

int main(void)
{
    Recording r = open_recording("tests/reference/coded.safetensors");
    test_package(&r, true);
    test_package(&r, false);
    test_limits();
    test_nearest(true);
    test_nearest(false);
    test_updates(&r, LATHE_F64);
    test_updates(&r, LATHE_F32);
    test_bytes();
    test_layout(LATHE_BOOL);
    test_layout(LATHE_BF16);
    return finish();
}
