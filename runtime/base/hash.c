/* hash.c: XXH64 with seed 0, the checksum of checkpoints: as fast as memory; `xxhsum -H1` prints the same digits.
 *
 * From the specification of xxHash (Yann Collet, doc/xxhash_spec.md, "XXH64 algorithm description"). */
#include "base/hash.h"

#include <string.h>

static const uint64_t P1 = 0x9E3779B185EBCA87u, P2 = 0xC2B2AE3D27D4EB4Fu, P3 = 0x165667B19E3779F9u,
                      P4 = 0x85EBCA77C2B2AE63u, P5 = 0x27D4EB2F165667C5u;

static uint64_t rotate(uint64_t x, int by) { return x << by | x >> (64 - by); }
static uint64_t mix(uint64_t lane, uint64_t word) { return rotate(lane + word * P2, 31) * P1; }

/* Reads little-endian bytes at any address. */
static uint64_t little_endian(const unsigned char *at, int bytes)
{
    uint64_t x = 0;
    memcpy(&x, at, (size_t)bytes);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    return x;
}

static void take_stripe(Hash *h, const unsigned char *at)
{
    for (int l = 0; l < 4; l++) h->lane[l] = mix(h->lane[l], little_endian(at + 8 * l, 8));
}

void hash_start(Hash *h) { *h = (Hash){.lane = {P1 + P2, P2, 0, 0 - P1}}; }

void hash_add(Hash *h, const void *at, size_t bytes)
{
    const unsigned char *from = at;
    h->bytes += bytes;
    if (h->waiting) {
        size_t n = sizeof h->rest - h->waiting < bytes ? sizeof h->rest - h->waiting : bytes;
        memcpy(h->rest + h->waiting, from, n);
        h->waiting += n;
        from += n;
        bytes -= n;
        if (h->waiting < sizeof h->rest) return;
        take_stripe(h, h->rest);
        h->waiting = 0;
    }
    for (; bytes >= sizeof h->rest; from += sizeof h->rest, bytes -= sizeof h->rest) take_stripe(h, from);
    memcpy(h->rest, from, bytes);
    h->waiting = bytes;
}

static uint64_t join_lanes(const Hash *h)
{
    uint64_t x = rotate(h->lane[0], 1) + rotate(h->lane[1], 7) + rotate(h->lane[2], 12) + rotate(h->lane[3], 18);
    for (int l = 0; l < 4; l++) x = (x ^ mix(0, h->lane[l])) * P1 + P4;
    return x;
}

uint64_t hash_end(const Hash *h)
{
    uint64_t x = (h->bytes < sizeof h->rest ? P5 : join_lanes(h)) + h->bytes;
    const unsigned char *at = h->rest, *end = h->rest + h->waiting;
    for (; at + 8 <= end; at += 8) x = rotate(x ^ mix(0, little_endian(at, 8)), 27) * P1 + P4;
    for (; at + 4 <= end; at += 4) x = rotate(x ^ little_endian(at, 4) * P1, 23) * P2 + P3;
    for (; at < end; at++) x = rotate(x ^ *at * P5, 11) * P1;
    x = (x ^ x >> 33) * P2;
    x = (x ^ x >> 29) * P3;
    return x ^ x >> 32;
}

uint64_t hash_of(const void *at, size_t bytes)
{
    Hash h;
    hash_start(&h);
    hash_add(&h, at, bytes);
    return hash_end(&h);
}
