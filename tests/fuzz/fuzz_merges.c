/* fuzz_merges.c: a vocabulary and its merges: vocab.json, a line "---", merges.txt. */
#define _GNU_SOURCE
#include "base/file.h"
#include "fuzz.h"
#include "tokenizer_checks.h"

#include <unistd.h>

static void write_part(const char *path, const char *at, size_t n)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(at, 1, n, f) != n) abort();
    fclose(f);
}

void fuzz_one(const char *path, const char *text, size_t n)
{
    static const char line[] = "\n---\n";
    char *folder = folder_of(path), *vocab = text_of("%s/vocab.json", folder),
         *merges = text_of("%s/merges.txt", folder);
    const char *cut = memmem(text, n, line, strlen(line));
    size_t first = cut ? (size_t)(cut - text) : n, rest = cut ? first + strlen(line) : n;
    write_part(vocab, text, first);
    write_part(merges, text + rest, n - rest);
    Tokenizer *t = load_tokenizer(merges);
    check_taken(t, path, text, (int64_t)n);
    unlink(vocab);
    unlink(merges);
}
