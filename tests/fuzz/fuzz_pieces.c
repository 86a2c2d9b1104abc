/* fuzz_pieces.c: BERT's pieces and what is said of them: vocab.txt, a line "---", tokenizer_config.json. */
#define _GNU_SOURCE
#include "fuzz.h"
#include "parts.h"
#include "tokenizer_checks.h"

void fuzz_one(const char *path, const char *text, size_t n)
{
    static const char *const names[] = {"vocab.txt", "tokenizer_config.json"};
    char *folder = folder_of(path), *pieces = text_of("%s/vocab.txt", folder);
    write_parts(path, text, n, 2, names);
    Tokenizer *t = load_tokenizer(pieces);
    check_taken(t, path, text, (int64_t)n);
    unlink(pieces);
}
