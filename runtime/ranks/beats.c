/* beats.c: how ranks are.
 *
 * Each second every rank tells rank 0 its step and what it does, and rank 0 answers.  A rank that has said nothing for
 * PATIENCE seconds, or whose connection or process has ended, is lost.  Rank 0 names it at once, tells the others when
 * it has finished a save that is under way, and all end with EXIT_RANK.  If rank 0 is lost, each of the others finds
 * out by itself.  A rank that fails tells rank 0 why, and waits until rank 0 has said so: launchers end all ranks as
 * soon as one has ended.  A process that was itself stopped for a while (SIGSTOP, a suspended machine) does not blame
 * the others for it. */
#include "ranks/beats.h"
#include "base/words.h"
#include "ranks/courier.h"
#include "ranks/launcher.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = -1, TEXT = 2000, HOST = 64, LONG_WAIT = 8 };

/* GONE: the process of another rank on the same machine is; LOST: the run has failed, and all end. */
typedef enum Word_kind { WORD_BEAT, WORD_FAILED, WORD_GONE, WORD_LOST, WORD_ENDED, WORD_NOTE } Word_kind;

typedef struct Word { /* between ranks of one build */
    int32_t kind, rank, code,
        action; /* code: exit code; of GONE: the rank; of BEAT: 1: it wants a save; + 2 · the signal that it has got */
    int64_t step;
    double since; /* seconds that the rank has been doing that */
    char host[HOST], text[TEXT];
} Word;

typedef struct Line {   /* to one other rank */
    Word out, in, last; /* last: that arrived */
    int sending, receiving;
    double heard;
    bool ended, gone; /* gone: it was lost at the end */
    bool noted, told; /* that it is slow; of a failure */
    bool has_note;    /* the lock of notes is held for these two */
    char note[LATHE_NOTE_BYTES];
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
    bool starts;  /* so it has told */
    double woken; /* after it was stopped; 0: it was not */
    atomic_int action;
    atomic_llong step;
    _Atomic double since;
    char *shown;     /* what it does, in words: [ACTION_BYTES], or NULL */
    atomic_bool own; /* this rank fails by itself: own_word */
    Word own_word;
    atomic_bool failed;
    int code, lost;
    bool hangs; /* the lost one */
    char text[2 * TEXT];
    atomic_bool asks, asked;          /* this rank wants a save; rank 0: others do */
    atomic_int ends, ended;           /* the signal that this rank has got; rank 0: that another has */
    bool ending, said, parted;        /* the last words are said; some were lost after that */
    bool answered;                    /* rank 0 has said why this rank fails */
    _Atomic(const int64_t *) process; /* [ranks]; 0: on another machine; NULL: nobody looks after them */
    double looked;
    pthread_mutex_t notes;
    Word note;     /* of this rank */
    bool has_note; /* that is not sent yet */
} beats = {.lost = NONE, .notes = PTHREAD_MUTEX_INITIALIZER};
static_assert(LATHE_NOTE_BYTES < (int)TEXT, "a note is the text of a word");

static bool leads(void) { return beats.carrier->rank == 0; }
static int first_line(void) { return leads() ? 1 : 0; }
static int lines(void) { return leads() ? beats.carrier->ranks : 1; }

static void show_action(void)
{
    char text[ACTION_BYTES + 1];
    if (!beats.shown) return;
    const int n = snprintf(text, sizeof text, "step %lld, %s", (long long)atomic_load(&beats.step) + 1,
                           doing[atomic_load(&beats.action)]);
    memset(text + n, ' ', (size_t)(ACTION_BYTES - n));
    text[ACTION_BYTES - 1] = '\n';
    memcpy(beats.shown, text, ACTION_BYTES);
}

void rank_does(Rank_action action, int64_t step)
{
    atomic_store(&beats.action, action);
    atomic_store(&beats.step, step);
    atomic_store(&beats.since, seconds_now());
    show_action();
}

void show_action_at(char *at)
{
    beats.shown = at;
    show_action();
}

const char *ranks_failure(int *code)
{
    if (!atomic_load(&beats.failed)) return NULL;
    *code = beats.code;
    return beats.text;
}

double ranks_patience(void) { return number_of_variable("LATHE_RANK_PATIENCE", 8, "seconds"); }

