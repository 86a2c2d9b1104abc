/* beats.c: how ranks are.
 *
 * Each second every rank tells rank 0 its step and what it does, and rank 0 answers.  A rank that has said nothing for
 * PATIENCE seconds, or whose connection has ended, is lost: rank 0 names it and tells the others, and all end with
 * EXIT_RANK.  If rank 0 is lost, each of the others finds out by itself.  A rank that fails says why before it ends.
 * A process that was itself stopped for a while (SIGSTOP, a suspended machine) does not blame the others for it. */
#include "ranks/beats.h"
#include "base/words.h"
#include "ranks/courier.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = -1, TEXT = 600, HOST = 64, LONG_WAIT = 10 };

typedef enum Word_kind { WORD_BEAT, WORD_FAILED, WORD_LOST, WORD_ENDED } Word_kind;

typedef struct Word { /* between ranks of one build */
    int32_t kind, rank, code, action;
    int64_t step;
    double since; /* seconds that the rank has been doing that */
    char host[HOST], text[TEXT];
} Word;

typedef struct Line {   /* to one other rank */
    Word out, in, last; /* last: that arrived */
    int sending, receiving;
    double heard, told;
    bool ended, noted;
} Line;

static const char *const doing[] = {"before its first step",
                                    "reading data",
                                    "computing gradients",
                                    "adding up over ranks",
                                    "updating parameters",
                                    "evaluating",
                                    "saving",
                                    "waiting for orders",
                                    "ending"};

static struct Beats {
    const Carrier *carrier;
    Line *line; /* [ranks]; all but rank 0 use line[0] alone */
    double patience, now, next;
    atomic_int action;
    atomic_llong step;
    _Atomic double since;
    atomic_bool own; /* this rank fails by itself: own_word */
    Word own_word;
    atomic_bool failed;
    int code, lost;
    char text[2 * TEXT];
    bool said, delivered; /* the last words are said; a failure has been told */
} beats = {.lost = NONE};

static bool leads(void) { return beats.carrier->rank == 0; }
static int first_line(void) { return leads() ? 1 : 0; }
static int lines(void) { return leads() ? beats.carrier->ranks : 1; }

void rank_does(Rank_action action, int64_t step)
{
    atomic_store(&beats.action, action);
    atomic_store(&beats.step, step);
    atomic_store(&beats.since, seconds_now());
}

const char *ranks_failure(int *code)
{
    if (!atomic_load(&beats.failed)) return NULL;
    *code = beats.code;
    return beats.text;
}

void start_beats(const Carrier *c)
{
    const char *patience = getenv("LATHE_RANK_PATIENCE");
    const double seconds = patience ? atof(patience) : 0;
    beats.carrier = c;
    beats.patience = seconds > 0 ? seconds : 8;
    beats.now = seconds_now();
    beats.next = beats.now;
    beats.line = must_alloc((size_t)(c->rank == 0 ? c->ranks : 1) * sizeof *beats.line);
    for (int k = first_line(); k < lines(); k++) {
        Line *l = &beats.line[k];
        l->heard = beats.now;
        l->sending = NONE;
        l->last.rank = k;
        l->receiving = c->receive(k, CHANNEL_WORD, &l->in, sizeof l->in);
    }
}

/* ------------------------------------------------------------------ failing */

static void fail_run(int code, const char *text)
{
    if (atomic_load(&beats.failed)) return;
    beats.code = code;
    snprintf(beats.text, sizeof beats.text, "%s", text);
    atomic_store(&beats.failed, true);
}

int lost_rank(void) { return atomic_load(&beats.failed) ? beats.lost : NONE; }

static void lose(const Line *l, const char *how)
{
    const Word *w = &l->last;
    char text[2 * TEXT];
    snprintf(text, sizeof text, "rank %d of %d%s%.*s %s; it was at step %lld, %s", w->rank, beats.carrier->ranks,
             w->host[0] ? ", on " : "", HOST, w->host, how, (long long)w->step + 1, doing[w->action]);
    beats.lost = w->rank;
    fail_run(EXIT_RANK, text);
}

bool tell_failure(int code, const char *text)
{
    Word *w = &beats.own_word;
    const bool before = atomic_load(&beats.failed);
    if (before) return !leads(); /* rank 0 has said why */
    *w = (Word){.kind = WORD_FAILED, .rank = beats.carrier->rank, .code = code};
    snprintf(w->text, sizeof w->text, "%s", text);
    atomic_store(&beats.own, true);
    wait_until_silent();
    return !leads() && beats.carrier && beats.delivered;
}

/* ------------------------------------------------------------------ words in */

static void take_word(Line *l)
{
    Word *w = &l->in;
    w->host[HOST - 1] = w->text[TEXT - 1] = 0;
    if (w->kind == WORD_BEAT && w->action >= 0 && w->action <= RANK_ENDS) l->last = *w;
    if (w->kind == WORD_ENDED) l->ended = true;
    if (w->kind == WORD_LOST) fail_run(EXIT_RANK, w->text);
    if (w->kind != WORD_FAILED) return;
    fail_run(w->code, w->text);
}

