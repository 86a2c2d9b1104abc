/* persistent.cuh: loops that run in one launch: blocks that run at the same time and go through the steps of each
 * iteration together, the barrier between steps, and the products of a step.
 *
 *     PERSISTENT void lstm_time(Grid grid, …)
 *     {
 *         const float *kept = keep<Lstm_matmul>(grid, p->lstm_weight_hh_l0);
 *         __syncthreads();
 *         for (int t = grid.from; t < grid.to; t++) {
 *             EACH_BLOCK(slice, HIDDEN / 2)
 *                 step_product<Lstm_matmul>(slice, kept, …);
 *             __syncthreads();
 *             EACH_BLOCK(slice, HIDDEN / 2)
 *                 lstm_tanh(slice, …);
 *             meet(grid);
 *             …
 *
 * A step's blocks are divided among the running ones; the bits do not depend on their number.  After the next barrier,
 * others read what a block has written by plain loads, through caches that the acquire has invalidated.
 *
 * If CUDA cannot run the blocks at the same time, the kernel is launched once per stretch between barriers, so that the
 * end of a launch is the barrier.  The bits are the same. */
#ifndef LATHE_CUDA_PERSISTENT_CUH
#define LATHE_CUDA_PERSISTENT_CUH

#include "cuda/tensor.cuh"
#include "math/gemm_shape.h"

/* ---- the barrier of all blocks: each adds 1 to a counter that starts at 0 (cuda/machine.cuh), and waits for the
 * rest */

struct Grid {
    unsigned *arrived, due;
    int room, used; /* bytes of shared memory for kept operands */
    unsigned *stuck, loop; /* where the host reads the number of a loop that gave up, or NULL */
    int from, to;          /* iterations of the launch */
    int only, met;         /* its stretch, by the number of barriers before it, or WHOLE_LOOP; barriers passed so far */
};

constexpr int WHOLE_LOOP = -1; /* one launch with barriers */

/* The block's barriers before and after extend one thread's release and acquire to the block. */
DEVICE void meet(Grid &grid)
{
    grid.met++;
    if (grid.only != WHOLE_LOOP) return;
    grid.due += gridDim.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        add_release(grid.arrived, 1);
        for (unsigned looks = 0; (int)(load_acquire(grid.arrived) - grid.due) < 0; looks++)
            if (looks == MOST_LOOKS) give_up(grid.stuck, grid.loop);
    }
    __syncthreads();
}

/* Memory that the launch writes through another pointer.  Without this, nvcc would see no stores through this one and
 * use ld.global.nc, whose cache a barrier does not invalidate. */
#ifdef __CUDACC__
#define CHANGES(x) asm volatile("" : "+l"(x))
#else
#define CHANGES(x) (void)(x)
#endif

/* One block per multiprocessor, so its threads may use all registers. */
#define PERSISTENT __global__ __launch_bounds__(THREADS, 1)

/* Whether this launch runs the current step. */
DEVICE bool is_due(const Grid &grid) { return grid.only == WHOLE_LOOP || grid.only == grid.met; }

#define EACH_BLOCK(block, n) for (int block = blockIdx.x; is_due(grid) && block < (n); block += gridDim.x)
#define ONE_BLOCK            if (is_due(grid) && blockIdx.x == 0)

/* ---- launching: one block per multiprocessor, and no more than there is work for */

template <int n> static inline int most_of(const int (&blocks)[n])
{
    int most = 1;
    for (int i = 0; i < n; i++) most = blocks[i] > most ? blocks[i] : most;
    return most;
}

/* The loops that were launched, by name. */
struct Loop_launched {
    char name[200]; /* a copy of its beginning, because the text may be unloaded earlier */
    bool refused;   /* CUDA cannot run its blocks at the same time */
};

inline struct Loops_launched {
    Loop_launched at[64], other;
    int n, refused;
    unsigned *stuck; /* host memory for the number, from 1, of a loop that gave up; NULL: none */
} loops_launched;

static inline Loop_launched *loop_launched(const char *name)
{
    Loops_launched *all = &loops_launched;
    Loop_launched own = {};
    snprintf(own.name, sizeof own.name, "%s", name);
    for (int i = 0; i < all->n; i++)
        if (strcmp(all->at[i].name, own.name) == 0) return &all->at[i];
    if (all->n == (int)(sizeof all->at / sizeof all->at[0])) return &all->other;
    all->at[all->n] = own;
    return &all->at[all->n++];
}

