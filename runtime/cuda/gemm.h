/* gemm.h: matrix products of generated CUDA by cuBLASLt, like gemm_f32 of lathe_rt.h on a CPU.
 *
 *     static Cuda_gemm fc_product = {"fc_matmul: gpt.lua:31 layer.mlp.fc", GEMM_F32, GEMM_END_NONE, {…}};
 *     cuda_gemm(&fc_product, c, a, b, false, stream);
 *
 * A product's plan is made at its first call and stored in it.  A call allocates nothing on the device, never waits,
 * and may be captured.  All products share a workspace, so they must run in one stream at a time.  If cuBLASLt is
 * missing, has no algorithm or fails, our own kernels compute the product, which is reported once per product.  Other
 * errors (bugs) are kept for cuda_gemm_failure; calls after one do nothing. */
#ifndef LATHE_CUDA_GEMM_H
#define LATHE_CUDA_GEMM_H

#include "math/gemm_shape.h"
#include <cuda_runtime.h>

/* Types of a and b, and of c (and vector and aux).  Sums are in fp32, for F64 in fp64. */
typedef enum Gemm_numbers {
    GEMM_F32,           /* IEEE fp32 */
    GEMM_TF32,          /* fp32 in memory, multiplied with 10 bits of mantissa */
    GEMM_F64,
    GEMM_BF16,
    GEMM_F16,
    GEMM_BF16_TO_F32,   /* a and b bf16, c fp32: gradients of weights */
    GEMM_F16_TO_F32
} Gemm_numbers;

/* The operation after the product: in the same pass if cuBLASLt supports it, otherwise in our kernel.  vector[N] and
 * aux[M][N] (row stride aux_m) have c's type, c_n is 1, nbatch 0.  GELU is the tanh form; if aux_m is 0, aux is not
 * wanted.  With END_SUM_*, vector is a second result, to which `add` also applies. */
typedef enum Gemm_end {
    GEMM_END_NONE,
    GEMM_END_BIAS,          /* c + vector */
    GEMM_END_GELU,          /* aux = c, for the derivative; gelu(aux).  Not with add */
    GEMM_END_BIAS_GELU,     /* aux = c + vector; gelu(aux).  Not with add */
    GEMM_END_GELU_BACK,     /* c · gelu'(aux).  Not with add */
    GEMM_END_SUM_A,         /* vector[m] = Σ_k a[m][k] */
    GEMM_END_SUM_B          /* vector[n] = Σ_k b[k][n] */
} Gemm_end;

typedef struct Cuda_gemm {
    const char *name;       /* for messages: the kernel and its Lua line */
    Gemm_numbers numbers;
    Gemm_end end;
    Lathe_gemm shape;
    int64_t aux_m;
    struct Gemm_plan *plan[2];  /* for operands at multiples of 16 bytes; for others.  NULL before their first call */
} Cuda_gemm;

/* Called before the first product; workspace: on the device, at a multiple of 256 bytes.  False: there is no cuBLASLt,
 * which was reported; our kernels compute all products. */
bool cuda_gemm_start(void *workspace, size_t bytes);
void cuda_gemm_stop(void);
size_t cuda_gemm_version(void);         /* of cuBLASLt; 0: none */
const char *cuda_gemm_failure(void);    /* the first; NULL: none */

/* c (+)= a · b with g's end, in the stream.  The end determines whether vector and aux are only read. */
void cuda_gemm(Cuda_gemm *g, void *c, const void *a, const void *b, bool add, cudaStream_t stream, const void *vector = NULL,
               const void *aux = NULL);

/* Chooses algorithms by timing, before training: for each product the library's fastest that agrees with the plain
 * kernel, and its end by the library or our kernels; if all are wrong, our kernel computes the product.  room: device
 * memory for all operands of one product, which is overwritten (the trainer's block while it is unused).  path: a file
 * with the choices of earlier runs for the same GPU and library, which is updated; NULL: none; afresh: ignores its
 * choices.  Runs in the stream and waits for it, so it may not be captured. */
typedef struct Gemm_tuning {
    int timed, known, too_large;    /* number of products: timed now; taken from the file; too large for the room */
    int wrong;                      /* products with an algorithm that disagreed with the plain kernel */
    int checked;                    /* of those timed: compared with the plain kernel, because there was room */
    double ms;                      /* spent in products, by the device's clock */
    char remark[512];               /* an error in the file; "": none */
} Gemm_tuning;
bool cuda_gemm_tune(Cuda_gemm *const *products, int n, void *room, size_t bytes, const char *path, bool afresh, cudaStream_t stream,
                    Gemm_tuning *tuning);

int cuda_products(Cuda_gemm *const **all);      /* the model's products; returns their number */

void cuda_gemm_forget(Cuda_gemm *g);    /* frees its plans; called after cuda_gemm_stop */

#endif
