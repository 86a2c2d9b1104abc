/* test_q8_0.c: weights of 8 bits: products that read them have the bits of products with the weights widened, in both
 * orders, packed or not, for any number of threads; rounding to blocks and back. */
#include "harness.h"
#include "lathe_rt.h"
#include "math/engine.h"
#include "math/q8_0.h"

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

/* rows × columns in blocks of any scale and codes, -128 and a scale of 0 among them. */
static Lathe_q8_0 *some_blocks(int64_t n, uint32_t seed)
{
    Lathe_q8_0 *b = malloc(sizeof *b * (size_t)(n / LATHE_BLOCK + 1));
    for (int64_t i = 0; i < n / LATHE_BLOCK; i++) {
        b[i].scale = i % 17 == 3 ? 0 : to_f16_f32(some(&seed));
        for (int k = 0; k < LATHE_BLOCK; k++) b[i].code[k] = (int8_t)(some(&seed) * 128.0f);
        b[i].code[i % LATHE_BLOCK] = -128;
    }
    return b;
}

/* turned: blocks lie along N, as in gradients; else along K. */
static Lathe_gemm product_of(int M, int N, int K, bool turned)
{
    return (Lathe_gemm){
        .M = M, .N = N, .K = K, .a_m = K, .a_k = 1, .b_k = turned ? N : 1, .b_n = turned ? 1 : K, .c_m = N, .c_n = 1};
}

static void try_product(int M, int N, int K, bool turned, bool add)
{
    Lathe_gemm g = product_of(M, N, K, turned);
    size_t bytes = sizeof(float) * (size_t)M * (size_t)N;
    int64_t packed = (int64_t)K * ((N + LATHE_PACKED - 1) / LATHE_PACKED * LATHE_PACKED);
    float *a = some_floats((int64_t)M * K, 1), *wide = malloc(sizeof *wide * (size_t)N * (size_t)K);
    float *c = some_floats((int64_t)M * N, 2), *d = malloc(bytes), *p = malloc(sizeof *p * (size_t)packed);
    Lathe_q8_0 *b = some_blocks((int64_t)N * K, 3);
    for (int64_t i = 0; i < (int64_t)N * K; i++) wide[i] = from_q8_0(b, i);
    memcpy(d, c, bytes);
    gemm_f32(d, a, wide, &g, add);
    gemm_q8_0(c, a, b, &g, add);
    /* A thin product of columns of blocks is no loop of its own, and OpenBLAS multiplies no blocks: other orders. */
    bool own = strcmp(gemm_engine(), "openblas") != 0, exact = own ? !turned || M > 8 : !turned && M == 1;
    for (int64_t i = 0; i < (int64_t)M * N; i++)
        expect(exact ? c[i] == d[i] : fabsf(c[i] - d[i]) <= 1e-5f * (float)K,
               "%d x %d x %d%s: element %lld is %g, not %g", M, N, K, turned ? ", turned" : "", (long long)i,
               (double)c[i], (double)d[i]);
    if (own && M > 8 && !add) {
        pack_q8_0(p, b, &g);
        gemm_packed_f32(c, a, p, &g, false);
        expect(memcmp(c, d, bytes) == 0, "%d x %d x %d, packed", M, N, K);
    }
    free(a), free(wide), free(c), free(d), free(p), free(b);
}

static void try_what_is_not_finite(void)
{
    static const float odd[] = {NAN, INFINITY, -INFINITY};
    for (int k = 0; k < 3; k++) {
        float x[LATHE_BLOCK] = {1, 2, 3};
        Lathe_q8_0 b;
        x[7 * k] = odd[k];
        to_q8_0(&b, x);
        expect(isnan(from_q8_0(&b, 0)) && isnan(from_q8_0(&b, 31)), "a block with %g is not NaN", (double)odd[k]);
    }
}

static void try_blocks(void)
{
    uint32_t state = 7;
    for (int round = 0; round < 1000; round++) {
        float x[LATHE_BLOCK], size = ldexpf(1, round % 40 - 20);
        Lathe_q8_0 b, again;
        for (int i = 0; i < LATHE_BLOCK; i++) x[i] = round % 50 ? some(&state) * size : 0;
        to_q8_0(&b, x);
        float largest = 0;
        for (int i = 0; i < LATHE_BLOCK; i++) largest = fmaxf(largest, fabsf(x[i]));
        for (int i = 0; i < LATHE_BLOCK; i++)
            expect(fabsf(from_q8_0(&b, i) - x[i]) <= largest * (0.5f / 127 + 0x1p-10f) + 0x1p-18f, "%g became %g",
                   (double)x[i], (double)from_q8_0(&b, i));
        for (int i = 0; i < LATHE_BLOCK; i++) x[i] = from_q8_0(&b, i);
        to_q8_0(&again, x);
        if (largest >= 0x1p-6f) expect(memcmp(&b, &again, sizeof b) == 0, "rounding twice changes a block");
    }
    for (uint32_t h = 0; h < 0x7c00; h++) {
        Lathe_q8_0 b = {.scale = (uint16_t)h};
        expect(block_scale(&b) == from_f16_f32((uint16_t)h), "scale %x", h);
    }
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
            try_product(m, n, k, turned, add);
        }
    }
    try_blocks();
    try_what_is_not_finite();
    return finish();
}
