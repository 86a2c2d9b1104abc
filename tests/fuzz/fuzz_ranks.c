/* fuzz_ranks.c: ranks as tiktoken has them: those that are taken encode text that decodes to itself. */
#include "base/file.h"
#include "fuzz.h"
#include "tokenizer_checks.h"

#include <unistd.h>

/* A vocabulary needs every byte: 256 ranks come first. */
static void write_ranks(const char *path, const char *text, size_t n)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    FILE *f = fopen(path, "wb");
    if (!f) abort();
    for (int b = 0; b < 256; b++) fprintf(f, "%c%c== %d\n", digit[b >> 2], digit[(b & 3) << 4], b);
    fwrite(text, 1, n, f);
    fclose(f);
}

void fuzz_one(const char *path, const char *text, size_t n)
{
    char *folder = folder_of(path), *ranks = text_of("%s/ranks", folder);
    write_ranks(ranks, text, n);
    Tokenizer *t = load_tokenizer(ranks);
    unlink(ranks);
    check_taken(t, path, text, (int64_t)n);
    free(ranks);
    free(folder);
}
