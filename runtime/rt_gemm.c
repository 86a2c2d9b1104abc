/* rt_gemm.c: matrix products of generated code: tiles cut by shapes alone, each done by OpenBLAS at one thread, or,
 * where one side is thin, by loops of ours, since OpenBLAS is weak there.
 *
 * The same bits for any number of threads:
 *   1. which loops serve a product, and how it is cut, follow from extents and strides;
 *   2. a tile is done by one thread from beginning to end, in an order of its own;
 *   3. OpenBLAS must not use threads inside a call.  It does not inside an active parallel region; outside one it uses
 *      omp_get_max_threads(), whatever openblas_set_num_threads() said, so that is set to 1 around the call. */
#pragma GCC optimize("fp-contract=fast") /* s += a * b becomes one fma wherever it stands here: the same at every run  \
                                          */
#include "lathe_rt.h"
#include "rt_internal.h"
#include <cblas.h>
#include <limits.h>
#include <omp.h>
#include <stdlib.h>

enum {
    ALL = INT_MAX,
    WIDE = 32,   /* the other side of a thin product */
    CHUNK = 1024 /* of K, in the loops that may have to pack */
};

static int64_t at_least(int64_t n, int64_t least) { return n < least ? least : n; }
static int64_t at_most(int64_t n, int64_t most) { return n > most ? most : n; }
static int64_t parts_of(int64_t n, int64_t size) { return (n + size - 1) / size; }

/* ---- what there is to do */

/* Tiles of m × n of each of `batch` products. */
typedef struct Tiles {
    int64_t batch, m, n, rows, columns;
} Tiles;

static int64_t batch_of(const Lathe_gemm *g)
{
    int64_t batch = 1;
    for (int i = 0; i < g->nbatch; i++) batch *= g->batch[i];
    return batch;
}

static Tiles tiles_of_size(const Lathe_gemm *g, int64_t m, int64_t n)
{
    m = at_most(m, g->M);
    n = at_most(n, g->N);
    return (Tiles){batch_of(g), m, n, parts_of(g->M, m), parts_of(g->N, n)};
}

/* n cut into equal parts of about `size`, a multiple of 16. */
static int64_t even_size(int64_t n, int64_t size) { return parts_of(parts_of(n, parts_of(n, size)), 16) * 16; }

/* As large as can be (512 rows, all columns) while there are as many as wanted: 32, if each then has 5 MFLOP. */
static Tiles blas_tiles(const Lathe_gemm *g)
{
    static const struct {
        int64_t m, n;
    } size[] = {{512, ALL}, {256, ALL}, {256, 512}, {256, 256}, {128, 256}, {128, 128}, {64, 128}, {64, 64}, {32, 64}};
    double flops = 2.0 * (double)g->M * (double)g->N * (double)g->K * (double)batch_of(g);
    double wanted = flops / 5e6 < 32 ? flops / 5e6 : 32;
    Tiles t = {0};
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        t = tiles_of_size(g, even_size(g->M, size[i].m), even_size(g->N, size[i].n));
        if ((double)(t.batch * t.rows * t.columns) >= wanted) break;
    }
    return t;
}

/* All rows, and columns for about 0.2 MFLOP, which is a few microseconds. */
static Tiles thin_tiles(const Lathe_gemm *g)
{
    double column = 2.0 * (double)g->M * (double)at_least(g->K, 1);
    int64_t n = at_least((int64_t)at_most((int64_t)(2e5 / column), 1 << 20), 1);
    return tiles_of_size(g, g->M, even_size(g->N, at_least(n, 32)));
}

/* Where loops of ours are faster than OpenBLAS: up to 8 rows (or columns), 3 where they are short dot products. */
static bool is_thin(const Lathe_gemm *g)
{
    int64_t narrow = at_most(g->M, g->N), wide = at_least(g->M, g->N);
    int64_t stride = g->M <= g->N ? g->b_n : g->a_m; /* of the wide operand, along its wide side */
    return narrow == 1 || (wide >= WIDE && narrow <= (stride == 1 || g->K >= 256 ? 8 : 3));
}

/* c' = b' a': the same product with rows and columns exchanged. */
static Lathe_gemm transposed(const Lathe_gemm *g)
{
    Lathe_gemm t = *g;
    t.M = g->N, t.N = g->M;
    t.a_m = g->b_n, t.a_k = g->b_k;
    t.b_n = g->a_m, t.b_k = g->a_k;
    t.c_m = g->c_n, t.c_n = g->c_m;
    for (int i = 0; i < g->nbatch; i++) t.a_batch[i] = g->b_batch[i], t.b_batch[i] = g->a_batch[i];
    return t;
}

/* Where in a, b and c the index-th product of the batch begins. */
typedef struct Begin {
    int64_t a, b, c;
} Begin;

static Begin begin_of(const Lathe_gemm *g, int64_t index)
{
    Begin at = {0, 0, 0};
    for (int i = g->nbatch - 1; i >= 0; i--) {
        int64_t k = index % g->batch[i];
        index /= g->batch[i];
        at.a += k * g->a_batch[i];
        at.b += k * g->b_batch[i];
        at.c += k * g->c_batch[i];
    }
    return at;
}

/* A rows × columns matrix as BLAS takes it. */
typedef struct Blas_side {
    CBLAS_TRANSPOSE trans;
    int64_t ld; /* 0: BLAS cannot take it */
} Blas_side;

static Blas_side blas_side(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride)
{
    if (rows == 1) row_stride = at_least(columns, 1);
    if (columns == 1) column_stride = row_stride == 1 && rows > 1 ? rows : 1;
    if (column_stride == 1 && row_stride >= columns && row_stride <= INT_MAX)
        return (Blas_side){CblasNoTrans, row_stride};
    if (row_stride == 1 && column_stride >= rows && column_stride <= INT_MAX)
        return (Blas_side){CblasTrans, column_stride};
    if (rows == 1 && column_stride >= 1 && column_stride <= INT_MAX) return (Blas_side){CblasTrans, column_stride};
    return (Blas_side){CblasNoTrans, 0};
}

/* Outside parallel regions: see 3. above. */
static int begin_blas(void)
{
    int threads = omp_in_parallel() ? 1 : omp_get_max_threads();
    if (threads > 1) omp_set_num_threads(1);
    return threads;
}
static void end_blas(int threads)
{
    if (threads > 1) omp_set_num_threads(threads);
}

#define INLINE   inline __attribute__((always_inline))
#define REAL     float
#define NAME(x)  x##_f32
#define CBLAS(x) cblas_s##x
#include "rt_gemm_real.h"
#undef REAL
#undef NAME
#undef CBLAS
#define REAL     double
#define NAME(x)  x##_f64
#define CBLAS(x) cblas_d##x
#include "rt_gemm_real.h"

void rt_init_blas(int threads)
{
    enum { M = 64, N = 1024, K = 512 };
    omp_set_num_threads(threads);
    double *ones = calloc(M * K + K * N, sizeof *ones), *c = calloc((size_t)threads * M * N, sizeof *c);
    if (ones && c) {
#pragma omp parallel num_threads(threads)
        {
            double *mine = c + (size_t)omp_get_thread_num() * M * N;
            int before = begin_blas();
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, M, N, K, 1, ones, K, ones + M * K, N, 0, mine, N);
            end_blas(before);
        }
    }
    free(ones);
    free(c);
}
