/* q8_0.h: numbers of 8 bits and a shared scale (interface/q8_0.h), to and from floats. */
#ifndef LATHE_MATH_Q8_0_H
#define LATHE_MATH_Q8_0_H

#include "math/math.h"

/* A processor with conversions of its own gives the same bits. */
static inline float block_scale(const Lathe_q8_0 *b)
{
#ifdef __F16C__
    typedef short Eight_halves __attribute__((vector_size(16)));
    return __builtin_ia32_vcvtph2ps((Eight_halves){(short)b->scale})[0];
#else
    return from_f16_f32(b->scale);
#endif
}

/* As GGUF's Q8_0 is made: the largest number gets code 127 or -127; the scale is rounded behind the codes.  A number that
 * is not finite makes all of them NaN. */
static inline void to_q8_0(Lathe_q8_0 *b, const float *x)
{
    float most = 0, none = 0;
    for (int i = 0; i < LATHE_BLOCK; i++) most = fabsf(x[i]) > most ? fabsf(x[i]) : most, none += x[i] * 0;
    if (none != 0) {
        b->scale = 0x7e00;
        for (int i = 0; i < LATHE_BLOCK; i++) b->code[i] = 1;
        return;
    }
    const float scale = most / 127, inverse = scale > 0 ? 1 / scale : 0;
    b->scale = to_f16_f32(scale);
    for (int i = 0; i < LATHE_BLOCK; i++) b->code[i] = (int8_t)roundf(x[i] * inverse);
}

#endif
