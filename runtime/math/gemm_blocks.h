/* gemm_blocks.h: the part of math/gemm.c that is compiled for each type in blocks (BLOCK_TYPE, BLOCKS(x)): products with
 * such a right operand, of which no wide copy is made.  An element has the bits of the product with the weights widened. */
#ifndef GEMM_BLOCKS_COMMON
#define GEMM_BLOCKS_COMMON
#include "math/blocks.h"

#define UNROLLED _Pragma("GCC unroll 8")

/* ---- elements i · WIDTH … of a block, in a register */

/* WIDTH codes as floats.  (gcc converts them one by one.) */
static INLINE Vector_f32 floats_of(const int8_t *code)
{
#if defined __AVX512F__
    return (Vector_f32)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)code)));
#elif defined __AVX2__
    return (Vector_f32)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)code)));
#elif defined __GNUC__
    typedef int8_t Codes __attribute__((vector_size(WIDTH_f32), aligned(1), may_alias));
    return __builtin_convertvector(*(const Codes *)code, Vector_f32);
#else
    return *code;
#endif
}

static INLINE Vector_f32 vector_of_q8_0(const Lathe_q8_0 *b, int i)
{
    return floats_of(b->code + i * WIDTH_f32) * (block_scale(b->scale) - (Vector_f32){0});
}

/* Sixteen lanes have all that a code can mean. */
static INLINE Vector_f32 vector_of_q4_0(const Lathe_q4_0 *b, int i)
{
    const Vector_f32 scale = block_scale(b->scale) - (Vector_f32){0};
    const uint8_t *codes = b->codes + i * WIDTH_f32 % (LATHE_BLOCK / 2);
    const int shift = i * WIDTH_f32 < LATHE_BLOCK / 2 ? 0 : 4;
#if defined __AVX512F__
    const Vector_f32 meaning = {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7};
    const __m512i code = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)codes));
    return (Vector_f32)_mm512_permutexvar_ps(_mm512_srli_epi32(code, (unsigned)shift), (__m512)(meaning * scale));
#elif defined __AVX2__
    const __m256i code = _mm256_srli_epi32(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)codes)), shift);
    const __m256i of = _mm256_sub_epi32(_mm256_and_si256(code, _mm256_set1_epi32(15)), _mm256_set1_epi32(8));
    return (Vector_f32)_mm256_cvtepi32_ps(of) * scale;
#else
    Vector_f32 w;
    for (int l = 0; l < WIDTH_f32; l++) LANE_OF(w, l) = (float)((codes[l] >> shift & 15) - 8);
    return w * scale;
#endif
}
#endif

/* ---- b_k = 1: dot products of rows of a and rows of blocks, by chunks of K, in LANES lanes */

/* c[R][C] (+)= a[R][K] · b[C][K]; K is a multiple of LATHE_BLOCK; b_row: in blocks. */
static INLINE void BLOCKS(dots_of)(const int R, const int C, float *c, int64_t c_m, int64_t c_n, const float *a,
                                  int64_t a_m, const BLOCKS(Lathe) *b, int64_t b_row, int64_t K, bool add)
{
    enum { W = WIDTH_f32, VECTORS = LANES / W };
    Vector_f32 sum[8][4][VECTORS] = {0};
    const int64_t bytes = ahead(C * b_row * (int64_t)sizeof *b);
    for (int64_t k = 0; k < K / LATHE_BLOCK; k++)
        for (int j = 0; j < C; j++) {
            const BLOCKS(Lathe) *block = &b[j * b_row + k];
            fetch(block, bytes);
            UNROLLED for (int i = 0; i < LATHE_BLOCK / W; i++)
            {
                const Vector_f32 w = BLOCKS(vector_of)(block, i);
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

static INLINE void BLOCKS(rows_by)(const int R, float *c, const float *a, const BLOCKS(Lathe) *b, const Lathe_gemm *g,
                                  int64_t n, int64_t end, int64_t K, bool add)
{
    int64_t row = g->b_n / LATHE_BLOCK, a_row;
    a = packed_f32(thread_room(), a, R, K, g->a_m, g->a_k, &a_row);
    const int C = R == 8 ? 2 : 4;
    for (; n + C <= end; n += C)
        BLOCKS(dots_of)(R, C, c + n * g->c_n, g->c_m, g->c_n, a, a_row, b + n * row, row, K, add);
    for (; n < end; n++)
        BLOCKS(dots_of)(R, 1, c + n * g->c_n, g->c_m, g->c_n, a, a_row, b + n * row, row, K, add);
}

static void BLOCKS(thin_by)(float *c, const float *a, const BLOCKS(Lathe) *b, const Lathe_gemm *g, int64_t n, int64_t end,
                           bool add)
{
    for (int64_t k = 0; k < g->K; k += THIN_CHUNK)
        for (int64_t m = 0, rows; m < g->M; m += rows) {
            int64_t K = at_most(g->K - k, THIN_CHUNK);
            float *cm = c + m * g->c_m;
            const float *am = a + m * g->a_m + k * g->a_k;
            const BLOCKS(Lathe) *bk = b + k / LATHE_BLOCK;
            switch (rows = rows_at_once(g->M - m)) {
            case 1: BLOCKS(rows_by)(1, cm, am, bk, g, n, end, K, add || k); break;
            case 2: BLOCKS(rows_by)(2, cm, am, bk, g, n, end, K, add || k); break;
            case 3: BLOCKS(rows_by)(3, cm, am, bk, g, n, end, K, add || k); break;
            case 4: BLOCKS(rows_by)(4, cm, am, bk, g, n, end, K, add || k); break;
            default: BLOCKS(rows_by)(8, cm, am, bk, g, n, end, K, add || k); break;
            }
        }
}

/* Few rows: c[M][N] by parts of N. */
static void BLOCKS(thin_gemm)(float *c, const float *a, const BLOCKS(Lathe) *b, const Lathe_gemm *g, bool add)
{
    Tiles t = thin_tiles(g);
    bool worth_it = (double)g->M * (double)g->N * (double)g->K * (double)t.batch > 5e4;
#pragma omp parallel for schedule(dynamic) if (worth_it && !omp_in_parallel())
    for (int64_t i = 0; i < t.batch * t.columns; i++) {
        Begin at = begin_of(g, i / t.columns);
        int64_t n = i % t.columns * t.n;
        BLOCKS(thin_by)(c + at.c, a + at.a, b + at.b / LATHE_BLOCK, g, n, at_most(n + t.n, g->N), add);
    }
}

static void BLOCKS(multiply_by)(float *c, const float *a, const BLOCKS(Lathe) *b, const Lathe_gemm *given,
                                bool add)
{
    const Lathe_gemm live = of_live_rows(given), *g = &live;
    if (!add) clear_f32(c, given, g->K ? g->M : 0);
    if (g->M == 0 || g->N == 0 || g->K == 0) return;
    if (g->b_k == 1 && (g->M <= g->N || g->alike) && is_thin(g)) BLOCKS(thin_gemm)(c, a, b, g, add);
    else gemm_own_blocks(c, a, b, BLOCK_TYPE, g, add);
}

void BLOCKS(gemm)(float *c, const float *a, const BLOCKS(Lathe) *b, const Lathe_gemm *g, bool add)
{
    const Product p = {.g = g, .c = c, .a = a, .b = b, .add = add, .blocks = BLOCK_TYPE};
    void *kept = gemm_watch ? gemm_watch->before(&p) : NULL;
    BLOCKS(multiply_by)(c, a, b, g, add);
    if (gemm_watch) gemm_watch->after(&p, kept);
}

#undef BLOCK_TYPE
#undef BLOCKS
