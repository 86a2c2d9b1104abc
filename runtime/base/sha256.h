/* sha256.h: SHA-256 (FIPS 180-4), for hashes that others check with sha256sum. */
#ifndef LATHE_BASE_SHA256_H
#define LATHE_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32, SHA256_DIGITS = 2 * SHA256_BYTES };

typedef struct Sha256 {
    uint32_t state[8];
    uint64_t bytes;
    size_t waiting; /* bytes in rest */
    unsigned char rest[64];
} Sha256;

typedef struct Digest {
    unsigned char byte[SHA256_BYTES];
} Digest;

void sha256_start(Sha256 *h);
void sha256_add(Sha256 *h, const void *at, size_t bytes);
Digest sha256_end(Sha256 *h); /* of all bytes; h is then used up */
Digest sha256_of(const void *at, size_t bytes);
void digest_text(const Digest *d, char text[SHA256_DIGITS + 1]); /* hexadecimal, as sha256sum prints it */
/* "avx512" and the like change nothing in a digest; for tests: without the instructions of the processor. */
void sha256_plainly(int plainly);

#endif
