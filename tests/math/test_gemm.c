/* test_gemm.c: math/gemm.c: all layouts and extents against plain loops, batches, K = 0, adding, untouched
 * surroundings, and the same bits for 1, 2, 3, 8 threads and inside a parallel region. */
#include "harness.h"
#include "lathe_rt.h"
#include "base/words.h"
#include "interface/lathe_model.h"
#include "math/engine.h"
#include "math/gemm_shape.h"
#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* One matrix of a batch [B1][B0], with its strides and the elements it spans. */
typedef struct Matrix {
    int64_t row, column, outer, inner, span;
} Matrix;

typedef struct Case {
    Lathe_gemm g;
    Matrix a, b, c;
    bool add;
} Case;

enum Layout { ROWS_CONTIGUOUS, COLUMNS_CONTIGUOUS, SPACED, REPEATED }; /* SPACED: neither; REPEATED: all rows are one */

static Matrix matrix(int64_t rows, int64_t columns, const int64_t batch[2], enum Layout layout, int64_t gap, bool share)
{
    Matrix m = {columns + gap, 1, 0, 0, 0};
    if (layout == COLUMNS_CONTIGUOUS) m.row = 1, m.column = rows + gap;
    if (layout == SPACED) m.row = 2 * columns + 1, m.column = 2;
    if (layout == REPEATED) m.row = 0;
    int64_t one = (rows > 0 ? rows - 1 : 0) * m.row + (columns > 0 ? columns - 1 : 0) * m.column + 1 + gap;
    m.inner = share ? 0 : one; /* b shared by the inner batch axis, as grouped heads are */
    m.outer = share ? one : one * batch[1];
    m.span = one * batch[0] * batch[1];
    return m;
}

static Case make_case(int64_t M, int64_t N, int64_t K, int64_t b0, int64_t b1, int la, int lb, int lc, int64_t gap,
                      bool add)
{
    int64_t batch[2] = {b0, b1};
    Case t = {.add = add};
    t.a = matrix(M, K, batch, la, gap, false);
    t.b = matrix(K, N, batch, lb, gap, gap & 1);
    t.c = matrix(M, N, batch, lc == REPEATED ? SPACED : lc, gap, false);
    t.g = (Lathe_gemm){.nbatch = 2,
                       .batch = {b0, b1},
                       .a_batch = {t.a.outer, t.a.inner},
                       .b_batch = {t.b.outer, t.b.inner},
                       .c_batch = {t.c.outer, t.c.inner},
                       .M = M,
                       .N = N,
                       .K = K,
                       .a_m = t.a.row,
                       .a_k = t.a.column,
                       .b_k = t.b.row,
                       .b_n = t.b.column,
                       .c_m = t.c.row,
                       .c_n = t.c.column};
    return t;
}

static char *text_of_case(const Case *t)
{
    const Lathe_gemm *g = &t->g;
    return format("%ldx%ld · %ldx%ld (a %ld %ld, b %ld %ld, c %ld %ld), batch %ld %ld%s", g->M, g->K, g->K, g->N,
                  g->a_m, g->a_k, g->b_k, g->b_n, g->c_m, g->c_n, g->batch[0], g->batch[1], t->add ? ", added" : "");
}

static void *numbers(bool f64, int64_t n, Rng *r)
{
    void *x = alloc((size_t)(n + 16) * 8);
    for (int64_t i = 0; i < n + 16; i++) set_element(f64 ? LATHE_F64 : LATHE_F32, x, i, 2 * uniform(r) - 1);
    return x;
}

static void product(bool f64, void *c, const void *a, const void *b, const Case *t)
{
    if (f64) gemm_f64(c, a, b, &t->g, t->add);
    else gemm_f32(c, a, b, &t->g, t->add);
}

/* Every element of c against a sum in double; what no element of c occupies must stay. */
static void check_result(bool f64, const Case *t, const void *before, const void *c, const void *a, const void *b)
{
    Lathe_dtype type = f64 ? LATHE_F64 : LATHE_F32;
    const Lathe_gemm *g = &t->g;
    char *written = alloc((size_t)t->c.span + 16);
    double worst = 0;
    for (int64_t e = 0; e < g->batch[0] * g->batch[1] * g->M * g->N; e++) {
        int64_t n = e % g->N, m = e / g->N % g->M, i1 = e / g->N / g->M % g->batch[1],
                i0 = e / g->N / g->M / g->batch[1];
        int64_t at = i0 * t->c.outer + i1 * t->c.inner + m * g->c_m + n * g->c_n;
        double sum = t->add ? get_element(type, before, at) : 0, size = fabs(sum);
        for (int64_t k = 0; k < g->K; k++) {
            double p = get_element(type, a, i0 * t->a.outer + i1 * t->a.inner + m * g->a_m + k * g->a_k) *
                       get_element(type, b, i0 * t->b.outer + i1 * t->b.inner + k * g->b_k + n * g->b_n);
            sum += p;
            size += fabs(p);
        }
        double error = fabs(get_element(type, c, at) - sum) / ((f64 ? DBL_EPSILON : FLT_EPSILON) * (size + 1e-30));
        worst = fmax(worst, error);
        written[at] = 1;
    }
    expect(worst <= 2 + sqrt((double)g->K), "%s: off by %.1f units", text_of_case(t), worst);
    for (int64_t i = 0; i < t->c.span + 16; i++)
        if (!written[i] && get_element(type, before, i) != get_element(type, c, i)) {
            expect(false, "%s: element %ld is not its own and was changed", text_of_case(t), i);
            return;
        }
}

