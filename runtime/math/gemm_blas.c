/* gemm_blas.c: matrix products by OpenBLAS: tiles cut by shapes alone, each one call at one thread.
 *
 * The same bits for any number of threads:
 *   1. extents and strides decide how a product is cut;
 *   2. one thread computes a tile from beginning to end;
 *   3. OpenBLAS must not use threads inside a call.  It does not inside an active parallel region; outside one it uses
 *      omp_get_max_threads(), whatever openblas_set_num_threads() said, so that is set to 1 around the call. */
#include "math/gemm.h"

#include <dlfcn.h>
#include <limits.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef LATHE_OPENBLAS /* the OpenMP build, if CMake found it */
#define LATHE_OPENBLAS "libopenblas.so.0"
#endif

/* The library is loaded only if it is chosen, because loading takes memory and time. */
enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 }; /* CBLAS's numbers */
static void (*blas_f32)(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *,
                        int);
static void (*blas_f64)(int, int, int, int, int, int, double, const double *, int, const double *, int, double,
                        double *, int);

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

/* As large as possible (512 rows, all columns) while there are at least 32 tiles, or fewer of 5 MFLOP each. */
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

/* A rows × columns matrix in the form that BLAS accepts. */
typedef struct Blas_side {
    int trans;
    int64_t ld; /* 0: BLAS does not support it */
} Blas_side;

static Blas_side blas_side(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride)
{
    if (rows == 1) row_stride = at_least(columns, 1);
    if (columns == 1) column_stride = row_stride == 1 && rows > 1 ? rows : 1;
    if (column_stride == 1 && row_stride >= columns && row_stride <= INT_MAX) return (Blas_side){NO_TRANS, row_stride};
    if (row_stride == 1 && column_stride >= rows && column_stride <= INT_MAX) return (Blas_side){TRANS, column_stride};
    if (rows == 1 && column_stride >= 1 && column_stride <= INT_MAX) return (Blas_side){TRANS, column_stride};
    return (Blas_side){NO_TRANS, 0};
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

#define REAL    float
#define NAME(x) x##_f32
#include "math/gemm_blas_real.h"
#undef REAL
#undef NAME
#define REAL    double
#define NAME(x) x##_f64
#include "math/gemm_blas_real.h"

static bool load_blas(void)
{
    void *library = dlopen(LATHE_OPENBLAS, RTLD_NOW | RTLD_LOCAL);
    if (!library) library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library) return false;
    *(void **)&blas_f32 = dlsym(library, "cblas_sgemm"); /* the cast that POSIX recommends */
    *(void **)&blas_f64 = dlsym(library, "cblas_dgemm");
    return blas_f32 && blas_f64;
}

/* Allocates and touches packing buffers for `threads` callers, so that no step pays for it. */
bool gemm_init_blas(int threads)
{
    enum { M = 64, N = 1024, K = 512 };
    if (!blas_f64 && !load_blas()) return false;
    double *ones = calloc(M * K + K * N, sizeof *ones), *c = calloc((size_t)threads * M * N, sizeof *c);
    if (ones && c) {
#pragma omp parallel num_threads(threads)
        {
            double *mine = c + (size_t)omp_get_thread_num() * M * N;
            int before = begin_blas();
            blas_f64(ROW_MAJOR, NO_TRANS, NO_TRANS, M, N, K, 1, ones, K, ones + M * K, N, 0, mine, N);
            end_blas(before);
        }
    }
    free(ones);
    free(c);
    return true;
}
