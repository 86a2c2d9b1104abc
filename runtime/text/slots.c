/* slots.c: texts in slots: which prompt is read, which texts get a token, and what ends them.
 *
 * The one row of decode (`alone`) has the states of one text: of a prompt that is read by chunks, or of a text that is
 * the only one, which so takes no longer than without slots.  The others are in the rows of the entry slots.  Each step
 * reads a chunk of one prompt and feeds a token to all texts that wait for none, so a long prompt stops nobody for
 * longer than a chunk.  Which tokens are read by chunks depends on the text alone, and on a processor slots and decode
 * give the same bits; so an answer does not depend on the others. */
#include "base/words.h"
#include "interface/lathe_model.h"
#include "model/tables.h"
#include "text/slots.h"
#include "text/writer.h"

#include <stdlib.h>
#include <string.h>

typedef struct Slot {
    Text_writer w; /* what ends its text, and its most tokens; the decoder is that of all */
    Line line;
    Slot_text text;
    bool busy, fresh; /* fresh: of a token that was fed, logits wait in row `row` */
    int64_t row;
    int64_t arrived;    /* number of the text among all */
    int64_t start, fed; /* states have `fed` tokens, from token `start` on; … */
    int64_t until;      /* … up to this many of them are read by chunks */
    int64_t seen;       /* tokens that were shown */
} Slot;

struct Slots {
    Text_writer *w;
    Slot_states states;
    Slot *slot;
    int n, busy;
    int alone;   /* whose states decode has; -1: nobody's */
    int at_work; /* whose text is being drawn; -1: none */
    int64_t arrived;
    int32_t *id, *position; /* [n], of a step */
    const char *logits;     /* that it gave */
};

/* ------------------------------------------------------------------ opening */

static void open_slot(Slots *s, Slot *x)
{
    const Sampler *own = &s->w->line[0].sampler;
    x->w = *s->w;
    x->w.stops = NULL;
    x->line = s->w->line[0];
    if (s->n == 1) return;
    x->line.sampler.seen = take_rest(s->w, own->n);
    if (s->w->asked.vocabulary) x->line.constraint = open_constraint(s->w->asked.vocabulary);
    x->line.extra = take_rest(s->w, s->w->how.most * s->w->d.extras * (int64_t)sizeof(float));
}

Slots *open_slots(Text_writer *w, const Memory *m, bool several)
{
    Slots *s = must_alloc(sizeof *s);
    bug_if(w->beam || w->d.encode);
    *s = (Slots){.w = w, .n = 1, .alone = -1, .at_work = -1};
    if (several) open_slot_states(&s->states, &w->d, m);
    if (several) s->n = (int)s->states.n;
    s->slot = must_alloc(sizeof *s->slot * (size_t)s->n);
    s->id = must_alloc(sizeof *s->id * (size_t)s->n);
    s->position = must_alloc(sizeof *s->position * (size_t)s->n);
    for (int k = 0; k < s->n; k++) {
        open_slot(s, &s->slot[k]);
        s->slot[k].line.sampler.ends = &s->slot[k].w.how.ends;
        s->slot[k].w.line = &s->slot[k].line;
    }
    return s;
}

int slots_count(const Slots *s) { return s->n; }
int slots_busy(const Slots *s) { return s->busy; }
int slot_at_work(const Slots *s) { return s->at_work; }
Text_writer *writer_of_slot(Slots *s, int k) { return &s->slot[k].w; }

int idle_slot(const Slots *s)
{
    for (int k = 0; k < s->n; k++)
        if (!s->slot[k].busy) return k;
    return -1;
}

/* ------------------------------------------------------------------ texts */

static void show_drawn(Slot *x)
{
    const Line *l = &x->line;
    for (; x->text.see && !l->stop && x->seen < l->n; x->seen++) x->text.see(x->text.with, l->token[x->seen]);
}

