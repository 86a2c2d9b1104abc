/* test_blocks.c: weights in blocks of 8 and 4 bits: products that read them have the bits of products with the weights
 * widened, in both orders, packed or not, for any number of threads; rounding to blocks and back. */
#include "harness.h"
#include "lathe_rt.h"
#include "math/engine.h"
#include "math/blocks.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

static float some(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(int32_t)*state * 0x1p-31f;
}

static float *some_floats(int64_t n, uint32_t seed)
{
    float *x = malloc(sizeof *x * (size_t)(n + 1));
    for (int64_t i = 0; i < n; i++) x[i] = some(&seed);
    return x;
}

/* A type in blocks, and what products do with it. */
typedef struct Kind {
    Lathe_dtype t;
    const char *word;
    float largest; /* code */
} Kind;
enum { TYPES = 2 };
static const Kind types[TYPES] = {{LATHE_Q8_0, "q8_0", 127}, {LATHE_Q4_0, "q4_0", 8}};

/* Of any scale and codes; a scale of 0 is among them. */
static void *some_blocks(const Kind *t, int64_t n, uint32_t seed)
{
    int64_t bytes = lathe_bytes_of_block(t->t);
    unsigned char *b = malloc((size_t)(bytes * (n / LATHE_BLOCK + 1)));
    for (int64_t i = 0; i < n / LATHE_BLOCK; i++) {
        unsigned char *to = b + i * bytes;
        uint16_t scale = i % 17 == 3 ? 0 : to_f16_f32(some(&seed));
        memcpy(to, &scale, sizeof scale);
        for (int64_t k = 2; k < bytes; k++) to[k] = (unsigned char)(int)(127.5f + some(&seed) * 127.9f);
        to[2 + i % (bytes - 2)] = 0x80;
    }
    return b;
}

static void multiply(const Kind *t, float *c, const float *a, const void *b, const Lathe_gemm *g, bool add)
{
    switch (t->t) {
#define MULTIPLY(member, word, name)                                                                                   \
    case LATHE_##member: gemm_##name(c, a, b, g, add); return;
        LATHE_BLOCK_TYPES(MULTIPLY)
    default: return;
    }
}

static void pack(const Kind *t, float *packed, const void *b, const Lathe_gemm *g)
{
    switch (t->t) {
#define PACK(member, word, name)                                                                                       \
    case LATHE_##member: pack_##name(packed, b, g); return;
        LATHE_BLOCK_TYPES(PACK)
    default: return;
    }
}

/* turned: blocks lie along N, as in gradients; else along K. */
static Lathe_gemm product_of(int M, int N, int K, bool turned)
{
    return (Lathe_gemm){
        .M = M, .N = N, .K = K, .a_m = K, .a_k = 1, .b_k = turned ? N : 1, .b_n = turned ? 1 : K, .c_m = N, .c_n = 1};
}

static void try_product(const Kind *t, int M, int N, int K, bool turned, bool add)
{
    Lathe_gemm g = product_of(M, N, K, turned);
    size_t bytes = sizeof(float) * (size_t)M * (size_t)N;
    int64_t packed = (int64_t)K * ((N + LATHE_PACKED - 1) / LATHE_PACKED * LATHE_PACKED);
    float *a = some_floats((int64_t)M * K, 1), *wide = malloc(sizeof *wide * (size_t)N * (size_t)K);
    float *c = some_floats((int64_t)M * N, 2), *d = malloc(bytes), *p = malloc(sizeof *p * (size_t)packed);
    void *b = some_blocks(t, (int64_t)N * K, 3);
    for (int64_t i = 0; i < (int64_t)N * K; i++) wide[i] = block_element(t->t, b, i);
    memcpy(d, c, bytes);
    gemm_f32(d, a, wide, &g, add);
    multiply(t, c, a, b, &g, add);
    /* A thin product of columns of blocks is no loop of its own, and OpenBLAS multiplies no blocks: other orders. */
    bool own = strcmp(gemm_engine(), "openblas") != 0, exact = own ? !turned || M > 8 : !turned && M == 1;
    for (int64_t i = 0; i < (int64_t)M * N; i++)
        expect(exact ? c[i] == d[i] : fabsf(c[i] - d[i]) <= 1e-5f * (float)K,
               "%s, %d x %d x %d%s: element %lld is %g, not %g", t->word, M, N, K, turned ? ", turned" : "",
               (long long)i, (double)c[i], (double)d[i]);
    if (own && M > 8 && !add) {
        pack(t, p, b, &g);
        gemm_packed_f32(c, a, p, &g, false);
        expect(memcmp(c, d, bytes) == 0, "%s, %d x %d x %d, packed", t->word, M, N, K);
    }
    free(a), free(wide), free(c), free(d), free(p), free(b);
}

