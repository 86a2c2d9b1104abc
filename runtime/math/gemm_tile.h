/* gemm_tile.h: the part of math/gemm_own.c that is compiled for float and for double: REAL, NAME(x). */

#include "math/vector.h"

enum {
    NAME(COLUMNS) = 2 * NAME(WIDTH),          /* of a tile */
    NAME(A_ROOM) = A_BYTES / sizeof(REAL),    /* elements of packed a */
    NAME(B_ROOM) = B_BYTES / sizeof(REAL)     /* and of b */
};

/* Whether any product takes this way, or may; a constant. */
static INLINE bool NAME(works_by)(unsigned way) { return (ways_taken(sizeof(REAL)) & way) != 0; }

/* ---- packing: to[panels][K][W] with zeros beyond n; element (i, k) of x is x[i · step + k · along] */

/* Blocks of eight by eight; the last overlaps the one before.  If W < 8, lanes beyond a line of the panel are
 * overwritten by the next line, also of the next panel; at least 8 rows must be readable. */
static INLINE void NAME(pack_turned)(REAL *to, const int W, const REAL *x, int64_t step, int64_t K)
{
    for (int64_t k = 0;; k = k + 16 <= K ? k + 8 : K - 8) {
        for (int i = 0;; i = i + 16 <= W ? i + 8 : W - 8) {
            NAME(transpose)(to + k * W + i, W, x + i * step + k, step);
            if (i >= W - 8) break;
        }
        if (k == K - 8) break;
    }
}

/* Packs whole panels whose lines are already in the wanted order.  A few lines at a time go to all panels, while these
 * lines are in the cache. */
static INLINE void NAME(pack_lines)(REAL *to, const int W, const REAL *x, int64_t along, int64_t n, int64_t K)
{
    enum { LINES = 16 };
    for (int64_t from = 0; from < K; from += LINES)
        for (int64_t i = 0; i + W <= n; i += W)
            for (int64_t k = from; k < at_most(from + LINES, K); k++)
                memcpy(to + i * K + k * W, x + k * along + i, (size_t)W * sizeof(REAL));
}

static INLINE void NAME(pack_panels)(REAL *to, const int W, const REAL *x, int64_t step, int64_t along, int64_t n, int64_t K)
{
    /* Of narrow panels of b, another thread may have packed the next one. */
    const bool alone = (int)NAME(COLUMNS) >= 8 || W != NAME(COLUMNS);
    if (step == 1) NAME(pack_lines)(to, W, x, along, n, K);
    for (int64_t i = step == 1 ? n / W * W : 0; i < n; i += W) {
        REAL *panel = to + i * K;
        const REAL *from = x + i * step;
        if (alone && along == 1 && K >= 8 && n - i >= (W < 8 ? 8 : W)) NAME(pack_turned)(panel, W, from, step, K);
        else
            for (int64_t k = 0; k < K; k++)
                for (int j = 0; j < W; j++) panel[k * W + j] = i + j < n ? from[j * step + k * along] : 0;
    }
}

static INLINE void NAME(pack_rows)(REAL *to, int rows, const REAL *a, int64_t step, int64_t along, int64_t m, int64_t K)
{
    if (has_tiles_of(sizeof(REAL), ROWS) && rows == ROWS) NAME(pack_panels)(to, ROWS, a, step, along, m, K);
    else NAME(pack_panels)(to, rows, a, step, along, m, K);
}

static NOINLINE void NAME(pack_a)(REAL *to, Heights h, const REAL *a, const Lathe_gemm *g, int64_t m, int64_t K)
{
    NAME(pack_rows)(to, h.most, a, g->a_m, g->a_k, h.tall, K);
    if (m > h.tall) NAME(pack_rows)(to + h.tall * K, h.most - 1, a + h.tall * g->a_m, g->a_m, g->a_k, m - h.tall, K);
}

/* The right operand of a task: as it is, in blocks, or packed by chunks, of `columns` columns, from column `from` on. */
typedef struct NAME(Right) {
    const REAL *at;
    const void *blocks;       /* NULL: it is not in blocks */
    Lathe_dtype type;         /* of blocks */
    int64_t place;            /* in blocks: the element at which it begins */
    bool packed;
    int64_t columns, from;
} NAME(Right);

