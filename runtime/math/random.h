/* random.h: draws that are a function of (seed, name, element): the same for any layout, number of threads and
 * order. */
#ifndef LATHE_MATH_RANDOM_H
#define LATHE_MATH_RANDOM_H

#include "math/math.h"

/* One stream: Philox's key and counter, without the element. */
typedef struct Stream {
    int seed, step, site, row;
} Stream;

/* Half of the name's FNV-1a hash goes into the key, half into the counter. */
static inline Stream stream_of(uint64_t seed, const char *name)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *name; name++) h = (h ^ (unsigned char)*name) * 0x100000001b3u;
    return (Stream){(int)(uint32_t)seed, (int)(uint32_t)(h >> 32), (int)(uint32_t)h, (int)(uint32_t)(seed >> 32)};
}

/* Random bits of elements 4 · block … 4 · block + 3. */
static inline Philox stream_block(Stream s, int64_t block)
{
    return philox_block(s.seed, s.step, s.site, s.row ^ (int)(block >> 32), (int)(uint32_t)block);
}

/* The upper half of a · b. */
static inline uint64_t high_product(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
    return (uint64_t)((unsigned __int128)a * b >> 64);
#else /* processors of 32 bits */
    const uint64_t half = UINT32_MAX, lows = (a & half) * (b & half);
    const uint64_t one = (a >> 32) * (b & half) + (lows >> 32), other = (a & half) * (b >> 32) + (one & half);
    return (a >> 32) * (b >> 32) + (one >> 32) + (other >> 32);
#endif
}

/* Uniform in 0 … n - 1, from 64 random bits of draw k at (step, site); the bias is below n / 2^64. */
static inline int64_t uniform_below(int32_t seed, int64_t step, int site, int64_t k, int64_t n)
{
    int32_t low = (int32_t)(uint32_t)step, high = (int32_t)(step >> 32);
    uint64_t a = (uint32_t)philox_word(seed ^ high, low, site, (int)k, 0);
    uint64_t b = (uint32_t)philox_word(seed ^ high, low, site, (int)k, 1);
    return (int64_t)high_product(a << 32 | b, (uint64_t)n);
}

/* (0, 1), 32 bits. */
static inline double uniform_of_word(uint32_t word) { return ((double)word + 0.5) * 0x1p-32; }

/* Two independent standard normals by Box and Muller: radius and angle from two words; at most 6.7. */
static inline void normals_of_words(uint32_t w0, uint32_t w1, float *z0, float *z1)
{
    float radius = sqrtf(-2.0f * log_f32((float)uniform_of_word(w0)));
    float angle = (float)(int)(w1 >> 8) * (0x1p-24f * 6.2831853f);
    *z0 = radius * cos_f32(angle);
    *z1 = radius * sin_f32(angle);
}

#endif