static inline const char *loop_that_gave_up(void)
{
    const Loops_launched *all = &loops_launched;
    if (!all->stuck || !*all->stuck) return NULL;
    return *all->stuck <= (unsigned)all->n ? all->at[*all->stuck - 1].name : "a loop";
}

/* Whether CUDA cannot run that many blocks at the same time, or none. */
static inline bool is_refusal(cudaError_t error)
{
    return error == cudaErrorCooperativeLaunchTooLarge || error == cudaErrorNotSupported || error == cudaErrorLaunchOutOfResources;
}

struct Turns {
    int count, meetings; /* iterations; barriers in each */
};

/* Stretch number `only`, which begins after a barrier, in that barrier's iteration. */
static inline Grid stretch(Grid grid, Turns turns, int only)
{
    grid.only = only;
    grid.from = only ? (only - 1) / turns.meetings : 0;
    grid.to = turns.meetings && only / turns.meetings < turns.count ? only / turns.meetings + 1 : turns.count;
    grid.met = grid.from * turns.meetings;
    return grid;
}

/* One launch per stretch; nothing is kept in shared memory between launches. */
template <class... Parameters, class... Arguments>
static inline void launch_stretches(void (*kernel)(Grid, Parameters...), int blocks, Turns turns, cudaStream_t stream, Grid grid,
                                    Arguments... arguments)
{
    grid.room = 0;
    for (int only = 0; only <= turns.count * turns.meetings; only++)
        launch(kernel, blocks, stream, stretch(grid, turns, only), arguments...);
}

template <class... Parameters> static inline int room_beside(void (*kernel)(Parameters...), int room)
{
    int device = 0, most = 0;
    cudaFuncAttributes own = {}; /* of the kernel, for its static shared memory */
    (void)cudaGetDevice(&device);
    (void)cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    (void)cudaFuncGetAttributes(&own, kernel);
    most -= (int)own.sharedSizeBytes;
    return room < most ? room : most;
}

static inline int processors_here(void)
{
    int device = 0, processors = 1;
    (void)cudaGetDevice(&device);
    (void)cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    return processors;
}

/* One cooperative launch: all blocks run at the same time, or it fails. */
template <class... Parameters, class... Arguments>
static inline cudaError_t launch_together(void (*kernel)(Grid, Parameters...), int blocks, Turns turns, cudaStream_t stream, Grid grid,
                                          Arguments... arguments)
{
    cudaLaunchAttribute together = {};
    together.id = cudaLaunchAttributeCooperative;
    together.val.cooperative = 1;
    const int processors = processors_here();
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks < processors ? blocks : processors);
    config.blockDim = dim3(THREADS);
    config.dynamicSmemBytes = (size_t)grid.room;
    config.stream = stream;
    config.attrs = &together;
    config.numAttrs = config.gridDim.x > 1 && turns.meetings;
    prefer_shared(kernel, grid.room);
    (void)cudaMemsetAsync(grid.arrived, 0, sizeof *grid.arrived, stream);
    return cudaLaunchKernelEx(&config, kernel, grid, arguments...);
}

/* room: bytes that the kernel wants to keep in shared memory; it keeps as much as fits. */
template <class... Parameters, class... Arguments>
static inline void launch_persistent(const char *name, void (*kernel)(Grid, Parameters...), int blocks, Turns turns, int room,
                                     cudaStream_t stream, unsigned *arrived, Arguments... arguments)
{
    Loop_launched *const loop = loop_launched(name);
    const unsigned number = loop == &loops_launched.other ? ~0u : (unsigned)(loop - loops_launched.at) + 1;
    const Grid grid = {arrived, 0, room_beside(kernel, room), 0, loops_launched.stuck, number, 0, turns.count, WHOLE_LOOP, 0};
    const bool clean = cudaPeekAtLastError() == cudaSuccess;
    if (!loop->refused && !is_switched_off(loop->name)) {
        const cudaError_t error = launch_together(kernel, blocks, turns, stream, grid, arguments...);
        if (!is_refusal(error) || !turns.meetings || !clean) return;
        char why[200];
        (void)cudaGetLastError();
        snprintf(why, sizeof why, "its blocks together are refused (%s); its kernels are launched one by one, more slowly", cudaGetErrorName(error));
        second_way(name, why);
        loop->refused = true;
        loops_launched.refused++;
    }
    launch_stretches(kernel, blocks, turns, stream, grid, arguments...);
}