static NAME(Right) NAME(moved)(NAME(Right) b, int64_t elements)
{
    if (HAS_BLOCKS && b.blocks) b.place += elements;
    else b.at += elements;
    return b;
}

/* n elements of blocks, from element `first` on. */
static INLINE void NAME(widen)(REAL *to, NAME(Right) b, int64_t first, int64_t n)
{
    float wide[LATHE_BLOCK];
    while (n > 0) {
        int64_t from = first % LATHE_BLOCK, part = at_most(n, LATHE_BLOCK - from);
        widen_block(wide, b.type, b.blocks, first / LATHE_BLOCK);
        if (part == LATHE_BLOCK)
            for (int i = 0; i < LATHE_BLOCK; i++) to[i] = wide[i];
        else
            for (int64_t i = 0; i < part; i++) to[i] = wide[from + i];
        to += part, first += part, n -= part;
    }
}

/* A panel's lines of which rows of blocks are the columns: eight by eight.  What is read of a row is too short for the
 * processor to foresee the next eight rows. */
static INLINE void NAME(turn_blocks)(REAL *to, NAME(Right) b, int64_t first, int64_t step, int64_t K)
{
    enum { W = NAME(COLUMNS), LONG = 64 };
    REAL wide[8][LONG];
    for (int j = 0; j < W; j += 8)
        for (int64_t k = 0; k < K; k += LONG) {
            int64_t n = at_most(K - k, LONG), i = 0;
            for (int r = 0; r < 8; r++) {
                int64_t at = first + (j + r) * step + k;
                __builtin_prefetch(block_at(b.type, b.blocks, at + 8 * step));
                __builtin_prefetch(block_at(b.type, b.blocks, at + 8 * step + LONG - 1));
                NAME(widen)(wide[r], b, at, n);
            }
            for (; i + 8 <= n; i += 8) NAME(transpose)(to + (k + i) * W + j, W, *wide + i, LONG);
            for (; i < n; i++)
                for (int r = 0; r < 8; r++) to[(k + i) * W + j + r] = wide[r][i];
        }
}

/* Whole panels of which rows of blocks are the lines; a line is one block.  What is read of a row is too short for the
 * processor to foresee the rows that follow. */
static INLINE void NAME(line_blocks)(REAL *to, const Lathe_dtype type, NAME(Right) b, int64_t step, int64_t n, int64_t K)
{
    enum { W = NAME(COLUMNS), ROWS_AHEAD = 8, CACHE_LINE = 64 };
    float wide[LATHE_BLOCK];
    for (int64_t k = 0; k < K; k++) {
        const char *ahead = block_at(type, b.blocks, b.place + (k + ROWS_AHEAD) * step);
        for (int64_t at = 0; at < n / LATHE_BLOCK * lathe_bytes_of_block(type); at += CACHE_LINE) __builtin_prefetch(ahead + at);
        for (int64_t i = 0; i + W <= n; i += W) {
            widen_block(wide, type, b.blocks, (b.place + k * step + i) / LATHE_BLOCK);
            for (int j = 0; j < W; j++) to[i * K + k * W + j] = wide[j];
        }
    }
}

static INLINE void NAME(pack_blocks)(REAL *to, NAME(Right) b, const Lathe_gemm *g, int64_t n, int64_t K)
{
    enum { W = NAME(COLUMNS) };
    bool lines = g->b_n == 1 && (int)W == LATHE_BLOCK && b.place % W == 0 && g->b_k % W == 0;
    if (lines && b.type == LATHE_Q8_0) NAME(line_blocks)(to, LATHE_Q8_0, b, g->b_k, n, K);
    if (lines && b.type == LATHE_Q4_0) NAME(line_blocks)(to, LATHE_Q4_0, b, g->b_k, n, K);
    for (int64_t i = lines ? n / W * W : 0; i < n; i += W) {
        REAL *panel = to + i * K;
        int64_t at = b.place + i * g->b_n;
        bool whole = n - i >= W && W % 8 == 0;
        if (whole && g->b_n == 1)
            for (int64_t k = 0; k < K; k++) NAME(widen)(panel + k * W, b, at + k * g->b_k, W);
        else if (whole && g->b_k == 1) NAME(turn_blocks)(panel, b, at, g->b_n, K);
        else
            for (int64_t k = 0; k < K; k++)
                for (int j = 0; j < W; j++)
                    panel[k * W + j] = i + j < n ? block_element(b.type, b.blocks, at + j * g->b_n + k * g->b_k) : 0;
    }
}

