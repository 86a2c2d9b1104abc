/* grammar.h: what a text may be: a grammar (GBNF, or made of a JSON schema), and which tokens may come next.
 *
 * A Grammar and a Vocabulary do not change once they are made, so texts and threads share them; a Constraint is the
 * state of one text. */
#ifndef LATHE_GRAMMAR_GRAMMAR_H
#define LATHE_GRAMMAR_GRAMMAR_H

#include "base/words.h"
#include "token/tokenizer.h"

enum { GRAMMAR_TEXT = 1 << 20, GRAMMAR_WORDS = 400 }; /* most bytes of a grammar; of a message */

typedef struct Grammar Grammar;
typedef struct Grammar_fault { /* why a grammar or a schema is refused */
    int line, column;          /* of a grammar; of a schema 0, and the words begin with a path */
    char words[GRAMMAR_WORDS];
} Grammar_fault;

/* Functions of the bytes alone.  NULL: *f says why. */
Grammar *read_gbnf(const char *text, int64_t bytes, Grammar_fault *f); /* gbnf.c */
Grammar *schema_grammar(const json_t *schema, Grammar_fault *f);       /* json_schema.c */
char *gbnf_of_schema(const json_t *schema, Grammar_fault *f);          /* its text, from malloc */
Grammar *any_object_grammar(void);                                     /* of JSON */
void free_grammar(Grammar *g);

/* ------------------------------------------------------------------ vocabulary.c: the tokens' bytes as a tree */

typedef struct Vocabulary Vocabulary;
Vocabulary *open_vocabulary(const Tokenizer *k);
void close_vocabulary(Vocabulary *v);

/* ------------------------------------------------------------------ constraint.c: a text that a grammar constrains */

typedef struct Constraint Constraint;
int64_t constraint_bytes(const Vocabulary *v, int64_t texts); /* of the vocabulary, and of so many texts at once */
Constraint *open_constraint(const Vocabulary *v);             /* takes all its memory */
void close_constraint(Constraint *c);
void begin_constraint(Constraint *c, const Grammar *g);
/* A bit for each token that may come next: all of its bytes are as the grammar says, but they may end within a
 * character.  *any: there is one.  NULL: constraint_fault() says why nobody can tell. */
const uint64_t *next_tokens(Constraint *c, bool *any);
bool may_end_here(const Constraint *c);
bool follow_bytes(Constraint *c, const char *at, int64_t n); /* false: they may not come, or a fault */
bool take_token(Constraint *c, int32_t id);
const char *constraint_fault(const Constraint *c); /* NULL: none */

#endif
