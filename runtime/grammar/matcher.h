/* matcher.h: where a text may be in a grammar, after each byte. */
#ifndef LATHE_GRAMMAR_MATCHER_H
#define LATHE_GRAMMAR_MATCHER_H

#include "grammar/rules.h"

enum {
    NODES = 1 << 16, ITEMS = 1 << 17, STATES = 1 << 13, MOVES = 1 << 18,
    MOST_ITEMS = 1024, /* ways to read a text at once */
    NO_STATE = 0,      /* the grammar refuses the text */
    NO_ROOM = -2,      /* forget_states(), and try again */
    TOO_MANY = -3      /* ways to read the text */
};

typedef struct Node { /* an element that comes next, and what comes when its way ends */
    int32_t element, above; /* above: a node before this one; 0: the end of the text */
    int32_t next;           /* in its chain of the table */
    uint32_t seen;          /* the last search that was here */
} Node;

typedef struct State { /* a set of nodes at bytes, item[first … first + n - 1], ascending */
    int32_t first, n, next;
    int32_t mask; /* of constraint.c; -1: none */
    bool ends;    /* the text may end here */
} State;

typedef struct Matcher {
    const Grammar *g;
    Node *node;
    int32_t *node_chain, *item, *state_chain, *move, *work; /* move: [states][classes]; -1: not known */
    State *state;
    int32_t nodes, items, states;
    uint32_t searches;
    int32_t kept[MOST_ITEMS];
} Matcher;

int64_t matcher_bytes(void);
void open_matcher(Matcher *m, char *memory); /* zeroed, of matcher_bytes() */
int32_t start_matcher(Matcher *m, const Grammar *g); /* the state of an empty text, or TOO_MANY */
int32_t state_after(Matcher *m, int32_t state, uint8_t byte); /* or NO_STATE, NO_ROOM, TOO_MANY */
int32_t forget_states(Matcher *m, int32_t state); /* all but this one, whose new number it returns */

#endif
