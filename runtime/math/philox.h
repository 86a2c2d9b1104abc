/* philox.h: random bits: Philox4x32-10, key (seed, site), counter (index / 4, row, step, 0), word index mod 4.  Part of
 * math/math.h.  (Salmon et al. 2011, Parallel random numbers: as easy as 1, 2, 3.) */
#ifndef LATHE_MATH_PHILOX_H
#define LATHE_MATH_PHILOX_H

#include <stddef.h>

typedef struct Philox {
    uint32_t word[4];
} Philox;

MATH Philox philox_block(int seed, int step, int site, int row, int block)
{
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)site;
    uint32_t c0 = (uint32_t)block, c1 = (uint32_t)row, c2 = (uint32_t)step, c3 = 0;
    ROUNDS for (int round = 0; round < 10; round++)
    {
        uint64_t p0 = (uint64_t)c0 * 0xD2511F53u, p1 = (uint64_t)c2 * 0xCD9E8D57u;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    Philox p = {{c0, c1, c2, c3}};
    return p;
}

MATH int philox_word(int seed, int step, int site, int row, int index)
{
    Philox p = philox_block(seed, step, site, row, (int)((uint32_t)index >> 2));
    uint32_t even = index & 2 ? p.word[2] : p.word[0], odd = index & 2 ? p.word[3] : p.word[1];
    return (int)(index & 1 ? odd : even);
}

/* The top 24 bits as a number in [0, 1): exact in both. */
MATH float u01_f32(int bits) { return (float)(int)((uint32_t)bits >> 8) * 0x1p-24f; }
MATH double u01_f64(int bits) { return (double)(int)((uint32_t)bits >> 8) * 0x1p-24; }

#ifndef __CUDACC__
enum { PHILOX_BLOCKS = 16 }; /* side by side: a vector of counters */

/* words[i] = philox_word(seed, step, site, row, first + i) for i < n.  A block is made once for its four words. */
static inline void philox_row(int *words, int n, int seed, int step, int site, int row, int first)
{
    uint32_t block = (uint32_t)first >> 2;
    for (int i = -(first & 3); i < n; i += 4 * PHILOX_BLOCKS, block += PHILOX_BLOCKS) {
        int drawn[PHILOX_BLOCKS][4], from = i < 0 ? -i : 0, to = n - i < 4 * PHILOX_BLOCKS ? n - i : 4 * PHILOX_BLOCKS;
        for (uint32_t b = 0; b < PHILOX_BLOCKS; b++) {
            Philox p = philox_block(seed, step, site, row, (int)((block + b) & UINT32_MAX >> 2));
            for (int w = 0; w < 4; w++) drawn[b][w] = (int)p.word[w];
        }
        for (int k = from; k < to; k++) words[i + k] = drawn[k / 4][k % 4];
    }
}
#endif

#endif
