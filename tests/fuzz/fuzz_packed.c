/* fuzz_packed.c: gzip and zstd: what unpacks does so in any steps, and from any place. */
#include "fuzz.h"
#include "base/hash.h"
#include "base/words.h"
#include "source/source.h"

#include <stdlib.h>

enum { MOST = 1 << 22 }; /* a small file may unpack to petabytes */

static uint64_t unpacked(const char *path, int64_t step, int64_t skip, int64_t *all)
{
    Hash h;
    char *room = must_alloc((size_t)step);
    const char *ahead;
    Input *in = open_input(path, -1);
    hash_start(&h);
    if (skip) peek_input(in, &ahead, skip % PEEK), seek_input(in, skip);
    for (int64_t n; *all < MOST && (n = read_input(in, room, step)) > 0; *all += n) hash_add(&h, room, (size_t)n);
    if (skip) seek_input(in, 0), hash_add(&h, room, (size_t)read_input(in, room, 1));
    close_input(in);
    free(room);
    return hash_end(&h);
}

void fuzz_one(const char *path, const char *text, size_t n)
{
    (void)text;
    int64_t all = 0, again = 0, rest = 0;
    uint64_t hash = unpacked(path, 1 << 12, 0, &all);
    if (all >= MOST) return;
    bug_if(unpacked(path, 1 + (int64_t)(n % 100), 0, &again) != hash || again != all);
    unpacked(path, 1 << 12, all / 2, &rest);
    bug_if(rest != all - all / 2);
}
