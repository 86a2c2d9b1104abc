/* rules.h: a grammar inside: rules whose ways are sequences of sets of bytes and of other rules. */
#ifndef LATHE_GRAMMAR_RULES_H
#define LATHE_GRAMMAR_RULES_H

#include "grammar/grammar.h"

enum { MOST_ELEMENTS = 1 << 18, MOST_RULES = 1 << 16, MOST_SETS = 1 << 14, MOST_TIMES = 10000, ALL_TIMES = -1 };

typedef enum Element_kind { WAY_ENDS, ONE_BYTE, RULE_HERE } Element_kind;

typedef struct Element {
    Element_kind kind;
    int32_t value; /* ONE_BYTE: number of a set; RULE_HERE: of a rule */
} Element;

typedef struct Byte_set {
    uint64_t bit[4];
} Byte_set;

typedef struct Way { /* one of a rule's alternatives */
    int32_t rule, first; /* first: element; WAY_ENDS is behind the last */
    int32_t next;        /* way of the same rule; -1: none */
} Way;

typedef struct Rule {
    char *name; /* NULL: made of a group, a class or a repetition */
    int32_t first, last; /* ways; -1: none */
    int line, column;    /* where it is named first */
    bool defined, repeats; /* repeats: its last element is itself */
} Rule;

struct Grammar {
    Rule *rule;
    Way *way;
    Element *element;
    Byte_set *set; /* those below 256 are single bytes */
    int32_t rules, ways, elements, sets;
    int32_t rule_room, way_room, element_room, set_room;
    int32_t root;
    uint8_t class_of[256]; /* bytes that no set tells apart have the same class */
    int32_t classes;
};

typedef struct Part { /* elements of a way that is read */
    Element *at;
    int32_t n, room;
} Part;

static inline bool set_has(const Byte_set *s, int byte) { return s->bit[byte >> 6] >> (byte & 63) & 1; }

/* ---- rules.c.  false or -1: too large. */

Grammar *new_grammar(void);
int32_t add_rule(Grammar *g, const char *name); /* copies the name */
bool add_way(Grammar *g, int32_t rule, const Element *e, int32_t n);
int32_t add_set(Grammar *g, const Byte_set *s);
bool add_element(Part *p, Element_kind kind, int32_t value);
/* What stands in p from element `from` on comes least … most times. */
bool repeat_part(Grammar *g, Part *p, int32_t from, int32_t least, int32_t most);

/* ---- check_rules.c */

bool check_grammar(Grammar *g, Grammar_fault *f); /* every rule is defined, ends, and begins with a byte */

/* ---- ranges.c: sets of characters */

typedef struct Range {
    uint32_t first, last;
} Range;

typedef struct Ranges {
    Range *at;
    int32_t n, room;
} Ranges;

void add_range(Ranges *r, uint32_t first, uint32_t last);
void settle_ranges(Ranges *r, bool others); /* sorted and joined, without surrogates; others: the characters not in it */
void free_ranges(Ranges *r);
bool add_characters(Grammar *g, const Ranges *r, Part *to); /* one character of them, settled, as bytes */

#endif