static NOINLINE void NAME(pack_b)(REAL *to, NAME(Right) b, const Lathe_gemm *g, int64_t n, int64_t K)
{
    if (HAS_BLOCKS && b.blocks) NAME(pack_blocks)(to, b, g, n, K);
    else NAME(pack_panels)(to, NAME(COLUMNS), b.at, g->b_n, g->b_k, n, K);
}

/* ---- a tile: c[R][V vectors] (+)= a[K][R] · b[K][COLUMNS], R <= ROWS, V <= 2 */

static INLINE void NAME(tile_of)(const int R, const int V, REAL *c, int64_t c_m, const REAL *a, const REAL *b, int64_t K,
                                 bool add)
{
    NAME(Vector) sum[ROWS][2];
    UNROLL for (int r = 0; r < R; r++)
    {
        __builtin_prefetch(&c[r * c_m + V * NAME(WIDTH) - 1], 1);
        sum[r][0] = sum[r][1] = (NAME(Vector)){0};
    }
    for (int64_t k = 0; k < K; k++, a += R, b += NAME(COLUMNS)) {
        __builtin_prefetch(b + AHEAD);
        if (V == 2) __builtin_prefetch(b + AHEAD + NAME(WIDTH));
        NAME(Vector) left = *(const NAME(Vector) *)b, right = *(const NAME(Vector) *)(b + NAME(WIDTH));
        UNROLL for (int r = 0; r < R; r++)
        {
            NAME(Vector) x = a[r] - (NAME(Vector)){0};
            sum[r][0] = NAME(fused)(x, left, sum[r][0]);
            if (V == 2) sum[r][1] = NAME(fused)(x, right, sum[r][1]);
        }
    }
    UNROLL for (int r = 0; r < R; r++)
    {
        NAME(Vector) *to = (NAME(Vector) *)(c + r * c_m), *after = (NAME(Vector) *)(c + r * c_m + NAME(WIDTH));
        if (add) sum[r][0] += *to;
        *to = sum[r][0];
        if (V == 2 && add) sum[r][1] += *after;
        if (V == 2) *after = sum[r][1];
    }
}

static INLINE void NAME(tile_by_rows)(int rows, const int V, REAL *c, int64_t c_m, const REAL *a, const REAL *b,
                                      int64_t K, bool add)
{
#define ROWS_ARE(R)                                            \
    case R:                                                    \
        if (!has_tiles_of(sizeof(REAL), R)) abort();           \
        NAME(tile_of)(R, V, c, c_m, a, b, K, add); break
    switch (rows) {
        ROWS_ARE(1);
        ROWS_ARE(2);
        ROWS_ARE(3);
        ROWS_ARE(4);
        ROWS_ARE(5);
        ROWS_ARE(6);
#if TILE_ROWS == 14
        ROWS_ARE(7);
        ROWS_ARE(8);
        ROWS_ARE(9);
        ROWS_ARE(10);
        ROWS_ARE(11);
        ROWS_ARE(12);
        ROWS_ARE(13);
        ROWS_ARE(14);
#endif
    }
#undef ROWS_ARE
}

static NOINLINE void NAME(tile)(int rows, REAL *c, int64_t c_m, const REAL *a, const REAL *b, int64_t K, bool add)
{
    NAME(tile_by_rows)(rows, 2, c, c_m, a, b, K, add);
}

/* The left half alone: products with few columns, such as those of adapters. */
static NOINLINE void NAME(narrow_tile)(int rows, REAL *c, int64_t c_m, const REAL *a, const REAL *b, int64_t K, bool add)
{
    NAME(tile_by_rows)(rows, 1, c, c_m, a, b, K, add);
}

