/* kernels.cu: CUDA written by hand: kernels that are right and must give the right numbers in the simulator, and kernels with
 * one mistake each, which it must name; both in three orders of blocks and threads.  nvcc compiles the file too. */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __CUDACC__
#define DYNAMIC_SHARED(T, name) extern __shared__ T name[]
static const char *sim_report(void) { return ""; }
enum Sim_order { SIM_FORWARD, SIM_BACKWARD, SIM_SHUFFLED };
static void sim_order(Sim_order, unsigned) {}
#else
#include "sim.h"
#endif

#define FULL 0xffffffffu

template <class... P, class... A> static void run(void (*kernel)(P...), dim3 grid, dim3 block, size_t dynamic, A... arguments)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = dynamic;
    cudaLaunchKernelEx(&config, kernel, arguments...);
}

/* ------------------------------------------------------------------ right ones */

/* sum += x[0] + … + x[n - 1]: a tree in shared memory, then one atomic addition a block */
__global__ void sum_of(int *sum, const int *x, int n)
{
    __shared__ int part[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? x[i] : 0;
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0) atomicAdd(sum, part[0]);
}

/* y[columns][rows] = x[rows][columns], by tiles of 32 x 32 */
__global__ void transpose(float *y, const float *x, int rows, int columns)
{
    __shared__ float tile[32][33];
    int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8)
        if (row + i < rows && column < columns) tile[threadIdx.y + i][threadIdx.x] = x[(row + i) * columns + column];
    __syncthreads();
    int to_column = blockIdx.y * 32 + threadIdx.x, to_row = blockIdx.x * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8)
        if (to_row + i < columns && to_column < rows) y[(to_row + i) * rows + to_column] = tile[threadIdx.x][threadIdx.y + i];
}

/* Running sums of each warp by shuffles, and a sum over groups of 8 lanes; y[2][threads] */
__global__ void scans(int *y, const int *x)
{
    int i = threadIdx.x, lane = i % 32, sum = x[i], group = x[i];
    for (int d = 1; d < 32; d *= 2) {
        int below = __shfl_up_sync(FULL, sum, d);
        if (lane >= d) sum += below;
    }
    for (int d = 4; d > 0; d /= 2) group += __shfl_xor_sync(FULL, group, d, 8);
    y[i] = sum;
    y[blockDim.x + i] = __shfl_sync(FULL, group, 0, 8);
}

/* The halves of a warp go different ways, each with its own mask: lane 0's value, or lane 31's. */
__global__ void halves(int *y, const int *x)
{
    int i = threadIdx.x, v = x[i];
    if (i < 16) v = __shfl_sync(0x0000ffffu, v, 0);
    else v = __shfl_sync(0xffff0000u, v, 31);
    unsigned odd = __ballot_sync(FULL, v & 1);
    y[i] = v + (__popc(odd) << 8) + (__any_sync(FULL, i == 5) << 16) + (__all_sync(FULL, i < 31) << 17);
}

/* Neighbours of a warp exchange through shared memory: __syncwarp is enough. */
__global__ void exchange(float *y, const float *x)
{
    __shared__ float own[64];
    own[threadIdx.x] = x[threadIdx.x];
    __syncwarp();
    y[threadIdx.x] = own[threadIdx.x ^ 1];
}

__global__ void reversed(float *y, const float *x, int n)
{
    DYNAMIC_SHARED(float, row);
    for (int i = threadIdx.x; i < n; i += blockDim.x) row[i] = x[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = row[n - 1 - i];
}

__constant__ int edges[4] = {0, 10, 20, 30};

/* How many of x fall into each of 4 bins: atomics in shared memory, then in global memory */
__global__ void histogram(int *count, const int *x, int n)
{
    __shared__ int own[4];
    if (threadIdx.x < 4) own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int bin = 3;
        while (bin > 0 && x[i] < edges[bin]) bin--;
        atomicAdd(&own[bin], 1);
    }
    __syncthreads();
    if (threadIdx.x < 4) atomicAdd(&count[threadIdx.x], own[threadIdx.x]);
}

