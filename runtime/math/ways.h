/* ways.h: the loops that a matrix product takes, which its extents and strides alone decide.
 *
 * A library knows all products of its model: LATHE_PRODUCTS(X), which the compiler prints (emit/library.c), is
 * X(float, packed, {.M = 1, …}) of each; packed: the right operand is, already.  Ways that none of them takes are left out of
 * the library, and its rooms are as large as they need. */
#ifndef LATHE_MATH_WAYS_H
#define LATHE_MATH_WAYS_H

#include "lathe_rt.h"
#include "math/inline.h"

enum {
    WIDE = 32,         /* least extent of a thin product's other side */
    THIN_CHUNK = 1024, /* of K, in the loops that may have to pack */
    TASK_CHUNK = 384,  /* of K, in a task of our engine */
    MOST_FEW_ROWS = 16 /* of a product that our engine does not pack as others */
};

/* Whether thin loops are faster than the engines: up to 8 rows (or columns), or 3 if they are short dot products. */
static INLINE bool is_thin(const Lathe_gemm *g)
{
    const int64_t narrow = g->M < g->N ? g->M : g->N, wide = g->M < g->N ? g->N : g->M;
    const int64_t stride = g->M <= g->N ? g->b_n : g->a_m; /* of the wide operand, along its wide side */
    return g->alike || narrow == 1 || (wide >= WIDE && narrow <= (stride == 1 || g->K >= 256 ? 8 : 3));
}

/* Whether it is computed with rows and columns exchanged: fewer rows than columns; or rows of c contiguous. */
static INLINE bool is_turned(const Lathe_gemm *g)
{
    return is_thin(g) ? g->N < g->M && !g->alike : g->c_n != 1;
}

/* Thin products: whether b[K][N] is read along its rows. */
static INLINE bool is_by_columns(int64_t N, int64_t b_n) { return (N == 1 || b_n == 1) && N >= LANES; }

/* Rows that share what is read of the wide operand: with eight, the processor is busy with products alone. */
static INLINE int64_t rows_at_once(int64_t left) { return left >= 8 ? 8 : left < 4 ? left : 4; }

/* What products do, as bits.  A thin one of 13 rows has loops of 8, 4 and 1: a bit for each count. */
enum {
    WAY_COLUMNS = 1,
    WAY_DOTS = 1 << 9,
    WAY_ENGINE = 1 << 18,
    WAY_FEW = 1 << 19,  /* of the engine's: few rows, or columns */
    WAY_SPLIT = 1 << 20 /* also of packed ones: K may be shared among threads */
};

#ifdef LATHE_PRODUCTS

static INLINE unsigned counts_of_rows(int64_t M)
{
    const int64_t rest = M % 8;
    return (M >= 8 ? 1U << 8 : 0) | (rest >= 4 ? 1U << 4 : 0) | (rest % 4 ? 1U << rest % 4 : 0);
}

static INLINE unsigned way_of(const Lathe_gemm *g, bool packed)
{
    const bool turned = is_turned(g);
    const int64_t M = turned ? g->N : g->M, N = turned ? g->M : g->N, b_n = turned ? g->a_m : g->b_n;
    const unsigned split = g->K > TASK_CHUNK ? WAY_SPLIT : 0;
    if (packed) return split;
    if (is_thin(g)) return counts_of_rows(M) * (is_by_columns(N, b_n) ? WAY_COLUMNS : WAY_DOTS);
    return WAY_ENGINE | split | (M <= MOST_FEW_ROWS || N <= MOST_FEW_ROWS ? WAY_FEW : 0);
}

#define WAY_OF(type, packed, ...) | (sizeof(type) == real ? way_of(&(const Lathe_gemm)__VA_ARGS__, packed) : 0)

/* Of all products of this type, whose elements have so many bytes. */
static INLINE unsigned ways_taken(size_t real) { return 0 LATHE_PRODUCTS(WAY_OF); }
#else
static INLINE unsigned ways_taken(size_t real) { return real ? ~0U : 0; }
#endif

#endif
