/* blocks.c: the forms of blocks in which GGUF files store numbers: scales, sometimes least values, and few bits for
 * each element (llama.cpp, ggml/src/ggml-common.h).
 *
 * A product of scale and element is exact in a double, so values are rounded once, where they are written. */
#include "model/blocks.h"
#include "math/math.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

double half_value(unsigned bits) { return from_f16_f64((f16)bits); }

/* Of the fraction, a double shifted so that its last bit counts 1 is rounded to even; a carry grows the exponent. */
unsigned half_bits(double x)
{
    unsigned sign = signbit(x) ? 0x8000 : 0;
    if (isnan(x)) return sign | 0x7e00;
    if (isinf(x)) return sign | 0x7c00;
    int exponent;
    frexp(x, &exponent); /* |x| is below 2^exponent */
    int unit = exponent > -14 ? exponent - 11 : -24;
    double whole = nearbyint(ldexp(fabs(x), -unit));
    unsigned bits = x == 0 ? 0 : (unsigned)whole + (unsigned)(unit + 24) * 1024;
    return sign | (bits > 0x7c00 ? 0x7c00 : bits);
}

unsigned short_bits(double x)
{
    float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if (isnan(f)) return bits >> 16 | 64;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

static double half_at(const unsigned char *at) { return half_value((unsigned)at[0] | (unsigned)at[1] << 8); }

/* ------------------------------------------------------------------ 32 elements with one scale */

/* 4 bits: element j in the lower half of byte j, element 16 + j in the upper one. */
static int nibble(const unsigned char *bits, int j) { return j < 16 ? bits[j] & 15 : bits[j - 16] >> 4; }

/* A fifth bit of each, in 4 bytes. */
static int fifth(const unsigned char *bits, int j) { return (bits[j / 8] >> j % 8 & 1) << 4; }

static void q4_0(const unsigned char *block, double *to)
{
    const double scale = half_at(block);
    for (int j = 0; j < 32; j++) to[j] = scale * (nibble(block + 2, j) - 8);
}

static void q4_1(const unsigned char *block, double *to)
{
    const double scale = half_at(block), least = half_at(block + 2);
    for (int j = 0; j < 32; j++) to[j] = scale * nibble(block + 4, j) + least;
}

static void q5_0(const unsigned char *block, double *to)
{
    const double scale = half_at(block);
    for (int j = 0; j < 32; j++) to[j] = scale * ((nibble(block + 6, j) | fifth(block + 2, j)) - 16);
}

static void q5_1(const unsigned char *block, double *to)
{
    const double scale = half_at(block), least = half_at(block + 2);
    for (int j = 0; j < 32; j++) to[j] = scale * (nibble(block + 8, j) | fifth(block + 4, j)) + least;
}

static void q8_0(const unsigned char *block, double *to)
{
    const double scale = half_at(block);
    for (int j = 0; j < 32; j++) to[j] = scale * (int8_t)block[2 + j];
}

/* ------------------------------------------------------------------ 256 elements, eight or sixteen scales */

typedef struct Scales { /* of 32 elements: x = scale * q - least */
    double scale, least;
} Scales;

/* Eight pairs of 6 bits in 12 bytes: the first four pairs lie in the lower 6 bits of bytes 0 … 7; of the others, 4 bits
 * are in bytes 8 … 11 and 2 in the upper ends of bytes 0 … 7. */
static Scales scales_of(const unsigned char *block, int k)
{
    const unsigned char *p = block + 4;
    int scale = k < 4 ? p[k] & 63 : (p[k + 4] & 15) | p[k - 4] >> 6 << 4;
    int least = k < 4 ? p[k + 4] & 63 : p[k + 4] >> 4 | p[k] >> 6 << 4;
    return (Scales){half_at(block) * scale, half_at(block + 2) * least};
}

/* Elements 64 g + j are in the lower halves of bytes 32 g + j, elements 64 g + 32 + j in the upper ones. */
static int long_nibble(const unsigned char *bits, int element)
{
    int byte = bits[element / 64 * 32 + element % 32];
    return element % 64 < 32 ? byte & 15 : byte >> 4;
}

static void q4_k(const unsigned char *block, double *to)
{
    for (int k = 0; k < 8; k++) {
        Scales s = scales_of(block, k);
        for (int e = 32 * k; e < 32 * k + 32; e++) to[e] = s.scale * long_nibble(block + 16, e) - s.least;
    }
}

/* Bit k of byte j is the fifth of element 32 k + j. */
static void q5_k(const unsigned char *block, double *to)
{
    for (int k = 0; k < 8; k++) {
        Scales s = scales_of(block, k);
        for (int j = 0; j < 32; j++) {
            int q = long_nibble(block + 48, 32 * k + j) | (block[16 + j] >> k & 1) << 4;
            to[32 * k + j] = s.scale * q - s.least;
        }
    }
}

/* Each half of 128 elements: 64 bytes with 4 bits, 32 bytes with 2 bits of four elements each; then come 16 scales. */
static void q6_k(const unsigned char *block, double *to)
{
    const unsigned char *low = block, *high = block + 128, *scale = block + 192;
    double all = half_at(block + 208);
    for (int e = 0; e < 256; e++) {
        int half = e / 128, in = e % 128, part = in / 32, j = in % 32;
        int byte = low[64 * half + 32 * (part % 2) + j], four = part < 2 ? byte & 15 : byte >> 4;
        int two = high[32 * half + j] >> 2 * part & 3;
        to[e] = all * (int8_t)scale[e / 16] * ((four | two << 4) - 32);
    }
}

static const Block_form forms[] = {
    {"Q4_0", 32, 18, q4_0}, {"Q4_1", 32, 20, q4_1},   {"Q5_0", 32, 22, q5_0},   {"Q5_1", 32, 24, q5_1},
    {"Q8_0", 32, 34, q8_0}, {"Q4_K", 256, 144, q4_k}, {"Q5_K", 256, 176, q5_k}, {"Q6_K", 256, 210, q6_k},
};

const Block_form *block_form(const char *dtype)
{
    for (size_t i = 0; dtype[0] == 'Q' && i < sizeof forms / sizeof *forms; i++)
        if (strcmp(forms[i].dtype, dtype) == 0) return &forms[i];
    return NULL;
}