void start_beats(const Carrier *c)
{
    beats.carrier = c;
    beats.patience = ranks_patience();
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

bool was_stopped(void) { return beats.woken > 0 && beats.now - beats.woken < beats.patience; }
int lost_rank(void) { return atomic_load(&beats.failed) ? beats.lost : NONE; }

/* "rank 2 of 4, on HOST"; from malloc */
static char *named_rank(const Line *l)
{
    const Word *w = &l->last;
    return text_of("rank %d of %d%s%.*s", w->rank, beats.carrier->ranks, *w->host ? ", on " : "", HOST, w->host);
}

/* Once ranks are parting, all is saved: nobody waits for one that is lost. */
static void lose(Line *l, const char *how)
{
    const Word *w = &l->last;
    char text[2 * TEXT];
    if (beats.ending) {
        l->ended = l->gone = beats.parted = true;
        return;
    }
    snprintf(text, sizeof text, "%s%s %s; last heard of at step %lld, %s", named_rank(l), *w->host ? "," : "", how,
             (long long)w->step + 1, doing[w->action]);
    beats.lost = w->rank;
    fail_run(EXIT_RANK, text);
}

/* Rank 0 decides about the others, and they about rank 0. */
static void lose_process(int rank)
{
    if (rank < first_line() || rank >= lines() || beats.line[rank].ended) return;
    lose(&beats.line[rank], "has ended without a word");
}

void ask_for_save(void) { atomic_store(&beats.asks, true); }
void ask_to_end(int signal) { atomic_store(&beats.ends, signal); }
int asked_to_end(void) { return atomic_load(&beats.ended); }
bool take_asked_save(void) { return atomic_exchange(&beats.asked, false); }

void watch_processes(const int64_t *process) { atomic_store(&beats.process, process); }

static Word own_beat(void)
{
    Word w = {.kind = WORD_BEAT, .rank = beats.carrier->rank, .action = atomic_load(&beats.action)};
    w.step = atomic_load(&beats.step);
    w.since = seconds_now() - atomic_load(&beats.since);
    snprintf(w.host, sizeof w.host, "%s", host_name());
    return w;
}

void fail_by_itself(int code, const char *text)
{
    Word *w = &beats.own_word;
    *w = own_beat();
    w->kind = leads() ? WORD_LOST : WORD_FAILED;
    w->code = code;
    snprintf(w->text, sizeof w->text, "%s", text);
    atomic_store(&beats.own, true);
}

bool fails_by_itself(void) { return atomic_load(&beats.own); }
bool failure_was_told(void) { return beats.answered; }

/* ------------------------------------------------------------------ notes */

void give_note(const void *at, int64_t bytes)
{
    bug_if(leads() || bytes > LATHE_NOTE_BYTES);
    pthread_mutex_lock(&beats.notes);
    memcpy(beats.note.text, at, (size_t)bytes);
    beats.has_note = true;
    pthread_mutex_unlock(&beats.notes);
}

bool take_note(int rank, void *at, int64_t bytes)
{
    Line *l = &beats.line[rank];
    pthread_mutex_lock(&beats.notes);
    const bool there = l->has_note;
    if (there) memcpy(at, l->note, (size_t)bytes);
    l->has_note = false;
    pthread_mutex_unlock(&beats.notes);
    return there;
}

static void keep_note(Line *l)
{
    pthread_mutex_lock(&beats.notes);
    memcpy(l->note, l->in.text, sizeof l->note);
    l->has_note = true;
    pthread_mutex_unlock(&beats.notes);
}

/* ------------------------------------------------------------------ words in */

/* Of a rank that has said why it fails. */
static void take_why(Line *l)
{
    const Word *w = &l->last;
    l->last = l->in;
    fail_run(w->code,
             text_of("%s, at step %lld, %s: %s", named_rank(l), (long long)w->step + 1, doing[w->action], w->text));
}

static void take_line(Line *l)
{
    Word *w = &l->in;
    w->host[HOST - 1] = w->text[TEXT - 1] = 0;
    switch (w->kind) {
    case WORD_BEAT:
        if (w->action >= 0 && w->action <= RANK_ENDS) l->last = *w;
        if (w->code & 1) atomic_store(&beats.asked, true);
        if (w->code >> 1) atomic_store(&beats.ended, w->code >> 1);
        break;
    case WORD_FAILED: take_why(l); break;
    case WORD_GONE: lose_process(w->code); break;
    case WORD_LOST:
        beats.answered = true;
        fail_run(w->code, w->text);
        break;
    case WORD_ENDED: l->ended = true; break;
    case WORD_NOTE: keep_note(l); break;
    }
}

static void hear_line(Line *l, int from)
{
    const Carrier *c = beats.carrier;
    while (!l->ended && c->ended(l->receiving)) {
        l->heard = beats.now;
        take_line(l);
        if (!l->ended) l->receiving = c->receive(from, CHANNEL_WORD, &l->in, sizeof l->in);
    }
}

/* ------------------------------------------------------------------ words out */

static void say_word(Line *l, int to, const Word *w)
{
    if (l->sending != NONE) return;
    l->out = *w;
    l->sending = beats.carrier->send(to, CHANNEL_WORD, &l->out, sizeof l->out);
}

static bool is_said(Line *l)
{
    if (l->sending != NONE && beats.carrier->ended(l->sending)) l->sending = NONE;
    return l->sending == NONE || l->gone;
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

/* Nobody may have waited for it yet: then it is a zombie (proc(5)). */
static bool process_has_ended(int64_t process)
{
    char text[512] = "";
    if (kill((pid_t)process, 0) != 0) return errno == ESRCH;
    char path[64];
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)process);
    FILE *f = fopen(path, "r");
    const size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    const char *state = n ? strrchr(text, ')') : NULL;
    return state && (state[2] == 'Z' || state[2] == 'X');
}

