/* gemm_by_ids_real.h: the part of math/gemm_by_ids.h that is compiled for float and for double: REAL, NAME(x). */

enum { NAME(LEFT_ROOM) = (A_BYTES - LIST_BYTES) / sizeof(REAL) };     /* elements of packed a, behind the list */

static INLINE const REAL *NAME(row_at)(const REAL *x, int64_t row, const Lathe_by_ids *g, int64_t outer, int64_t inner)
{
    return x + row / g->inner * outer + row % g->inner * inner;
}

/* ---- rows times matrices */

/* to[panels][K][rows]: elements k … k + K of m listed rows. */
static void NAME(pack_listed)(REAL *to, Heights h, const REAL *x, const Lathe_by_ids *g, const int *list, int64_t begin,
                              int64_t m, int64_t k, int64_t K)
{
    enum { LONG = 64 };
    REAL lines[ROWS][LONG];
    for (int64_t i = 0; i < m; i += height_at(h, i))
        for (int64_t at = 0; at < K; at += LONG) {
            int64_t deep = at_most(K - at, LONG);
            int rows = height_at(h, i);
            for (int64_t j = 0; j < rows; j++) {
                const REAL *from = NAME(row_at)(x, begin + list[i + j], g, g->x_outer, g->x_inner);
                memcpy(lines[j], from + k + at, (size_t)deep * sizeof(REAL));
            }
            NAME(pack_rows)(to + i * K + at * rows, rows, lines[0], LONG, 1, rows, deep);
        }
}

/* As block(), to columns n … n + N of the listed rows of y. */
static void NAME(block_listed)(Heights h, REAL *y, const Lathe_by_ids *g, const int *list, int64_t begin, int64_t m,
                               int64_t n, int64_t N, const REAL *a, const REAL *b, int64_t K, bool add)
{
    REAL whole[ROWS * NAME(COLUMNS)];
    for (int64_t i = 0; i < m; i += height_at(h, i))
        for (int64_t j = 0; j < N; j += NAME(COLUMNS)) {
            int64_t width = at_most(N - j, NAME(COLUMNS));
            int rows = height_at(h, i);
            NAME(tile)(rows, whole, NAME(COLUMNS), a + i * K, b + j * K, K, false);
            for (int64_t r = 0; r < rows; r++) {
                REAL *to = (REAL *)NAME(row_at)(y, begin + list[i + r], g, g->y_outer, g->y_inner) + n + j;
                const REAL *from = whole + r * NAME(COLUMNS);
                if (!add) memcpy(to, from, (size_t)width * sizeof(REAL));
                else
                    for (int64_t c = 0; c < width; c++) to[c] += from[c];
            }
        }
}

/* Columns from … end of m listed rows, which w multiplies; shape: w as the right operand. */
static void NAME(task_listed)(REAL *y, const REAL *x, NAME(Right) w, const Lathe_gemm *shape, const Lathe_by_ids *g,
                              const int *list, int64_t begin, int64_t m, int64_t from, int64_t end)
{
    char *room = thread_room();
    REAL *pa = (REAL *)(room + LIST_BYTES), *pb = (REAL *)(room + A_BYTES + SLACK);
    int64_t chunk = equal_part(g->K, CHUNK, 1), N = end - from;
    int64_t rows = equal_part(m, NAME(LEFT_ROOM) / chunk, 1), columns = equal_part(N, NAME(B_ROOM) / chunk, NAME(COLUMNS));
    for (int64_t i = 0; i < m; i += rows)
        for (int64_t k = 0; k < g->K; k += chunk) {
            int64_t M = at_most(m - i, rows), K = at_most(g->K - k, chunk);
            Heights h = heights_of(M);
            NAME(pack_listed)(pa, h, x, g, list + i, begin, M, k, K);
            for (int64_t n = from; n < end; n += columns) {
                int64_t width = at_most(end - n, columns);
                NAME(pack_b)(pb, NAME(moved)(w, k * shape->b_k + n * shape->b_n), shape, width, K);
                NAME(block_listed)(h, y, g, list + i, begin, M, n, width, pa, pb, K, k > 0);
            }
        }
}

static void NAME(few_listed)(REAL *y, const REAL *x, NAME(Right) w, const Lathe_gemm *shape, const Lathe_by_ids *g,
                             const int *list, int64_t begin, int64_t m, int64_t from, int64_t end)
{
    for (int64_t i = 0; i < m; i++) {
        const REAL *a = NAME(row_at)(x, begin + list[i], g, g->x_outer, g->x_inner);
        REAL *c = (REAL *)NAME(row_at)(y, begin + list[i], g, g->y_outer, g->y_inner);
        if (w.blocks)
            gemm_row_blocks((float *)c, (const float *)a, block_at(w.type, w.blocks, w.place), w.type, shape, from, end);
        else NAME(gemm_row)(c, a, w.at, shape, from, end);
    }
}

