/* sha256.c: SHA-256, from FIPS 180-4, section 6.2; with the instructions that x86-64 has for it, where the processor
 * has them (Gulley and others, Intel SHA Extensions, 2013): five times as fast. */
#include "base/sha256.h"

#include <string.h>

#if defined __x86_64__ && defined __GNUC__
#include <cpuid.h>
#include <immintrin.h>
#endif

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t K[64] __attribute__((aligned(16))) = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turned(uint32_t x, int by) { return x >> by | x << (32 - by); }

static uint32_t big_endian(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void compress_block(uint32_t state[8], const unsigned char *at)
{
    uint32_t w[64], s[8];
    for (int t = 0; t < 16; t++) w[t] = big_endian(at + 4 * t);
    for (int t = 16; t < 64; t++) {
        uint32_t a = w[t - 15], b = w[t - 2];
        w[t] =
            (turned(b, 17) ^ turned(b, 19) ^ b >> 10) + w[t - 7] + (turned(a, 7) ^ turned(a, 18) ^ a >> 3) + w[t - 16];
    }
    memcpy(s, state, sizeof s);
    for (int t = 0; t < 64; t += 8)
        for (int k = 0; k < 8; k++) { /* a … h are s[-k & 7] …: they move by one place each round */
            uint32_t a = s[-k & 7], b = s[(1 - k) & 7], c = s[(2 - k) & 7];
            uint32_t e = s[(4 - k) & 7], f = s[(5 - k) & 7], g = s[(6 - k) & 7], *h = &s[(7 - k) & 7];
            *h += (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + K[t + k] + w[t + k];
            s[(3 - k) & 7] += *h;
            *h += (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        }
    for (int k = 0; k < 8; k++) state[k] += s[k];
}

/* ------------------------------------------------------------------ with instructions of the processor */

static int plain;
void sha256_plainly(int plainly) { plain = plainly; }

#if defined __x86_64__ && defined __GNUC__
static int has_instructions(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b >> 29 & 1)) return 0;
    return __get_cpuid(1, &a, &b, &c, &d) && (c >> 19 & 1) && (c >> 9 & 1); /* SSE4.1, SSSE3 */
}

/* Four rounds at a time: the state as ABEF and CDGH, the next sixteen words in w. */
__attribute__((target("sha,sse4.1,ssse3"))) static void compress_quickly(uint32_t state[8], const unsigned char *at,
                                                                         size_t blocks)
{
    const __m128i swapped = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i low = _mm_shuffle_epi32(_mm_loadu_si128((const void *)state), 0xb1);
    __m128i high = _mm_shuffle_epi32(_mm_loadu_si128((const void *)(state + 4)), 0x1b);
    __m128i abef = _mm_alignr_epi8(low, high, 8), cdgh = _mm_blend_epi16(high, low, 0xf0);
    for (; blocks; blocks--, at += 64) {
        const __m128i abef_before = abef, cdgh_before = cdgh;
        __m128i w[4];
        for (int k = 0; k < 4; k++) w[k] = _mm_shuffle_epi8(_mm_loadu_si128((const void *)(at + 16 * k)), swapped);
        for (int r = 0; r < 16; r++) {
            __m128i now = w[r & 3], x = _mm_add_epi32(now, _mm_load_si128((const void *)(K + 4 * r)));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, x);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(x, 0x0e));
            if (r >= 12) continue;
            __m128i last = w[(r + 3) & 3], middle = _mm_alignr_epi8(last, w[(r + 2) & 3], 4);
            w[r & 3] = _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(now, w[(r + 1) & 3]), middle), last);
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    low = _mm_shuffle_epi32(abef, 0x1b);
    high = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128((void *)state, _mm_blend_epi16(low, high, 0xf0));
    _mm_storeu_si128((void *)(state + 4), _mm_alignr_epi8(high, low, 8));
}
#else
static int has_instructions(void) { return 0; }
static void compress_quickly(uint32_t state[8], const unsigned char *at, size_t blocks)
{
    for (; blocks; blocks--, at += 64) compress_block(state, at);
}
#endif

static void compress_blocks(uint32_t state[8], const unsigned char *at, size_t blocks)
{
    static int known; /* 0: not yet; 1: no; 2: yes.  Threads that find it at once find the same */
    int now = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (!now) __atomic_store_n(&known, now = 1 + has_instructions(), __ATOMIC_RELAXED);
    if (now == 2 && !plain) compress_quickly(state, at, blocks);
    else
        for (; blocks; blocks--, at += 64) compress_block(state, at);
}

/* ------------------------------------------------------------------ any number of bytes */

void sha256_start(Sha256 *h)
{
    *h = (Sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab,
                            0x5be0cd19}}; /* of the square roots of the first 8 primes */
}

void sha256_add(Sha256 *h, const void *bytes_at, size_t bytes)
{
    const unsigned char *at = bytes_at;
    h->bytes += bytes;
    if (h->waiting) {
        size_t n = sizeof h->rest - h->waiting < bytes ? sizeof h->rest - h->waiting : bytes;
        memcpy(h->rest + h->waiting, at, n);
        h->waiting += n;
        at += n;
        bytes -= n;
        if (h->waiting < sizeof h->rest) return;
        compress_blocks(h->state, h->rest, 1);
        h->waiting = 0;
    }
    if (bytes >= sizeof h->rest) compress_blocks(h->state, at, bytes / sizeof h->rest);
    h->waiting = bytes % sizeof h->rest;
    if (h->waiting) memcpy(h->rest, at + bytes - h->waiting, h->waiting);
}

Digest sha256_end(Sha256 *h)
{
    static const unsigned char end[72] = {0x80};
    unsigned char length[8];
    Digest d;
    for (int k = 0; k < 8; k++) length[k] = (unsigned char)(h->bytes * 8 >> (56 - 8 * k));
    sha256_add(h, end, h->waiting < 56 ? 56 - h->waiting : 120 - h->waiting);
    sha256_add(h, length, sizeof length);
    for (int k = 0; k < SHA256_BYTES; k++) d.byte[k] = (unsigned char)(h->state[k / 4] >> (24 - 8 * (k % 4)));
    return d;
}

Digest sha256_of(const void *at, size_t bytes)
{
    Sha256 h;
    sha256_start(&h);
    sha256_add(&h, at, bytes);
    return sha256_end(&h);
}

void digest_text(const Digest *d, char text[SHA256_DIGITS + 1])
{
    static const char digit[] = "0123456789abcdef";
    for (int k = 0; k < SHA256_BYTES; k++) {
        text[2 * k] = digit[d->byte[k] >> 4];
        text[2 * k + 1] = digit[d->byte[k] & 15];
    }
    text[SHA256_DIGITS] = 0;
}
