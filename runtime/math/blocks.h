/* blocks.h: numbers in blocks, which share a scale (interface/dtype.h), to and from floats. */
#ifndef LATHE_MATH_BLOCKS_H
#define LATHE_MATH_BLOCKS_H

#include "math/math.h"

#include <string.h>

#if defined __F16C__ && defined __has_builtin
#if __has_builtin(__builtin_ia32_vcvtph2ps) /* clang 22 has it no longer */
#define LATHE_HALVES 1
#endif
#endif

/* A processor with conversions of its own gives the same bits. */
static inline float block_scale(uint16_t scale)
{
#ifdef LATHE_HALVES
    typedef short Eight_halves __attribute__((vector_size(16)));
    return __builtin_ia32_vcvtph2ps((Eight_halves){(short)scale})[0];
#else
    return from_f16_f32(scale);
#endif
}

/* ---- to floats */

static inline void widen_q8_0(float to[LATHE_BLOCK], const Lathe_q8_0 *b)
{
    const float scale = block_scale(b->scale);
    for (int i = 0; i < LATHE_BLOCK; i++) to[i] = scale * b->code[i];
}

static inline void widen_q4_0(float to[LATHE_BLOCK], const Lathe_q4_0 *b)
{
    const float scale = block_scale(b->scale);
    for (int i = 0; i < LATHE_BLOCK / 2; i++) to[i] = scale * ((b->codes[i] & 15) - 8);
    for (int i = 0; i < LATHE_BLOCK / 2; i++) to[LATHE_BLOCK / 2 + i] = scale * ((b->codes[i] >> 4) - 8);
}

/* ---- from floats, as GGUF's types of these names are made.  A number that is not finite makes all of a block NaN. */

/* The number of the largest size; of two, the first.  *finite: whether all are. */
static inline float largest_of_block(const float *x, bool *finite)
{
    float most = 0, none = 0;
    for (int i = 0; i < LATHE_BLOCK; i++) most = fabsf(x[i]) > fabsf(most) ? x[i] : most, none += x[i] * 0;
    *finite = none == 0;
    return most;
}

/* The largest number gets code 127 or -127; the scale is rounded behind the codes.  As bits, sizes have the order of sizes, and
 * what is not finite is above all; so compilers find the largest in vectors. */
static inline void to_q8_0(Lathe_q8_0 *b, const float *x)
{
    uint32_t most = 0;
    for (int i = 0; i < LATHE_BLOCK; i++) {
        uint32_t size = bits_of_f32(x[i]) & 0x7fffffff;
        most = size > most ? size : most;
    }
    if (most >= 0x7f800000) {
        b->scale = 0x7e00;
        memset(b->code, 1, sizeof b->code);
        return;
    }
    const float scale = f32_of_bits(most) / 127, inverse = scale > 0 ? 1 / scale : 0;
    b->scale = to_f16_f32(scale);
    for (int i = 0; i < LATHE_BLOCK; i++) b->code[i] = (int8_t)roundf(x[i] * inverse);
}

/* The largest number gets code -8, so the scale has the other sign; one of the same size and that other sign, 7.  Product and
 * sum are rounded one by one, as in the Python package gguf. */
static inline void to_q4_0(Lathe_q4_0 *b, const float *x)
{
    bool finite;
    const float scale = largest_of_block(x, &finite) / -8, inverse = scale != 0 ? 1 / scale : 0;
    int code[LATHE_BLOCK];
    for (int i = 0; i < LATHE_BLOCK; i++) {
        int up = finite ? (int)(x[i] * inverse + 8.5f) : 0;
        code[i] = up > 15 ? 15 : up;
    }
    b->scale = finite ? to_f16_f32(scale) : 0x7e00;
    for (int i = 0; i < LATHE_BLOCK / 2; i++) b->codes[i] = (uint8_t)(code[i] | code[LATHE_BLOCK / 2 + i] << 4);
}

/* ---- of any type */

static inline const void *block_at(Lathe_dtype t, const void *blocks, int64_t element)
{
    return (const char *)blocks + element / LATHE_BLOCK * lathe_bytes_of_block(t);
}

static inline void widen_block(float to[LATHE_BLOCK], Lathe_dtype t, const void *blocks, int64_t i)
{
    switch (t) {
#define WIDEN(member, word, name) \
    case LATHE_##member: widen_##name(to, (const Lathe_##name *)blocks + i); return;
        LATHE_BLOCK_TYPES(WIDEN)
#undef WIDEN
    default: __builtin_unreachable();
    }
}

static inline void narrow_block(Lathe_dtype t, void *blocks, int64_t i, const float x[LATHE_BLOCK])
{
    switch (t) {
#define NARROW(member, word, name) \
    case LATHE_##member: to_##name((Lathe_##name *)blocks + i, x); return;
        LATHE_BLOCK_TYPES(NARROW)
#undef NARROW
    default: __builtin_unreachable();
    }
}

static inline float block_element(Lathe_dtype t, const void *blocks, int64_t i)
{
    switch (t) {
#define ELEMENT(member, word, name) \
    case LATHE_##member: return from_##name((const Lathe_##name *)blocks, i);
        LATHE_BLOCK_TYPES(ELEMENT)
#undef ELEMENT
    default: __builtin_unreachable();
    }
}

#endif
