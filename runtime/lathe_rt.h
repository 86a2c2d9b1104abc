/* lathe_rt.h: the whole interface of generated code: spelling, arithmetic, threads, and the few fixed routines. */
#ifndef LATHE_RT_H
#define LATHE_RT_H

#include "lathe_model.h"
#include "rt_math.h"
#include <stddef.h>
#include <string.h>

#define RESTRICT __restrict__
#define LANES 16                /* a row reduction runs in so many lanes and ends in sum_lanes / max_lanes */

/* `PARALLEL for (…)`: iterations are independent and shared among the threads; their number never changes a bit. */
#define PARALLEL _Pragma("omp parallel for schedule(static)")

/* c[M][N] = a[M][K] · b[K][N] (+ c where add), element (i, j) of x at x[i · rs + j · cs]; one of rs and cs is 1.
 * `batch` products side by side, x moved by its own stride each; batch_dims describe up to 8 nested batch axes.
 * Tiles depend on the extents alone.  rt_gemm.c, over OpenBLAS at one thread inside ours. */
typedef struct Lathe_gemm {
    int nbatch;
    int64_t batch[LATHE_MAXRANK], a_batch[LATHE_MAXRANK], b_batch[LATHE_MAXRANK], c_batch[LATHE_MAXRANK];
    int64_t M, N, K, a_m, a_k, b_k, b_n, c_m, c_n;
} Lathe_gemm;
void gemm_f32(float *c, const float *a, const float *b, const Lathe_gemm *g, bool add);
void gemm_f64(double *c, const double *a, const double *b, const Lathe_gemm *g, bool add);

/* rt_main.c: the trainer's command line; generated programs have no other main. */
int lathe_main(const Lathe_model *model, int argc, char **argv);

#endif
