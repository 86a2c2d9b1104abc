/* fuzz_gbnf.c: a grammar's text; one that is taken follows its own text, byte by byte, without a fault of ours. */
#include "base/words.h"
#include "fuzz.h"
#include "grammar/grammar.h"

#include <stdlib.h>
#include <string.h>

void fuzz_one(const char *path, const char *text, size_t n)
{
    Grammar_fault f;
    bool any;
    (void)path;
    Grammar *g = read_gbnf(text, (int64_t)n, &f);
    if (!g) {
        if (!f.words[0] || !memchr(f.words, 0, sizeof f.words)) abort();
        return;
    }
    Tokenizer *k = open_tokenizer(TOKEN_BYTES);
    limit_bytes(k, 256);
    Vocabulary *v = open_vocabulary(k);
    Constraint *c = open_constraint(v);
    begin_constraint(c, g);
    for (size_t i = 0; i < n && i < 64 && !constraint_fault(c); i++) {
        const uint64_t *next = next_tokens(c, &any);
        const unsigned char b = (unsigned char)text[i];
        bool said = next && next[b >> 6] >> (b & 63) & 1, faulty = constraint_fault(c);
        bool taken = follow_bytes(c, text + i, 1);
        if (!faulty && !constraint_fault(c) && said != taken) abort();
        if (!taken) break;
    }
    close_constraint(c);
    close_vocabulary(v);
    free_tokenizer(k);
    free_grammar(g);
}
