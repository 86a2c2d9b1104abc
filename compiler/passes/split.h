/* split.h: what the files of loop splitting share: facts about a loop's body, its values along the iteration axis. */
#ifndef SPLIT_H
#define SPLIT_H

#include "graph/parts.h"
#include "ops/trips.h"
#include "passes/passes.h"

enum { FEW = 256 }; /* rows: a contraction with fewer an iteration is better done for all of them at once */

typedef struct Fact { /* of a body node */
    int uses;
    bool recurrent;   /* depends on a carry that is not a sum */
    bool fixed;       /* computed in the loop */
    bool after;       /* computed after it */
    bool can_precede; /* depends on xs, index and outside only, through ops that have a form along the iterations */
    bool before;      /* computed before it; dots and index ops among these come back as xs */
    bool decided, outside;
    bool rebuilt; /* in the loop, depends on one that comes back */
    Trips *along;
} Fact;

typedef struct Body { /* a loop being split */
    Loop *l;
    Table *operands; /* memo of this pass: loop or other op -> Nodes *: what it needs from outside of it */
    Nodes nodes;
    Table facts;
    bool *is_sum; /* by carry */
    Nodes *parts; /* by carry that is a sum: what next adds */
    bool whole;   /* no other carries */
    Rewrite current;
} Body;

static inline bool in_body(const Body *b, const Node *n) { return n->in_loop == b->l; }
static inline bool is_carry(const Node *n) { return n->op == OP_loop_arg && n->ints[0] == ARG_CARRY; }

/* passes/split_facts.c */
void find_facts(Body *b); /* of every node of a closed loop's body */
Fact *fact(Body *b, const Node *n);
bool comes_back(Body *b, const Node *n); /* computed before the loop and read in it, as an x */

/* passes/split_ops.c */
bool has_along(const Node *n); /* whether op and rank allow it */
Node *along(const Node *n, const Trips *in,
            int64_t trip);                       /* n for all iterations: [trip, …]; one input at least varies */
Node *total_sum(const Node *n, Node *in); /* sums over the iterations */

#endif
