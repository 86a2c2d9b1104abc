/* gemm_real.h: the part of math/gemm.c that is compiled for float and for double: REAL, NAME(x). */

#include "math/vector.h"

/* Whether any product takes this way, or may; a constant.  A product that takes another is our mistake. */
static INLINE bool NAME(takes)(unsigned way) { return (ways_taken(sizeof(REAL)) & way) != 0; }

/* ---- thin products, b[K][N] with b_n = 1: one accumulator per element, k ascending */

/* c[R][V · WIDTH] from column n on; only columns from `skip` on are stored. */
static INLINE void NAME(columns)(const int R, const int V, REAL *c, const REAL *a, const REAL *b, const Lathe_gemm *g,
                                 int64_t n, int skip, bool add)
{
    NAME(Vector) sum[8][8] = {0};
    const int64_t row = g->b_k * (int64_t)sizeof *b;
    b += n;
    for (int64_t k = 0; k < g->K; k++, b += g->b_k)
        for (int r = 0; r < R; r++) {
            NAME(Vector) x = a[r * g->a_m + k * g->a_k] - (NAME(Vector)){0};
            for (int v = 0; v < V; v++) {
                if (r == 0) fetch(&b[v * NAME(WIDTH)], 16 * row);
                sum[r][v] = NAME(fused)(x, *(const NAME(Vector) *)&b[v * NAME(WIDTH)], sum[r][v]);
            }
        }
    for (int r = 0; r < R; r++)
        for (int j = skip; j < V * NAME(WIDTH); j++) {
            REAL *to = &c[r * g->c_m + (n + j) * g->c_n], s = LANE_OF(sum[r][j / NAME(WIDTH)], j % NAME(WIDTH));
            *to = add ? *to + s : s;
        }
}

/* Columns n … end of R rows; N >= LANES. */
static INLINE void NAME(rows_by_columns)(const int R, REAL *c, const REAL *a, const REAL *b, const Lathe_gemm *g,
                                         int64_t n, int64_t end, bool add)
{
    enum { W = NAME(WIDTH) };
    const int V = R >= 4 ? 2 : R == 3 ? 3 : 8 / R; /* 8 sums at a time or more, to hide the latency of an fma */
    for (; n + V * W <= end; n += V * W) NAME(columns)(R, V, c, a, b, g, n, 0, add);
    for (; n + W <= end; n += W) NAME(columns)(R, 1, c, a, b, g, n, 0, add);
    if (n < end) NAME(columns)(R, 1, c, a, b, g, end - W, (int)(n - (end - W)), add);
}

static void NAME(thin_by_columns)(REAL *c, const REAL *a, const REAL *b, const Lathe_gemm *g, int64_t n, int64_t end,
                                  bool add)
{
    for (int64_t m = 0, rows; m < g->M; m += rows) {
        REAL *cm = c + m * g->c_m;
        const REAL *am = a + m * g->a_m;
#define ROWS_ARE(R)                                                                                                    \
    case R:                                                                                                            \
        if (!NAME(takes)(WAY_COLUMNS << R)) abort();                                                                   \
        NAME(rows_by_columns)(R, cm, am, b, g, n, end, add);                                                           \
        break;
        switch (rows = rows_at_once(g->M - m)) {
            ROWS_ARE(1) ROWS_ARE(2) ROWS_ARE(3) ROWS_ARE(4) ROWS_ARE(8)
        }
#undef ROWS_ARE
    }
}

/* ---- other products: dot products of rows of a and columns of b, by chunks of K, packed if they are not contiguous */

/* rows × K of x as contiguous rows: x itself, or a copy in room. */
static const REAL *NAME(packed)(REAL *room, const REAL *x, int64_t rows, int64_t K, int64_t row, int64_t column,
                                int64_t *ld)
{
    *ld = row;
    if (column == 1) return x;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t k = 0; k < K; k++) room[r * THIN_CHUNK + k] = x[r * row + k * column];
    *ld = THIN_CHUNK;
    return room;
}

/* c[R][C] (+)= a[R][K] · b[C][K], in LANES lanes, a vector of them at a time; a_row, b_row: strides of rows. */
static INLINE void NAME(dots)(const int R, const int C, REAL *c, int64_t c_m, int64_t c_n, const REAL *a, int64_t a_row,
                              const REAL *b, int64_t b_row, int64_t K, bool add)
{
    REAL lane[8][2][LANES];
    int64_t whole = K / LANES * LANES, bytes = ahead(C * K * (int64_t)sizeof *b);
    for (int l = 0; l < LANES; l += NAME(WIDTH)) {
        NAME(Vector) sum[8][2] = {0};
        for (int64_t k = l; k < whole; k += LANES)
            for (int r = 0; r < R; r++) {
                NAME(Vector) x = *(const NAME(Vector) *)&a[r * a_row + k];
                if (R == 8) x = NAME(kept)(x);
                for (int j = 0; j < C; j++) {
                    if (r == 0) fetch(&b[j * b_row + k], bytes);
                    sum[r][j] = NAME(fused)(x, *(const NAME(Vector) *)&b[j * b_row + k], sum[r][j]);
                }
            }
        for (int r = 0; r < R; r++)
            for (int j = 0; j < C; j++) *(NAME(Vector) *)&lane[r][j][l] = sum[r][j];
    }
    for (int r = 0; r < R; r++)
        for (int j = 0; j < C; j++) {
            REAL *to = &c[r * c_m + j * c_n];
            for (int64_t i = whole; i < K; i++)
                lane[r][j][i - whole] = NAME(fma)(a[r * a_row + i], b[j * b_row + i], lane[r][j][i - whole]);
            *to = add ? *to + NAME(sum_lanes)(lane[r][j]) : NAME(sum_lanes)(lane[r][j]);
        }
}

