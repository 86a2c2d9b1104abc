/* lathe_cuda.cuh: the whole interface of generated CUDA: spelling, arithmetic, the ends of reductions, launching.
 *
 * Compile with -fmad=false: as in C, only fmaf is fused, so that maps have the CPU's bits.  Every block has THREADS
 * threads.  A reduction ends in a fixed tree: the same bits every time. */
#ifndef LATHE_CUDA_CUH
#define LATHE_CUDA_CUH

#include "cuda/second_way.h"
#include "math/quick.h"
#include <assert.h>
#include <cuda_runtime.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

constexpr int WARP = 32, THREADS = 256, WARPS = THREADS / WARP;

#define RESTRICT __restrict__
#define KERNEL   __global__ __launch_bounds__(THREADS)
#define DEVICE   static inline __device__

#define CEIL_DIV(n, by) (((n) + (by) - 1) / (by))

/* `UNROLL for (…)`: four adjacent elements become one access of 16 bytes if the arrays are ALIGNED; a thread's part of
 * its row stays in registers.  `ROLLED for (…)`: a loop around it, which nvcc must not unroll, because it may then
 * access elements one by one. */
#ifdef __CUDACC__
#define DYNAMIC_SHARED(T, name) extern __shared__ __align__(16) char name##_bytes[]; T *const name = (T *)name##_bytes
#define TABLE         static __device__ const
#define DEVICE_MEMORY static __device__
#define UNWATCHED     /* the simulator does not record accesses of the function, which are to texts of the program */
#define UNROLL        _Pragma("unroll")
#define ROLLED        _Pragma("unroll 1")
#define ALIGNED(x)    x = (decltype(x))__builtin_assume_aligned(x, 16)
#else
#define TABLE     __constant__ const /* static in the simulator */
#define UNWATCHED __attribute__((no_sanitize("thread")))
#define UNROLL
#define ROLLED
#define ALIGNED(x) assert((uintptr_t)(x) % 16 == 0)
#endif

/* N adjacent elements, read and written together: in accesses of 16 bytes, or of their total size. */
template <class T, int N> struct alignas(N * sizeof(T) < 16 ? N * sizeof(T) : 16) Wide {
    T element[N];
    __device__ T &operator[](int i) { return element[i]; }
    __device__ const T &operator[](int i) const { return element[i]; }
};

template <int N, class T> DEVICE Wide<T, N> read_wide(const T *from)
{
    assert((uintptr_t)from % alignof(Wide<T, N>) == 0);
    return *(const Wide<T, N> *)from;
}

template <int N, class T> DEVICE void write_wide(T *to, const Wide<T, N> &elements)
{
    assert((uintptr_t)to % alignof(Wide<T, N>) == 0);
    *(Wide<T, N> *)to = elements;
}

/* ---- the ends of reductions; every thread of the warp or block calls them and gets the result */

#define ALL_LANES 0xffffffffu

#define WARP_END(name, T, step)                                                                                        \
    DEVICE T name(T x)                                                                                                 \
    {                                                                                                                  \
        for (int apart = WARP / 2; apart > 0; apart /= 2) x = step(x, __shfl_xor_sync(ALL_LANES, x, apart));           \
        return x;                                                                                                      \
    }

/* The first barrier: others may still read the values of the last reduction. */
#define BLOCK_END(name, T, step, in_warp)                                                                              \
    DEVICE T name(T x)                                                                                                 \
    {                                                                                                                  \
        __shared__ T of_warp[WARPS];                                                                                   \
        x = in_warp(x);                                                                                                \
        __syncthreads();                                                                                               \
        if (threadIdx.x % WARP == 0) of_warp[threadIdx.x / WARP] = x;                                                  \
        __syncthreads();                                                                                               \
        x = of_warp[0];                                                                                                \
        for (int w = 1; w < WARPS; w++) x = step(x, of_warp[w]);                                                       \
        return x;                                                                                                      \
    }

#define PLUS(a, b) ((a) + (b))
WARP_END(warp_sum_f32, float, PLUS)
WARP_END(warp_sum_f64, double, PLUS)
WARP_END(warp_sum_i32, int, PLUS)
WARP_END(warp_max_f32, float, max_f32)
WARP_END(warp_max_f64, double, max_f64)
WARP_END(warp_max_i32, int, max_i32)
WARP_END(warp_min_f32, float, min_f32)
WARP_END(warp_min_f64, double, min_f64)
WARP_END(warp_min_i32, int, min_i32)
BLOCK_END(block_sum_f32, float, PLUS, warp_sum_f32)
BLOCK_END(block_sum_f64, double, PLUS, warp_sum_f64)
BLOCK_END(block_sum_i32, int, PLUS, warp_sum_i32)
BLOCK_END(block_max_f32, float, max_f32, warp_max_f32)
BLOCK_END(block_max_f64, double, max_f64, warp_max_f64)
BLOCK_END(block_max_i32, int, max_i32, warp_max_i32)
BLOCK_END(block_min_f32, float, min_f32, warp_min_f32)
BLOCK_END(block_min_f64, double, min_f64, warp_min_f64)
BLOCK_END(block_min_i32, int, min_i32, warp_min_i32)
#undef PLUS
#undef WARP_END
#undef BLOCK_END

/* ---- index kernels; every thread of the warp or block calls them */

/* The position of the first of the largest elements, from each lane's largest and its position; a lane without one
 * larger than the row's element 0 gives that. */
