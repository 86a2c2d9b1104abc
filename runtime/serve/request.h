/* request.h: what a client asks for, read from the bytes of its JSON. */
#ifndef LATHE_SERVE_REQUEST_H
#define LATHE_SERVE_REQUEST_H

#include "base/words.h"

enum { MOST_STOPS = 4, MOST_MESSAGES = 4096, REFUSAL_BYTES = 240 };

typedef struct Said { /* a message */
    const char *role; /* system, user, assistant */
    Passage text;
} Said;

typedef struct Request {
    json_t *json; /* owns all texts that are not from malloc */
    bool chat, stream, usage; /* usage: the stream ends with counts */
    const char *model;        /* as the client calls it; NULL: not said */
    Said *said;
    int messages;
    char **joined; /* contents that came in parts, from malloc */
    int joins;
    Passage prompt;
    bool has_temperature, has_top_p, has_min_p, has_top_k, has_penalty, has_seed;
    double temperature, top_p, min_p, penalty;
    int64_t top_k, most; /* most: tokens; 0: not said */
    int32_t seed;
    const char *stop[MOST_STOPS];
    int stops;
    Passage grammar;      /* what the text may be: GBNF; at NULL: not said; */
    const json_t *schema; /* JSON of this schema; */
    bool any_object;      /* any object of JSON */
} Request;

typedef struct Refusal { /* why a request is refused */
    const char *field; /* NULL: the whole */
    char words[REFUSAL_BYTES];
} Refusal;

/* A pure function of the bytes.  false: *f says why; the request is freed by free_request() in both cases. */
bool read_request(const char *bytes, size_t n, bool chat, Request *r, Refusal *f);
void free_request(Request *r);

#endif
