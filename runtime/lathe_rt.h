/* lathe_rt.h: the whole interface of generated code: spelling, arithmetic, threads, and the few fixed routines. */
#ifndef LATHE_RT_H
#define LATHE_RT_H

#include "interface/lathe_model.h"
#include "math/attention.h"
#include "math/gemm_shape.h"
#include "math/math.h"
#include "interface/needs.h"
#include <stddef.h>
#include <string.h>

#define RESTRICT __restrict__

/* A kernel stays a function of its own: gcc 12 inlines it into a loop of calls and carries its RESTRICT past its end, where
 * the next iteration reads what this one wrote. */
#define KERNEL static __attribute__((noinline))

#define LANES 16                /* a row reduction runs in so many lanes and ends in sum_lanes, max_lanes or min_lanes */

/* `PARALLEL for (…)`: iterations are independent and shared among the threads; their number never changes a bit. */
#define PARALLEL   _Pragma("omp parallel for schedule(static)")
#define PARALLEL_2 _Pragma("omp parallel for collapse(2) schedule(static)")     /* over the next two loops */

/* `TEAM { … }`: by every thread.  In it `SHARED for (…)` is divided among them, and at MEET all wait for each other. */
#define TEAM   _Pragma("omp parallel")
#define SHARED _Pragma("omp for schedule(static) nowait")
#define MEET   _Pragma("omp barrier")

/* `EACH for (…)`: no iteration touches what another one stores.  gcc forgets RESTRICT inside PARALLEL. */
#ifdef __clang__
#define EACH _Pragma("clang loop vectorize(assume_safety)")
#else
#define EACH _Pragma("GCC ivdep")
#endif

/* `SIMD for (…)`: the lanes of a reduction, all at once.  More than a hint: gcc 12 vectorises a plain loop of constant extent
 * wrongly where it compares integers and adds doubles (s[l] += a[i + l] == b[i + l] ? x[i + l] : 0). */
#define SIMD _Pragma("omp simd")

/* `SHORT for (…)`: stays a loop until the loop around it is vectorised.  Unrolled before that, gcc 12 gives loads under a
 * condition (m < a[3 * r + c] ? x[3 * r + c] : y[3 * r + c], c < 3) the masks of other elements. */
#ifdef __clang__
#define SHORT
#else
#define SHORT _Pragma("GCC unroll 1")
#endif

/* `ln_1(…);  LAP(3);` kernel 3 of the entry is done: `trainer profile` reads its clock.  Otherwise rt_lap is NULL, and this a
 * branch never taken, some hundred times a step. */
#define LAP(kernel) (rt_lap ? rt_lap(kernel) : (void)0)
extern void (*rt_lap)(int kernel);

/* `backward_part();` what follows is there for gradients alone, until `forward_part();`.  They read the clock, a few times a
 * step, and a run shows what each part took (trainer/loop.c). */
void forward_part(void);
void backward_part(void);

/* One of `below` ids: itself where it is, else 0, and run_entry() (trainer/trainer.h) ends the program when the entry has run: with 3
 * where the id follows from the data alone, with 1 where the model has computed it.  place "gpt.lua:12", what "gather in wte". */
int bad_id(int id, int below, bool data, const char *place, const char *what) __attribute__((cold, noinline));
static inline int data_id(int id, int below, const char *place, const char *what)
{
    return (unsigned)id < (unsigned)below ? id : bad_id(id, below, true, place, what);
}
static inline int computed_id(int id, int below, const char *place, const char *what)
{
    return (unsigned)id < (unsigned)below ? id : bad_id(id, below, false, place, what);
}

/* In how many parts threads share n columns, and where part k begins: whole lines of a cache.  No bits depend on it. */
int column_parts(int n);
int column_from(int n, int k, int parts);

/* c = a · b (+ c where add); math/gemm_shape.h says of which elements.  An element's bits depend on the extents alone, not on how
 * threads share the work.  math/gemm.c. */
void gemm_f32(float *c, const float *a, const float *b, const Lathe_gemm *g, bool add);
void gemm_f64(double *c, const double *a, const double *b, const Lathe_gemm *g, bool add);

/* b of that product, copied once into the order in which many products will read it: K · N' elements, N' being N rounded
 * up to a multiple of LATHE_PACKED.  gemm_packed: g->nbatch is 0, g->c_n 1.  shared: in TEAM; MEET before its use. */