/* Stores n columns of a tile to c with any strides. */
static NOINLINE void NAME(tile_part)(int rows, REAL *c, const Lathe_gemm *g, int64_t n, const REAL *a, const REAL *b,
                                     int64_t K, bool add)
{
    REAL whole[ROWS * NAME(COLUMNS)];
    if (n <= NAME(WIDTH)) NAME(narrow_tile)(rows, whole, NAME(COLUMNS), a, b, K, false);
    else NAME(tile)(rows, whole, NAME(COLUMNS), a, b, K, false);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < n; j++) {
            REAL *to = &c[i * g->c_m + j * g->c_n], x = whole[i * NAME(COLUMNS) + j];
            *to = add ? *to + x : x;
        }
}

/* c[m][n] (+)= a[m][K] · b[K][n], packed in panels of rows, of heights h, and of COLUMNS columns.  A panel of a stays in the
 * first level of cache while b streams from the second. */
static void NAME(block)(Heights h, REAL *c, const Lathe_gemm *g, int64_t m, int64_t n, const REAL *a, const REAL *b,
                        int64_t K, bool add)
{
    for (int64_t i = 0; i < m; i += height_at(h, i))
        for (int64_t j = 0; j < n; j += NAME(COLUMNS)) {
            REAL *to = c + i * g->c_m + j * g->c_n;
            int64_t width = at_most(n - j, NAME(COLUMNS));
            int rows = height_at(h, i);
            bool direct = g->c_n == 1;
            if (direct && width == NAME(COLUMNS)) NAME(tile)(rows, to, g->c_m, a + i * K, b + j * K, K, add);
            else if (direct && width == NAME(WIDTH)) NAME(narrow_tile)(rows, to, g->c_m, a + i * K, b + j * K, K, add);
            else NAME(tile_part)(rows, to, g, width, a + i * K, b + j * K, K, add);
        }
}

#include "math/gemm_few.h"

/* One task: c[M][N] (+)= a · b by one thread, with its own room for packing. */
static void NAME(task)(REAL *c, const REAL *a, NAME(Right) b, const Lathe_gemm *g, bool add, char *room)
{
    if (NAME(has_few_rows)(b, g)) {
        NAME(few_task)(c, a, b.at, g, add, room);
        return;
    }
    REAL *pa = (REAL *)room, *pb = (REAL *)(room + behind_packed_a());
    int64_t chunk = equal_part(g->K, CHUNK, 1);
    int64_t rows = equal_part(g->M, NAME(A_ROOM) / chunk, 1);
    int64_t columns = equal_part(g->N, NAME(B_ROOM) / chunk, NAME(COLUMNS));
    for (int64_t m = 0; m < g->M; m += rows)
        for (int64_t k = 0; k < g->K; k += chunk) {
            int64_t M = at_most(g->M - m, rows), K = at_most(g->K - k, chunk);
            Heights h = heights_of(M);
            NAME(pack_a)(pa, h, a + m * g->a_m + k * g->a_k, g, M, K);
            for (int64_t n = 0; n < g->N; n += columns) {
                int64_t N = at_most(g->N - n, columns);
                const REAL *right = b.packed ? b.at + k * b.columns + (b.from + n) * K : pb;
                if (!b.packed) NAME(pack_b)(pb, NAME(moved)(b, k * g->b_k + n * g->b_n), g, N, K);
                NAME(block)(h, c + m * g->c_m + n * g->c_n, g, M, N, pa, right, K, add || k);
            }
        }
}

/* The operands of one part of a product. */
typedef struct NAME(Part) {
    REAL *c;
    const REAL *a;
    NAME(Right) b;
    Lathe_gemm g;
} NAME(Part);

static NAME(Part) NAME(part_of)(REAL *c, const REAL *a, NAME(Right) b, const Lathe_gemm *g, const Grid *grid, int64_t i)
{
    Begin at = begin_of(g, i / (grid->m * grid->n));
    int64_t m = i / grid->n % grid->m * grid->rows, n = i % grid->n * grid->columns;
    NAME(Part) p = {c + at.c + m * g->c_m + n * g->c_n, a + at.a + m * g->a_m, b, *g};
    p.g.M = at_most(g->M - m, grid->rows);
    p.g.N = at_most(g->N - n, grid->columns);
    if (b.packed) p.b.from = n;
    else p.b = NAME(moved)(b, at.b + n * g->b_n);
    return p;
}