/* Sockets tell the end of a process at once; MPI does not.  Launchers end the other ranks within a second. */
static void watch_neighbours(void)
{
    const int64_t *process = atomic_load(&beats.process);
    if (!process || beats.now - beats.looked < 0.1) return;
    beats.looked = beats.now;
    for (int k = 0; k < beats.carrier->ranks; k++) {
        if (!process[k] || !process_has_ended(process[k])) continue;
        const Word gone = {.kind = WORD_GONE, .rank = beats.carrier->rank, .code = k};
        if (leads() || k == 0) lose_process(k);
        else if (is_said(&beats.line[0])) say_word(&beats.line[0], 0, &gone);
    }
}

static void watch(void)
{
    const Carrier *c = beats.carrier;
    int gone;
    for (int k = first_line(); k < lines(); k++) {
        Line *l = &beats.line[k];
        hear_line(l, k);
        if (l->ended) continue;
        if (leads()) note_slow(l);
        if (beats.now - l->heard <= beats.patience) continue;
        beats.hangs = true;
        lose(l, text_of("has given no sign for %.0f s", beats.now - l->heard));
    }
    if (!atomic_load(&beats.failed)) watch_neighbours();
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
        for (int k = first_line(); k < lines(); k++) say_word(&beats.line[k], k, &w);
        beats.said = true;
    }
    for (int k = first_line(); k < lines(); k++) all &= is_said(&beats.line[k]) && beats.line[k].ended;
    return !all ? BEATS_GO_ON : beats.parted ? BEATS_PARTED : BEATS_ENDED;
}

/* To all others, for a second at most. */
static void say_to_all(const Word *w)
{
    const double until = seconds_now() + 1;
    bool all = false;
    for (int k = first_line(); k < lines(); k++) beats.line[k].told = false;
    if (beats.lost > 0) (void)is_said(&beats.line[beats.lost]), say_word(&beats.line[beats.lost], beats.lost, w);
    for (; !all && seconds_now() < until; beats.carrier->pause(0.001)) {
        all = true;
        for (int k = first_line(); k < lines(); k++) {
            Line *l = &beats.line[k];
            if (k == beats.lost) continue; /* it may only have been stopped: it finds the word when it goes on */
            const bool free = is_said(l);
            all &= free && l->told;
            if (!free || l->told) continue;
            say_word(l, k, w);
            l->told = true;
        }
    }
}

static void say_beat(void)
{
    Word w = own_beat();
    const bool begins = beats.starts && w.action != RANK_STARTS;
    if (beats.now < beats.next && !begins) return;
    beats.next = beats.now + 1;
    beats.starts = w.action == RANK_STARTS;
    for (int k = first_line(); k < lines(); k++) {
        if (!is_said(&beats.line[k])) continue;
        w.code = leads() ? 0 : atomic_exchange(&beats.asks, false) + 2 * atomic_load(&beats.ends);
        say_word(&beats.line[k], k, &w);
    }
}

static void say_note(void)
{
    if (leads() || !is_said(&beats.line[0])) return;
    pthread_mutex_lock(&beats.notes);
    beats.note.kind = WORD_NOTE;
    beats.note.rank = beats.carrier->rank;
    if (beats.has_note) say_word(&beats.line[0], 0, &beats.note);
    beats.has_note = false;
    pthread_mutex_unlock(&beats.notes);
}

/* A rank that hangs, or was stopped, would stay: not every launcher ends it. */
static void end_lost(void)
{
    const int64_t *process = atomic_load(&beats.process);
    if (process && beats.hangs && beats.lost != NONE && process[beats.lost]) kill((pid_t)process[beats.lost], SIGKILL);
}

/* A rank that fails by itself waits for rank 0 to say so; a run that has failed, for rank 0 to tell it. */
void end_failed(bool (*tell)(int code, const char *text))
{
    Word w = {.kind = WORD_LOST, .rank = beats.carrier->rank};
    if (atomic_load(&beats.own)) {
        say_to_all(&beats.own_word);
        while (!leads() && !atomic_load(&beats.failed)) {
            beats.now = seconds_now();
            watch();
            beats.carrier->pause(0.001);
        }
        return;
    }
    while (!tell(beats.code, beats.text)) {
        beats.now = seconds_now();
        say_beat();
        beats.carrier->pause(0.01);
    }
    w.code = beats.code;
    snprintf(w.text, sizeof w.text, "%.*s", TEXT - 1, beats.text);
    if (leads()) say_to_all(&w);
    end_lost();
    if (leads() && beats.hangs) end_launcher_soon();
}

Beat_state beat(bool ending)
{
    const double before = beats.now;
    beats.now = seconds_now();
    if (beats.now - before > 2) { /* this process was stopped */
        beats.woken = beats.now;
        for (int k = first_line(); k < lines(); k++) beats.line[k].heard = beats.now;
    }
    beats.ending = ending;
    watch();
    if (atomic_load(&beats.own) || atomic_load(&beats.failed)) return BEATS_FAILED;
    if (ending) return end_beats();
    say_beat();
    say_note();
    return BEATS_GO_ON;
}