/* R rows of a, all columns of the tile, one chunk of K. */
static INLINE void NAME(rows_by_dots)(const int R, REAL *c, const REAL *a, const REAL *b, const Lathe_gemm *g,
                                      int64_t n, int64_t end, int64_t K, bool add)
{
    REAL *a_room = thread_room(), *b_room = a_room + 8 * THIN_CHUNK;
    int64_t a_row, b_row;
    a = NAME(packed)(a_room, a, R, K, g->a_m, g->a_k, &a_row);
    for (; n < end; n += 2) {
        int C = n + 1 < end ? 2 : 1;
        const REAL *pb = NAME(packed)(b_room, b + n * g->b_n, C, K, g->b_n, g->b_k, &b_row);
        if (C == 2) NAME(dots)(R, 2, c + n * g->c_n, g->c_m, g->c_n, a, a_row, pb, b_row, K, add);
        else NAME(dots)(R, 1, c + n * g->c_n, g->c_m, g->c_n, a, a_row, pb, b_row, K, add);
    }
}

static void NAME(thin_by_dots)(REAL *c, const REAL *a, const REAL *b, const Lathe_gemm *g, int64_t n, int64_t end,
                               bool add)
{
    for (int64_t k = 0; k < g->K; k += THIN_CHUNK)
        for (int64_t m = 0, rows; m < g->M; m += rows) {
            int64_t K = at_most(g->K - k, THIN_CHUNK);
            REAL *cm = c + m * g->c_m;
            const REAL *am = a + m * g->a_m + k * g->a_k, *bk = b + k * g->b_k;
#define ROWS_ARE(R)                                                                                                    \
    case R:                                                                                                            \
        if (!NAME(takes)(WAY_DOTS << R)) abort();                                                                      \
        NAME(rows_by_dots)(R, cm, am, bk, g, n, end, K, add || k);                                                     \
        break;
            switch (rows = rows_at_once(g->M - m)) {
                ROWS_ARE(1) ROWS_ARE(2) ROWS_ARE(3) ROWS_ARE(4) ROWS_ARE(8)
            }
#undef ROWS_ARE
        }
}

static INLINE void NAME(thin_by)(bool columns, REAL *c, const REAL *a, const REAL *b, const Lathe_gemm *g, int64_t n,
                                 int64_t end, bool add)
{
    enum { COUNTS = (1 << 9) - 1 };
    if (columns && NAME(takes)(WAY_COLUMNS * COUNTS)) NAME(thin_by_columns)(c, a, b, g, n, end, add);
    else if (!columns && NAME(takes)(WAY_DOTS * COUNTS)) NAME(thin_by_dots)(c, a, b, g, n, end, add);
    else abort();
}

static void NAME(thin_gemm)(REAL *c, const REAL *a, const REAL *b, const Lathe_gemm *g, bool add)
{
    Tiles t = thin_tiles(g);
    bool by_columns = is_by_columns(g->N, g->b_n);
    bool worth_it = (double)g->M * (double)g->N * (double)g->K * (double)t.batch > 5e4;
#pragma omp parallel for schedule(dynamic) if (worth_it && !omp_in_parallel())
    for (int64_t i = 0; i < t.batch * t.columns; i++) {
        Begin at = begin_of(g, i / t.columns);
        int64_t n = i % t.columns * t.n, end = at_most(n + t.n, g->N);
        NAME(thin_by)(by_columns, c + at.c, a + at.a, b + at.b, g, n, end, add);
    }
}

/* Rows from … M - 1. */
static void NAME(clear)(REAL *c, const Lathe_gemm *g, int64_t from)
{
    if (from == g->M) return;
    for (int64_t i = 0; i < batch_of(g); i++) {
        REAL *at = c + begin_of(g, i).c;
        for (int64_t m = from; m < g->M; m++)
            for (int64_t n = 0; n < g->N; n++) at[m * g->c_m + n * g->c_n] = 0;
    }
}

static void NAME(multiply)(REAL *c, const REAL *a, const REAL *b, const Lathe_gemm *given, bool add)
{
    Lathe_gemm g = of_live_rows(given);
    if (!add) NAME(clear)(c, given, g.K ? g.M : 0);
    if (g.M == 0 || g.N == 0 || g.K == 0) return;
    const bool thin = is_thin(&g);
    if (is_turned(&g)) {
        const REAL *x = a;
        a = b, b = x;
        g = transposed(given);
    }
    if (g.N == 1) g.b_n = 1;
    if (g.K == 1) g.a_k = g.b_k = 1;
    if (thin) NAME(thin_gemm)(c, a, b, &g, add);
    else if (!NAME(takes)(WAY_ENGINE)) abort();
    else if (!through_blas || !NAME(gemm_blas)(c, a, b, &g, add)) NAME(gemm_own)(c, a, b, &g, add);
}

void NAME(gemm)(REAL *c, const REAL *a, const REAL *b, const Lathe_gemm *g, bool add)
{
    const Product p = {g, c, a, b, add, false, sizeof(REAL) == sizeof(double), 0};
    void *kept = gemm_watch ? gemm_watch->before(&p) : NULL;
    NAME(multiply)(c, a, b, g, add);
    if (gemm_watch) gemm_watch->after(&p, kept);
}

void NAME(gemm_row)(REAL *c, const REAL *a, const REAL *b, const Lathe_gemm *g, int64_t from, int64_t end)
{
    NAME(thin_by)(g->b_n == 1 && g->N >= LANES, c, a, b, g, from, end, false);
}
