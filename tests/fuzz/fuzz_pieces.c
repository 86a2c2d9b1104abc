/* fuzz_pieces.c: BERT's pieces and what is said of them: vocab.txt, a line "---", tokenizer_config.json. */
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
    char *folder = folder_of(path), *pieces = text_of("%s/vocab.txt", folder),
         *settings = text_of("%s/tokenizer_config.json", folder);
    const char *cut = memmem(text, n, line, strlen(line));
    size_t first = cut ? (size_t)(cut - text) : n;
    write_part(pieces, text, first);
    if (cut) write_part(settings, cut + strlen(line), n - first - strlen(line));
    else unlink(settings);
    Tokenizer *t = load_tokenizer(pieces);
    check_taken(t, path, text, (int64_t)n);
    unlink(pieces);
    unlink(settings);
}
