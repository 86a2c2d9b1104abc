/* rows.cuh: rows that a block keeps in shared memory: read once from the device's, by all sweeps but that from here.
 *
 *     const bf16 *row = keep_row<8>(logits[r], VOCAB);
 *     copy_wait<0>();
 *
 * A thread copies the elements that it takes in every sweep: BESIDE side by side, turn by turn of the block, and one of
 * a rest.  So it waits for copies of its own alone, and needs no barrier.  All of them are under way at once: with the
 * few blocks a processor for which there is room, one load a thread would not keep its memory busy. */
#ifndef LATHE_CUDA_ROWS_CUH
#define LATHE_CUDA_ROWS_CUH

#include "cuda/tensor.cuh"

template <class T> __host__ __device__ constexpr int row_bytes(int n) { return CEIL_DIV(n * (int)sizeof(T), 16) * 16; }

/* n elements, from a multiple of 16 bytes on; `at`: the bytes of rows that are kept already. */
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

/* Always asked for: beyond 48 KB it has to be, and what the kernel has of its own counts towards those. */
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
