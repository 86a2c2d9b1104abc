/* cuda_persistent.cuh: loops that run in one launch: blocks that are all there at once and walk through the steps of each
 * iteration together, the barrier at which they wait for each other, and the products of a step.
 *
 *     PERSISTENT void lstm_time(unsigned *arrived, …)
 *     {
 *         Grid grid = {arrived, 0};
 *         for (int t = 0; t < SEQ; t++) {
 *             EACH_BLOCK(block, slices<Lstm_matmul>)
 *                 step_product<Lstm_matmul>(block, …);
 *             meet(grid);
 *             EACH_BLOCK(block, CEIL_DIV(BATCH * HIDDEN, THREADS))
 *                 lstm_tanh(block, …);
 *             …
 *
 * A step's blocks are taken by those that there are, however many: the bits do not depend on that.  What one block has
 * written others read after the next meeting, by plain loads: they go through caches that the acquire has emptied. */
#ifndef CUDA_PERSISTENT_CUH
#define CUDA_PERSISTENT_CUH

#include "cuda_tensor.cuh"
#include "rt_gemm_shape.h"

/* ---- the meeting of all blocks: each adds 1 to a number that begins as 0, and waits until all have */

#ifdef __CUDACC__
DEVICE void add_release(unsigned *at, unsigned n)
{
    asm volatile("red.release.gpu.add.u32 [%0], %1;" ::"l"(at), "r"(n) : "memory");
}
DEVICE unsigned load_acquire(const unsigned *at)
{
    unsigned x;
    asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(x) : "l"(at) : "memory");
    return x;
}
#else
#define add_release(at, n) sim_add_release(at, n)
#define load_acquire(at)   sim_load_acquire(at, SIM_HERE)
#endif

struct Grid {
    unsigned *arrived, due;
};

/* The barriers before and after make one thread's release and acquire those of its block. */
DEVICE void meet(Grid &grid)
{
    grid.due += gridDim.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        add_release(grid.arrived, 1);
        while ((int)(load_acquire(grid.arrived) - grid.due) < 0) continue;
    }
    __syncthreads();
}

/* One block a processor: its threads may have all registers that there are. */
#define PERSISTENT __global__ __launch_bounds__(THREADS, 1)

#define EACH_BLOCK(block, n) for (int block = blockIdx.x; block < (n); block += gridDim.x)

/* ---- launching: one block a processor, and no more than there is work for */

template <int n> static inline int most_of(const int (&blocks)[n])
{
    int most = 1;
    for (int i = 0; i < n; i++) most = blocks[i] > most ? blocks[i] : most;
    return most;
}

template <class... Parameters, class... Arguments>
static inline void launch_persistent(void (*kernel)(unsigned *, Parameters...), int blocks, cudaStream_t stream,
                                     unsigned *arrived, Arguments... arguments)
{
    int device = 0, processors = 1;
    (void)cudaGetDevice(&device);
    (void)cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    cudaLaunchAttribute together = {};
    together.id = cudaLaunchAttributeCooperative;
    together.val.cooperative = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks < processors ? blocks : processors);
    config.blockDim = dim3(THREADS);
    config.stream = stream;
    config.attrs = &together;
    config.numAttrs = 1;
    (void)cudaMemsetAsync(arrived, 0, sizeof *arrived, stream);
    (void)cudaLaunchKernelEx(&config, kernel, arrived, arguments...);
}

/* ---- products: c (+)= a · b (+ a row), by slices of c's columns, a block each
 *
 *     struct Lstm_matmul : Step_product<float, float> { static constexpr Lathe_gemm shape = {…}; };
 *
 * A team of lanes makes a few elements: lane l takes k = l, l + LANES, …, and the lanes' sums end in a fixed tree. */

template <class I, class O> struct Step_product {
    typedef I In;
    typedef O Out;
};

template <class T> struct Sum_of {
    typedef float type;
};
template <> struct Sum_of<double> {
    typedef double type;
};

constexpr int SLICE = 8; /* columns: 32 bytes of fp32 */

template <class G> constexpr int slices_of_one = (int)CEIL_DIV(G::shape.N, SLICE);

template <class G> constexpr int batches_of(void)
{
    int n = 1;
    for (int i = 0; i < G::shape.nbatch; i++) n *= (int)G::shape.batch[i];
    return n;
}
template <class G> constexpr int slices = batches_of<G>() * slices_of_one<G>; /* how many blocks it has */

DEVICE float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
DEVICE double multiply_add(double a, double b, double c) { return fma(a, b, c); }

template <class G> DEVICE void step_product(int slice, void *c_at, const void *a_at, const void *b_at, bool add,
                                            const void *row_at = NULL)
{
    typedef typename G::In In;
    typedef typename G::Out Out;
    typedef typename Sum_of<In>::type Sum;
    constexpr Lathe_gemm s = G::shape;
    constexpr int M = (int)s.M, N = (int)s.N, K = (int)s.K;
    constexpr bool low = M <= 4; /* a few rows: longer teams, or most threads would have nothing to do */
    constexpr int ROWS = low ? 1 : 2, COLUMNS = low ? 1 : 4, LANES = low ? WARP : 8;
    constexpr int TEAMS = THREADS / LANES, BESIDE = SLICE / COLUMNS, TILES = CEIL_DIV(M, ROWS) * BESIDE;
    const In *a = (const In *)a_at, *b = (const In *)b_at;
    Out *c = (Out *)c_at;
    const Out *row = (const Out *)row_at;
    const int lane = threadIdx.x % LANES, team = threadIdx.x / LANES;
    const int first = slice % slices_of_one<G> * SLICE;
    int batch = slice / slices_of_one<G>;
    UNROLL for (int i = s.nbatch - 1; i >= 0; i--) {
        const int at = batch % (int)s.batch[i];
        batch /= (int)s.batch[i];
        a += at * s.a_batch[i];
        b += at * s.b_batch[i];
        c += at * s.c_batch[i];
    }
    for (int from = 0; from < TILES; from += TEAMS) {
        const int m = (from + team) / BESIDE * ROWS, n = first + (from + team) % BESIDE * COLUMNS;
        Sum sum[ROWS][COLUMNS] = {};
        for (int k = lane; k < K; k += LANES) {
            Sum left[ROWS], right[COLUMNS];
            UNROLL for (int i = 0; i < ROWS; i++) left[i] = (Sum)a[(m + i < M ? m + i : M - 1) * s.a_m + k * s.a_k];
            UNROLL for (int j = 0; j < COLUMNS; j++) right[j] = (Sum)b[k * s.b_k + (n + j < N ? n + j : N - 1) * s.b_n];
            UNROLL for (int i = 0; i < ROWS; i++)
                UNROLL for (int j = 0; j < COLUMNS; j++) sum[i][j] = multiply_add(left[i], right[j], sum[i][j]);
        }
        UNROLL for (int i = 0; i < ROWS; i++)
            UNROLL for (int j = 0; j < COLUMNS; j++) {
                Sum x = sum[i][j];
                UNROLL for (int apart = LANES / 2; apart > 0; apart /= 2) x += __shfl_xor_sync(ALL_LANES, x, apart);
                if (lane != i * COLUMNS + j || m + i >= M || n + j >= N) continue;
                Out *to = &c[(m + i) * s.c_m + (n + j) * s.c_n];
                if (row) x += (Sum)row[n + j];
                *to = Out(add ? (Sum)*to + x : x);
            }
    }
}

#endif