void pack_f32(float *packed, const float *b, const Lathe_gemm *g);
void pack_f64(double *packed, const double *b, const Lathe_gemm *g);
void pack_shared_f32(float *packed, const float *b, const Lathe_gemm *g);
void pack_shared_f64(double *packed, const double *b, const Lathe_gemm *g);
void gemm_packed_f32(float *c, const float *a, const float *packed, const Lathe_gemm *g, bool add);
void gemm_packed_f64(double *c, const double *a, const double *packed, const Lathe_gemm *g, bool add);

/* Rows from … to - 1 of that product, by the thread that calls. */
void gemm_packed_rows_f32(float *c, const float *a, const float *packed, const Lathe_gemm *g, bool add, int from, int to);
void gemm_packed_rows_f64(double *c, const double *a, const double *packed, const Lathe_gemm *g, bool add, int from, int to);

/* Of how many rows a panel is, if threads share `rows` of them panel by panel: a multiple of unit, about `most` at the
 * most, and equal shares for all.  No bits depend on it. */
int panel_rows(int rows, int unit, int most);

/* Products of plain arrays: c[M][N] (+)= a · b, where n says a[M][K] or b[K][N], and t says that the array given holds the
 * transpose, a[K][M] or b[N][K]: matmul_nt_f32(c, a, b, M, N, K), matmul_nt_add_f32(…); the last argument of
 * matmul_nt_sum_f32(…, add) says whether to add. */
#define LATHE_MATMUL(way, type, suffix, am, ak, bk, bn)                                                                    \
    static inline void matmul_##way##_sum_##suffix(type *c, const type *a, const type *b, int64_t M, int64_t N, int64_t K, \
                                                   bool add)                                                               \
    {                                                                                                                      \
        gemm_##suffix(c, a, b,                                                                                             \
                      &(Lathe_gemm){.M = M, .N = N, .K = K, .a_m = am, .a_k = ak, .b_k = bk, .b_n = bn, .c_m = N, .c_n = 1}, add); \
    }                                                                                                                      \
    static inline void matmul_##way##_##suffix(type *c, const type *a, const type *b, int64_t M, int64_t N, int64_t K)     \
    {                                                                                                                      \
        matmul_##way##_sum_##suffix(c, a, b, M, N, K, false);                                                              \
    }                                                                                                                      \
    static inline void matmul_##way##_add_##suffix(type *c, const type *a, const type *b, int64_t M, int64_t N, int64_t K) \
    {                                                                                                                      \
        matmul_##way##_sum_##suffix(c, a, b, M, N, K, true);                                                               \
    }
#define LATHE_MATMULS(type, suffix)             \
    LATHE_MATMUL(nn, type, suffix, K, 1, N, 1)  \
    LATHE_MATMUL(nt, type, suffix, K, 1, 1, K)  \
    LATHE_MATMUL(tn, type, suffix, 1, M, N, 1)  \
    LATHE_MATMUL(tt, type, suffix, 1, M, 1, K)
LATHE_MATMULS(float, f32)
LATHE_MATMULS(double, f64)

/* math/attention.c: attention and its derivative; math/attention.h says what they compute. */
typedef struct Lathe_masks {    /* NULL instead of one: all of it zero */
    int offset;
    const int *lengths, *q_segments, *k_segments;
    const void *q_turns, *k_turns, *bias;
    int seed, step, site;
    const int *row, *base;
} Lathe_masks;
void attention_f32(float *o, float *lse, const float *q, const float *k, const float *v, const Lathe_attention *g,
                   const Lathe_masks *m);
void attention_f64(double *o, double *lse, const double *q, const double *k, const double *v, const Lathe_attention *g,
                   const Lathe_masks *m);
void attention_weights_f32(float *o, float *lse, float *p, const float *q, const float *k, const float *v,
                           const Lathe_attention *g, const Lathe_masks *m);
void attention_weights_f64(double *o, double *lse, double *p, const double *q, const double *k, const double *v,
                           const Lathe_attention *g, const Lathe_masks *m);
void attention_back_f32(float *d_q, float *d_k, float *d_v, const float *q, const float *k, const float *v, const float *o,
                        const float *lse, const float *d_o, const Lathe_attention *g, const Lathe_masks *m);
void attention_back_f64(double *d_q, double *d_k, double *d_v, const double *q, const double *k, const double *v, const double *o,
                        const double *lse, const double *d_o, const Lathe_attention *g, const Lathe_masks *m);

/* trainer/main.c: the trainer's command line; generated programs have no other main. */
int lathe_main(const Lathe_model *model, int argc, char **argv);

#endif
