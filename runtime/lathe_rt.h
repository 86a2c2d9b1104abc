/* lathe_rt.h: the whole interface of generated code: spelling, arithmetic, threads, and the few fixed routines. */
#ifndef LATHE_RT_H
#define LATHE_RT_H

#include "interface/lathe_model.h"
#include "math/attention.h"
#include "math/by_ids.h"
#include "math/convolution.h"
#include "math/gemm_shape.h"
#include "math/math.h"
#include "interface/needs.h"
#include <stddef.h>
#include <string.h>

#define RESTRICT __restrict__

/* Of functions that a macro declares: a library is one file, and no other sees them. */
#ifdef LATHE_LIBRARY
#define LATHE_LOCAL static
#else
#define LATHE_LOCAL
#endif

/* A kernel is not inlined: inlined into a loop, gcc 12 applies its RESTRICT beyond its end, although the next iteration
 * reads what this one wrote. */
#define KERNEL static __attribute__((noinline))

#define LANES 16                /* lanes of a row reduction, which ends in sum_lanes, max_lanes or min_lanes */

/* `PARALLEL for (…)`: iterations are independent and divided among the threads; results do not depend on the number of
 * threads. */
#define PARALLEL   _Pragma("omp parallel for schedule(static)")
#define PARALLEL_2 _Pragma("omp parallel for collapse(2) schedule(static)")     /* over the next two loops */

/* `TEAM { … }`: every thread runs it.  In it, `SHARED for (…)` is divided among the threads, and MEET is a barrier. */
#define TEAM   _Pragma("omp parallel")
#define SHARED _Pragma("omp for schedule(static) nowait")
#define MEET   _Pragma("omp barrier")

/* `EACH for (…)`: no iteration reads or writes what another one stores.  gcc ignores RESTRICT inside PARALLEL. */
#ifdef __clang__
#define EACH _Pragma("clang loop vectorize(assume_safety)")
#else
#define EACH _Pragma("GCC ivdep")
#endif

/* `SIMD for (…)`: the lanes of a reduction, all at once.  It is necessary: gcc 12 vectorises a plain loop of constant
 * extent wrongly if it compares integers and adds doubles (s[l] += a[i + l] == b[i + l] ? x[i + l] : 0). */
#define SIMD _Pragma("omp simd")

/* `SIMD_AND(reduction(min : first)) for (…)`: likewise, with integers that all lanes share. */
#define AS_PRAGMA(text)   _Pragma(#text)
#define SIMD_AND(clauses) AS_PRAGMA(omp simd clauses)

/* `SHORT for (…)`: stays a loop until the loop around it is vectorised.  If it is unrolled earlier, gcc 12 gives
 * conditional loads (m < a[3 * r + c] ? x[3 * r + c] : y[3 * r + c], c < 3) the masks of other elements. */
#ifdef __clang__
#define SHORT
#else
#define SHORT _Pragma("GCC unroll 1")
#endif

/* `ln_1(…);  LAP(3);` kernel 3 of the entry has ended: `trainer profile` reads the clock.  Otherwise rt_lap is NULL,
 * and this is a branch never taken, some hundred times per step. */
#ifdef LATHE_LIBRARY /* which reads no clock */
#define LAP(kernel) ((void)0)
#define forward_part()
#define backward_part()
#else
#define LAP(kernel) (rt_lap ? rt_lap(kernel) : (void)0)
extern void (*rt_lap)(int kernel);

/* After `backward_part();`, until `forward_part();`, kernels run for gradients alone.  Both read the clock, a few times
 * per step, for the times of the parts (trainer/loop.c). */
void forward_part(void);
void backward_part(void);

/* No later kernel of the entry adds to these gradients: NULL, or a function that makes several ranks sum them
 * meanwhile (step/ranks.c). */
#define gradients_done(first, bytes) (rt_gradients_done ? rt_gradients_done(first, bytes) : (void)0)
extern void (*rt_gradients_done)(const void *first, int64_t bytes);

/* No earlier kernel of the entry reads these parameters: ranks wait until they have come back from the last update. */
#define parameters_needed(first, bytes) (rt_parameters_needed ? rt_parameters_needed(first, bytes) : (void)0)
extern void (*rt_parameters_needed)(const void *first, int64_t bytes);

