/* gemm.h: matrix products of generated CUDA: what gemm_f32 of lathe_rt.h is on a CPU, by cuBLASLt.
 *
 *     static Cuda_gemm fc_product = {"fc_matmul: gpt.lua:31 layer.mlp.fc", GEMM_F32, GEMM_END_NONE, {…}};
 *     cuda_gemm(&fc_product, c, a, b, false, stream);
 *
 * What the library needs to know of a product is worked out at its first call and kept in it.  A call allocates nothing on
 * the device, never waits, and may be captured.  All products share a workspace: they run in one stream at a time.
 * Where cuBLASLt is missing, has no algorithm or fails, products run in kernels of ours, which is said once a product.  What goes
 * wrong all the same (our mistake) is kept until cuda_gemm_failure asks; calls after it do nothing. */
#ifndef LATHE_CUDA_GEMM_H
#define LATHE_CUDA_GEMM_H

#include "math/gemm_shape.h"
#include <cuda_runtime.h>

/* What a and b hold, and c (and vector and aux).  Sums run in fp32, F64's in fp64. */
typedef enum Gemm_numbers {
    GEMM_F32,           /* as IEEE has it */
    GEMM_TF32,          /* fp32 in memory, multiplied with 10 bits of mantissa */
    GEMM_F64,
    GEMM_BF16,
    GEMM_F16,
    GEMM_BF16_TO_F32,   /* a and b bf16, c fp32: gradients of weights */
    GEMM_F16_TO_F32
} Gemm_numbers;

/* What follows the product: in the same pass where cuBLASLt has it, else in a kernel of ours.  vector[N] and aux[M][N] (its rows
 * aux_m apart) are of c's type, c_n is 1, nbatch 0.  GELU is the tanh form; where aux_m is 0 nobody wants its aux.  With
 * END_SUM_* vector is a second result, which add adds to as well. */
typedef enum Gemm_end {
    GEMM_END_NONE,
    GEMM_END_BIAS,          /* c + vector */
    GEMM_END_GELU,          /* aux = c, which the derivative wants; gelu(aux).  Not where add */
    GEMM_END_BIAS_GELU,     /* aux = c + vector; gelu(aux).  Not where add */
    GEMM_END_GELU_BACK,     /* c · gelu'(aux).  Not where add */
    GEMM_END_SUM_A,         /* vector[m] = Σ_k a[m][k] */
    GEMM_END_SUM_B          /* vector[n] = Σ_k b[k][n] */
} Gemm_end;

typedef struct Cuda_gemm {
    const char *name;       /* for messages: the kernel and its Lua line */
    Gemm_numbers numbers;
    Gemm_end end;
    Lathe_gemm shape;
    int64_t aux_m;
    struct Gemm_plan *plan[2];  /* for operands at multiples of 16 bytes; for others.  NULL until they are met */
} Cuda_gemm;

/* Before the first product; workspace: on the device, at a multiple of 256 bytes.  false: there is no cuBLASLt, which has been said:
 * all products are ours. */
bool cuda_gemm_start(void *workspace, size_t bytes);
void cuda_gemm_stop(void);
size_t cuda_gemm_version(void);         /* of cuBLASLt; 0: there is none */
const char *cuda_gemm_failure(void);    /* the first; NULL: none */

/* c (+)= a · b, ended as g says, in the stream.  Its end says whether vector and aux are only read. */
void cuda_gemm(Cuda_gemm *g, void *c, const void *a, const void *b, bool add, cudaStream_t stream, const void *vector = NULL,
               const void *aux = NULL);

/* Chooses algorithms by timing, before training: for each product the library's fastest that gives what the plain kernel gives, and
 * its end in the library or by kernels of ours; where all are wrong the product is ours.  room: memory of the device in which all operands of one product lie side by side, its contents are lost (the
 * trainer's block, before anything is in it).  path: a file of what earlier runs have found for the same GPU and library,
 * written again with what is new; NULL: none; afresh: what it knows of these products is not believed.  In the stream, waiting for it: not while it is captured. */
typedef struct Gemm_tuning {
    int timed, known, too_large;    /* products: timed now; of the file; whose operands do not fit into the room */
    int wrong;                      /* products of which an algorithm gave other numbers than the plain kernel */
    int checked;                    /* of those timed: whose algorithms were compared with the plain kernel; there was room for that */
    double ms;                      /* spent in products, as the device's clock has it */
    char remark[512];               /* what is wrong with the file; "": nothing */
} Gemm_tuning;
bool cuda_gemm_tune(Cuda_gemm *const *products, int n, void *room, size_t bytes, const char *path, bool afresh, cudaStream_t stream,
                    Gemm_tuning *tuning);

int cuda_products(Cuda_gemm *const **all);      /* the model's; how many */

void cuda_gemm_forget(Cuda_gemm *g);    /* what was worked out for it: after cuda_gemm_stop */

#endif
