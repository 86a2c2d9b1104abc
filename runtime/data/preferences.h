/* preferences.h: preference pairs: a prompt with a chosen and a rejected answer, two rows of a batch. */
#ifndef LATHE_DATA_PREFERENCES_H
#define LATHE_DATA_PREFERENCES_H

#include "data/chats.h"
#include "data/reading.h"

#include <jansson.h>

/* ------------------------------------------------------------------ data/preference.c: a record */

enum { CHOSEN, REJECTED, ANSWERS };

typedef struct Preference { /* its texts are the record's */
    Chat_message *message; /* [messages] of the prompt; 0: the prompt is `text` */
    int messages, room;
    Passage text, answer[ANSWERS];
} Preference;

/* false: it is malformed; *why then says how, from malloc. */
bool read_preference(const json_t *record, Preference *to, char **why);

/* ------------------------------------------------------------------ data/preferences.c: all of them */

typedef struct Preferences {
    int64_t n, seq;
    int32_t *id;       /* of all rows, one after the other: row 2k is the chosen answer of pair k, 2k + 1 the rejected */
    int64_t *from;     /* [2n + 1] first id of each row */
    int32_t *prompt;   /* [2n] ids of its prompt */
    uint64_t *key;     /* [n] hashes of the prompts */
    double *reference; /* [2n] log-probabilities of the answers before training; NULL: not known */
    int64_t heap;      /* bytes */
} Preferences;

/* Reads and encodes JSON lines; an answer that does not fit is cut, or its pair is left out, as on_long says. */
Preferences *read_preferences(const Reading *reading, Tokenizer *k);
/* The pairs to train on, then those to evaluate: by the hashes of their prompts, so that no prompt is on both sides. */
int32_t *divide_preferences(const Preferences *p, double val_fraction, int64_t *train);
uint64_t preferences_hash(const Preferences *p); /* of all rows */
uint64_t preference_hash(const Preferences *p, int64_t pair);
void fill_preferences(const Preferences *p, const Lathe_entry *e, char *in, const int64_t *pair);

#endif