static void hear(Line *l, int from)
{
    const Carrier *c = beats.carrier;
    while (!l->ended && c->ended(l->receiving)) {
        l->heard = beats.now;
        take_word(l);
        if (!l->ended) l->receiving = c->receive(from, CHANNEL_WORD, &l->in, sizeof l->in);
    }
}

/* ------------------------------------------------------------------ words out */

static Word own_beat(void)
{
    Word w = {.kind = WORD_BEAT, .rank = beats.carrier->rank, .action = atomic_load(&beats.action)};
    w.step = atomic_load(&beats.step);
    w.since = beats.now - atomic_load(&beats.since);
    snprintf(w.host, sizeof w.host, "%s", host_name());
    return w;
}

static void say(Line *l, int to, const Word *w)
{
    if (l->sending != NONE) return;
    l->out = *w;
    l->sending = beats.carrier->send(to, CHANNEL_WORD, &l->out, sizeof l->out);
}

static bool is_said(Line *l)
{
    if (l->sending != NONE && beats.carrier->ended(l->sending)) l->sending = NONE;
    return l->sending == NONE;
}

/* ------------------------------------------------------------------ watching */

/* Of a rank for which the others wait. */
static void note_slow(Line *l)
{
    const Word *w = &l->last;
    const bool waits = w->action == RANK_FOLLOWS || w->action == RANK_ADDS || w->action == RANK_STARTS;
    if (waits || w->since < LONG_WAIT) l->noted = false;
    else if (!l->noted && atomic_load(&beats.action) == RANK_ADDS &&
             beats.now - atomic_load(&beats.since) > LONG_WAIT) {
        note("rank %d of %d, on %s, has been %s in step %lld for %.0f s, and the others wait for it", w->rank,
             beats.carrier->ranks, w->host, doing[w->action], (long long)w->step + 1, w->since);
        l->noted = true;
    }
}

static void watch(void)
{
    const Carrier *c = beats.carrier;
    int gone;
    for (int k = first_line(); k < lines(); k++) {
        Line *l = &beats.line[k];
        hear(l, k);
        if (l->ended) continue;
        if (leads()) note_slow(l);
        if (beats.now - l->heard > beats.patience)
            lose(l, text_of("has given no sign for %.0f s", beats.now - l->heard));
    }
    if (atomic_load(&beats.failed) || !c->lost(&gone)) return;
    if (gone > 0 && !leads()) return; /* rank 0 finds out, and tells */
    if (gone >= 0 && beats.line[gone].ended) return;
    if (gone >= 0) lose(&beats.line[gone], "has ended without a word");
    else fail_run(EXIT_RANK, text_of("the connection between ranks failed: %s", c->failure() ? c->failure() : "?"));
}

/* ------------------------------------------------------------------ ending */

static Beat_state end_beats(void)
{
    bool all = true;
    if (!beats.said) {
        const Word w = {.kind = WORD_ENDED, .rank = beats.carrier->rank};
        bool free = true;
        for (int k = first_line(); k < lines(); k++) free &= is_said(&beats.line[k]);
        if (!free) return BEATS_GO_ON;
        for (int k = first_line(); k < lines(); k++) say(&beats.line[k], k, &w);
        beats.said = true;
    }
    for (int k = first_line(); k < lines(); k++) all &= is_said(&beats.line[k]) && beats.line[k].ended;
    return all ? BEATS_ENDED : BEATS_GO_ON;
}

/* Tells the others what has failed, for a second at most. */
static void spread_failure(void)
{
    Word w = {.kind = leads() ? WORD_LOST : WORD_FAILED, .rank = beats.carrier->rank, .code = beats.code};
    const double until = seconds_now() + 1;
    snprintf(w.text, sizeof w.text, "%.*s", TEXT - 1, beats.text);
    if (atomic_load(&beats.own)) w = beats.own_word;
    for (bool all = false, told = false; !all && seconds_now() < until; beats.carrier->pause(0.001)) {
        all = true;
        for (int k = first_line(); k < lines(); k++) all &= is_said(&beats.line[k]) && told;
        for (int k = first_line(); k < lines() && !told; k++) say(&beats.line[k], k, &w);
        told = true;
        beats.delivered = all;
    }
}

Beat_state beat(bool ending)
{
    const double before = beats.now;
    beats.now = seconds_now();
    if (beats.now - before > 2) /* this process was stopped */
        for (int k = first_line(); k < lines(); k++) beats.line[k].heard = beats.now;
    if (!ending || !beats.said) watch();
    else
        for (int k = first_line(); k < lines(); k++) hear(&beats.line[k], k);
    if (atomic_load(&beats.own) || atomic_load(&beats.failed)) {
        if (leads() || atomic_load(&beats.own)) spread_failure();
        return BEATS_FAILED;
    }
    if (ending) return end_beats();
    if (beats.now < beats.next) return BEATS_GO_ON;
    beats.next = beats.now + 1;
    const Word w = own_beat();
    for (int k = first_line(); k < lines(); k++)
        if (is_said(&beats.line[k])) say(&beats.line[k], k, &w);
    return BEATS_GO_ON;
}
