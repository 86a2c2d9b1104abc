/* gemm_few.h: the part of math/gemm_own.c for products of few rows, for float and for double: REAL, NAME(x).  What is
 * read of the right operand is used once, as in gradients of adapters: it is read where it lies, since to pack it takes
 * longer than the product.  An element is the same sum as in other tasks. */

/* c[rows][n] (+)= a[K][FEW_ROWS] · b[K][WIDTH], n <= WIDTH; lines of b are `line` apart. */
static NOINLINE void NAME(few_rows)(int rows, REAL *c, const Lathe_gemm *g, int64_t n, const REAL *a, const REAL *b,
                                    int64_t line, int64_t K, bool add)
{
    NAME(Vector) sum[FEW_ROWS] = {0};
    for (int64_t k = 0; k < K; k++, a += FEW_ROWS, b += line) {
        __builtin_prefetch(b + LINES_AHEAD * line, 0, 2);
        NAME(Vector) x = *(const NAME(Vector) *)b;
        UNROLL for (int r = 0; r < FEW_ROWS; r++) sum[r] = NAME(fused)(a[r] - (NAME(Vector)){0}, x, sum[r]);
    }
    for (int r = 0; r < rows; r++)
        for (int64_t j = 0; j < n; j++) {
            REAL *to = &c[r * g->c_m + j * g->c_n];
            *to = add ? *to + LANE_OF(sum[r], j) : LANE_OF(sum[r], j);
        }
}

/* The last columns of b, too few for a vector: lines of one vector, with zeros beyond n. */
static void NAME(last_columns)(REAL *to, const REAL *b, int64_t line, int64_t n, int64_t K)
{
    for (int64_t k = 0; k < K; k++)
        for (int64_t j = 0; j < NAME(WIDTH); j++) to[k * NAME(WIDTH) + j] = j < n ? b[k * line + j] : 0;
}

static bool NAME(has_few_rows)(NAME(Right) b, const Lathe_gemm *g)
{
    return NAME(works_by)(WAY_FEW) && g->M > FEW_ROWS / 2 && g->M <= FEW_ROWS && g->b_n == 1 && !b.packed && !b.blocks;
}

static void NAME(few_task)(REAL *c, const REAL *a, const REAL *b, const Lathe_gemm *g, bool add, char *room)
{
    enum { W = NAME(WIDTH) };
    REAL *pa = (REAL *)room, *last = (REAL *)(room + behind_packed_a());
    int64_t chunk = equal_part(g->K, CHUNK, 1), whole = g->N / W * W;
    for (int64_t k = 0; k < g->K; k += chunk) {
        int64_t K = at_most(g->K - k, chunk);
        const REAL *from = b + k * g->b_k;
        NAME(pack_panels)(pa, FEW_ROWS, a + k * g->a_k, g->a_m, g->a_k, g->M, K);
        for (int64_t n = 0; n < whole; n += W)
            NAME(few_rows)((int)g->M, c + n * g->c_n, g, W, pa, from + n, g->b_k, K, add || k);
        if (whole == g->N) continue;
        NAME(last_columns)(last, from + whole, g->b_k, g->N - whole, K);
        NAME(few_rows)((int)g->M, c + whole * g->c_n, g, g->N - whole, pa, last, W, K, add || k);
    }
}
