/* simplify.h: what the files of the simplifier share. */
#ifndef SIMPLIFY_H
#define SIMPLIFY_H

#include "passes/passes.h"

/* A simpler node of the same value, or n itself.  Its inputs must be simple already; what it makes is made simple too.
 */
Node *simplified(Node *n);

/* passes/simplify_rules.c: one step by the rules of passes/rules.def; NULL: none applies */
Node *by_rules(Node *n);

/* passes/simplify_view.c: one step of view algebra, on moves and reductions; NULL: none applies */
Node *by_views(Node *n);

/* The rules as text, for tests. */
typedef struct Rule_text {
    const char *from, *to;
} Rule_text;
extern const Rule_text rule_texts[];
extern const int rule_count;

/* One side of a rule, parsed: letters stand for what `bound` has for them, or for nothing yet. */
typedef struct Pattern {
    enum { CALL, LETTER, NUMBER } kind;
    Op op;
    char letter;
    double value;
    int n;
    struct Pattern *in[3];
} Pattern;
Pattern *parse_pattern(const char *text);
Node *built(const Pattern *p, Node *const bound[26], DType t, Shape s);

#endif
