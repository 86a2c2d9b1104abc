/* kernels_wrong.cu: CUDA written by hand with one mistake in each kernel, which the simulator must name, in three orders of blocks
 * and threads.  nvcc compiles the file too. */
#include "kernels_checks.cuh"

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

static void expect_fault(const char *what, const char *word)
{
    bool error = cudaGetLastError() != cudaSuccess;
    const char *said = sim_report();
    if (!strstr(said, word)) printf("%s: expected \"%s\", said: \"%s\"\n", what, word, said);
    expect(strstr(said, word) && error, what);
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
    expect_fault("a shuffle against a barrier", "waits at the barrier kernels_wrong.cu");
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
    for (int order = SIM_FORWARD; order <= SIM_SHUFFLED; order++) {
        sim_order((Sim_order)order, 1);
        test_copies_wrong();
        test_threads_wrong();
        test_memory_wrong();
    }
    return failed > 0;
}
