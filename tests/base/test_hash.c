/* test_hash.c: XXH64 against published values, and the same however the bytes are cut. */
#include "harness.h"
#include "base/hash.h"
#include "base/words.h"

#include <string.h>

static void published(const char *text, uint64_t wanted)
{
    uint64_t found = hash_of(text, strlen(text));
    expect(found == wanted, "XXH64(\"%s\") is %016llx, found %016llx", text, (unsigned long long)wanted,
           (unsigned long long)found);
}

int main(void)
{
    unsigned char bytes[300];
    published("", 0xEF46DB3751D8E999u);
    published("a", 0xD24EC4F1A98C6E5Bu);
    published("abc", 0x44BC2CF5AD770999u);
    published("Nobody inspects the spammish repetition", 0xFBCEA83C8A378BF1u);
    for (int i = 0; i < 300; i++) bytes[i] = (unsigned char)(i * 131 + 7);
    Rng r = rng_of(5);
    for (int round = 0; round < 2000; round++) {
        size_t n = (size_t)below(&r, 301), done = 0;
        Hash h;
        hash_start(&h);
        while (done < n) {
            size_t piece = 1 + (size_t)below(&r, (int64_t)(n - done));
            hash_add(&h, bytes + done, piece);
            done += piece;
        }
        if (!expect(hash_end(&h) == hash_of(bytes, n), "%zu bytes in pieces", n)) break;
    }
    return finish();
}