void begin_slot(Slots *s, int k, const Slot_text *text)
{
    Slot *x = &s->slot[k];
    x->text = *text;
    x->start = x->fed = x->until = 0;
    x->seen = text->hidden;
    x->arrived = s->arrived++;
    begin_line(&x->w, &x->line, text->prompt, text->number, text->step);
    for (int64_t i = 0; i + 1 < x->line.n; i++) note_token(&x->line, i);
    x->busy = true;
    x->fresh = false;
    s->busy++;
    show_drawn(x);
}

void drop_slot(Slots *s, int k)
{
    Slot *x = &s->slot[k];
    if (!x->busy) return;
    if (s->alone == k) s->alone = -1;
    if (s->at_work == k) s->at_work = -1;
    x->busy = false;
    s->busy--;
    free(x->line.token);
    x->line.token = NULL;
}

static void end_text(Slots *s, int k)
{
    Slot *x = &s->slot[k];
    const Written r = written_line(&x->w, &x->line, x->text.hidden);
    x->text.over(x->text.with, &r);
    drop_slot(s, k);
}

static void drop_unwanted(Slots *s)
{
    for (int k = 0; k < s->n; k++) {
        const Slot_text *t = &s->slot[k].text;
        if (!s->slot[k].busy || !t->go_on) continue;
        s->at_work = k;
        if (!t->go_on(t->with)) end_text(s, k);
    }
    s->at_work = -1;
}

/* ------------------------------------------------------------------ where states are */

/* Those of a text without tokens are zero, wherever it goes on. */
static void to_row(Slots *s, int k)
{
    if (!s->slot[k].fed) clear_slot(&s->states, &s->w->d, k);
    else if (s->alone == k) give_slot(&s->states, &s->w->d, k, s->slot[k].fed);
    if (s->alone == k) s->alone = -1;
}

static void to_decode(Slots *s, int k)
{
    if (s->alone == k) return;
    if (s->alone >= 0) to_row(s, s->alone);
    if (s->slot[k].fed) take_slot(&s->states, &s->w->d, k, s->slot[k].fed);
    else forget_rows(&s->w->d);
    s->alone = k;
}

/* ------------------------------------------------------------------ a step */

/* The next stretch of its tokens: of the prompt all but the last, whose logits are wanted, as far as the context goes;
 * past that the newer half of them again. */
static void settle_stretch(Slots *s, int k)
{
    Slot *x = &s->slot[k];
    int64_t context = s->w->d.context, last = x->line.n - 1 - x->start;
    if (!context || x->fed < x->until) return;
    if (x->fed == context) {
        x->start += context - context / 2;
        x->until = context / 2;
        x->fed = 0;
        if (s->alone == k) s->alone = -1;
    } else if (x->fed < last) x->until = last < context ? last : context;
}

/* How many tokens a chunk would read now; 0: it does not pay. */
static int64_t chunk_wanted(const Slots *s, const Slot *x)
{
    int64_t n = x->until - x->fed;
    return x->busy && n > 0 ? chunk_that_pays(&s->w->d, x->fed, n) : 0;
}

/* The text whose prompt is read next: the one that is being read, else the one that came first; -1: none. */
static int next_reader(const Slots *s)
{
    int first = -1;
    if (s->alone >= 0 && chunk_wanted(s, &s->slot[s->alone])) return s->alone;
    for (int k = 0; k < s->n; k++)
        if (chunk_wanted(s, &s->slot[k]) && (first < 0 || s->slot[k].arrived < s->slot[first].arrived)) first = k;
    return first;
}

static void read_some(Slots *s, int k)
{
    Slot *x = &s->slot[k];
    int64_t n = chunk_wanted(s, x);
    to_decode(s, k);
    feed_chunk(&s->w->d, x->fed, x->line.token + x->start + x->fed, n);
    x->fed += n;
}

/* Every text that waits for no chunk gets a token; returns logits [n][vocab].  What it leaves in other rows is written
 * again before it is seen. */
static const char *feed_rows_of_slots(Slots *s, const bool *ready)
{
    int64_t live = 0;
    for (int k = 0; k < s->n; k++) {
        const Slot *x = &s->slot[k];
        if (ready[k]) to_row(s, k), live = k + 1;
        s->id[k] = ready[k] ? x->line.token[x->start + x->fed] : 0;
        s->position[k] = x->busy ? (int32_t)x->fed : 0;
    }
    return feed_slots(&s->states, &s->w->d, s->id, s->position, live);
}

