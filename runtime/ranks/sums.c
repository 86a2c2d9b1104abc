/* sums.c: sums over ranks, in the order of a binary tree. */
#include "ranks/sums.h"

#include <string.h>

enum { BLOCK = 4096 }; /* elements that stay in a cache while all ranks are added */

#define ADD(name, real)                                                                                                \
    static void name(real *to, void *const *x, int ranks, int64_t at, int64_t n, real scale)                           \
    {                                                                                                                  \
        for (int step = 1; step < ranks; step *= 2)                                                                    \
            for (int k = 0; k + step < ranks; k += 2 * step) {                                                         \
                real *a = (real *)x[k] + at;                                                                           \
                const real *b = (const real *)x[k + step] + at;                                                        \
                for (int64_t i = 0; i < n; i++) a[i] += b[i];                                                          \
            }                                                                                                          \
        const real *sum = (const real *)x[0] + at;                                                                     \
        for (int64_t i = 0; i < n; i++) to[at + i] = sum[i] * scale;                                                   \
    }
ADD(add_f32, float)
ADD(add_f64, double)

void add_over_ranks(Lathe_dtype type, void *to, void *const *x, int ranks, int64_t n, double scale)
{
    for (int64_t at = 0; at < n; at += BLOCK) {
        const int64_t many = n - at < BLOCK ? n - at : BLOCK;
        if (type == LATHE_F64) add_f64(to, x, ranks, at, many, scale);
        else add_f32(to, x, ranks, at, many, (float)scale);
    }
}

double sum_over_ranks(Lathe_dtype type, double *x, int ranks, double scale)
{
    for (int step = 1; step < ranks; step *= 2)
        for (int k = 0; k + step < ranks; k += 2 * step)
            x[k] = type == LATHE_F64 ? x[k] + x[k + step] : (double)((float)x[k] + (float)x[k + step]);
    return type == LATHE_F64 ? x[0] * scale : (double)((float)x[0] * (float)scale);
}
