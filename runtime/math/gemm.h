/* gemm.h: shared by the files of matrix products: extents, batches, and the two engines for products that are not
 * thin. */
#ifndef LATHE_MATH_GEMM_H
#define LATHE_MATH_GEMM_H

#include "lathe_rt.h"
#include "math/batch.h"
#include "math/engine.h"
#include "math/inline.h"

static inline int64_t at_least(int64_t n, int64_t least) { return n < least ? least : n; }
static inline int64_t at_most(int64_t n, int64_t most) { return n > most ? most : n; }
static inline int64_t parts_of(int64_t n, int64_t size) { return (n + size - 1) / size; }

/* How far ahead thin products fetch weights, which they read once: as many steps of so many bytes as make 8 KB (6 to 16
 * are alike on Zen 4). */
static inline int64_t ahead(int64_t step) { return parts_of(8192, step) * step; }

static inline int64_t batch_of(const Lathe_gemm *g) { return samples_in(g->nbatch, g->batch); }

/* c' = b' a': the same product with rows and columns exchanged. */
static inline Lathe_gemm transposed(const Lathe_gemm *g)
{
    Lathe_gemm t = *g;
    t.M = g->N, t.N = g->M;
    t.a_m = g->b_n, t.a_k = g->b_k;
    t.b_n = g->a_m, t.b_k = g->a_k;
    t.c_m = g->c_n, t.c_n = g->c_m;
    for (int i = 0; i < g->nbatch; i++) t.a_batch[i] = g->b_batch[i], t.b_batch[i] = g->a_batch[i];
    return t;
}

/* Offsets in a, b and c of the index-th product of the batch. */
typedef struct Begin {
    int64_t a, b, c;
} Begin;

static inline Begin begin_of(const Lathe_gemm *g, int64_t index)
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

/* Called before and after every product, for `selftest`; NULL: not called. */
typedef struct Product {
    const Lathe_gemm *g; /* packed: but for b's strides */
    void *c;
    const void *a, *b;
    bool add, packed, is_double;
    Lathe_dtype blocks; /* of b; 0: it is not in blocks */
} Product;
typedef struct Gemm_watch {
    void *(*before)(const Product *p);
    void (*after)(const Product *p, void *kept); /* kept: the result of `before` */
    void (*packs)(const void *packed, const void *b, Lathe_dtype blocks, int64_t b_k, int64_t b_n);
} Gemm_watch;
/* math/engine.c: who watches, and whether OpenBLAS computes; a library has neither. */
#ifdef LATHE_LIBRARY
#define gemm_watch ((const Gemm_watch *)0)
enum { through_blas = 0, HAS_BLOCKS = 0 }; /* nor weights in blocks: build/library.c refuses them */
#else
enum { HAS_BLOCKS = 1 };
extern const Gemm_watch *gemm_watch;
extern bool through_blas;
#endif

/* math/gemm_own.c: any strides.  Rooms for packed operands are allocated once, before the first product. */
void gemm_own_f32(float *c, const float *a, const float *b, const Lathe_gemm *g, bool add);
void gemm_own_f64(double *c, const double *a, const double *b, const Lathe_gemm *g, bool add);
void gemm_own_blocks(float *c, const float *a, const void *b, Lathe_dtype type, const Lathe_gemm *g, bool add);
int64_t gemm_room_bytes(void); /* per thread */

/* math/gemm.c: columns from … end of one row, which starts at 16 · n; the same bits however columns are divided */
void gemm_row_f32(float *c, const float *a, const float *b, const Lathe_gemm *g, int64_t from, int64_t end);
void gemm_row_f64(double *c, const double *a, const double *b, const Lathe_gemm *g, int64_t from, int64_t end);
void gemm_row_blocks(float *c, const float *a, const void *b, Lathe_dtype type, const Lathe_gemm *g, int64_t from,
                     int64_t end);

#ifndef LATHE_LIBRARY
/* math/gemm_blas.c: through OpenBLAS; false, without doing anything, if it does not support the strides. */
bool gemm_blas_f32(float *c, const float *a, const float *b, const Lathe_gemm *g, bool add);
bool gemm_blas_f64(double *c, const double *a, const double *b, const Lathe_gemm *g, bool add);
bool gemm_init_blas(int threads); /* false: it was not found */
#else
#define gemm_blas_f32(...) false
#define gemm_blas_f64(...) false
#endif

#endif