#define WARP_FIRST(name, T)                                                                                            \
    DEVICE int name(T x, int at)                                                                                       \
    {                                                                                                                  \
        for (int apart = WARP / 2; apart > 0; apart /= 2) {                                                            \
            const T other = __shfl_xor_sync(ALL_LANES, x, apart);                                                      \
            const int other_at = __shfl_xor_sync(ALL_LANES, at, apart);                                                \
            const bool better = other > x || (other == x && other_at < at);                                            \
            x = better ? other : x;                                                                                    \
            at = better ? other_at : at;                                                                               \
        }                                                                                                              \
        return at;                                                                                                     \
    }
WARP_FIRST(warp_first_f32, float)
WARP_FIRST(warp_first_f64, double)
WARP_FIRST(warp_first_i32, int)
#undef WARP_FIRST

/* This is also a barrier. */
#ifdef __CUDACC__
DEVICE bool block_any(bool holds) { return __syncthreads_or(holds); }
#else
DEVICE bool block_any(bool holds) { return block_max_i32(holds); }
#endif

/* Lists the values of the threads for which `holds` is true, in the order of threads; returns their number, which is
 * mostly 0.  When all threads have called it, none reads the previous list any more. */
DEVICE int block_list(bool holds, int value, int *list)
{
    __shared__ int of_warp[WARPS];
    if (!block_any(holds)) return 0;
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const unsigned lanes = __ballot_sync(ALL_LANES, holds);
    if (lane == 0) of_warp[warp] = __popc(lanes);
    __syncthreads();
    int at = __popc(lanes & ((1u << lane) - 1)), all = 0;
    for (int w = 0; w < WARPS; w++) {
        if (w < warp) at += of_warp[w];
        all += of_warp[w];
    }
    if (holds) list[at] = value;
    __syncthreads();
    return all;
}

/* ---- launching: errors stay in CUDA's runtime until cudaGetLastError */

template <class... Parameters, class... Arguments>
static inline void launch(void (*kernel)(Parameters...), int blocks, cudaStream_t stream, Arguments... arguments)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(THREADS);
    config.stream = stream;
    (void)cudaLaunchKernelEx(&config, kernel, arguments...);
}

/* Makes all of a multiprocessor's combined memory shared memory instead of cache: the number of blocks per
 * multiprocessor assumes this. */
template <class... Parameters> static inline void prefer_shared(void (*kernel)(Parameters...), int bytes)
{
    (void)cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    (void)cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared);
}

/* ---- entries: functions of the host that launch kernels in order */

/* A pointer that converts to any type: an array of known size at a place in the arena. */
struct Any {
    void *at;
    __host__ __device__ Any(const void *at) : at((void *)at) {}
    template <class T> __host__ __device__ operator T *() const { return (T *)at; }
};

/* The address of a constant array; queried at each launch outside of a graph. */
template <class T, size_t n> static inline const T *on_device(const T (&table)[n])
{
    void *at = NULL;
    (void)cudaGetSymbolAddress(&at, table);
    return (const T *)at;
}

/* `launch_ln_1(…);  LAP(3);` kernel 3 of the entry has been launched: NULL, or a function that measures, or looks for a
 * failed launch. */
#define LAP(kernel) (cuda_lap ? cuda_lap(kernel, stream) : (void)0)
extern void (*cuda_lap)(int kernel, cudaStream_t stream);

/* After `backward_part();`, until `forward_part();`, kernels run for gradients alone: NULL, or a function that times
 * the parts of a step. */
enum { FORWARD_PART, BACKWARD_PART, UPDATE_PART, STEP_PARTS };
#define forward_part()  (cuda_part ? cuda_part(FORWARD_PART, stream) : (void)0)
#define backward_part() (cuda_part ? cuda_part(BACKWARD_PART, stream) : (void)0)
extern void (*cuda_part)(int part, cudaStream_t stream);

/* No later kernel of the entry adds to these gradients: NULL, or a function that makes several GPUs sum them
 * meanwhile. */
extern void (*cuda_gradients_done)(const void *first, size_t bytes, cudaStream_t stream);
static inline void gradients_done(const void *first, size_t bytes, cudaStream_t stream)
{
    if (cuda_gradients_done) cuda_gradients_done(first, bytes, stream);
}

/* No earlier kernel of the entry reads these parameters: NULL, or a function that makes the stream wait until they have
 * come from the GPUs that updated them. */
extern void (*cuda_parameters_needed)(const void *first, size_t bytes, cudaStream_t stream);
static inline void parameters_needed(const void *first, size_t bytes, cudaStream_t stream)
{
    if (cuda_parameters_needed) cuda_parameters_needed(first, bytes, stream);
}

/* With --shard-parameters: no kernel reads these until they are needed again; none has touched these gradients. */
extern void (*cuda_parameters_dropped)(const void *first, size_t bytes, cudaStream_t stream);
extern void (*cuda_gradients_begun)(const void *first, size_t bytes, cudaStream_t stream);
static inline void parameters_dropped(const void *first, size_t bytes, cudaStream_t stream)
{
    if (cuda_parameters_dropped) cuda_parameters_dropped(first, bytes, stream);
}
static inline void gradients_begun(const void *first, size_t bytes, cudaStream_t stream)
{
    if (cuda_gradients_begun) cuda_gradients_begun(first, bytes, stream);
}

/* Sums numbers of the entry over the GPUs of a step: NULL with one GPU. */
extern void (*cuda_over_ranks)(void *to, const void *from, size_t bytes, cudaStream_t stream);
static inline void over_ranks(void *to, const void *from, size_t bytes, cudaStream_t stream)
{
    if (cuda_over_ranks) cuda_over_ranks(to, from, bytes, stream);
    else (void)cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}

#endif
