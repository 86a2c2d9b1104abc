/* round.h: parameters kept in bf16 (--parameters bf16), for a CPU and a GPU: an update is computed in fp32 and rounded to
 * one of the two neighbours at random, to each with the probability that makes the mean the number itself (stochastic
 * rounding; Gupta et al. 2015, "Deep Learning with Limited Numerical Precision", section 3.1).  To the nearest, changes
 * below half of a last place, 2^-9 of a parameter, would all be lost.  What is drawn depends on (seed, step, element) and
 * on nothing else. */
#ifndef LATHE_MATH_ROUND_H
#define LATHE_MATH_ROUND_H

#include "math/math.h"

/* Of elements 4 · block … 4 · block + 3 of the flat array, a word each. */
MATH Philox rounding_draws(int32_t seed, int64_t step, int64_t block)
{
    const int site = 0x726f756e; /* no other draws have it */
    return philox_block(seed ^ (int)(step >> 32), (int)(uint32_t)step, site, (int)(block >> 32), (int)(uint32_t)block);
}

MATH uint32_t rounding_draw(int32_t seed, int64_t step, int64_t element)
{
    Philox p = rounding_draws(seed, step, element / 4);
    uint32_t even = element & 2 ? p.word[2] : p.word[0], odd = element & 2 ? p.word[3] : p.word[1];
    return element & 1 ? odd : even;
}

/* The upper half of x, or the next one away from zero where the lower half and 16 random bits make more than 2^16 - 1:
 * with the probability lower half / 2^16.  What bf16 holds stays; so does what is not finite. */
MATH bf16 round_at_random(float x, uint32_t draw)
{
    uint32_t u = bits_of_f32(x);
    return x - x == 0 ? (bf16)((u + (draw >> 16)) >> 16) : to_bf16_f32(x);
}

#endif