static void NAME(rows_by_ids)(REAL *y, const REAL *x, NAME(Right) w, const int *ids, const Lathe_by_ids *g)
{
    const Lathe_gemm shape = {.M = 1, .N = g->N, .K = g->K, .a_m = g->K, .a_k = 1, .b_k = g->w_k, .b_n = g->w_n, .c_m = g->N, .c_n = 1};
    for (int64_t begin = 0, all = g->outer * g->inner; begin < all; begin += rows_at_a_time(g)) {
        const By_matrix s = by_matrix(ids, g, begin);
        const Cut_by_ids cut = cut_by_ids(g, &s, g->N);
#pragma omp parallel for schedule(dynamic) if (cut.shared)
        for (int64_t i = 0; i < g->E * cut.parts * cut.columns; i++) {
            int64_t e = i / (cut.parts * cut.columns), part = i / cut.columns % cut.parts, column = i % cut.columns;
            int64_t n = s.first[e + 1] - s.first[e], parts = parts_of_matrix(&cut, &s, e);
            bool few = (n <= FEW || g->alike) && (g->w_k == 1 || (!w.blocks && g->N >= LEAST_COLUMNS)); /* of rows without gaps */
            int64_t row = part_from(n, parts, ROWS, part), rows = part_from(n, parts, ROWS, part + 1) - row;
            int64_t from = part_from(g->N, cut.columns, NAME(COLUMNS), column);
            int64_t end = part_from(g->N, cut.columns, NAME(COLUMNS), column + 1);
            if (part >= parts || rows <= 0 || from >= end) continue;
            (few ? NAME(few_listed) : NAME(task_listed))(y, x, NAME(moved)(w, e * g->w_e), &shape, g,
                                                         s.row + s.first[e] + row, begin, rows, from, end);
        }
    }
}

void NAME(dot_by_ids)(REAL *y, const REAL *x, const REAL *w, const int *ids, const Lathe_by_ids *g)
{
    NAME(rows_by_ids)(y, x, (NAME(Right)){.at = w}, ids, g);
}

/* ---- sums over the rows of each matrix */

/* to[panels][K][W] with zeros beyond n: elements from, from + 1, … of K listed rows, which are the panels' lines. */
static INLINE void NAME(pack_lines_listed)(REAL *to, const int W, const REAL *x, int64_t outer, int64_t inner,
                                           const Lathe_by_ids *g, const int *list, int64_t begin, int64_t from, int64_t n,
                                           int64_t K)
{
    for (int64_t k = 0; k < K; k++) {
        const REAL *line = NAME(row_at)(x, begin + list[k], g, outer, inner) + from;
        int64_t i = 0;
        for (; i + W <= n; i += W) memcpy(to + i * K + k * W, line + i, (size_t)W * sizeof(REAL));
        for (int64_t j = 0; i < n && j < W; j++) to[i * K + k * W + j] = i + j < n ? line[i + j] : 0;
    }
}

/* Rows from … end of one matrix (+)= Σ over `deep` listed rows; c: shape of the matrix in memory, w_k = 1. */
static void NAME(sum_listed)(REAL *w, const REAL *y, const REAL *x, const Lathe_gemm *c, const Lathe_by_ids *g,
                             const int *list, int64_t begin, int64_t deep, int64_t from, int64_t end, bool add)
{
    char *room = thread_room();
    REAL *pa = (REAL *)(room + LIST_BYTES), *pb = (REAL *)(room + A_BYTES + SLACK);
    int64_t chunk = equal_part(deep, CHUNK, 1), m = end - from;
    int64_t rows = equal_part(m, NAME(LEFT_ROOM) / chunk, 1), columns = equal_part(g->K, NAME(B_ROOM) / chunk, NAME(COLUMNS));
    for (int64_t i = from; i < end; i += rows)
        for (int64_t k = 0; k < deep; k += chunk) {
            int64_t M = at_most(end - i, rows), K = at_most(deep - k, chunk);
            Heights h = heights_of(M);
            NAME(pack_lines_listed)(pa, h.most, y, g->y_outer, g->y_inner, g, list + k, begin, i, h.tall, K);
            if (M > h.tall)
                NAME(pack_lines_listed)(pa + h.tall * K, h.most - 1, y, g->y_outer, g->y_inner, g, list + k, begin,
                                        i + h.tall, M - h.tall, K);
            for (int64_t n = 0; n < g->K; n += columns) {
                int64_t N = at_most(g->K - n, columns);
                NAME(pack_lines_listed)(pb, NAME(COLUMNS), x, g->x_outer, g->x_inner, g, list + k, begin, n, N, K);
                NAME(block)(h, w + i * c->c_m + n, c, M, N, pa, pb, K, add || k);
            }
        }
}

static void NAME(clear_rows)(REAL *w, const Lathe_by_ids *g, int64_t from, int64_t end)
{
    for (int64_t n = from; n < end; n++) memset(w + n * g->w_n, 0, (size_t)g->K * sizeof(REAL));
}

void NAME(sum_by_ids)(REAL *w, const REAL *y, const REAL *x, const int *ids, const Lathe_by_ids *g)
{
    const Lathe_gemm c = {.c_m = g->w_n, .c_n = 1};
    for (int64_t begin = 0, all = g->outer * g->inner; begin < all; begin += rows_at_a_time(g)) {
        const By_matrix s = by_matrix(ids, g, begin);
        const Cut_by_ids cut = cut_by_ids(g, &s, g->N);
        int64_t each = cut.parts * cut.columns; /* both are parts of the matrix's rows here */
#pragma omp parallel for schedule(dynamic) if (cut.shared)
        for (int64_t i = 0; i < g->E * each; i++) {
            int64_t e = i / each, deep = s.first[e + 1] - s.first[e], parts = parts_of_matrix(&cut, &s, e) * cut.columns;
            int64_t from = part_from(g->N, parts, ROWS, i % each), end = part_from(g->N, parts, ROWS, i % each + 1);
            REAL *to = w + e * g->w_e;
            if (i % each >= parts || from >= end) continue;
            if (deep) NAME(sum_listed)(to, y, x, &c, g, s.row + s.first[e], begin, deep, from, end, begin > 0);
            else if (!begin) NAME(clear_rows)(to, g, from, end);
        }
    }
}