__global__ void add_four(float4 *y, const float4 *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 a = x[i], b = y[i];
    y[i] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

/* ------------------------------------------------------------------ wrong ones */

__global__ void no_barrier(int *y)
{
    __shared__ int part[64];
    part[threadIdx.x] = threadIdx.x;
    y[threadIdx.x] = part[63 - threadIdx.x];
}

__global__ void barrier_too_few(int *y) /* the second round may overwrite what the first still reads */
{
    __shared__ int part[64];
    int sum = 0;
    for (int round = 0; round < 2; round++) {
        part[threadIdx.x] = threadIdx.x + round;
        __syncthreads();
        sum += part[63 - threadIdx.x];
    }
    y[threadIdx.x] = sum;
}

__global__ void no_syncwarp(float *y)
{
    __shared__ float own[32];
    own[threadIdx.x] = 0;
    __syncwarp();
    own[threadIdx.x] = threadIdx.x;
    y[threadIdx.x] = own[threadIdx.x ^ 1];
}

__global__ void one_too_many(float *y, int n)
{
    int i = threadIdx.x;
    if (i <= n) y[i] = 0;
}

__global__ void behind_dynamic(float *y)
{
    DYNAMIC_SHARED(float, row);
    row[threadIdx.x + 1] = 0;
    y[threadIdx.x] = 0;
}

__global__ void two_barriers(int *y)
{
    if (threadIdx.x % 2) __syncthreads(); else __syncthreads();
    y[threadIdx.x] = 0;
}

__global__ void half_a_barrier(int *y)
{
    if (threadIdx.x < 16) __syncthreads();
    y[threadIdx.x] = 0;
}

__global__ void not_in_mask(int *y) { y[threadIdx.x] = __shfl_sync(0xfffffffeu, (int)threadIdx.x, 1); }

__global__ void divergent_shuffle(int *y)
{
    y[threadIdx.x] = 0;
    if (threadIdx.x >= 20) return;
    y[threadIdx.x] = __shfl_xor_sync(FULL, (int)threadIdx.x, 1);
}

__global__ void shuffle_and_barrier(int *y)
{
    if (threadIdx.x == 3) __syncthreads();
    else y[threadIdx.x] = __shfl_down_sync(FULL, (int)threadIdx.x, 1);
}

__global__ void masks_differ(int *y)
{
    int v = threadIdx.x;
    if (threadIdx.x < 16) v = __shfl_sync(FULL, v, 0);
    else v = __shfl_sync(0xffff8000u, v, 31);
    y[threadIdx.x] = v;
}

__global__ void blocks_meet(int *y) { y[threadIdx.x] += 1; }

__global__ void half_atomic(int *y)
{
    if (blockIdx.x == 0) atomicAdd(y, 1);
    else *y = 1;
}

__global__ void unwritten(int *y)
{
    __shared__ int part[32];
    if (threadIdx.x < 31) part[threadIdx.x] = 0;
    __syncthreads();
    y[threadIdx.x] = part[threadIdx.x];
}

#ifndef __CUDACC__ /* which refuses it */
__global__ void much_shared(int *y)
{
    __shared__ int part[13 * 1024];
    for (int i = threadIdx.x; i < 13 * 1024; i += blockDim.x) part[i] = i;
    y[threadIdx.x] = part[threadIdx.x];
}
#endif

__global__ void store_at(int *y) { *y = 1; }
__global__ void copy_four(float4 *y, const float4 *x) { *y = *x; }

/* ------------------------------------------------------------------ the test */

static int failed;

static void expect(bool holds, const char *what)
{
    if (holds) return;
    failed++;
    printf("failed: %s\n", what);
}

static void expect_silence(const char *what)
{
    const char *said = sim_report();
    if (*said) printf("%s: %s\n", what, said);
    expect(!*said, what);
}

static void expect_fault(const char *what, const char *word)
{
    bool error = cudaGetLastError() != cudaSuccess;
    const char *said = sim_report();
    if (!strstr(said, word)) printf("%s: expected \"%s\", said: \"%s\"\n", what, word, said);
    expect(strstr(said, word) && error, what);
}

template <class T> static T *device(const T *from, size_t n)
{
    T *at;
    cudaMalloc(&at, n * sizeof(T));
    if (from) cudaMemcpy(at, from, n * sizeof(T), cudaMemcpyHostToDevice);
    return at;
}

template <class T> static void fetch(T *to, const T *at, size_t n)
{
    cudaMemcpy(to, at, n * sizeof(T), cudaMemcpyDeviceToHost);
    cudaFree((void *)at);
}

static void test_integers(void)
{
    enum { N = 1000 };
    static int x[N], y[N], count[4], zero[4];
    int sum = 0, expected = 0, bins[4] = {0};
    for (int i = 0; i < N; i++) {
        x[i] = i * 7 % 41;
        expected += x[i];
        bins[x[i] < 10 ? 0 : x[i] < 20 ? 1 : x[i] < 30 ? 2 : 3]++;
    }
    int *dx = device(x, N), *dsum = device(&sum, 1), *dcount = device(zero, 4);
    run(sum_of, 8, 128, 0, dsum, dx, (int)N);
    run(histogram, 3, 64, 0, dcount, dx, (int)N);
    fetch(&sum, dsum, 1);
    fetch(count, dcount, 4);
    expect(sum == expected && !memcmp(count, bins, sizeof bins), "sums and histogram");

    int *dy = device((int *)NULL, 128);
    run(scans, 1, 64, 0, dy, dx);
    fetch(y, dy, 128);
    for (int i = 0; i < 64; i++) {
        int scan = 0, group = 0;
        for (int k = i / 32 * 32; k <= i; k++) scan += x[k];
        for (int k = i / 8 * 8; k < i / 8 * 8 + 8; k++) group += x[k];
        expect(y[i] == scan && y[64 + i] == group, "scans by shuffles");
    }
    dy = device((int *)NULL, 32);
    run(halves, 1, 32, 0, dy, dx);
    fetch(y, dy, 32);
    for (int i = 0; i < 32; i++) {
        int ones = 16 * (x[0] & 1) + 16 * (x[31] & 1);
        expect(y[i] == (i < 16 ? x[0] : x[31]) + (ones << 8) + (1 << 16), "votes and masks of half a warp");
    }
    cudaFree(dx);
    expect_silence("integers");
}

static void test_floats(void)
{
    enum { ROWS = 37, COLUMNS = 70, N = ROWS * COLUMNS };
    static float x[N], y[N];
    for (int i = 0; i < N; i++) x[i] = (float)i;
    float *dx = device(x, N), *dy = device((float *)NULL, N);
    run(transpose, dim3(3, 2), dim3(32, 8), 0, dy, dx, (int)ROWS, (int)COLUMNS);
    fetch(y, dy, N);
    bool equal = true;
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++) equal &= y[c * ROWS + r] == x[r * COLUMNS + c];
    expect(equal, "transpose");

    dy = device((float *)NULL, 64);
    run(exchange, 1, 64, 0, dy, dx);
    fetch(y, dy, 64);
    for (int i = 0; i < 64; i++) expect(y[i] == x[i ^ 1], "exchange in a warp");

    dy = device((float *)NULL, 100);
    run(reversed, 1, 32, 100 * sizeof(float), dy, dx, 100);
    fetch(y, dy, 100);
    for (int i = 0; i < 100; i++) expect(y[i] == x[99 - i], "dynamic shared memory");

    dy = device(x, 96);
    run(add_four, 1, 32, 0, (float4 *)dy, (const float4 *)dx, 24);
    fetch(y, dy, 96);
    for (int i = 0; i < 96; i++) expect(y[i] == 2 * x[i], "four floats at a time");
    cudaFree(dx);
    expect_silence("floats");
}

