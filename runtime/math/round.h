/* round.h: parameters kept in bf16 (--parameters bf16), for a CPU and a GPU: an update is computed in fp32 and rounded
 * at random to one of the two neighbours, with probabilities whose mean is the number itself (stochastic rounding;
 * Gupta et al. 2015, "Deep Learning with Limited Numerical Precision", section 3.1).  Rounding to nearest would lose
 * all changes below half a unit of the last place, 2^-9 of a parameter.  Draws depend only on (seed, step, element). */
#ifndef LATHE_MATH_ROUND_H
#define LATHE_MATH_ROUND_H

#include "math/math.h"

/* Random words of elements 4 · block … 4 · block + 3 of the flat array. */
MATH Philox rounding_draws(int32_t seed, int64_t step, int64_t block)
{
    const int site = 0x726f756e; /* used by no other draws */
    return philox_block(seed ^ (int)(step >> 32), (int)(uint32_t)step, site, (int)(block >> 32), (int)(uint32_t)block);
}

MATH uint32_t rounding_draw(int32_t seed, int64_t step, int64_t element)
{
    Philox p = rounding_draws(seed, step, element / 4);
    uint32_t even = element & 2 ? p.word[2] : p.word[0], odd = element & 2 ? p.word[3] : p.word[1];
    return element & 1 ? odd : even;
}

/* The upper half of x, or the next number away from zero if the lower half plus 16 random bits exceeds 2^16 - 1, which
 * has probability (lower half) / 2^16.  Numbers that bf16 represents stay, and so do numbers that are not finite. */
MATH bf16 round_at_random(float x, uint32_t draw)
{
    uint32_t u = bits_of_f32(x);
    return x - x == 0 ? (bf16)((u + (draw >> 16)) >> 16) : to_bf16_f32(x);
}

#endif
