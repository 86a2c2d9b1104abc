/* rt_gemm_blas.c: matrix products by OpenBLAS: tiles cut by shapes alone, each one call at one thread.
 *
 * The same bits for any number of threads:
 *   1. how a product is cut follows from extents and strides;
 *   2. a tile is done by one thread from beginning to end;
 *   3. OpenBLAS must not use threads inside a call.  It does not inside an active parallel region; outside one it uses
 *      omp_get_max_threads(), whatever openblas_set_num_threads() said, so that is set to 1 around the call. */
#include "rt_gemm.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef LATHE_NO_BLAS /* built without the library: every product is for our own engine */

bool gemm_blas_f32(float *c, const float *a, const float *b, const Lathe_gemm *g, bool add)
{
    return (void)c, (void)a, (void)b, (void)g, (void)add, false;
}
bool gemm_blas_f64(double *c, const double *a, const double *b, const Lathe_gemm *g, bool add)
{
    return (void)c, (void)a, (void)b, (void)g, (void)add, false;
}
void gemm_init_blas(int threads)
{
    const char *engine = getenv("LATHE_GEMM");
    if (engine && strcmp(engine, "openblas") == 0)
        fputs("trainer: LATHE_GEMM=openblas: built without OpenBLAS, so products run in the trainer's own engine\n",
              stderr);
    (void)threads;
}

#else
#include <cblas.h>
#include <limits.h>
#include <omp.h>

enum { ALL = INT_MAX };

/* Tiles of m × n of each of `batch` products. */
typedef struct Tiles {
    int64_t batch, m, n, rows, columns;
} Tiles;

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

#define REAL     float
#define NAME(x)  x##_f32
#define CBLAS(x) cblas_s##x
#include "rt_gemm_blas_real.h"
#undef REAL
#undef NAME
#undef CBLAS
#define REAL     double
#define NAME(x)  x##_f64
#define CBLAS(x) cblas_d##x
#include "rt_gemm_blas_real.h"

/* Packing buffers for `threads` callers taken and touched, so that no step pays for it. */
void gemm_init_blas(int threads)
{
    enum { M = 64, N = 1024, K = 512 };
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

#endif