static void test_threads_wrong(void)
{
    int *y = device((int *)NULL, 64);
    float *f = device((float *)NULL, 64);
    run(no_barrier, 1, 64, 0, y);
    expect_fault("a missing barrier", "before it is written");
    run(barrier_too_few, 1, 64, 0, y);
    expect_fault("a barrier too few", "race");
    run(no_syncwarp, 1, 32, 0, f);
    expect_fault("a missing __syncwarp", "race");
    run(two_barriers, 1, 64, 0, y);
    expect_fault("two barriers", "divergent barrier");
    run(half_a_barrier, 1, 64, 0, y);
    expect_fault("half of a barrier", "divergent barrier");
    run(not_in_mask, 1, 32, 0, y);
    expect_fault("a mask without its caller", "leaves out its own lane 0");
    run(divergent_shuffle, 1, 32, 0, y);
    expect_fault("a full mask in a branch", "deadlock");
    run(shuffle_and_barrier, 1, 32, 0, y);
    expect_fault("a shuffle against a barrier", "waits at the barrier kernels.cu");
    run(masks_differ, 1, 32, 0, y);
    expect_fault("two masks at one shuffle", "which waits in __shfl_sync with mask ffff");
    cudaMemset(y, 0, 64 * sizeof *y);
    run(blocks_meet, 2, 64, 0, y);
    expect_fault("two blocks at one place", "another block");
    run(half_atomic, 2, 1, 0, y);
    expect_fault("an atomic and a plain store", "race");
    cudaFree(y);
    cudaFree(f);
}

static void test_memory_wrong(void)
{
    int *y = device((int *)NULL, 64), on_host = 0;
    float *f = device((float *)NULL, 64);
    run(one_too_many, 1, 128, 0, f, 64);
    expect_fault("an index too large", "0 bytes behind the end of an allocation");
    run(behind_dynamic, 1, 32, 32 * sizeof(float), f);
    expect_fault("behind dynamic shared memory", "behind the 128 bytes of dynamic shared memory");
    run(unwritten, 1, 32, 0, y);
    expect_fault("shared memory that nobody wrote", "before it is written");
#ifndef __CUDACC__
    run(much_shared, 1, 64, 0, y);
    expect_fault("too much shared memory", "more than 49152 bytes");
#endif
    run(store_at, 1, 1, 0, &on_host);
    expect_fault("memory of the host", "no memory of the device");
    run(store_at, 1, 1, 0, (int *)NULL);
    expect_fault("NULL", "no memory of the device");
    run(copy_four, 1, 1, 0, (float4 *)f, (const float4 *)(f + 9));
    expect_fault("four floats at an odd place", "misaligned");
    run(store_at, 1, 2048, 0, y);
    expect_fault("a block too large", "a block of 2048,1,1 threads");
    run(store_at, 0, 32, 0, y);
    expect_fault("no block at all", "a grid of 0,1,1 blocks");
    run(store_at, 1, 32, 64 * 1024, y);
    expect_fault("dynamic shared memory not asked for", "65536 bytes of dynamic shared memory");
    cudaMemcpy(&on_host, &on_host, 4, cudaMemcpyDeviceToHost);
    expect_fault("a copy from the wrong side", "not on the side");
    cudaFree(y);
    cudaFree(f);
}

int main(void)
{
    for (int order = SIM_FORWARD; order <= SIM_SHUFFLED; order++) {
        sim_order((Sim_order)order, 1);
        test_integers();
        test_floats();
        test_threads_wrong();
        test_memory_wrong();
    }
    return failed > 0;
}