/* ---- chunks of K shared by several tasks */

/* Separate sums of the chunks first … end of a part: [end - first][M][N], after packed a. */
static REAL *NAME(sums_in)(const NAME(Part) * p, char *room)
{
    return (REAL *)(room + (p->g.M + ROWS) * CHUNK * (int64_t)sizeof(REAL) + SLACK);
}

static void NAME(sum_chunks)(const NAME(Part) * p, int64_t chunk, int64_t first, int64_t end, char *room)
{
    REAL *to = NAME(sums_in)(p, room);
    Lathe_gemm g = p->g;
    g.c_m = g.N, g.c_n = 1;
    for (int64_t k = first * chunk; k < at_most(end * chunk, p->g.K); k += chunk, to += g.M * g.N) {
        NAME(Right) b = NAME(moved)(p->b, k * (p->b.packed ? p->b.columns : g.b_k));
        g.K = at_most(p->g.K - k, chunk);
        NAME(task)(to, p->a + k * g.a_k, b, &g, false, room);
    }
}

/* Rows m … end of the part (+)= sums[n], added in order. */
static void NAME(add_sums)(const NAME(Part) * p, int64_t m, int64_t end, const REAL *sums, int64_t n, bool add)
{
    const Lathe_gemm *g = &p->g;
    for (int64_t s = 0; s < n; s++, add = true, sums += g->M * g->N)
        for (int64_t i = m; i < end; i++) {
            REAL *to = p->c + i * g->c_m;
            const REAL *x = sums + i * g->N;
            if (!add)
                for (int64_t j = 0; j < g->N; j++) to[j * g->c_n] = x[j];
            else if (g->c_n == 1)
                for (int64_t j = 0; j < g->N; j++) to[j] += x[j];
            else
                for (int64_t j = 0; j < g->N; j++) to[j * g->c_n] += x[j];
        }
}

/* In each wave, grid.split tasks compute the sums of grid.kept chunks each; then each adds all sums to some rows of
 * c. */
static void NAME(tasks_over_chunks)(REAL *c, const REAL *a, NAME(Right) b, const Lathe_gemm *g, const Grid *grid,
                                    bool add)
{
    int64_t chunk = equal_part(g->K, CHUNK, 1), chunks = parts_of(g->K, chunk), split = grid->split, kept = grid->kept;
    int64_t tasks = grid->batch * grid->m * grid->n * split;
#pragma omp parallel
    for (int64_t wave = 0; wave < chunks; wave += split * kept) {
#pragma omp for schedule(static)
        for (int64_t i = 0; i < tasks; i++) {
            NAME(Part) p = NAME(part_of)(c, a, b, g, grid, i / split);
            int64_t first = wave + i % split * kept;
            NAME(sum_chunks)(&p, chunk, first, at_most(first + kept, chunks), gemm_room(i));
        }
#pragma omp for schedule(static)
        for (int64_t i = 0; i < tasks; i++) {
            NAME(Part) p = NAME(part_of)(c, a, b, g, grid, i / split);
            int64_t rows = parts_of(p.g.M, split), m = i % split * rows, end = at_most(m + rows, p.g.M);
            for (int64_t s = 0; s < split; s++) {
                int64_t first = wave + s * kept, n = at_most(kept, chunks - first);
                NAME(add_sums)(&p, m, end, NAME(sums_in)(&p, gemm_room(i / split * split + s)), n, add || first);
            }
        }
    }
}

static void NAME(tasks)(REAL *c, const REAL *a, NAME(Right) b, const Lathe_gemm *g, bool add)
{
    Grid grid = grid_of(g, batch_of(g), NAME(COLUMNS));
    int64_t tasks = grid.batch * grid.m * grid.n;
    if (NAME(works_by)(WAY_SPLIT) && grid.split > 1) {
        NAME(tasks_over_chunks)(c, a, b, g, &grid, add);
        return;
    }
#pragma omp parallel for schedule(dynamic) if (grid.shared)
    for (int64_t i = 0; i < tasks; i++) {
        NAME(Part) p = NAME(part_of)(c, a, b, g, &grid, i);
        if (p.g.M > 0 && p.g.N > 0) NAME(task)(p.c, p.a, p.b, &p.g, add, thread_room());
    }
}

