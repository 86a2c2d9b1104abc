/* gemm_q8_0.h: the part of math/gemm.c for a right operand in blocks (Lathe_q8_0), of which no wide copy is made.  An
 * element has the bits of the product with the weights widened. */
#include "math/q8_0.h"

/* ---- b_k = 1: dot products of rows of a and rows of blocks, by chunks of K, in LANES lanes */

typedef int8_t Codes __attribute__((vector_size(WIDTH_f32), aligned(1), may_alias));

/* WIDTH codes as floats.  (gcc converts them one by one.) */
static INLINE Vector_f32 floats_of(const int8_t *code)
{
#if defined __AVX512F__
    return (Vector_f32)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)code)));
#elif defined __AVX2__
    return (Vector_f32)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)code)));
#else
    return __builtin_convertvector(*(const Codes *)code, Vector_f32);
#endif
}

/* c[R][C] (+)= a[R][K] · b[C][K]; K is a multiple of LATHE_BLOCK; b_row: in blocks. */
static INLINE void dots_of_blocks(const int R, const int C, float *c, int64_t c_m, int64_t c_n, const float *a,
                                  int64_t a_m, const Lathe_q8_0 *b, int64_t b_row, int64_t K, bool add)
{
    enum { W = WIDTH_f32, VECTORS = LANES / W };
    Vector_f32 sum[4][4][VECTORS] = {0};
    const int64_t bytes = ahead(C * b_row * (int64_t)sizeof *b);
    for (int64_t k = 0; k < K / LATHE_BLOCK; k++)
        for (int j = 0; j < C; j++) {
            const Lathe_q8_0 *block = &b[j * b_row + k];
            fetch(block, bytes);
            const Vector_f32 scale = block_scale(block) - (Vector_f32){0};
            UNROLLED for (int i = 0; i < LATHE_BLOCK / W; i++)
            {
                const Vector_f32 w = floats_of(block->code + i * W) * scale;
                for (int r = 0; r < R; r++)
                    sum[r][j][i % VECTORS] = fused_f32(*(const Vector_f32 *)&a[r * a_m + k * LATHE_BLOCK + i * W], w,
                                                       sum[r][j][i % VECTORS]);
            }
        }
    for (int r = 0; r < R; r++)
        for (int j = 0; j < C; j++) {
            float *to = &c[r * c_m + j * c_n], s = sum_lanes_f32((const float *)sum[r][j]);
            *to = add ? *to + s : s;
        }
}

static INLINE void rows_by_blocks(const int R, float *c, const float *a, const Lathe_q8_0 *b, const Lathe_gemm *g,
                                  int64_t n, int64_t end, int64_t K, bool add)
{
    int64_t row = g->b_n / LATHE_BLOCK, a_row;
    a = packed_f32(thread_room(), a, R, K, g->a_m, g->a_k, &a_row);
    for (; n + 4 <= end; n += 4)
        dots_of_blocks(R, 4, c + n * g->c_n, g->c_m, g->c_n, a, a_row, b + n * row, row, K, add);
    for (; n < end; n++)
        dots_of_blocks(R, 1, c + n * g->c_n, g->c_m, g->c_n, a, a_row, b + n * row, row, K, add);
}

static void thin_by_blocks(float *c, const float *a, const Lathe_q8_0 *b, const Lathe_gemm *g, int64_t n, int64_t end,
                           bool add)
{
    for (int64_t k = 0; k < g->K; k += CHUNK)
        for (int64_t m = 0; m < g->M; m += 4) {
            int64_t K = at_most(g->K - k, CHUNK);
            float *cm = c + m * g->c_m;
            const float *am = a + m * g->a_m + k * g->a_k;
            const Lathe_q8_0 *bk = b + k / LATHE_BLOCK;
            switch (at_most(g->M - m, 4)) {
            case 1: rows_by_blocks(1, cm, am, bk, g, n, end, K, add || k); break;
            case 2: rows_by_blocks(2, cm, am, bk, g, n, end, K, add || k); break;
            case 3: rows_by_blocks(3, cm, am, bk, g, n, end, K, add || k); break;
            default: rows_by_blocks(4, cm, am, bk, g, n, end, K, add || k); break;
            }
        }
}

/* Few rows: c[M][N] by parts of N. */
static void thin_gemm_of_blocks(float *c, const float *a, const Lathe_q8_0 *b, const Lathe_gemm *g, bool add)
{
    Tiles t = thin_tiles(g);
    bool worth_it = (double)g->M * (double)g->N * (double)g->K * (double)t.batch > 5e4;
#pragma omp parallel for schedule(dynamic) if (worth_it && !omp_in_parallel())
    for (int64_t i = 0; i < t.batch * t.columns; i++) {
        Begin at = begin_of(g, i / t.columns);
        int64_t n = i % t.columns * t.n;
        thin_by_blocks(c + at.c, a + at.a, b + at.b / LATHE_BLOCK, g, n, at_most(n + t.n, g->N), add);
    }
}

static void multiply_by_blocks(float *c, const float *a, const Lathe_q8_0 *b, const Lathe_gemm *g, bool add)
{
    if (g->K == 0 && !add) clear_f32(c, g);
    if (g->M == 0 || g->N == 0 || g->K == 0) return;
    if (g->b_k == 1 && g->M <= g->N && is_thin(g)) thin_gemm_of_blocks(c, a, b, g, add);
    else gemm_own_q8_0(c, a, b, g, add);
}

void gemm_q8_0(float *c, const float *a, const Lathe_q8_0 *b, const Lathe_gemm *g, bool add)
{
    const Product p = {.g = g, .c = c, .a = a, .b = b, .add = add, .blocks = true};
    void *kept = gemm_watch ? gemm_watch->before(&p) : NULL;
    multiply_by_blocks(c, a, b, g, add);
    if (gemm_watch) gemm_watch->after(&p, kept);
}

/* Rows of blocks are the columns: b_k = 1. */
void gemm_row_q8_0(float *c, const float *a, const Lathe_q8_0 *b, const Lathe_gemm *g, int64_t from, int64_t end)
{
    thin_by_blocks(c, a, b, g, from, end, false);
}
