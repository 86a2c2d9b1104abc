/* json_schema.h: a JSON schema on its way to a grammar.  Each part of the schema becomes a rule; its functions return the
 * rule's number, or -1 after a fault. */
#ifndef LATHE_GRAMMAR_JSON_SCHEMA_H
#define LATHE_GRAMMAR_JSON_SCHEMA_H

#include "grammar/grammar.h"

enum { DEEPEST_SCHEMA = 64, PATH_BYTES = 1024, LONGEST_COUNT = 10000 };

typedef struct Gbnf_text { /* grows; at is NULL or ends with a 0 */
    char *at;
    size_t bytes, room;
} Gbnf_text;

typedef struct Json_schema {
    const json_t *root;
    Gbnf_text out;
    json_t *targets; /* of $ref: the pointer's text to the rule's number */
    json_t *used;    /* basic rules: the number that each has */
    int rules, depth;
    char path[PATH_BYTES]; /* of the part that is read, for messages */
    Grammar_fault *f;
    bool failed;
} Json_schema;

/* ---- schema_text.c: pieces of text */

void put_gbnf(Gbnf_text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void put_literal(Gbnf_text *t, const char *bytes, size_t n); /* "…" of GBNF */
int refuse_part(Json_schema *s, const char *keyword, const char *fmt, ...) __attribute__((format(printf, 3, 4))); /* -1 */
size_t enter_part(Json_schema *s, const char *key);               /* the path is longer by /key; returns what leave_part() needs */
void leave_part(Json_schema *s, size_t before);
int end_rule(Json_schema *s, int rule, Gbnf_text *body); /* writes it, and frees the body; returns the rule */
int put_value(Gbnf_text *t, const json_t *v);       /* a JSON value as it is */
const char *basic_rule(Json_schema *s, const char *name); /* "char", "value", …: it is written when it is first asked for */

/* ---- json_schema.c */

int rule_of_schema(Json_schema *s, const json_t *v); /* of the part at s->path */
int rule_of_part(Json_schema *s, const json_t *v, const char *keyword, const char *name); /* path/keyword/name */
bool take_bound(Json_schema *s, const json_t *v, const char *keyword, int64_t least, int64_t *to); /* a whole number, if it is there */

/* ---- a rule for each type */

int object_rule(Json_schema *s, const json_t *v);  /* schema_lists.c */
int array_rule(Json_schema *s, const json_t *v);
int string_rule(Json_schema *s, const json_t *v);  /* schema_strings.c */
int integer_rule(Json_schema *s, const json_t *v); /* schema_numbers.c */
int number_rule(Json_schema *s, const json_t *v);
/* pattern.c: a regular expression over the characters of a JSON string.  false: why says what is not supported. */
bool put_pattern(Gbnf_text *t, const char *pattern, const char *character, char *why, size_t bytes);

#endif