void NAME(gemm_own)(REAL *c, const REAL *a, const REAL *b, const Lathe_gemm *g, bool add)
{
    const Lathe_gemm turned = transposed(g);
    if (NAME(has_few_rows)((NAME(Right)){.at = a}, &turned)) NAME(tasks)(c, b, (NAME(Right)){.at = a}, &turned, add);
    else NAME(tasks)(c, a, (NAME(Right)){.at = b}, g, add);
}

static NAME(Right) NAME(right_packed)(const REAL *packed, const Lathe_gemm *g)
{
    return (NAME(Right)){.at = packed, .packed = true, .columns = parts_of(g->N, NAME(COLUMNS)) * NAME(COLUMNS)};
}

void NAME(gemm_packed)(REAL *c, const REAL *a, const REAL *packed, const Lathe_gemm *g, bool add)
{
    const Product p = {g, c, a, packed, add, true, sizeof(REAL) == sizeof(double), 0};
    void *kept = gemm_watch ? gemm_watch->before(&p) : NULL;
    NAME(tasks)(c, a, NAME(right_packed)(packed, g), g, add);
    if (gemm_watch) gemm_watch->after(&p, kept);
}

void NAME(gemm_packed_rows)(REAL *c, const REAL *a, const REAL *packed, const Lathe_gemm *g, bool add, int from, int to)
{
    Lathe_gemm part = *g;
    part.M = to - from;
    NAME(Right) right = NAME(right_packed)(packed, g);
    REAL *to_c = c + from * g->c_m;
    const REAL *from_a = a + from * g->a_m;
    const Product p = {&part, to_c, from_a, packed, add, true, sizeof(REAL) == sizeof(double), 0};
    void *kept = gemm_watch ? gemm_watch->before(&p) : NULL;
    NAME(task)(to_c, from_a, right, &part, add, thread_room());
    if (gemm_watch) gemm_watch->after(&p, kept);
}

/* Packs all chunks of panel p of COLUMNS columns. */
static void NAME(pack_columns)(REAL *packed, NAME(Right) b, const Lathe_gemm *g, int64_t p)
{
    int64_t chunk = equal_part(g->K, CHUNK, 1), panels = parts_of(g->N, NAME(COLUMNS)), n = p * NAME(COLUMNS);
    for (int64_t k = 0; k < g->K; k += chunk) {
        int64_t deep = at_most(g->K - k, chunk);
        NAME(pack_b)(packed + k * panels * NAME(COLUMNS) + n * deep, NAME(moved)(b, k * g->b_k + n * g->b_n), g,
                     at_most(g->N - n, NAME(COLUMNS)), deep);
    }
}

static void NAME(pack_all)(REAL *packed, NAME(Right) b, const Lathe_gemm *g)
{
    int64_t panels = parts_of(g->N, NAME(COLUMNS));
#pragma omp parallel for schedule(static) if (g->K * g->N > PACK_ALONE && !omp_in_parallel())
    for (int64_t p = 0; p < panels; p++) NAME(pack_columns)(packed, b, g, p);
}

static void NAME(pack_all_shared)(REAL *packed, NAME(Right) b, const Lathe_gemm *g)
{
    int64_t panels = parts_of(g->N, NAME(COLUMNS));
#pragma omp for schedule(static) nowait
    for (int64_t p = 0; p < panels; p++) NAME(pack_columns)(packed, b, g, p);
}

void NAME(pack)(REAL *packed, const REAL *b, const Lathe_gemm *g)
{
    if (gemm_watch) gemm_watch->packs(packed, b, false, g->b_k, g->b_n);
    NAME(pack_all)(packed, (NAME(Right)){.at = b}, g);
}

void NAME(pack_shared)(REAL *packed, const REAL *b, const Lathe_gemm *g)
{
    if (gemm_watch) gemm_watch->packs(packed, b, false, g->b_k, g->b_n);
    NAME(pack_all_shared)(packed, (NAME(Right)){.at = b}, g);
}
