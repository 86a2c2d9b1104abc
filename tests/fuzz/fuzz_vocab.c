/* fuzz_vocab.c: tokenizer.json of any kind: one that is taken is saved as what loads again as the same, and text that
 * it encodes decodes to itself.  The text is the file. */
#include "base/file.h"
#include "fuzz.h"
#include "tokenizer_checks.h"

void fuzz_one(const char *path, const char *text, size_t n)
{
    char *folder = folder_of(path);
    Tokenizer *t = saved_tokenizer(folder);
    free(folder);
    if (!t || unread_tokenizer(t)) return;
    check_taken(t, path, text, (int64_t)n);
}
