/* gemm_ends.cu: our own kernels for products: the whole product if cuBLASLt has no algorithm, or a wrong one; its end
 * if the library has no epilogue, or ours is faster: bias, gelu and its derivative, sums over an operand's rows.  They
 * are element-wise, or sums in two stages whose order depends on extents alone, so the bits are always the same. */
#include "cuda/gemm_internal.h"
#include "cuda/tensor.cuh"

/* ------------------------------------------------------------------ stored numbers; arithmetic is in Real<T> */

template <class T> struct Real_of {
    typedef float type;
};
template <> struct Real_of<double> {
    typedef double type;
};
template <class T> using Real = typename Real_of<T>::type;

template <class T> DEVICE Real<T> loaded(T x) { return (Real<T>)x; }
template <class T> DEVICE T stored(Real<T> x) { return (T)x; }

/* tanh as models of that type compute it. */
template <class T> DEVICE Real<T> tanh_of(Real<T> x)
{
    if constexpr (sizeof(T) == 8) return tanh_f64(x);
    else if constexpr (sizeof(T) == 4) return tanh_f32(x);
    else return quick_tanh_f32(x);
}

/* gelu(x) = x / 2 · (1 + tanh(√(2/π) · (x + 0.044715 x³))) */
template <class T, class R = Real<T>> DEVICE R gelu(R x)
{
    return (R)0.5 * x * ((R)1 + tanh_of<T>((R)0.7978845608028654 * (x + (R)0.044715 * x * x * x)));
}

template <class T, class R = Real<T>> DEVICE R gelu_slope(R x)
{
    R t = tanh_of<T>((R)0.7978845608028654 * (x + (R)0.044715 * x * x * x));
    return (R)0.5 * ((R)1 + t) + (R)0.5 * x * ((R)1 - t * t) * (R)0.7978845608028654 * ((R)1 + (R)0.134145 * x * x);
}

/* ------------------------------------------------------------------ a thread some elements of c[M][N], side by side */

/* W elements in row m from column n on, where W divides N; rows have strides c_m and aux_m. */
template <class T, int W> struct Some {
    bool there;
    int64_t n;
    T *c, *aux;
};

template <class T, int W> DEVICE Some<T, W> some_of(T *c, T *aux, int64_t M, int64_t N, int64_t c_m, int64_t aux_m)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x, in_row = N / W, m = i / in_row, n = i % in_row * W;
    return {m < M, n, c + m * c_m + n, aux + m * aux_m + n};
}

/* All are read before any is written, so that each side is one access of 16 bytes if W is wide enough. */
template <class T, int W> DEVICE void read_some(Real<T> *x, const T *from)
{
    if constexpr (W > 1) ALIGNED(from);
    UNROLL for (int k = 0; k < W; k++) x[k] = loaded(from[k]);
}

template <class T, int W> DEVICE void write_some(T *to, const Real<T> *x)
{
    if constexpr (W > 1) ALIGNED(to);
    UNROLL for (int k = 0; k < W; k++) to[k] = stored<T>(x[k]);
}

template <class T, int W>
KERNEL void add_bias(T *c, const T *vector, T *aux, int64_t M, int64_t N, int64_t c_m, int64_t aux_m, bool)
{
    const Some<T, W> at = some_of<T, W>(c, aux, M, N, c_m, aux_m);
    Real<T> x[W], row[W];
    if (!at.there) return;
    read_some<T, W>(x, at.c);
    read_some<T, W>(row, vector + at.n);
    UNROLL for (int k = 0; k < W; k++) x[k] += row[k];
    write_some<T, W>(at.c, x);
}

