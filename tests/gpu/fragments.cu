/* fragments.cu: which lane of a warp has which element: ldmatrix and mma as cuda/tensor.cuh says they are, each lane's
 * registers against the table, products against loops; asynchronous copies; and words of arithmetic that are instructions
 * there.  First on a new GPU: all of attention stands on it, and all that is kept in 16 bits. */
#include "cuda/tensor.cuh"
#include "sim.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int failed;

#define EXPECT(holds, ...)                                                                                             \
    do {                                                                                                               \
        if (holds) break;                                                                                              \
        failed++;                                                                                                      \
        printf("failed: " __VA_ARGS__);                                                                                \
        printf("\n");                                                                                                  \
    } while (0)

template <class T> static T *shared_with_device(const T *from, size_t n)
{
    T *at = NULL;
    if (cudaMalloc((void **)&at, n * sizeof(T)) != cudaSuccess) return NULL;
    cudaMemcpy(at, from, n * sizeof(T), cudaMemcpyHostToDevice);
    return at;
}

/* ------------------------------------------------------------------ loads: element (r, c) of matrix m has the number
 * 64 m + 8 r + c */

__global__ void load_kernel(uint32_t *rows, uint32_t *columns)
{
    DYNAMIC_SHARED(uint16_t, tile);
    int lane = (int)threadIdx.x;
    uint32_t got[4];
    for (int i = lane; i < 256; i += WARP) tile[i] = (uint16_t)i;
    __syncwarp();
    load_matrices(got, tile + lane / 8 * 64 + lane % 8 * 8);
    for (int m = 0; m < 4; m++) rows[lane * 4 + m] = got[m];
    load_columns(got, tile + lane / 8 * 64 + lane % 8 * 8);
    for (int m = 0; m < 4; m++) columns[lane * 4 + m] = got[m];
}

static void check_loads(const char *name, const uint32_t *got, bool turned)
{
    int wrong = 0;
    for (int lane = 0; lane < WARP; lane++)
        for (int m = 0; m < 4; m++)
            for (int h = 0; h < 2; h++) {
                int r = lane / 4, c = lane % 4 * 2 + h;
                int want = turned ? 64 * m + 8 * c + r : 64 * m + 8 * r + c;
                wrong += (int)(got[lane * 4 + m] >> 16 * h & 0xffff) != want;
            }
    EXPECT(!wrong, "%s: %d of 256 elements are not where they should be", name, wrong);
}

static void test_loads(void)
{
    static uint32_t none[WARP * 4], rows[WARP * 4], columns[WARP * 4];
    uint32_t *at[2] = {shared_with_device(none, WARP * 4), shared_with_device(none, WARP * 4)};
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1), config.blockDim = dim3(WARP), config.dynamicSmemBytes = 512;
    cudaLaunchKernelEx(&config, load_kernel, at[0], at[1]);
    cudaMemcpy(rows, at[0], sizeof rows, cudaMemcpyDeviceToHost);
    cudaMemcpy(columns, at[1], sizeof columns, cudaMemcpyDeviceToHost);
    check_loads("ldmatrix", rows, false);
    check_loads("ldmatrix.trans", columns, true);
    cudaFree(at[0]), cudaFree(at[1]);
}

/* ------------------------------------------------------------------ products: whole numbers, so that they are exact */

/* a [16][16], b [16][8] by the table; d [16][8] */
template <class T> __global__ void product_kernel(float *d, const T *a, const T *b)
{
    int g = (int)threadIdx.x / 4, q = (int)threadIdx.x % 4;
    uint32_t of_a[4], of_b[2];
    float sum[4] = {};
    for (int r = 0; r < 4; r++) {
        const T *at = a + (g + 8 * (r & 1)) * 16 + 2 * q + 8 * (r >> 1);
        of_a[r] = (uint32_t)at[1].bits << 16 | at[0].bits;
    }
    for (int r = 0; r < 2; r++) {
        int k = 2 * q + 8 * r;
        of_b[r] = (uint32_t)b[(k + 1) * 8 + g].bits << 16 | b[k * 8 + g].bits;
    }
    mma<T>(sum, of_a, of_b);
    for (int r = 0; r < 4; r++) d[(g + 8 * (r >> 1)) * 8 + 2 * q + (r & 1)] = sum[r];
}

template <class T> static void test_product(const char *name)
{
    T a[256], b[128];
    float d[128] = {};
    int wrong = 0;
    for (int i = 0; i < 256; i++) a[i] = T((float)((i * 37 + i / 16) % 29 - 14));
    for (int i = 0; i < 128; i++) b[i] = T((float)((i * 53 + i / 8 * 7) % 31 - 15));
    T *at_a = shared_with_device(a, 256), *at_b = shared_with_device(b, 128);
    float *at_d = shared_with_device(d, 128);
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1), config.blockDim = dim3(WARP);
    cudaLaunchKernelEx(&config, product_kernel<T>, at_d, (const T *)at_a, (const T *)at_b);
    cudaMemcpy(d, at_d, sizeof d, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 8; j++) {
            float sum = 0;
            for (int k = 0; k < 16; k++) sum += (float)a[i * 16 + k] * (float)b[k * 8 + j];
            wrong += d[i * 8 + j] != sum;
        }
    EXPECT(!wrong, "mma of %s: %d of 128 sums are wrong", name, wrong);
    cudaFree(at_a), cudaFree(at_b), cudaFree(at_d);
}

/* ------------------------------------------------------------------ copies: 32 pieces, every third of them not there
 */