/* ---- products: c (+)= a · b (+ a row), by slices of c's columns, one block per slice
 *
 *     struct Lstm_matmul : Step_product<float, float, HIDDEN, 2> { static constexpr Lathe_gemm shape = {…}; };
 *
 * Slice i of every PERIOD columns has the WIDE columns from i · WIDE on, so that the next step finds all values of a
 * few columns in its own block (PERIOD 0: N).  A team of lanes computes a few elements: lane l takes k = l, l + LANES,
 * …, and the lanes' sums are added in a fixed tree.  For 16-bit types, if rows of a are whole words (`words`, set by
 * the compiler) and K is a multiple of 16, a warp computes a tile on tensor cores; if there are more warps than tiles,
 * several share a tile's K. */

constexpr int SLICE = 8; /* default number of columns: 32 bytes of fp32 */

template <class I, class O, int PERIOD = 0, int WIDE = SLICE> struct Step_product {
    typedef I In;
    typedef O Out;
    static constexpr int period = PERIOD, wide = WIDE;
    static constexpr bool words = false;
};

template <class T> struct Sum_of {
    typedef float type;
};
template <> struct Sum_of<double> {
    typedef double type;
};

constexpr int batches_of(const Lathe_gemm &s)
{
    int n = 1;
    for (int i = 0; i < s.nbatch; i++) n *= (int)s.batch[i];
    return n;
}

/* The smallest of 8 to 32 with which all threads have work. */
constexpr int lanes_for(int tiles)
{
    int lanes = 8;
    while (lanes < WARP && tiles * lanes * 2 <= THREADS) lanes *= 2;
    return lanes;
}

constexpr int parts_for(int tiles, int steps)
{
    int parts = 1;
    while (parts < WARPS && tiles * parts * 2 <= WARPS && parts * 2 <= steps) parts *= 2;
    return parts;
}

template <class G> struct Slices {
    static constexpr int period = G::period ? G::period : (int)G::shape.N;
    static constexpr int of_one = CEIL_DIV(period, G::wide), count = batches_of(G::shape) * of_one;
    static constexpr int columns = (int)G::shape.N / period * G::wide, K = (int)G::shape.K;
    /* elements per team at once; lanes per team; tiles per slice */
    static constexpr int rows = G::shape.M == 1 ? 1 : 2, beside = columns % 4 == 0 ? 4 : columns % 2 == 0 ? 2 : 1;
    static constexpr int across = columns / beside, tiles = CEIL_DIV((int)G::shape.M, rows) * across;
    static constexpr int lanes = lanes_for(tiles);
    /* the same on tensor cores: tiles of 16 x 8, and the number of warps that share one */
    static constexpr bool tensor = G::words && sizeof(typename G::In) == 2 && K % 16 == 0;
    static constexpr int tiles_across = CEIL_DIV(columns, 8), tensor_tiles = CEIL_DIV((int)G::shape.M, 16) * tiles_across;
    static constexpr int parts = parts_for(tensor_tiles, K / 16);
    /* a kept column of b, padded by 16 bytes so that the next one is in other banks */
    static constexpr int kept_column = K + 16 / (int)sizeof(typename G::In);
    static constexpr int kept_bytes = CEIL_DIV(columns * kept_column * (int)sizeof(typename G::In), 16) * 16;
};
template <class G> constexpr int slices = Slices<G>::count; /* number of blocks */
template <class G> constexpr int kept_bytes = Slices<G>::kept_bytes;

/* The column in c of column j of a slice; N or more: none. */
template <class G> DEVICE int column_of(int slice, int j)
{
    const int within = slice * G::wide + j % G::wide;
    return within < Slices<G>::period ? j / G::wide * Slices<G>::period + within : (int)G::shape.N;
}

