/* rows.cuh: rows that a block keeps in shared memory: the first sweep reads them from device memory, later ones from
 * here.
 *
 *     const bf16 *row = keep_row<8>(logits[r], VOCAB);
 *     copy_wait<0>();
 *
 * A thread copies the elements that it uses in every sweep: BESIDE adjacent ones per round of the block, and one of the
 * rest.  So it waits only for its own copies and needs no barrier.  All copies are in flight at once: with few blocks
 * per multiprocessor, one load per thread would not saturate memory. */
#ifndef LATHE_CUDA_ROWS_CUH
#define LATHE_CUDA_ROWS_CUH

#include "cuda/tensor.cuh"

template <class T> __host__ __device__ constexpr int row_bytes(int n) { return CEIL_DIV(n * (int)sizeof(T), 16) * 16; }

/* Keeps n elements, which start at a multiple of 16 bytes; at: bytes of the rows kept before. */
template <int BESIDE, class T> DEVICE const T *keep_row(const T *from, int n, int at = 0)
{
    constexpr int EACH = 16 / (int)sizeof(T);
    DYNAMIC_SHARED(char, rows);
    T *const row = (T *)(rows + at);
    for (int i = threadIdx.x * BESIDE; i + BESIDE <= n; i += THREADS * BESIDE)
        UNROLL for (int k = 0; k < BESIDE; k += EACH) copy_async(row + i + k, from + i + k, true);
    copy_commit();
    const int last = n / BESIDE * BESIDE + threadIdx.x;
    if (n % BESIDE && last < n) row[last] = from[last];
    return row;
}

/* Always set: it is needed beyond 48 KB, and the kernel's static shared memory counts. */
template <class... Parameters, class... Arguments>
static inline void launch(void (*kernel)(Parameters...), int blocks, int shared, cudaStream_t stream, Arguments... arguments)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(THREADS);
    config.dynamicSmemBytes = (size_t)shared;
    config.stream = stream;
    prefer_shared(kernel, shared);
    (void)cudaLaunchKernelEx(&config, kernel, arguments...);
}

#endif
