/* kernels.cu: CUDA written by hand: kernels that are right and must give the right numbers in the simulator, and kernels with
 * one mistake each, which it must name; both in three orders of blocks and threads.  nvcc compiles the file too. */
#include "cuda/tensor.cuh"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __CUDACC__
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

/* c[16][8] = a[16][16] · b[16][8]: matrices of bf16 pass through shared memory, copied while the warp waits */
__global__ void product(float *c, const uint16_t *a, const uint16_t *b)
{
    DYNAMIC_SHARED(uint16_t, room); /* rows of 8 elements more than they have */
    int lane = threadIdx.x;
    copy_async(room + lane / 2 * 24 + lane % 2 * 8, a + lane * 8, true);
    copy_commit();
    copy_async(room + 384 + lane * 24, b + lane % 16 * 8, lane < 16);
    copy_commit();
    copy_wait<1>();
    __syncwarp();
    uint32_t x[4], y[4];
    float d[4] = {0, 0, 0, 0};
    load_matrices(x, room + lane % 16 * 24 + lane / 16 * 8);
    copy_wait<0>();
    __syncwarp();
    load_columns(y, room + 384 + lane % 16 * 24);
    mma<Bf16>(d, x, y);
    for (int r = 0; r < 4; r++) c[(lane / 4 + r / 2 * 8) * 8 + lane % 4 * 2 + r % 2] = d[r];
}

/* ------------------------------------------------------------------ wrong ones */

__global__ void copy_not_waited_for(uint16_t *y, const uint16_t *x)
{
    DYNAMIC_SHARED(uint16_t, room);
    copy_async(room + threadIdx.x * 8, x + threadIdx.x * 8, true);
    copy_commit();
    copy_async(room + 256 + threadIdx.x * 8, x + threadIdx.x * 8, true);
    copy_commit();
    copy_wait<1>();
    y[threadIdx.x] = room[256 + threadIdx.x * 8];
}

__global__ void copy_not_closed(uint16_t *y, const uint16_t *x)
{
    DYNAMIC_SHARED(uint16_t, room);
    copy_async(room + threadIdx.x * 8, x + threadIdx.x * 8, true);
    copy_wait<0>();
    y[threadIdx.x] = room[threadIdx.x * 8];
}

__global__ void copies_of_others(uint16_t *y, const uint16_t *x) /* a wait is for one's own */
{
    DYNAMIC_SHARED(uint16_t, room);
    copy_async(room + threadIdx.x * 8, x + threadIdx.x * 8, true);
    copy_commit();
    copy_wait<0>();
    y[threadIdx.x] = room[(threadIdx.x ^ 1) * 8];
}

__global__ void copy_over_readers(uint16_t *y, const uint16_t *x)
{
    DYNAMIC_SHARED(uint16_t, room);
    for (int round = 0; round < 2; round++) {
        copy_async(room + threadIdx.x * 8, x + threadIdx.x * 8, true);
        copy_commit();
        copy_wait<0>();
        __syncthreads();
        y[threadIdx.x] = room[(threadIdx.x ^ 1) * 8];
    }
}

__global__ void copy_left_behind(uint16_t *y, const uint16_t *x)
{
    DYNAMIC_SHARED(uint16_t, room);
    copy_async(room + threadIdx.x * 8, x + threadIdx.x * 8, true);
    copy_commit();
    y[threadIdx.x] = 0;
}

__global__ void matrices_misaligned(uint16_t *y)
{
    DYNAMIC_SHARED(uint16_t, room);
    uint32_t to[4];
    for (int i = 0; i < 9; i++) room[threadIdx.x * 9 + i] = (uint16_t)i;
    __syncwarp();
    load_matrices(to, room + threadIdx.x * 9);
    y[threadIdx.x] = (uint16_t)to[0];
}

__global__ void matrices_of_others(uint16_t *y) /* rows that other lanes have written */
{
    DYNAMIC_SHARED(uint16_t, room);
    uint32_t to[4];
    for (int i = 0; i < 8; i++) room[threadIdx.x * 8 + i] = (uint16_t)i;
    load_matrices(to, room + (threadIdx.x ^ 1) * 8);
    y[threadIdx.x] = (uint16_t)to[0];
}

__global__ void part_of_a_warp(uint16_t *y)
{
    uint32_t a[4] = {0, 0, 0, 0};
    float d[4] = {0, 0, 0, 0};
    y[threadIdx.x] = 0;
    if (threadIdx.x < 31) mma<Bf16>(d, a, a);
    y[threadIdx.x] = (uint16_t)d[0];
}

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