static void try_what_is_not_finite(const Kind *t)
{
    static const float odd[] = {NAN, INFINITY, -INFINITY};
    for (int k = 0; k < 3; k++) {
        float x[LATHE_BLOCK] = {1, 2, 3};
        Lathe_q8_0 b; /* room for either */
        x[7 * k] = odd[k];
        narrow_block(t->t, &b, 0, x);
        expect(isnan(block_element(t->t, &b, 0)) && isnan(block_element(t->t, &b, 31)), "%s with %g is not NaN",
               t->word, (double)odd[k]);
    }
}

static void try_blocks(const Kind *t)
{
    uint32_t state = 7;
    for (int round = 0; round < 1000; round++) {
        float x[LATHE_BLOCK], wide[LATHE_BLOCK], size = ldexpf(1, round % 40 - 20), largest = 0;
        Lathe_q8_0 b = {0}, again = {0}; /* room for either */
        for (int i = 0; i < LATHE_BLOCK; i++) x[i] = round % 50 ? some(&state) * size : 0;
        if (round % 50 == 7) x[round % LATHE_BLOCK] = -x[round % 31], x[1] = x[0];
        narrow_block(t->t, &b, 0, x);
        widen_block(wide, t->t, &b, 0);
        for (int i = 0; i < LATHE_BLOCK; i++) largest = fmaxf(largest, fabsf(x[i]));
        /* Half a step, or, of 4 bits, a whole one where the largest has a neighbour of the other sign: there is no
         * code 8. */
        float step = largest / t->largest * (t->t == LATHE_Q4_0 ? 1 : 0.5f) + largest * 0x1p-10f + 0x1p-18f;
        for (int i = 0; i < LATHE_BLOCK; i++)
            expect(fabsf(wide[i] - x[i]) <= step && wide[i] == block_element(t->t, &b, i), "%s: %g became %g", t->word,
                   (double)x[i], (double)wide[i]);
        narrow_block(t->t, &again, 0, wide);
        if (largest >= 0x1p-6f) expect(memcmp(&b, &again, sizeof b) == 0, "%s: rounding twice changes it", t->word);
    }
}

static void try_scales(void)
{
    for (uint32_t h = 0; h < 0x7c00; h++) expect(block_scale((uint16_t)h) == from_f16_f32((uint16_t)h), "scale %x", h);
}

int main(void)
{
    static const int M[] = {1, 2, 3, 4, 5, 8, 9, 14, 33, 130}, N[] = {1, 2, 7, 32, 96, 257},
                     K[] = {32, 64, 416, 672, 1056};
    for (int threads = 1; threads <= 3; threads += 2) {
        rt_init_gemm(threads);
        for (int i = 0; i < 10 * 6 * 5 * 4; i++) {
            int m = M[i % 10], n = N[i / 10 % 6], k = K[i / 60 % 5];
            bool turned = i / 300 % 2, add = i / 600;
            if (turned && n % LATHE_BLOCK) continue;
            if (!turned && m > n && n <= 8) continue; /* gemm_f32 computes the transposed product */
            for (int t = 0; t < TYPES; t++) try_product(&types[t], m, n, k, turned, add);
        }
    }
    for (int t = 0; t < TYPES; t++) try_blocks(&types[t]), try_what_is_not_finite(&types[t]);
    try_scales();
    return finish();
}