/* Applies the end to values in aux or c; vector NULL: the bias is included, or there is none. */
template <class T, int W>
KERNEL void add_bias_gelu(T *c, const T *vector, T *aux, int64_t M, int64_t N, int64_t c_m, int64_t aux_m, bool in_aux)
{
    const Some<T, W> at = some_of<T, W>(c, aux, M, N, c_m, aux_m);
    Real<T> x[W], row[W];
    if (!at.there) return;
    read_some<T, W>(x, in_aux ? at.aux : at.c);
    if (vector) {
        read_some<T, W>(row, vector + at.n);
        UNROLL for (int k = 0; k < W; k++) x[k] += row[k];
    }
    if (aux && (vector || !in_aux)) write_some<T, W>(at.aux, x);
    UNROLL for (int k = 0; k < W; k++) x[k] = gelu<T>(x[k]);
    write_some<T, W>(at.c, x);
}

template <class T, int W>
KERNEL void gelu_back(T *c, const T *vector, T *aux, int64_t M, int64_t N, int64_t c_m, int64_t aux_m, bool)
{
    const Some<T, W> at = some_of<T, W>(c, aux, M, N, c_m, aux_m);
    Real<T> x[W], of[W];
    (void)vector;
    if (!at.there) return;
    read_some<T, W>(x, at.c);
    read_some<T, W>(of, at.aux);
    UNROLL for (int k = 0; k < W; k++) x[k] *= gelu_slope<T>(of[k]);
    write_some<T, W>(at.c, x);
}

/* ------------------------------------------------------------------ vector[n] = Σ_k x[k · x_k + n · x_n] */

enum { PART = 2048 }; /* least number of k in one partial sum */

/* part[p][n] = Σ over k = p · length … : one thread per column, for coalesced reads if x_n is 1. */
template <class T>
KERNEL void sum_parts(Real<T> *part, const T *x, int64_t K, int64_t N, int64_t x_k, int64_t x_n, int64_t length,
                      int64_t blocks)
{
    const int64_t p = blockIdx.x / blocks, n = blockIdx.x % blocks * THREADS + threadIdx.x;
    if (n >= N) return;
    const int64_t end = (p + 1) * length < K ? (p + 1) * length : K;
    Real<T> sum = 0;
    for (int64_t k = p * length; k < end; k++) sum += loaded(x[k * x_k + n * x_n]);
    part[p * N + n] = sum;
}

/* The same for x_k = 1: one warp per column. */
template <class R> DEVICE R warp_sum(R x);
template <> inline __device__ float warp_sum(float x) { return warp_sum_f32(x); }
template <> inline __device__ double warp_sum(double x) { return warp_sum_f64(x); }

template <class T>
KERNEL void sum_rows(Real<T> *part, const T *x, int64_t K, int64_t N, int64_t x_k, int64_t x_n, int64_t length,
                     int64_t blocks)
{
    const int64_t p = blockIdx.x / blocks, n = blockIdx.x % blocks * WARPS + threadIdx.x / WARP;
    if (n >= N) return;
    const int64_t end = (p + 1) * length < K ? (p + 1) * length : K;
    Real<T> sum = 0;
    for (int64_t k = p * length + threadIdx.x % WARP; k < end; k += WARP) sum += loaded(x[k * x_k + n * x_n]);
    sum = warp_sum(sum);
    if (threadIdx.x % WARP == 0) part[p * N + n] = sum;
}

template <class V> KERNEL void sum_of_parts(V *vector, const Real<V> *part, int64_t parts, int64_t N, bool add)
{
    const int64_t n = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (n >= N) return;
    Real<V> sum = add ? loaded(vector[n]) : 0;
    for (int64_t p = 0; p < parts; p++) sum += part[p * N + n];
    vector[n] = stored<V>(sum);
}

/* T: of x, V: of the vector. */
template <class T, class V>
static void sum_over(V *vector, const T *x, int64_t K, int64_t N, int64_t x_k, int64_t x_n, bool add, void *parts,
                     size_t bytes, cudaStream_t stream)
{
    int64_t most = (int64_t)(bytes / sizeof(Real<T>)) / N, wanted = CEIL_DIV(K, (int64_t)PART);
    int64_t length = CEIL_DIV(K, wanted < most ? wanted : most > 1 ? most : 1), n = CEIL_DIV(K, length);
    int64_t blocks = CEIL_DIV(N, (int64_t)(x_k == 1 ? WARPS : THREADS));
    launch(x_k == 1 ? sum_rows<T> : sum_parts<T>, (int)(blocks * n), stream, (Real<T> *)parts, x, K, N, x_k, x_n,
           length, blocks);
    launch(sum_of_parts<V>, (int)CEIL_DIV(N, (int64_t)THREADS), stream, vector, (const Real<V> *)parts, n, N, add);
}

