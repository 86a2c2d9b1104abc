/* gemm_internal.h: shared by the files of CUDA's products: the library's view of a product, and its chosen
 * algorithm. */
#ifndef LATHE_CUDA_GEMM_INTERNAL_H
#define LATHE_CUDA_GEMM_INTERNAL_H

#include "cuda/gemm.h"
#include <cublasLt.h>

/* x[rows][columns], element (i, j) at i · row + j · column, in the library's storage: column-major, or `turned`, its
 * transpose column-major.  If both are possible (a vector), it is one column. */
typedef struct Stored {
    bool fits, turned;
    int64_t rows, columns, ld; /* as stored */
} Stored;

/* The library's form of a product; longest: its batch axis, or -1. */
typedef struct Layouts {
    bool exchanged;
    Stored a, b, d; /* the library's A, B, D */
    int longest;
} Layouts;

typedef struct Way {
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t d;
    cublasLtMatmulAlgo_t algo;
    bool possible;
} Way;

/* The plan of a product with operands at multiples of `align` bytes; 0: only of their element size.  Without its end, a
 * gelu's product goes to aux if possible (`to_aux`), with its bias if the library adds it (`biased`). */
typedef struct Gemm_plan {
    Layouts layouts;
    cublasLtMatrixLayout_t a, b, d, aux;
    int align;
    bool to_aux, biased;
    bool own;         /* computed by our kernel: the library has no algorithm, or a wrong one */
    Way plain, ended; /* without and with g's end */
} Gemm_plan;

static inline bool gemm_sums(const Cuda_gemm *g) { return g->end == GEMM_END_SUM_A || g->end == GEMM_END_SUM_B; }
static inline bool gemm_is_gelu(const Cuda_gemm *g) { return g->end == GEMM_END_GELU || g->end == GEMM_END_BIAS_GELU; }
static inline bool gemm_has_bias(const Cuda_gemm *g) { return g->end == GEMM_END_BIAS || g->end == GEMM_END_BIAS_GELU; }
static inline bool gemm_uses_aux(const Cuda_gemm *g) { return g->end == GEMM_END_GELU_BACK || (gemm_is_gelu(g) && g->aux_m); }

/* Functions of cuBLASLt from CUDA 12 or 13, which is loaded at run time. */
#define CUBLASLT_FUNCTIONS(DO)                                                                                         \
    DO(cublasLtCreate) DO(cublasLtDestroy) DO(cublasLtGetVersion) DO(cublasLtGetStatusName)                            \
    DO(cublasLtMatrixLayoutCreate) DO(cublasLtMatrixLayoutDestroy) DO(cublasLtMatrixLayoutSetAttribute)                \
    DO(cublasLtMatmulDescCreate) DO(cublasLtMatmulDescDestroy) DO(cublasLtMatmulDescSetAttribute)                      \
    DO(cublasLtMatmulPreferenceCreate) DO(cublasLtMatmulPreferenceDestroy)                                             \
    DO(cublasLtMatmulPreferenceSetAttribute) DO(cublasLtMatmulAlgoGetHeuristic) DO(cublasLtMatmulAlgoCheck)            \
    DO(cublasLtMatmul)

#define LIBRARY gemm_library
extern struct Gemm_library {
    cublasLtHandle_t handle; /* NULL: no library; our kernels compute all products */
#define POINTER(name) decltype(&::name) name;
    CUBLASLT_FUNCTIONS(POINTER)
#undef POINTER
    void *loaded;
    void *workspace;
    size_t workspace_bytes;
    int done; /* library calls of the current product so far */
    char failure[512];
} gemm_library;
void gemm_fail(const Cuda_gemm *g, const char *what, cublasStatus_t status); /* the first is kept */

/* For functions that return false if a library call fails. */
#define MUST(call)                                                                                                     \
    do {                                                                                                               \
        cublasStatus_t status = call;                                                                                  \
        if (status != CUBLAS_STATUS_SUCCESS) {                                                                         \
            gemm_fail(g, #call, status);                                                                               \
            return false;                                                                                              \
        }                                                                                                              \
    } while (0)

/* Sizes of an element of a and b, and of c. */
typedef struct Gemm_bytes {
    int in, out;
} Gemm_bytes;
Gemm_bytes gemm_bytes(const Cuda_gemm *g);

/* Whether all matrices of the products are at multiples of 16 bytes (the library checks those of its own batch):
 * chooses among g's plans. */
bool gemm_is_wide(const Cuda_gemm *g, const void *c, const void *a, const void *b, const void *vector, const void *aux);

/* cuda/gemm.cu: g's plan, made if there is none; NULL: it failed.  Up to `most` algorithms, best first.  A call of the
 * product by its plan, with the library's end or ours. */
Gemm_plan *gemm_plan(Cuda_gemm *g, bool wide, void *vector, void *aux);
int gemm_algorithms(const Cuda_gemm *g, const Gemm_plan *p, const Way *way, cublasLtMatmulHeuristicResult_t *results, int most);
void gemm_run(const Cuda_gemm *g, const Gemm_plan *p, bool ended, void *c, const void *a, const void *b, bool add,
              cudaStream_t stream, void *vector, void *aux);

/* From now on our kernel computes the product; reports why, and clears the library's failure. */
void gemm_take_own(const Cuda_gemm *g, Gemm_plan *p, const char *why);

/* cuda/gemm_ends.cu: c (+)= a · b in our kernel, with any strides and batch; and g's end in our kernels, for a product
 * stored as p describes.  add: END_SUM_* adds to vector.  parts: `bytes` on the device, for partial sums. */
void gemm_own(const Cuda_gemm *g, void *c, const void *a, const void *b, bool add, cudaStream_t stream);
void gemm_end(const Cuda_gemm *g, const Gemm_plan *p, void *c, const void *a, const void *b, bool add, void *vector, void *aux,
              void *parts, size_t bytes, cudaStream_t stream);

/* gemm_check.cu: the difference of results x and y, in multiples of the possible rounding error: more than 1 is wrong.
 * room: a word in device memory.  Waits for the stream. */
typedef struct Gemm_results {
    void *c, *vector, *aux;
} Gemm_results;
float gemm_off(const Cuda_gemm *g, const Gemm_results *x, const Gemm_results *y, unsigned *room, cudaStream_t stream);

#endif