/* With --shard-parameters: no kernel reads these until they are needed again; none has touched these gradients. */
#define parameters_dropped(first, bytes) (rt_parameters_dropped ? rt_parameters_dropped(first, bytes) : (void)0)
#define gradients_begun(first, bytes) (rt_gradients_begun ? rt_gradients_begun(first, bytes) : (void)0)
extern void (*rt_parameters_dropped)(const void *first, int64_t bytes);
extern void (*rt_gradients_begun)(const void *first, int64_t bytes);

/* Sums numbers of the entry over the ranks of a step: NULL with one rank. */
#define over_ranks(to, from, bytes) (rt_over_ranks ? rt_over_ranks(to, from, bytes) : (void)memcpy(to, from, bytes))
extern void (*rt_over_ranks)(void *to, const void *from, int64_t bytes);
#endif

/* Returns the id if it is in 0 … below - 1, else 0; run_entry() (step/entry.h) then ends the program after the entry:
 * with 3 if the id depends on the data alone, with 1 if the model computed it.  place "gpt.lua:12", what "gather in
 * wte". */
int bad_id(int id, int below, bool data, const char *place, const char *what) __attribute__((cold, noinline));
static inline int data_id(int id, int below, const char *place, const char *what)
{
    return (unsigned)id < (unsigned)below ? id : bad_id(id, below, true, place, what);
}
static inline int computed_id(int id, int below, const char *place, const char *what)
{
    return (unsigned)id < (unsigned)below ? id : bad_id(id, below, false, place, what);
}

/* The number of parts in which threads share n columns, and the beginning of part k: whole cache lines.  Results do not
 * depend on it. */
int column_parts(int n);
int column_from(int n, int k, int parts);

/* c = a · b (+ c if add), for the elements of math/gemm_shape.h.  An element's bits depend on the extents alone, not on
 * the division among threads.  math/gemm.c. */
void gemm_f32(float *c, const float *a, const float *b, const Lathe_gemm *g, bool add);
void gemm_f64(double *c, const double *a, const double *b, const Lathe_gemm *g, bool add);

/* b in blocks: b_k or b_n is 1, and all other steps in b are multiples of LATHE_BLOCK, as is the extent of that one. */
#define OF_BLOCKS(member, word, name)                                                                                  \
    LATHE_LOCAL void gemm_##name(float *c, const float *a, const Lathe_##name *b, const Lathe_gemm *g, bool add); \
    LATHE_LOCAL void pack_##name(float *packed, const Lathe_##name *b, const Lathe_gemm *g); \
    LATHE_LOCAL void pack_shared_##name(float *packed, const Lathe_##name *b, const Lathe_gemm *g); \
    LATHE_LOCAL void dot_by_ids_##name(float *y, const float *x, const Lathe_##name *w, const int *ids, const Lathe_by_ids *g);
LATHE_BLOCK_TYPES(OF_BLOCKS)
#undef OF_BLOCKS

/* b of that product, copied once into the order in which many products read it: K · N' elements, where N' is N rounded
 * up to a multiple of LATHE_PACKED.  gemm_packed: g->nbatch is 0, g->c_n 1.  shared: in TEAM; MEET before its use. */
void pack_f32(float *packed, const float *b, const Lathe_gemm *g);
void pack_f64(double *packed, const double *b, const Lathe_gemm *g);
void pack_shared_f32(float *packed, const float *b, const Lathe_gemm *g);
void pack_shared_f64(double *packed, const double *b, const Lathe_gemm *g);
void gemm_packed_f32(float *c, const float *a, const float *packed, const Lathe_gemm *g, bool add);
void gemm_packed_f64(double *c, const double *a, const double *packed, const Lathe_gemm *g, bool add);

/* Rows from … to - 1 of that product, computed by the calling thread. */
void gemm_packed_rows_f32(float *c, const float *a, const float *packed, const Lathe_gemm *g, bool add, int from, int to);
void gemm_packed_rows_f64(double *c, const double *a, const double *packed, const Lathe_gemm *g, bool add, int from, int to);

/* The rows of a panel if threads share `rows` rows by panels: a multiple of unit, at most about `most`, with equal
 * shares.  Results do not depend on it. */
int panel_rows(int rows, int unit, int most);
int panel_samples(int samples, int unit, int most);     /* the same of samples, each of many rows; most: a multiple of unit */

/* Products of plain arrays: c[M][N] (+)= a · b, n stands for a[M][K] or b[K][N], and t for a transposed array, a[K][M]
 * or b[N][K]: matmul_nt_f32(c, a, b, M, N, K), matmul_nt_add_f32(…); matmul_nt_sum_f32(…, add) has the choice as its
 * last argument. */
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