static const char *feed_alone(Slots *s, int k)
{
    const Slot *x = &s->slot[k];
    to_decode(s, k);
    return feed_token(&s->w->d, x->fed, x->line.token[x->start + x->fed]);
}

/* Draws the next token of each text whose last was fed.  Should that fail, its text is dropped, and the next step goes
 * on here with the others. */
static void draw_fresh(Slots *s)
{
    for (int k = 0; k < s->n; k++) {
        Slot *x = &s->slot[k];
        if (!x->busy || !x->fresh) continue;
        s->at_work = k;
        x->fresh = false;
        x->w.d.giver = s->w->d.giver;
        x->w.d.given = s->w->d.given;
        draw_next(&x->w, &x->line, x->row, x->start + x->fed - 1, s->logits);
        show_drawn(x);
        if (x->line.over) end_text(s, k);
    }
    s->at_work = -1;
}

static void feed_ready(Slots *s)
{
    bool ready[LATHE_MOST_SLOTS] = {false};
    int n = 0, one = -1;
    for (int k = 0; k < s->n; k++) {
        ready[k] = s->slot[k].busy && !chunk_wanted(s, &s->slot[k]);
        if (ready[k]) one = k, n++;
    }
    if (n == 0) return;
    s->logits = s->busy == 1 ? feed_alone(s, one) : feed_rows_of_slots(s, ready);
    for (int k = 0; k < s->n; k++) {
        Slot *x = &s->slot[k];
        if (!ready[k]) continue;
        x->row = s->busy == 1 ? 0 : k;
        x->fresh = x->start + ++x->fed == x->line.n;
    }
}

void step_slots(Slots *s)
{
    draw_fresh(s); /* after a failure */
    drop_unwanted(s);
    for (int k = 0; k < s->n; k++)
        if (s->slot[k].busy) settle_stretch(s, k);
    int reader = next_reader(s);
    if (reader >= 0) {
        read_some(s, reader);
        settle_stretch(s, reader);
    }
    feed_ready(s);
    draw_fresh(s);
}

/* ------------------------------------------------------------------ all of several prompts */

typedef struct Kept { /* a text that waits for those before it */
    int32_t *token;
    float *extra;
    Written written;
    bool done;
    int64_t extras;
} Kept;

static void *copied(const void *from, size_t bytes)
{
    void *to = must_alloc(bytes + 1);
    if (bytes) memcpy(to, from, bytes);
    return to;
}

static void keep_written(void *with, const Written *w)
{
    Kept *k = with;
    k->written = *w;
    k->written.token = k->token = copied(w->token, sizeof *w->token * (size_t)w->n);
    k->written.extra = k->extra = copied(w->extra, sizeof *w->extra * (size_t)((w->n - w->from) * k->extras));
    k->done = true;
}

static void begin_prompt(Slots *s, const Passage *prompt, int64_t number, Kept *to)
{
    Text_writer *w = s->w;
    *to = (Kept){.extras = w->d.extras};
    take_prompts(w, prompt, 1);
    const Slot_text text = {
        {w->prompt[0].at, w->prompt[0].n}, number, .hidden = w->hidden[0], .over = keep_written, .with = to};
    begin_slot(s, idle_slot(s), &text);
}

void write_in_slots(Slots *s, const Passage *prompt, int64_t n, Take_written *take, void *with)
{
    Kept *kept = must_alloc(sizeof *kept * (size_t)(n + 1));
    for (int k = 0; k < s->n; k++) s->slot[k].w.stops = s->w->stops;
    for (int64_t begun = 0, given = 0; given < n;) {
        while (begun < n && idle_slot(s) >= 0) begin_prompt(s, prompt + begun, begun, &kept[begun]), begun++;
        step_slots(s);
        for (; given < begun && kept[given].done; given++) {
            take(with, given, &kept[given].written);
            free(kept[given].token);
            free(kept[given].extra);
        }
    }
    free(kept);
}