/* ------------------------------------------------------------------ the product */

/* A block computes a tile of c[M][N], a thread four elements of one of its rows; k goes by tiles in order, so that the
 * bits are always the same.  Operands with any strides pass through shared memory. */
enum { TILE = 32, EACH = TILE * TILE / THREADS };

/* Outside of templates, because the simulator finds shared arrays by their section. */
typedef float Tile_f32[TILE][TILE + 1];
typedef double Tile_f64[TILE][TILE + 1];
DEVICE Tile_f32 *tiles(float)
{
    __shared__ Tile_f32 both[2];
    return both;
}
DEVICE Tile_f64 *tiles(double)
{
    __shared__ Tile_f64 both[2];
    return both;
}

/* tile[i][j] = x[(row + i) · x_row + (column + j) · x_column], zero outside; reads are coalesced also if the rows'
 * stride is 1. */
template <class T, class R>
DEVICE void bring_tile(R (*tile)[TILE + 1], const T *x, int64_t row, int64_t rows, int64_t x_row, int64_t column,
                       int64_t columns, int64_t x_column)
{
    for (int at = threadIdx.x; at < TILE * TILE; at += THREADS) {
        const int i = x_row == 1 ? at % TILE : at / TILE, j = x_row == 1 ? at / TILE : at % TILE;
        const bool there = row + i < rows && column + j < columns;
        tile[i][j] = there ? loaded(x[(row + i) * x_row + (column + j) * x_column]) : (R)0;
    }
}

template <class T, class V> KERNEL void own_product(V *c, const T *a, const T *b, Lathe_gemm s, bool add)
{
    typedef Real<T> R;
    const int64_t across = CEIL_DIV(s.N, (int64_t)TILE), down = CEIL_DIV(s.M, (int64_t)TILE);
    const int64_t m = blockIdx.x / across % down * TILE, n = blockIdx.x % across * TILE;
    const int i = threadIdx.x / (TILE / EACH), j = threadIdx.x % (TILE / EACH) * EACH;
    auto *const tile = tiles((R)0);
    R sum[EACH] = {};
    int64_t batch = blockIdx.x / across / down;
    for (int k = s.nbatch - 1; k >= 0; k--) {
        const int64_t at = batch % s.batch[k];
        batch /= s.batch[k];
        a += at * s.a_batch[k], b += at * s.b_batch[k], c += at * s.c_batch[k];
    }
    for (int64_t k = 0; k < s.K; k += TILE) {
        bring_tile(tile[0], a, m, s.M, s.a_m, k, s.K, s.a_k);
        bring_tile(tile[1], b, k, s.K, s.b_k, n, s.N, s.b_n);
        __syncthreads();
        for (int l = 0; l < TILE; l++)
            UNROLL for (int e = 0; e < EACH; e++) sum[e] += tile[0][i][l] * tile[1][l][j + e];
        __syncthreads();
    }
    for (int e = 0; e < EACH && m + i < s.M; e++) {
        if (n + j + e >= s.N) continue;
        V *to = &c[(m + i) * s.c_m + (n + j + e) * s.c_n];
        *to = stored<V>(add ? (Real<V>)sum[e] + loaded(*to) : (Real<V>)sum[e]);
    }
}

template <class T, class V>
static void own(const Cuda_gemm *g, void *c, const void *a, const void *b, bool add, cudaStream_t stream)
{
    int64_t blocks = CEIL_DIV(g->shape.N, (int64_t)TILE) * CEIL_DIV(g->shape.M, (int64_t)TILE);
    for (int i = 0; i < g->shape.nbatch; i++) blocks *= g->shape.batch[i];
    launch(own_product<T, V>, (int)blocks, stream, (V *)c, (const T *)a, (const T *)b, g->shape, add);
}

