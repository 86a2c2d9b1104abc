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

/* The nearest scale and codes to 32 numbers: the largest gets code 127 or -127.  As GGUF's Q8_0 is made. */
static inline void to_q8_0(Lathe_q8_0 *b, const float *x)
{
    float most = 0;
    for (int i = 0; i < LATHE_BLOCK; i++) most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
    const float scale = most / 127, inverse = scale > 0 ? 1 / scale : 0;
    b->scale = to_f16_f32(scale);
    for (int i = 0; i < LATHE_BLOCK; i++) b->code[i] = (int8_t)roundf(x[i] * inverse);
}

#endif