/* Copies b of the block's first slice to shared memory; NULL: no room.  A barrier must follow. */
template <class G> DEVICE const typename G::In *keep(Grid &grid, const void *b_at)
{
    typedef typename G::In In;
    typedef Slices<G> S;
    DYNAMIC_SHARED(char, kept);
    if (grid.used + S::kept_bytes > grid.room) return NULL;
    const In *b = (const In *)b_at;
    In *to = (In *)(kept + grid.used);
    grid.used += S::kept_bytes;
    for (int i = threadIdx.x; i < S::columns * S::K; i += THREADS) {
        const int j = i / S::K, k = i % S::K, n = column_of<G>(blockIdx.x, j);
        if (n < G::shape.N) to[j * S::kept_column + k] = b[k * G::shape.b_k + n * G::shape.b_n];
    }
    return to;
}

DEVICE float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
DEVICE double multiply_add(double a, double b, double c) { return fma(a, b, c); }

template <int K, int LANES, int64_t A_K, int64_t B_K, class In, class Sum, int ROWS, int COLUMNS>
DEVICE void add_products(Sum (&sum)[ROWS][COLUMNS], const In *const (&a)[ROWS], const In *const (&b)[COLUMNS])
{
    for (int k = threadIdx.x % LANES; k < K; k += LANES) {
        Sum left[ROWS], right[COLUMNS];
        UNROLL for (int i = 0; i < ROWS; i++) left[i] = (Sum)a[i][k * A_K];
        UNROLL for (int j = 0; j < COLUMNS; j++) right[j] = (Sum)b[j][k * B_K];
        UNROLL for (int i = 0; i < ROWS; i++)
            UNROLL for (int j = 0; j < COLUMNS; j++) sum[i][j] = multiply_add(left[i], right[j], sum[i][j]);
    }
}

/* The matrices of one product of a batch; kept: this slice's columns of b, or NULL. */
template <class G> struct Operands_of {
    typename G::Out *c;
    const typename G::In *a, *b, *kept;
    const typename G::Out *row;
    bool add;
};

template <class G> DEVICE void store_sum(const Operands_of<G> &o, int m, int n, typename Sum_of<typename G::In>::type x)
{
    typedef typename Sum_of<typename G::In>::type Sum;
    typename G::Out *to = &o.c[m * G::shape.c_m + n * G::shape.c_n];
    if (o.row) x += (Sum)o.row[n];
    *to = typename G::Out(o.add ? (Sum)*to + x : x);
}

/* By teams of lanes. */
template <class G> DEVICE void slice_by_teams(int slice, const Operands_of<G> &o)
{
    typedef typename Sum_of<typename G::In>::type Sum;
    typedef Slices<G> S;
    constexpr Lathe_gemm s = G::shape;
    constexpr int M = (int)s.M, N = (int)s.N, TEAMS = THREADS / S::lanes;
    const int lane = threadIdx.x % S::lanes, team = threadIdx.x / S::lanes;
    for (int from = 0; from < S::tiles; from += TEAMS) {
        const int m = (from + team) / S::across * S::rows, beside = (from + team) % S::across * S::beside;
        Sum sum[S::rows][S::beside] = {};
        const typename G::In *left[S::rows], *right[S::beside];
        int n[S::beside]; /* outside of c, the last column is computed again and not stored */
        UNROLL for (int i = 0; i < S::rows; i++) left[i] = o.a + (m + i < M ? m + i : M - 1) * s.a_m;
        UNROLL for (int j = 0; j < S::beside; j++) n[j] = column_of<G>(slice, beside + j);
        if (o.kept) {
            UNROLL for (int j = 0; j < S::beside; j++) right[j] = o.kept + (n[j] < N ? beside + j : 0) * S::kept_column;
            add_products<S::K, S::lanes, s.a_k, 1>(sum, left, right);
        } else {
            UNROLL for (int j = 0; j < S::beside; j++) right[j] = o.b + (n[j] < N ? n[j] : N - 1) * s.b_n;
            add_products<S::K, S::lanes, s.a_k, s.b_k>(sum, left, right);
        }
        UNROLL for (int i = 0; i < S::rows; i++)
            UNROLL for (int j = 0; j < S::beside; j++) {
                Sum x = sum[i][j];
                UNROLL for (int apart = S::lanes / 2; apart > 0; apart /= 2) x += __shfl_xor_sync(ALL_LANES, x, apart);
                if (lane == i * S::beside + j && m + i < M && n[j] < N) store_sum<G>(o, m + i, n[j], x);
            }
    }
}

template <class T> DEVICE uint32_t word_of(const T *low, const T *high)
{
    return (uint32_t)high->bits << 16 | low->bits;
}

