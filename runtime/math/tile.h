/* tile.h: the innermost matrix product, for tiles in cache: c[M][N] (+)= a[M][K] · b[K][N].
 *
 * Compiled for float and double: REAL, NAME(x) and IS_FLOAT as in math/attention.c.  Element (m, k) of a is at a[m ·
 * a_m + k · a_k], read as a scalar, so a needs no packing for any strides.  Rows of b and c are contiguous, with
 * strides b_k and c_m, and N is a multiple of TILE_LANES.
 *
 * Every element of c is one chain of fused multiply-adds with ascending k, starting from 0 or its old value.  So its
 * bits depend neither on M and N, nor on how c is cut into register blocks, nor on the instruction set. */

#include "math/vector.h"

#ifndef RT_TILE_COMMON
#define RT_TILE_COMMON
#ifdef __AVX512F__
enum { TILE_VECTORS = 4, TILE_ROWS = 6 }; /* 24 sums in 32 registers */
#elif defined __FMA__
enum { TILE_VECTORS = 2, TILE_ROWS = 6 }; /* 12 in 16 */
#else
enum { TILE_VECTORS = 2, TILE_ROWS = 4 };
#endif
enum { TILE_LANES = 16 };
#endif

/* R rows, V registers wide; both constants once inlined. */
static INLINE void NAME(tile_block)(const int R, const int V, REAL *c, int64_t c_m, const REAL *a, int64_t a_m,
                                    int64_t a_k, const REAL *b, int64_t b_k, int64_t K, bool add)
{
    NAME(Vector) sum[8][4];
    for (int r = 0; r < R; r++)
        for (int v = 0; v < V; v++)
            sum[r][v] = add ? *(const NAME(Vector) *)&c[r * c_m + v * NAME(WIDTH)] : (NAME(Vector)){0};
    for (int64_t k = 0; k < K; k++) {
        NAME(Vector) row[4];
        for (int v = 0; v < V; v++) row[v] = NAME(kept)(*(const NAME(Vector) *)&b[k * b_k + v * NAME(WIDTH)]);
        for (int r = 0; r < R; r++) {
            NAME(Vector) x = a[r * a_m + k * a_k] - (NAME(Vector)){0};
            for (int v = 0; v < V; v++) sum[r][v] = NAME(fused)(x, row[v], sum[r][v]);
        }
    }
    for (int r = 0; r < R; r++)
        for (int v = 0; v < V; v++) *(NAME(Vector) *)&c[r * c_m + v * NAME(WIDTH)] = sum[r][v];
}

/* All M rows of V registers, R at a time. */
static INLINE void NAME(tile_panel)(const int R, const int V, REAL *c, int64_t c_m, const REAL *a, int64_t a_m,
                                    int64_t a_k, const REAL *b, int64_t b_k, int64_t M, int64_t K, bool add)
{
    int64_t m = 0;
    for (; m + R <= M; m += R) NAME(tile_block)(R, V, c + m * c_m, c_m, a + m * a_m, a_m, a_k, b, b_k, K, add);
    c += m * c_m;
    a += m * a_m;
#define TILE_REST(rows)                                                                                                \
    case rows: NAME(tile_block)(rows, V, c, c_m, a, a_m, a_k, b, b_k, K, add); break;
    switch (M - m) {
        TILE_REST(1) TILE_REST(2) TILE_REST(3) TILE_REST(4) TILE_REST(5) TILE_REST(6) TILE_REST(7) default : break;
    }
#undef TILE_REST
}

static void NAME(tile_multiply)(REAL *c, int64_t c_m, const REAL *a, int64_t a_m, int64_t a_k, const REAL *b,
                                int64_t b_k, int64_t M, int64_t N, int64_t K, bool add)
{
    while (N > 0) {
        int64_t registers = N / NAME(WIDTH) < TILE_VECTORS ? N / NAME(WIDTH) : TILE_VECTORS;
        switch (registers) {
        case 4: NAME(tile_panel)(TILE_ROWS, 4, c, c_m, a, a_m, a_k, b, b_k, M, K, add); break;
        case 3: NAME(tile_panel)(8, 3, c, c_m, a, a_m, a_k, b, b_k, M, K, add); break;
        case 2: NAME(tile_panel)(TILE_ROWS, 2, c, c_m, a, a_m, a_k, b, b_k, M, K, add); break;
        default: NAME(tile_panel)(8, 1, c, c_m, a, a_m, a_k, b, b_k, M, K, add); break;
        }
        c += registers * NAME(WIDTH);
        b += registers * NAME(WIDTH);
        N -= registers * NAME(WIDTH);
    }
}
