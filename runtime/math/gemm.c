/* gemm.c: matrix products of generated code.  Thin ones are loops here; the others are computed by an engine: ours
 * (math/gemm_own.c), or OpenBLAS if LATHE_GEMM=openblas is set.
 *
 * The same bits for any number of threads: extents and strides decide which loops compute a product, and each engine
 * has its own way to ensure it. */
#include "math/context.h"
#include "math/gemm.h"
#include "math/ways.h"
#include "threads/threads.h"

#include <stdlib.h>
#include <string.h>

/* Tiles of all rows × n columns of each of `batch` products. */
typedef struct Tiles {
    int64_t batch, n, columns;
} Tiles;

/* Columns for about 0.2 MFLOP, which is a few microseconds. */
static Tiles thin_tiles(const Lathe_gemm *g)
{
    double column = 2.0 * (double)g->M * (double)at_least(g->K, 1);
    int64_t n = at_least((int64_t)at_most((int64_t)(2e5 / column), 1 << 20), 32);
    n = at_most(parts_of(parts_of(g->N, parts_of(g->N, n)), 16) * 16, g->N);
    return (Tiles){batch_of(g), n, parts_of(g->N, n)};
}

/* The first of them: the product of all rows that somebody waits for, where each is as if it were alone. */
static Lathe_gemm of_live_rows(const Lathe_gemm *g)
{
    Lathe_gemm live = *g;
    const int64_t n = lathe_context()->live_rows;
    if (g->alike && n) live.M = at_most(g->M, n);
    return live;
}

#define REAL     float
#define NAME(x)  x##_f32
#define IS_FLOAT 1
#include "math/gemm_real.h"
#undef REAL
#undef NAME
#undef IS_FLOAT
#define BLOCK_TYPE LATHE_Q8_0
#define BLOCKS(x)  x##_q8_0
#include "math/gemm_blocks.h"
#define BLOCK_TYPE LATHE_Q4_0
#define BLOCKS(x)  x##_q4_0
#include "math/gemm_blocks.h"
#define REAL     double
#define NAME(x)  x##_f64
#define IS_FLOAT 0
#include "math/gemm_real.h"

/* Rows of blocks are the columns: b_k = 1. */
void gemm_row_blocks(float *c, const float *a, const void *b, Lathe_dtype type, const Lathe_gemm *g, int64_t from,
                     int64_t end)
{
    switch (type) {
#define THIN_BY(member, word, name)                                                                                    \
    case LATHE_##member: thin_by_##name(c, a, b, g, from, end, false); return;
        LATHE_BLOCK_TYPES(THIN_BY)
    default: abort();
    }
}