/* d[16][8] += a · b over every parts-th group of 16 k, from group `part` on; the rows of a and the column of b are this
 * lane's. */
template <class G, int64_t B_K>
DEVICE void add_tiles(float *d, const typename G::In *upper, const typename G::In *lower, const typename G::In *column, int part)
{
    const int q2 = threadIdx.x % 4 * 2;
    for (int k = part * 16 + q2; k < Slices<G>::K; k += Slices<G>::parts * 16) {
        const uint32_t a[4] = {*(const uint32_t *)(upper + k), *(const uint32_t *)(lower + k),
                               *(const uint32_t *)(upper + k + 8), *(const uint32_t *)(lower + k + 8)};
        const typename G::In *b = column + k * B_K;
        const uint32_t words[2] = {word_of(b, b + B_K), word_of(b + 8 * B_K, b + 9 * B_K)};
        mma<typename G::In>(d, a, words);
    }
}

/* Outside of templates, because the simulator finds shared arrays by their section. */
typedef float Sums_of_warp[4][WARP];
DEVICE Sums_of_warp *sums_of_warps(void)
{
    __shared__ Sums_of_warp of_warp[WARPS];
    return of_warp;
}

/* By warps on tensor cores; warps that share a tile add their sums in shared memory, in order. */
template <class G> DEVICE void slice_by_warps(int slice, const Operands_of<G> &o)
{
    typedef Slices<G> S;
    constexpr Lathe_gemm s = G::shape;
    constexpr int M = (int)s.M, N = (int)s.N;
    Sums_of_warp *const others = sums_of_warps();
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, part = warp % S::parts;
    for (int from = 0; from < S::tensor_tiles; from += WARPS / S::parts) {
        const int tile = from + warp / S::parts;
        const int m = tile / S::tiles_across * 16 + lane / 4, beside = tile % S::tiles_across * 8;
        float d[4] = {0, 0, 0, 0};
        if (tile < S::tensor_tiles) {
            const int j = beside + lane / 4, n = j < S::columns ? column_of<G>(slice, j) : N;
            const typename G::In *upper = o.a + (m < M ? m : M - 1) * s.a_m, *lower = o.a + (m + 8 < M ? m + 8 : M - 1) * s.a_m;
            if (o.kept) add_tiles<G, 1>(d, upper, lower, o.kept + (n < N ? j : 0) * S::kept_column, part);
            else add_tiles<G, s.b_k>(d, upper, lower, o.b + (n < N ? n : N - 1) * s.b_n, part);
        }
        if (S::parts > 1) {
            UNROLL for (int r = 0; r < 4; r++) others[warp][r][lane] = d[r];
            __syncthreads();
            for (int w = warp + 1; part == 0 && w < warp + S::parts; w++)
                UNROLL for (int r = 0; r < 4; r++) d[r] += others[w][r][lane];
            __syncthreads();
        }
        UNROLL for (int r = 0; r < 4; r++) {
            const int row = m + r / 2 * 8, j = beside + lane % 4 * 2 + r % 2, n = j < S::columns ? column_of<G>(slice, j) : N;
            if (part == 0 && tile < S::tensor_tiles && row < M && n < N) store_sum<G>(o, row, n, d[r]);
        }
    }
}

/* kept: the result of keep() for b, or NULL.  row: added to all rows of c, or NULL. */
template <class G> DEVICE void step_product(int slice, const typename G::In *kept, void *c_at, const void *a_at,
                                            const void *b_at, bool add, const void *row_at = NULL)
{
    typedef Slices<G> S;
    constexpr Lathe_gemm s = G::shape;
    Operands_of<G> o = {(typename G::Out *)c_at, (const typename G::In *)a_at, (const typename G::In *)b_at,
                        slice == (int)blockIdx.x ? kept : NULL, (const typename G::Out *)row_at, add};
    int batch = slice / S::of_one;
    UNROLL for (int i = s.nbatch - 1; i >= 0; i--) {
        const int at = batch % (int)s.batch[i];
        batch /= (int)s.batch[i];
        o.a += at * s.a_batch[i];
        o.b += at * s.b_batch[i];
        o.c += at * s.c_batch[i];
    }
    if constexpr (S::tensor) slice_by_warps<G>(slice % S::of_one, o);
    else slice_by_teams<G>(slice % S::of_one, o);
}

#endif
