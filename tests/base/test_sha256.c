/* test_sha256.c: SHA-256 against published values and in pieces, with and without the processor's instructions; sums that
 * find one changed number, and not two. */
#include "harness.h"
#include "base/sha256.h"
#include "base/sums.h"
#include "base/words.h"

#include <string.h>

static void published(const char *text, const char *wanted)
{
    char found[SHA256_DIGITS + 1];
    Digest d = sha256_of(text, strlen(text));
    digest_text(&d, found);
    expect(strcmp(found, wanted) == 0, "SHA-256(\"%s\") is %s, found %s", text, wanted, found);
}

/* FIPS 180-2, appendix B. */
static void check_published(void)
{
    published("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    published("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    published("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

static void check_pieces(Rng *r)
{
    unsigned char bytes[700];
    for (int i = 0; i < 700; i++) bytes[i] = (unsigned char)(i * 131 + 7);
    for (int round = 0; round < 2000; round++) {
        size_t n = (size_t)below(r, 701), done = 0;
        Sha256 h;
        sha256_start(&h);
        while (done < n) {
            size_t piece = 1 + (size_t)below(r, (int64_t)(n - done));
            sha256_plainly(round % 2); /* a sum may change its ways */
            sha256_add(&h, bytes + done, piece);
            done += piece;
        }
        Digest a = sha256_end(&h);
        sha256_plainly(1);
        Digest b = sha256_of(bytes, n);
        sha256_plainly(0);
        if (!expect(memcmp(&a, &b, sizeof a) == 0, "%zu bytes in pieces", n)) break;
    }
}

enum { NUMBERS = 300 };

static Sums sums_of(const uint64_t *x)
{
    Sums s = {{0}};
    for (int i = 0; i < NUMBERS; i++) add_to_sums(&s, (uint64_t)i + 1, x[i]);
    return s;
}

static void check_sums(Rng *r)
{
    uint64_t x[NUMBERS], place, by;
    char text[SUMS_DIGITS + 1];
    for (int i = 0; i < NUMBERS; i++) x[i] = (uint64_t)below(r, INT64_C(1) << 40);
    const Sums before = sums_of(x);
    for (int round = 0; round < 500; round++) {
        const int one = (int)below(r, NUMBERS), other = (one + 1 + (int)below(r, NUMBERS - 1)) % NUMBERS;
        const uint64_t was = x[one], was_other = x[other];
        Sums after, read;
        x[one] ^= UINT64_C(1) << below(r, 40);
        after = sums_of(x);
        if (!expect(place_of_change(&before, &after, &place, &by) && place == (uint64_t)one + 1, "change of %d", one)) break;
        expect(taken_back(x[one], by) == was, "what number %d was", one);
        x[other] += 1 + (uint64_t)below(r, 1000);
        after = sums_of(x);
        expect(!place_of_change(&before, &after, &place, &by), "changes of %d and %d are taken for one", one, other);
        sums_text(&after, text);
        expect(parse_sums(text, &read) && memcmp(&read, &after, sizeof read) == 0, "%s is read as it was written", text);
        x[one] = was, x[other] = was_other;
    }
    expect(!place_of_change(&before, &before, &place, &by), "no change");
    expect(!parse_sums("xyz", &(Sums){{0}}), "sums that are none");
}

int main(void)
{
    Rng r = rng_of(7);
    check_published();
    sha256_plainly(1);
    check_published();
    sha256_plainly(0);
    check_pieces(&r);
    check_sums(&r);
    return finish();
}