/* math/attention.c: attention and its derivative; math/attention.h defines them. */
typedef struct Lathe_masks {    /* NULL: all members are zero */
    int offset;
    const int *offsets, *lengths, *q_segments, *k_segments;
    const void *q_turns, *k_turns, *bias;
    int seed, step, site;
    const int *row, *base;
} Lathe_masks;
void attention_f32(float *o, float *lse, const float *q, const float *k, const float *v, const Lathe_attention *g,
                   const Lathe_masks *m);
void attention_f64(double *o, double *lse, const double *q, const double *k, const double *v, const Lathe_attention *g,
                   const Lathe_masks *m);
/* k and v as decode may remember them: in 16 bits or in blocks (steps and widths are multiples of LATHE_BLOCK), widened where
 * they are read. */
void attention_f32_bf16(float *o, float *lse, const float *q, const uint16_t *k, const uint16_t *v, const Lathe_attention *g,
                        const Lathe_masks *m);
void attention_weights_f32_bf16(float *o, float *lse, float *p, const float *q, const uint16_t *k, const uint16_t *v,
                                const Lathe_attention *g, const Lathe_masks *m);
void attention_f32_q8_0(float *o, float *lse, const float *q, const Lathe_q8_0 *k, const Lathe_q8_0 *v, const Lathe_attention *g,
                        const Lathe_masks *m);
void attention_weights_f32_q8_0(float *o, float *lse, float *p, const float *q, const Lathe_q8_0 *k, const Lathe_q8_0 *v,
                                const Lathe_attention *g, const Lathe_masks *m);
void attention_weights_f32(float *o, float *lse, float *p, const float *q, const float *k, const float *v,
                           const Lathe_attention *g, const Lathe_masks *m);
void attention_weights_f64(double *o, double *lse, double *p, const double *q, const double *k, const double *v,
                           const Lathe_attention *g, const Lathe_masks *m);
void attention_back_f32(float *d_q, float *d_k, float *d_v, const float *q, const float *k, const float *v, const float *o,
                        const float *lse, const float *d_o, const Lathe_attention *g, const Lathe_masks *m);
void attention_back_f64(double *d_q, double *d_k, double *d_v, const double *q, const double *k, const double *v, const double *o,
                        const double *lse, const double *d_o, const Lathe_attention *g, const Lathe_masks *m);

/* math/convolution.c: a convolution, and its derivatives towards x and weight; math/convolution.h defines them. */
void convolution_f32(float *y, const float *x, const float *weight, const Lathe_convolution *g);
void convolution_f64(double *y, const double *x, const double *weight, const Lathe_convolution *g);
void convolution_input_f32(float *x, const float *y, const float *weight, const Lathe_convolution *g);
void convolution_input_f64(double *x, const double *y, const double *weight, const Lathe_convolution *g);
void convolution_weight_f32(float *parts, const float *x, const float *y, const Lathe_convolution *g);
void convolution_weight_f64(double *parts, const double *x, const double *y, const Lathe_convolution *g);

/* Samples from … to - 1 of these, counted through the batch, computed by the calling thread. */
void convolution_samples_f32(float *y, const float *x, const float *weight, const Lathe_convolution *g, int from, int to);
void convolution_samples_f64(double *y, const double *x, const double *weight, const Lathe_convolution *g, int from, int to);
void convolution_input_samples_f32(float *x, const float *y, const float *weight, const Lathe_convolution *g, int from, int to);
void convolution_input_samples_f64(double *x, const double *y, const double *weight, const Lathe_convolution *g, int from, int to);

/* math/gemm_by_ids.h: each row times the matrix that its id chooses, and the sums over the rows of each matrix;
 * math/by_ids.h defines them. */
void dot_by_ids_f32(float *y, const float *x, const float *w, const int *ids, const Lathe_by_ids *g);
void dot_by_ids_f64(double *y, const double *x, const double *w, const int *ids, const Lathe_by_ids *g);
void sum_by_ids_f32(float *w, const float *y, const float *x, const int *ids, const Lathe_by_ids *g);
void sum_by_ids_f64(double *w, const double *y, const double *x, const int *ids, const Lathe_by_ids *g);

/* trainer/main.c: the trainer's command line; generated programs have no other main. */
int lathe_main(const Lathe_model *model, int argc, char **argv);

#endif
