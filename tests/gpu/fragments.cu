/* fragments.cu: which lane of a warp has which element: ldmatrix and mma as cuda_tensor.cuh says they are, each lane's
 * registers against the table, products against loops; and asynchronous copies.  First on a new GPU: all of attention
 * stands on it. */
#include "cuda_tensor.cuh"
#include "sim.h"

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

int main(void)
{
    test_loads();
    test_product<Bf16>("bf16");
    test_product<F16>("fp16");
    test_copies();
    const char *said = sim_report();
    EXPECT(!*said, "%s", said);
    return failed > 0;
}
