/* hash.h: checksums. */
#ifndef LATHE_BASE_HASH_H
#define LATHE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct Hash { /* XXH64, seed 0 */
    uint64_t lane[4], bytes;
    size_t waiting; /* bytes in rest */
    unsigned char rest[32];
} Hash;

void hash_start(Hash *h);
void hash_add(Hash *h, const void *at, size_t bytes);
uint64_t hash_end(const Hash *h); /* of all bytes so far; more may be added */
uint64_t hash_of(const void *at, size_t bytes);

#endif