void gemm_own(const Cuda_gemm *g, void *c, const void *a, const void *b, bool add, cudaStream_t stream)
{
    switch (g->numbers) {
    case GEMM_F32:
    case GEMM_TF32: return own<float, float>(g, c, a, b, add, stream);
    case GEMM_F64: return own<double, double>(g, c, a, b, add, stream);
    case GEMM_BF16: return own<Bf16, Bf16>(g, c, a, b, add, stream);
    case GEMM_F16: return own<F16, F16>(g, c, a, b, add, stream);
    case GEMM_BF16_TO_F32: return own<Bf16, float>(g, c, a, b, add, stream);
    case GEMM_F16_TO_F32: return own<F16, float>(g, c, a, b, add, stream);
    }
}

/* ------------------------------------------------------------------ by type */

/* W: the number in 16 bytes, if all rows begin at multiples of 16 bytes. */
template <class T, int W>
static void end_some(const Cuda_gemm *g, const Gemm_plan *p, void *c, void *vector, void *aux, cudaStream_t stream)
{
    const Lathe_gemm *s = &g->shape;
    auto kernel = g->end == GEMM_END_BIAS ? add_bias<T, W> : gemm_is_gelu(g) ? add_bias_gelu<T, W> : gelu_back<T, W>;
    const T *bias = gemm_has_bias(g) && !p->biased ? (const T *)vector : NULL;
    launch(kernel, (int)CEIL_DIV(s->M * (s->N / W), (int64_t)THREADS), stream, (T *)c, bias,
           gemm_uses_aux(g) ? (T *)aux : NULL, s->M, s->N, s->c_m, g->aux_m, p->to_aux);
}

template <class T>
static void end_elements(const Cuda_gemm *g, const Gemm_plan *p, void *c, void *vector, void *aux, cudaStream_t stream)
{
    constexpr int W = 16 / (int)sizeof(T);
    const bool whole = (g->shape.N | g->shape.c_m | g->aux_m) % W == 0 && p->align == 16;
    return whole ? end_some<T, W>(g, p, c, vector, aux, stream) : end_some<T, 1>(g, p, c, vector, aux, stream);
}

template <class T, class V>
static void end_sum(const Cuda_gemm *g, const void *a, const void *b, bool add, void *vector, void *parts, size_t bytes,
                    cudaStream_t stream)
{
    const Lathe_gemm *s = &g->shape;
    if (g->end == GEMM_END_SUM_A)
        sum_over<T, V>((V *)vector, (const T *)a, s->K, s->M, s->a_k, s->a_m, add, parts, bytes, stream);
    else
        sum_over<T, V>((V *)vector, (const T *)b, s->K, s->N, s->b_k, s->b_n, add, parts, bytes, stream);
}

void gemm_end(const Cuda_gemm *g, const Gemm_plan *p, void *c, const void *a, const void *b, bool add, void *vector,
              void *aux, void *parts, size_t bytes, cudaStream_t stream)
{
    bool sums = gemm_sums(g);
    int64_t width = g->end == GEMM_END_SUM_A ? g->shape.M : g->shape.N;
    if (sums && width * (int64_t)sizeof(double) > (int64_t)bytes)
        return gemm_fail(g, "the workspace is too small for its sums", CUBLAS_STATUS_ALLOC_FAILED);
#define END(T, V)                                                                                                      \
    return sums ? end_sum<T, V>(g, a, b, add, vector, parts, bytes, stream)                                            \
                : end_elements<V>(g, p, c, vector, aux, stream)
    switch (g->numbers) {
    case GEMM_F32:
    case GEMM_TF32: END(float, float);
    case GEMM_F64: END(double, double);
    case GEMM_BF16: END(Bf16, Bf16);
    case GEMM_F16: END(F16, F16);
    case GEMM_BF16_TO_F32: END(Bf16, float);
    case GEMM_F16_TO_F32: END(F16, float);
    }
#undef END
}
