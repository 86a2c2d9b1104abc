/* gemm_shape.h: extents and strides of a matrix product, for CPU and CUDA. */
#ifndef LATHE_MATH_GEMM_SHAPE_H
#define LATHE_MATH_GEMM_SHAPE_H

#include "interface/lathe_model.h"

/* c[M][N] = a[M][K] · b[K][N], element (i, j) of x at x[i · rs + j · cs]; one of rs and cs is 1 (or its extent is).
 * `batch` products; each operand has its own batch strides; nbatch nested batch axes, the last one innermost. */
typedef struct Lathe_gemm {
    int nbatch;
    int64_t batch[LATHE_MAXRANK], a_batch[LATHE_MAXRANK], b_batch[LATHE_MAXRANK], c_batch[LATHE_MAXRANK];
    int64_t M, N, K, a_m, a_k, b_k, b_n, c_m, c_n;
    bool alike; /* a row of c has the bits of a product of one row (CPU) */
} Lathe_gemm;

#endif
