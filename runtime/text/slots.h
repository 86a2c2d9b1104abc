/* slots.h: several texts at once, each in a slot: it begins and ends when it likes, at a position of its own. */
#ifndef LATHE_TEXT_SLOTS_H
#define LATHE_TEXT_SLOTS_H

#include "text/generate.h"

/* ------------------------------------------------------------------ text/slot_states.c: the entry slots */

typedef struct Slot_states { /* a row for each slot, beside the one row of decode */
    const Lathe_entry *entry; /* NULL: there is one slot, whose states are decode's */
    Lathe_call call;
    const Lathe_tensor *token, *position, *logits; /* position NULL: it reads none */
    int64_t n;
} Slot_states;

void open_slot_states(Slot_states *s, const Decoder *d, const Memory *m);
void clear_slot(const Slot_states *s, const Decoder *d, int64_t k);
/* The states of a text with n tokens go from decode to slot k, or back. */
void give_slot(const Slot_states *s, const Decoder *d, int64_t k, int64_t n);
void take_slot(const Slot_states *s, const Decoder *d, int64_t k, int64_t n);
/* Feeds each slot its token, at its position; returns logits [n][vocab], of which the first `live` are wanted. */
const void *feed_slots(const Slot_states *s, Decoder *d, const int32_t *id, const int32_t *position, int64_t live);

/* ------------------------------------------------------------------ text/slots.c: texts in slots */

typedef struct Slots Slots;

/* Called when a text is written, or nobody wants the rest of it; the Written is valid during the call. */
typedef void Slot_over(void *with, const Written *w);
typedef struct Slot_text {
    Id_list prompt;
    int64_t number, step, hidden; /* number: of the text, for draws; hidden: first tokens that are not shown */
    Go_on *go_on;                 /* asked before each step; NULL: it is wanted */
    See_token *see;               /* NULL: nobody looks */
    Slot_over *over;
    void *with;
} Slot_text;

/* Of a writer without beams and sources.  several: the memory is for the entry slots too. */
Slots *open_slots(Text_writer *w, const Memory *m, bool several);
int slots_count(const Slots *s);
int slots_busy(const Slots *s);
int idle_slot(const Slots *s);             /* -1: all are busy */
int slot_at_work(const Slots *s);          /* whose text is being drawn now; -1: none */
Text_writer *writer_of_slot(Slots *s, int k); /* for take_asked() */
void begin_slot(Slots *s, int k, const Slot_text *text);
void drop_slot(Slots *s, int k);           /* its text is given up, and nobody called */
/* Reads a chunk of one prompt, and feeds the other texts a token each.  What a text becomes does not depend on others. */
void step_slots(Slots *s);

/* As write_texts(), each prompt in a slot as soon as one is free. */
void write_in_slots(Slots *s, const Passage *prompt, int64_t n, Take_written *take, void *with);

#endif
