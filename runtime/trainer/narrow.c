/* narrow.c: reals that are sent as bf16, with error feedback: what rounding leaves out is added to the next number in
 * the same place (Seide et al. 2014, Karimireddy et al. 2019).
 *
 * The error is itself kept as bf16: the two have 16 significant bits together.  Sums are of reals, in the tree of
 * ranks/sums.c. */
#include "trainer/narrow.h"
#include "interface/dealt.h"
#include "ranks/sums.h"

#include <string.h>

enum { BLOCK = 1024 }; /* elements */

/* Blocks are packed from the first on, and unpacked from the last on: a block's reals take more room than its numbers.
 */
#define NARROW(T, real)                                                                                                \
    static void narrow_block_##T(bf16 *to, const real *x, bf16 *error, int64_t n)                                      \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const real all = x[i] + from_bf16_##T(error[i]);                                                           \
            to[i] = to_bf16_##T(all);                                                                                  \
            const real rest = all - from_bf16_##T(to[i]);                                                              \
            error[i] = to_bf16_##T(rest - rest == 0 ? rest : 0);                                                       \
        }                                                                                                              \
    }                                                                                                                  \
    static void narrow_##T(real *x, bf16 *error, int64_t n, bool packed)                                               \
    {                                                                                                                  \
        bf16 block[BLOCK], lost[BLOCK] = {0};                                                                          \
        for (int64_t at = 0; at < n; at += BLOCK) {                                                                    \
            const int64_t many = n - at < BLOCK ? n - at : BLOCK;                                                      \
            if (!error) memset(lost, 0, sizeof lost);                                                                  \
            narrow_block_##T(block, x + at, error ? error + at : lost, many);                                          \
            if (packed) memcpy((bf16 *)(void *)x + at, block, (size_t)many * sizeof *block);                           \
            else                                                                                                       \
                for (int64_t i = 0; i < many; i++) x[at + i] = from_bf16_##T(block[i]);                                \
        }                                                                                                              \
    }                                                                                                                  \
    static void widen_##T(real *x, int64_t n)                                                                          \
    {                                                                                                                  \
        bf16 block[BLOCK];                                                                                             \
        for (int64_t end = n, at; end > 0; end = at) {                                                                 \
            at = (end - 1) / BLOCK * BLOCK;                                                                            \
            memcpy(block, (const bf16 *)(const void *)x + at, (size_t)(end - at) * sizeof *block);                     \
            for (int64_t i = 0; i < end - at; i++) x[at + i] = from_bf16_##T(block[i]);                                \
        }                                                                                                              \
    }                                                                                                                  \
    static void widen_to_##T(real *to, const bf16 *x, int64_t n)                                                       \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++) to[i] = from_bf16_##T(x[i]);                                                   \
    }
NARROW(f32, float)
NARROW(f64, double)

void narrow_reals(Lathe_dtype type, void *x, bf16 *error, int64_t n, bool packed)
{
    if (type == LATHE_F64) narrow_f64(x, error, n, packed);
    else narrow_f32(x, error, n, packed);
}

void widen_reals(Lathe_dtype type, void *x, int64_t n)
{
    if (type == LATHE_F64) widen_f64(x, n);
    else widen_f32(x, n);
}

void add_narrow(Lathe_dtype type, void *to, void *const *x, int own, int ranks, int64_t n, double scale, void *room)
{
    const size_t size = type == LATHE_F64 ? sizeof(double) : sizeof(float);
    const int64_t most = LATHE_NARROW_ROOM / ranks;
    void *part[LATHE_MOST_RANKS];
    for (int64_t at = 0, many; at < n; at += many) {
        many = n - at < most ? n - at : most;
        for (int k = 0; k < ranks; k++) {
            part[k] = (char *)room + (size_t)(k * most) * size;
            if (k == own) memcpy(part[k], (const char *)x[k] + (size_t)at * size, (size_t)many * size);
            else if (type == LATHE_F64) widen_to_f64(part[k], (const bf16 *)x[k] + at, many);
            else widen_to_f32(part[k], (const bf16 *)x[k] + at, many);
        }
        add_over_ranks(type, (char *)to + (size_t)at * size, part, ranks, many, scale);
    }
}
