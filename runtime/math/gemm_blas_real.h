/* gemm_blas_real.h: the part of math/gemm_blas.c that is compiled for float and for double: REAL, NAME(x). */

bool NAME(gemm_blas)(REAL *c, const REAL *a, const REAL *b, const Lathe_gemm *g, bool add)
{
    Blas_side sa = blas_side(g->M, g->K, g->a_m, g->a_k), sb = blas_side(g->K, g->N, g->b_k, g->b_n),
              sc = blas_side(g->M, g->N, g->c_m, g->c_n);
    if (!sa.ld || !sb.ld || !sc.ld || sc.trans != NO_TRANS || g->K > INT_MAX) return false;
    Tiles t = blas_tiles(g);
    int64_t tiles = t.rows * t.columns;
#pragma omp parallel for schedule(dynamic) if (t.batch * tiles > 1 && !omp_in_parallel())
    for (int64_t i = 0; i < t.batch * tiles; i++) {
        Begin at = begin_of(g, i / tiles);
        int64_t m = i % tiles / t.columns * t.m, n = i % t.columns * t.n;
        int64_t rows = at_most(g->M - m, t.m), columns = at_most(g->N - n, t.n);
        int before = begin_blas();
        NAME(blas)
        (ROW_MAJOR, sa.trans, sb.trans, (int)rows, (int)columns, (int)g->K, 1, a + at.a + m * g->a_m, (int)sa.ld,
         b + at.b + n * g->b_n, (int)sb.ld, add ? 1 : 0, c + at.c + m * g->c_m + n * g->c_n, (int)sc.ld);
        end_blas(before);
    }
    return true;
}
