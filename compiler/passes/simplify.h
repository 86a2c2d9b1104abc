/* simplify.h: what the files of the simplifier share. */
#ifndef SIMPLIFY_H
#define SIMPLIFY_H

#include "passes/passes.h"

typedef struct Rules Rules; /* of passes/rules.def */

/* A simpler node of the same value, or n itself.  Its inputs must be simple already; what it makes is made simple too.
 */
Node *simplified(const Rules *rules, Node *n);

/* passes/simplify_rules.c: one step by the rules; NULL: none applies */
Node *by_rules(const Rules *rules, Node *n);
const Rules *read_rules(void);

/* passes/simplify_view.c: one step of view algebra, on moves and reductions; NULL: none applies */
Node *by_views(const Rules *rules, Node *n);

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
Node *built(const Rules *rules, const Pattern *p, Node *const bound[26], DType t, Shape s);

#endif