static void check_case(bool f64, Case t, Rng *r, bool values)
{
    static const int threads[] = {1, 2, 3, 8};
    void *a = numbers(f64, t.a.span, r), *b = numbers(f64, t.b.span, r), *before = numbers(f64, t.c.span, r);
    size_t bytes = (size_t)(t.c.span + 16) * (f64 ? 8 : 4);
    void *first = copy_of(before, bytes), *other = alloc(bytes);
    omp_set_num_threads(1);
    product(f64, first, a, b, &t);
    if (values) check_result(f64, &t, before, first, a, b);
    for (int i = 1; i < COUNT_OF(threads); i++) {
        omp_set_num_threads(threads[i]);
        memcpy(other, before, bytes);
        product(f64, other, a, b, &t);
        expect(!memcmp(first, other, bytes), "%s: other bits with %d threads", text_of_case(&t), threads[i]);
        expect(omp_get_max_threads() == threads[i], "the number of threads was changed");
    }
    omp_set_num_threads(2);
    memcpy(other, before, bytes);
#pragma omp parallel
#pragma omp single
    product(f64, other, a, b, &t);
    expect(!memcmp(first, other, bytes), "%s: other bits inside a parallel region", text_of_case(&t));
}

/* c (+)= a · b with b packed beforehand has the bits of the product that packs for itself. */
static void test_packed(void)
{
    static const int64_t shape[][3] = {{9, 9, 1},      {12, 33, 7},    {32, 1024, 256}, {40, 100, 800},
                                       {255, 65, 385}, {16, 100, 800}, {11, 72, 385},   {300, 15, 400}};
    Rng r = rng_of(3);
    for (int i = 0; i < COUNT_OF(shape) * 8; i++) {
        const int64_t *s = shape[i / 8];
        bool f64 = i & 1;
        Case t = make_case(s[0], s[1], s[2], 1, 1, i >> 1 & 1, i >> 2 & 1, 0, i % 3, i % 5 == 0);
        int64_t wide = (t.g.N + LATHE_PACKED - 1) / LATHE_PACKED * LATHE_PACKED;
        void *a = numbers(f64, t.a.span, &r), *b = numbers(f64, t.b.span, &r), *c = numbers(f64, t.c.span, &r);
        size_t bytes = (size_t)(t.c.span + 16) * (f64 ? 8 : 4);
        void *first = copy_of(c, bytes), *packed = alloc((size_t)(t.g.K * wide) * 8);
        t.g.nbatch = 0;
        omp_set_num_threads(1);
        product(f64, first, a, b, &t);
        for (int threads = 1; threads <= 3; threads++) {
            void *other = copy_of(c, bytes);
            omp_set_num_threads(threads);
            if (f64) pack_f64(packed, b, &t.g);
            else pack_f32(packed, b, &t.g);
            if (f64) gemm_packed_f64(other, a, packed, &t.g, t.add);
            else gemm_packed_f32(other, a, packed, &t.g, t.add);
            expect(!memcmp(first, other, bytes), "%s: other bits when packed, %d threads", text_of_case(&t), threads);
        }
        free_all();
    }
}

static void test_small_extents(void)
{
    static const int64_t extent[] = {0, 1, 2, 3, 5, 15, 16, 17, 31, 33, 50};
    Rng r = rng_of(1);
    for (int i = 0; i < (long_run() ? 20000 : 1000); i++) {
        int64_t M = extent[below(&r, 11)], N = extent[below(&r, 11)], K = extent[below(&r, 11)];
        Case t = make_case(M, N, K, 1 + below(&r, 3), 1 + below(&r, 3), (int)below(&r, 4), (int)below(&r, 4),
                           (int)below(&r, 3), below(&r, 3), below(&r, 2));
        check_case(i % 3 == 0, t, &r, true);
        if (i % 50 == 49) free_all();
    }
}

/* Shapes that are cut into tiles, in each layout that generated code has; the last ones share the chunks of K among
 * threads, in one wave or in several, in one product or in each of two. */
static void test_large_extents(void)
{
    static const int64_t shape[][4] = {{1, 3000, 700, 1},   {1, 700, 3000, 1},  {3, 2048, 512, 2},  {2050, 7, 300, 1},
                                       {128, 128, 3000, 1}, {1100, 300, 96, 1}, {300, 2000, 64, 1}, {65, 130, 64, 24},
                                       {33, 1030, 40, 3},   {768, 97, 1, 1},    {20, 20, 5000, 2},  {9, 12, 5000, 1},
                                       {5, 16, 2100, 1},    {64, 64, 8000, 1},  {33, 70, 9001, 1},  {250, 250, 6000, 1},
                                       {10, 300, 3001, 2},  {260, 20, 2500, 1}};
    Rng r = rng_of(2);
    for (int i = 0; i < COUNT_OF(shape); i++)
        for (int layouts = 0; layouts < 8; layouts++) {
            const int64_t *s = shape[i];
            Case t = make_case(s[0], s[1], s[2], 1, s[3], layouts & 1, layouts >> 1 & 1, layouts >> 2, layouts % 3,
                               layouts % 2);
            bool values = layouts == i % 8 && s[0] * s[1] * s[2] < 100000000;
            check_case(i % 4 == 3, t, &r, values || long_run());
            free_all();
        }
}

int main(void)
{
    rt_init_gemm(8);
    test_small_extents();
    test_large_extents();
    if (strcmp(gemm_engine(), "openblas") != 0) test_packed(); /* what is packed is multiplied by our own engine */
    return finish();
}
