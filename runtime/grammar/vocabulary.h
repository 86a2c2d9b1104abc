/* vocabulary.h: the tree of the tokens' bytes inside. */
#ifndef LATHE_GRAMMAR_VOCABULARY_H
#define LATHE_GRAMMAR_VOCABULARY_H

#include "grammar/grammar.h"

enum { LONGEST_TOKEN = 4096 }; /* bytes; longer ones never come in a text that is constrained */

typedef struct Branch {
    int32_t after; /* the next one that is not below this */
    int32_t token; /* that ends here; -1: none */
    uint16_t depth; /* bytes up to here */
    uint8_t byte;
} Branch;

struct Vocabulary {
    const Tokenizer *tokenizer;
    Branch *branch;
    int32_t *same;      /* another token with the same bytes; -1: none */
    int32_t branches, longest; /* longest: bytes of a token */
    int64_t words;      /* of 64 tokens each */
    int64_t bytes;      /* of memory */
};

#endif
