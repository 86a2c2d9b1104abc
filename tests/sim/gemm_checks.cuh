/* gemm_checks.cuh: what the tests of products share: checks, numbers as stored, blocks of the device, the products that
 * algorithms are chosen for. */
#ifndef TEST_GEMM_CHECKS_H
#define TEST_GEMM_CHECKS_H

#include "cuda/gemm_internal.h"
#include "expect.cuh"
#include "sim.h"

#include <math.h>
#include <random>
#include <stdio.h>
#include <stdlib.h>
#include <string>
#include <vector>

static std::mt19937 rng(1);

static inline bool refused_start(void) { return sim_device.refuses && strcmp(sim_device.refuses, "start") == 0; }
static inline int below(int n) { return (int)(rng() % (unsigned)n); }
static inline double normal(void) { return std::normal_distribution<double>()(rng); }

/* ------------------------------------------------------------------ numbers, as stored */

enum Type { F32, F64, BF16, F16 };

static inline int bytes_of(Type t) { return t == F64 ? 8 : t == F32 ? 4 : 2; }

static inline double get(const char *at, Type t, int64_t i)
{
    if (t == F64) return ((const double *)at)[i];
    if (t == F32) return ((const float *)at)[i];
    if (t == F16) return ((const _Float16 *)at)[i];
    float x;
    uint16_t half[2] = {0, ((const uint16_t *)at)[i]};
    memcpy(&x, half, sizeof x);
    return x;
}

/* bf16 has 8 bits of mantissa, fp16 11: by scaling to whole numbers. */
static inline double nearest(double x, int bits)
{
    int e;
    if (x == 0 || !isfinite(x)) return x;
    double m = frexp(x, &e);
    return ldexp(nearbyint(ldexp(m, bits)), e - bits);
}

static inline void put(char *at, Type t, int64_t i, double x)
{
    if (t == F64) ((double *)at)[i] = x;
    if (t == F32) ((float *)at)[i] = (float)x;
    if (t == F16) ((_Float16 *)at)[i] = (_Float16)nearest(x, 11);
    if (t != BF16) return;
    float y = (float)nearest(x, 8);
    uint16_t half[2];
    memcpy(half, &y, sizeof half);
    ((uint16_t *)at)[i] = half[1];
}

/* ------------------------------------------------------------------ blocks of the device */

/* A block of the device with its picture on the host; random numbers at first. */
struct Block {
    Type type;
    int64_t n;
    int shift; /* elements before the first */
    char *device;
    std::vector<char> host;

    Block(Type type, int64_t n, int shift) : type(type), n(n), shift(shift), host((size_t)((n + shift) * bytes_of(type)))
    {
        for (int64_t i = 0; i < n + shift; i++) put(host.data(), type, i, normal());
        cudaMalloc(&device, host.size());
        cudaMemcpy(device, host.data(), host.size(), cudaMemcpyHostToDevice);
    }
    ~Block() { cudaFree(device); }
    char *at(void) { return device + shift * bytes_of(type); }
    double operator[](int64_t i) const { return get(host.data(), type, shift + i); }
    std::vector<double> now(void) const /* all of it, from the device */
    {
        std::vector<char> bytes(host.size());
        std::vector<double> x((size_t)(n + shift));
        cudaMemcpy(bytes.data(), device, bytes.size(), cudaMemcpyDeviceToHost);
        for (int64_t i = 0; i < n + shift; i++) x[(size_t)i] = get(bytes.data(), type, i);
        return x;
    }
};

enum { WORKSPACE = 1 << 20 };
static void *workspace;

static inline void quiet(const std::string &what)
{
    const char *failure = cuda_gemm_failure();
    std::string report = sim_report();
    EXPECT(!failure && report.empty(), "%s: %s %s", what.c_str(), failure ? failure : "", report.c_str());
    if (failure) exit(1);
}

/* ------------------------------------------------------------------ products of fixed extents */

/* fc: c[64][128] = a[64][96] · b[96][128]; out: with a bias; odd: rows of 13 numbers, for which one algorithm is not; batched:
 * the library has 3, and the host loops over 2 such batches, the second at odd addresses. */
static inline Cuda_gemm plain_product(Gemm_end end, int64_t N)
{
    Cuda_gemm g = {"a product", GEMM_F32, end, {}, N, {}};
    Lathe_gemm *s = &g.shape;
    s->M = 64, s->N = N, s->K = 96;
    s->a_m = 96, s->b_k = s->c_m = N, s->a_k = s->b_n = s->c_n = 1;
    return g;
}

static inline Cuda_gemm batched_product(void)
{
    Cuda_gemm g = plain_product(GEMM_END_NONE, 16);
    Lathe_gemm *s = &g.shape;
    s->M = 8, s->nbatch = 2;
    s->batch[0] = 2, s->batch[1] = 3;
    s->b_batch[1] = 96 * 16, s->c_batch[1] = 8 * 16;
    s->b_batch[0] = 3 * s->b_batch[1] + 1, s->c_batch[0] = 3 * s->c_batch[1] + 1;
    return g;
}

#endif