/* Small integers, so that bf16 and sums are exact. */
static void test_product(void)
{
    uint16_t a[256], b[128];
    float c[128];
    int x[256], y[128];
    for (int i = 0; i < 256; i++) x[i] = i * 37 % 101 - 50, a[i] = Bf16((float)x[i]).bits;
    for (int i = 0; i < 128; i++) y[i] = i * 53 % 97 - 48, b[i] = Bf16((float)y[i]).bits;
    uint16_t *da = device(a, 256), *db = device(b, 128);
    float *dc = device((float *)NULL, 128);
    run(product, 1, 32, (384 + 32 * 24) * 2, dc, da, db);
    fetch(c, dc, 128);
    for (int i = 0; i < 128; i++) {
        int sum = 0;
        for (int k = 0; k < 16; k++) sum += x[i / 8 * 16 + k] * y[k * 8 + i % 8];
        expect(c[i] == (float)sum, "a product of matrices");
    }
    cudaFree(da), cudaFree(db);
    expect_silence("a product of matrices");
}

static void test_numbers(void)
{
    for (unsigned i = 0; i < 65536; i++) {
        Bf16 b;
        F16 h;
        b.bits = h.bits = (uint16_t)i;
        float x = b, y = h, up = ldexpf((float)(i & 1023) + (i >> 10 & 31 ? 1024 : 0), (int)(i >> 10 & 31 ? i >> 10 & 31 : 1) - 25);
        expect(x != x || Bf16(x).bits == i, "bf16 there and back");
        expect(y != y || F16(y).bits == i, "fp16 there and back");
        expect((i >> 10 & 31) == 31 || y == (i >> 15 ? -up : up), "the value of fp16");
        if ((i & 0x7fff) >= 0x7bff) continue;
        h.bits++;
        float next = h, middle = (y + next) / 2; /* exact */
        expect(F16(middle).bits == (i & 1 ? i + 1 : i), "fp16: a tie is even's");
        expect(F16(nextafterf(middle, y)).bits == i && F16(nextafterf(middle, next)).bits == i + 1, "fp16: the nearest");
    }
    expect(Bf16(1.00390625f).bits == 0x3f80 && Bf16(1.01171875f).bits == 0x3f82, "bf16: a tie is even's");
    expect(Bf16(NAN) != Bf16(NAN) && F16(NAN) != F16(NAN) && F16(65520.0f).bits == 0x7c00, "no number, and too large");
}

static void test_copies_wrong(void)
{
    uint16_t *y = device((uint16_t *)NULL, 64), zeros[512] = {0}, *x = device(zeros, 512);
    run(copy_not_waited_for, 1, 32, 1024, y, x);
    expect_fault("a copy that is not waited for", "has not waited for a copy");
    run(copy_not_closed, 1, 32, 512, y, x);
    expect_fault("a copy of no group", "has not waited for a copy");
    run(copies_of_others, 1, 32, 512, y, x);
    expect_fault("a copy without a barrier", "of shared memory");
    run(copy_over_readers, 1, 32, 512, y, x);
    expect_fault("a copy over what others read", "race: ");
    run(copy_left_behind, 1, 32, 512, y, x);
    expect_fault("a copy that nobody waits for", "has not waited for");
    run(matrices_misaligned, 1, 32, 576, y);
    expect_fault("misaligned rows", "misaligned: 16 bytes");
    run(matrices_of_others, 1, 32, 512, y);
    expect_fault("rows of others", "shared memory");
    run(part_of_a_warp, 1, 32, 0, y);
    expect_fault("a part of a warp", "waits in mma with mask ffffffff");
    cudaFree(y);
    cudaFree(x);
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
    cudaFuncSetAttribute(copy_four, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024); /* of another kernel */
    run(store_at, 1, 32, 64 * 1024, y);
    expect_fault("dynamic shared memory not asked for", "65536 bytes of dynamic shared memory");
    cudaMemcpy(&on_host, &on_host, 4, cudaMemcpyDeviceToHost);
    expect_fault("a copy from the wrong side", "not on the side");
    cudaFree(y);
    cudaFree(f);
}

int main(void)
{
    test_numbers();
    for (int order = SIM_FORWARD; order <= SIM_SHUFFLED; order++) {
        sim_order((Sim_order)order, 1);
        test_integers();
        test_floats();
        test_product();
        test_copies_wrong();
        test_threads_wrong();
        test_memory_wrong();
    }
    return failed > 0;
}
