/* reply.h: what clients are told, as OpenAI's JSON. */
#ifndef LATHE_SERVE_REPLY_H
#define LATHE_SERVE_REPLY_H

#include "base/words.h"

typedef struct Reply { /* whose answer */
    bool chat;
    const char *model;
    int64_t number, created; /* of the request; when, as seconds of the epoch */
    int64_t read, written;   /* tokens */
    const char *reason;      /* stop, length */
} Reply;

/* Texts of JSON, from malloc. */
char *error_reply(int status, const char *field, const char *words);
char *whole_reply(const Reply *r, Passage text);
/* Events of a stream: role: the first of a chat; reason: the last of the text; counts: the very last. */
typedef enum Event { EVENT_ROLE, EVENT_TEXT, EVENT_REASON, EVENT_COUNTS } Event;
char *part_reply(const Reply *r, Event part, Passage text, bool usage);
char *models_reply(const char *const *name, int n, int64_t created);

#endif