__global__ void copy_kernel(uint32_t *to, const uint32_t *from)
{
    DYNAMIC_SHARED(uint32_t, tile);
    int lane = (int)threadIdx.x;
    copy_async(tile + lane * 4, from + lane * 4, lane % 3 != 0);
    copy_commit();
    copy_wait<0>();
    __syncthreads();
    for (int i = 0; i < 4; i++) to[lane * 4 + i] = tile[(WARP - 1 - lane) * 4 + i];
}

static void test_copies(void)
{
    uint32_t from[WARP * 4], got[WARP * 4] = {};
    int wrong = 0;
    for (uint32_t i = 0; i < WARP * 4; i++) from[i] = i + 1;
    uint32_t *at = shared_with_device(from, WARP * 4), *to = shared_with_device(got, WARP * 4);
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1), config.blockDim = dim3(WARP), config.dynamicSmemBytes = sizeof from;
    cudaLaunchKernelEx(&config, copy_kernel, to, (const uint32_t *)at);
    cudaMemcpy(got, to, sizeof got, cudaMemcpyDeviceToHost);
    for (int i = 0; i < WARP * 4; i++) {
        int lane = WARP - 1 - i / 4;
        wrong += got[i] != (lane % 3 ? from[lane * 4 + i % 4] : 0);
    }
    EXPECT(!wrong, "asynchronous copies: %d of 128 words are wrong", wrong);
    cudaFree(at), cudaFree(to);
}

/* ------------------------------------------------------------------ words: every so many-th float, and another one with
 * it.  The host has for each word the text that says what it is. */

#ifdef __CUDACC__
enum { EVERY = 1021, FLOATS = 1 << 22 };
#else
enum { EVERY = 65521, FLOATS = 1 << 16 };
#endif

struct Words {
    bf16 to_bf16;
    f16 to_f16;
    float from_f16, largest, smallest, exp, log, tanh, erf;
};

static inline __host__ __device__ float float_of(uint32_t i) { return f32_of_bits(i * EVERY); }

static inline __host__ __device__ Words words_of(uint32_t i)
{
    const float a = float_of(i), b = float_of(i * 40503u % FLOATS);
    return {to_bf16_f32(a),  to_f16_f32(a),    from_f16_f32((f16)i),  max_f32(a, b),    min_f32(a, b),
            quick_exp_f32(a), quick_log_f32(a), quick_tanh_f32(a), quick_erf_f32(a)};
}

KERNEL void words_kernel(Words *to)
{
    const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    to[i] = words_of(i);
}

static bool same_number(float x, float y) { return x == y || (x != x && y != y); }

/* -0 is not 0 */
static bool same_stored(uint16_t x, uint16_t y, float (*from)(uint16_t))
{
    return x == y || (from(x) != from(x) && from(y) != from(y));
}

/* |y - exact| in units of the last place of a float of exact's size; infinity counts as 2^128. */
static double units_off(float y, double exact)
{
    if (same_number(y, (float)exact)) return 0;
    if (y != y || exact != exact || exact == 0) return INFINITY;
    const int e = ilogb(exact);
    return fabs((isinf(y) ? copysign(0x1p128, y) : y) - exact) * ldexp(1, 23 - (e < -126 ? -126 : e));
}

/* Results below `least` may be 0. */
static void check_quick(const char *name, const Words *got, float Words::*word, double (*exact)(double), double limit,
                        double least = 0)
{
    double most = 0;
    float at = 0;
    for (uint32_t i = 0; i < FLOATS; i++) {
        const float y = got[i].*word;
        const double want = exact(float_of(i)), off = y == 0 && fabs(want) < least ? 0 : units_off(y, want);
        if (off > most) most = off, at = float_of(i);
    }
    printf("note: quick_%s_f32 is off by at most %.2f units of the last place, of %a\n", name, most, at);
    EXPECT(most <= limit, "quick_%s_f32 of %a is off by %.2f units of the last place: more than %.1f", name, at, most, limit);
}

static void test_words(void)
{
    static Words got[FLOATS];
    int stored = 0, larger = 0;
    Words *at = shared_with_device(got, FLOATS);
    launch(words_kernel, FLOATS / THREADS, (cudaStream_t)0, at);
    cudaMemcpy(got, at, sizeof got, cudaMemcpyDeviceToHost);
    for (uint32_t i = 0; i < FLOATS; i++) {
        const Words want = words_of(i);
        stored += !same_stored(got[i].to_bf16, want.to_bf16, from_bf16_f32) ||
                !same_stored(got[i].to_f16, want.to_f16, from_f16_f32) || !same_number(got[i].from_f16, want.from_f16);
        larger += !same_number(got[i].largest, want.largest) || !same_number(got[i].smallest, want.smallest);
    }
    EXPECT(!stored, "numbers of 16 bits: %d of %d are not the text's", stored, FLOATS);
    EXPECT(!larger, "max_f32, min_f32: %d of %d are not the text's", larger, FLOATS);
    check_quick("exp", got, &Words::exp, exp, 8.5, 0x1.001p-126);
    check_quick("log", got, &Words::log, log, 13);
    check_quick("tanh", got, &Words::tanh, tanh, 3.5);
    check_quick("erf", got, &Words::erf, erf, 2);
    cudaFree(at);
}

int main(void)
{
    test_loads();
    test_product<Bf16>("bf16");
    test_product<F16>("fp16");
    test_copies();
    test_words();
    const char *said = sim_report();
    EXPECT(!*said, "%s", said);
    return failed > 0;
}
