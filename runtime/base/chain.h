/* chain.h: lines of JSON, each with the hash of the line before and its own (RUN/hashes.jsonl). */
#ifndef LATHE_BASE_CHAIN_H
#define LATHE_BASE_CHAIN_H

#include "base/sha256.h"

#include <jansson.h>
#include <stdbool.h>

typedef struct Link { /* a line */
    int64_t step;
    char split[16]; /* head, file, start, train or val */
    const char *at;
    size_t bytes; /* with its end */
} Link;

typedef struct Chain {
    char *text;
    Link *link;
    int64_t n;
    bool cut; /* behind the last whole line is half a one, as a kill leaves it */
    char last[SHA256_DIGITS + 1]; /* the hash of the last line; "" before the first */
} Chain;

/* The line of a record, with its end: adds the hash before, which then becomes the line's own. */
char *chained_line(json_t *record, char last[SHA256_DIGITS + 1]);

/* Takes the text, from malloc.  false: *why says which line is not what was written, and what to do. */
bool parse_chain(Chain *c, char *text, size_t bytes, char **why);
bool read_chain(Chain *c, const char *path, char **why); /* likewise; *why is NULL if there is no such file */
json_t *link_json(const Link *l);
void close_chain(Chain *c);

#endif
