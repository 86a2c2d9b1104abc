/* gemm.h: what the files of products share: extents, batches, and the two engines for what is not thin. */
#ifndef LATHE_MATH_GEMM_H
#define LATHE_MATH_GEMM_H

#include "lathe_rt.h"
#include "math/engine.h"

#define INLINE inline __attribute__((always_inline))

static inline int64_t at_least(int64_t n, int64_t least) { return n < least ? least : n; }
static inline int64_t at_most(int64_t n, int64_t most) { return n > most ? most : n; }
static inline int64_t parts_of(int64_t n, int64_t size) { return (n + size - 1) / size; }

static inline int64_t batch_of(const Lathe_gemm *g)
{
    int64_t batch = 1;
    for (int i = 0; i < g->nbatch; i++) batch *= g->batch[i];
    return batch;
}

/* Where in a, b and c the index-th product of the batch begins. */
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

/* Who looks at every product, before and behind it, for `selftest`; NULL: nobody. */
typedef struct Product {
    const Lathe_gemm *g; /* packed: but for b's strides */
    void *c;
    const void *a, *b;
    bool add, packed, is_double;
} Product;
typedef struct Gemm_watch {
    void *(*before)(const Product *p);
    void (*after)(const Product *p, void *kept); /* kept: what `before` gave */
    void (*packs)(const void *packed, const void *b, int64_t b_k, int64_t b_n);
} Gemm_watch;
extern const Gemm_watch *gemm_watch;

/* math/gemm_own.c: any strides.  Rooms for what each thread packs are taken once, before the first product. */
void gemm_own_f32(float *c, const float *a, const float *b, const Lathe_gemm *g, bool add);
void gemm_own_f64(double *c, const double *a, const double *b, const Lathe_gemm *g, bool add);
int64_t gemm_room_bytes(void); /* of a thread */
void gemm_take_rooms(int threads);

/* math/gemm_blas.c: through OpenBLAS; false, and nothing done, where it cannot take the strides. */
bool gemm_blas_f32(float *c, const float *a, const float *b, const Lathe_gemm *g, bool add);
bool gemm_blas_f64(double *c, const double *a, const double *b, const Lathe_gemm *g, bool add);
bool gemm_init_blas(int threads); /* false: it is not to be had */

#endif
