/* axes.c: what the axes of the description's tensors are, found by tracing it again with one size at a time changed.
 *
 * Processes of their own trace the entries train, grad and decode, one as they are and one for each size that forward
 * reads, with that size doubled (or three times or half as large, or larger by one, where the description refuses), and
 * note the shape of each tensor that Lua is given.  An extent that doubles with `width` and is halved by doubled
 * `heads` is WIDTH / HEADS, whatever number that is.  What is found belongs to a place, the n-th tensor of a line, and
 * names the axes of all entries of that kind.  A description that computes for long has extents without names. */
#include "front/front.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_NOTED = 20000, MOST_PROBES = 64, AT_A_TIME = 2 };

typedef struct Noted { /* a tensor's shape */
    uint64_t place;
    int32_t nth, rank; /* of its place */
    int64_t dim[MAXRANK];
    uint16_t axis[MAXRANK];
    unsigned fixed; /* bit k: no size changes extent k */
} Noted;

typedef struct Notes { /* of one trace, in memory shared with its process */
    int64_t n;
    int whole; /* number of entries traced to their ends */
    bool read[MOST_PROBES];
    Noted at[MOST_NOTED];
} Notes;

typedef struct Probe {
    const char *size;
    int64_t value, changed;
    Notes *notes;
} Probe;

/* ------------------------------------------------------------------ noting */

/* Training, evaluating and decoding entries give Lua different tensors (dropout), so they count as different places. */
static uint64_t place_now(const Trace *trace, Axes_of what)
{
    unsigned kind = trace->decode ? 2 : trace->graph->training;
    const Where here = making().where;
    uint64_t h = hash_bytes(&here.line, sizeof here.line, (uint64_t)what * 4 + kind);
    if (here.file) h = hash_bytes(here.file, strlen(here.file), h);
    return here.path ? hash_bytes(here.path, strlen(here.path), h) : h;
}

static int first_of(const Trace *trace, uint64_t place)
{
    int low = 0, high = trace->learned.n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (trace->learned.at[middle].place < place) low = middle + 1;
        else high = middle;
    }
    return low < trace->learned.n && trace->learned.at[low].place == place ? low : -1;
}

static void note_probe(const Trace *trace, const Shape *s, Axes_of what)
{
    Notes *writing = trace->noting;
    if (writing->n == MOST_NOTED) _exit(0); /* what is left of a description as long as that keeps its numbers */
    Noted *n = &writing->at[writing->n++];
    *n = (Noted){.place = place_now(trace, what), .rank = s->rank};
    memcpy(n->dim, s->dim, sizeof n->dim);
}

void name_axes(Trace *trace, Shape *s, Axes_of what)
{
    if (trace->noting) return note_probe(trace, s, what);
    int first = trace->learned.n ? first_of(trace, place_now(trace, what)) : -1;
    if (first < 0) return;
    int at = first + trace->next_there.at[first]++;
    const Noted *n = at < trace->learned.n ? &trace->learned.at[at] : NULL;
    if (!n || n->place != trace->learned.at[first].place || n->rank != s->rank) return;
    for (int k = 0; k < s->rank; k++) {
        bool same_there = n->dim[k] == s->dim[k]; /* prefill has several tokens where decode has one */
        if (same_there && (n->axis[k] || n->fixed >> k & 1)) s->axis[k] = n->axis[k];
    }
    check_axes(s);
}

void axes_new_entry(Trace *trace)
{
    int n = trace->next_there.n;
    if (n) memset(trace->next_there.at, 0, sizeof *trace->next_there.at * (size_t)n);
}

void note_read(Trace *trace, const char *knob)
{
    for (int i = 0; trace->noting && i < trace->desc->knobs.n && i < MOST_PROBES; i++)
        trace->noting->read[i] |= same(trace->desc->knobs.at[i].name, knob);
}

void end_notes_of_entry(Trace *trace) { trace->noting->whole++; }

/* ------------------------------------------------------------------ probing */

static Notes *new_notes(void)
{
    void *at = mmap(NULL, sizeof(Notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

static void leave(void) { _exit(1); }

/* A mistake of the description, which is another one now, ends the process without a word. */
static pid_t begin_probe(lua_State *L, int model, int c, const Probe *p)
{
    fflush(NULL);
    pid_t child = p->notes ? fork() : -1;
    if (child) return child;
    bool quiet = atexit(leave) == 0 && freopen("/dev/null", "w", stderr) && freopen("/dev/null", "w", stdout);
    trace_of(L)->noting = p->notes;
    leave_titles(L);
    leave_few_instructions(trace_of(L));
    if (p->size) change_knob(L, c, p->size, p->changed);
    if (quiet) trace_for_axes(L, model, c);
    _exit(0);
}

static void forget_notes(Probe *p)
{
    if (p->notes) munmap(p->notes, sizeof *p->notes);
    p->notes = NULL;
}

/* It counts where it got as far as the description itself does, which may have a mistake. */
static void end_probe(pid_t child, Probe *p, int whole)
{
    if (child > 0) waitpid(child, NULL, 0);
    if (p->notes && p->notes->whole < whole) forget_notes(p);
}

static void run_probes(lua_State *L, int model, int c, Probe *p, int n, int whole)
{
    for (int i = 0; i < n; i += AT_A_TIME) {
        pid_t child[AT_A_TIME] = {0};
        for (int k = 0; k < AT_A_TIME && i + k < n; k++) child[k] = begin_probe(L, model, c, &p[i + k]);
        for (int k = 0; k < AT_A_TIME && i + k < n; k++) end_probe(child[k], &p[i + k], whole);
    }
}

static void probe_sizes(lua_State *L, int model, int c, const Notes *base, Probe *found, int *n)
{
    Trace *trace = trace_of(L);
    static const struct {
        int times, over, plus;
    } ways[] = {{2, 1, 0}, {3, 1, 0}, {1, 2, 0}, {1, 1, 1}};
    for (int i = 0; i < trace->desc->knobs.n && i < MOST_PROBES; i++) {
        const char *name = trace->desc->knobs.at[i].name;
        int64_t value = 0;
        if (!knob_is_integer(trace, name, &value) || value < 2 || value > INT32_MAX / 4) continue;
        if (base->read[i] || is_size_of_inputs(trace, name))
            found[(*n)++] = (Probe){.size = copy_string(name), .value = value};
    }
    for (int way = 0; way < COUNT_OF(ways); way++) {
        Probe todo[MOST_PROBES];
        int which[MOST_PROBES], count = 0;
        for (int i = 0; i < *n; i++) {
            if (found[i].notes) continue;
            found[i].changed = found[i].value * ways[way].times / ways[way].over + ways[way].plus;
            found[i].notes = new_notes();
            which[count] = i;
            todo[count++] = found[i];
        }
        run_probes(L, model, c, todo, count, base->whole);
        for (int i = 0; i < count; i++) found[which[i]] = todo[i];
    }
}

/* ------------------------------------------------------------------ learning */

static int by_place(const void *a, const void *b)
{
    const Noted *x = a, *y = b;
    return x->place != y->place ? (x->place < y->place ? -1 : 1) : x->nth - y->nth;
}

static void sort_notes(Notes *notes)
{
    for (int i = 0; i < notes->n; i++) notes->at[i].nth = i;
    if (notes->n) qsort(notes->at, (size_t)notes->n, sizeof *notes->at, by_place);
}

/* The same tensor in the other trace: the n-th of its place. */
static const Noted *partner(const Notes *base, int i, const Notes *other, int *at)
{
    while (*at < other->n && other->at[*at].place < base->at[i].place) (*at)++;
    if (*at == other->n || other->at[*at].place != base->at[i].place) return NULL;
    const Noted *n = &other->at[(*at)++];
    return n->rank == base->at[i].rank ? n : NULL;
}

/* How an extent depends on each size: as a factor or divisor (power), or by slope per unit. */
typedef struct Found {
    signed char power[MOST_PROBES];
    int64_t slope[MOST_PROBES];
    bool product, sum; /* whether all sizes fit that form */
    bool fixed;
} Found;

static void depend(Found *f, const Probe *p, int which, int64_t before, int64_t after)
{
    if (after == before) return;
    bool grows = (__int128)after * p->value == (__int128)before * p->changed;
    bool shrinks = (__int128)after * p->changed == (__int128)before * p->value;
    int64_t more = p->changed - p->value;
    f->power[which] = (signed char)(grows - shrinks);
    f->slope[which] = (after - before) / more;
    f->fixed = false;
    f->product &= grows || shrinks;
    f->sum &= (after - before) % more == 0 && f->slope[which] > 0;
}

enum { MOST_OVER = 16, MOST_PLUS = 16 };

/* WIDTH, then WIDTH / HEADS. */
static int product_found(const Found *f, const Probe *p, int n, int64_t extent)
{
    int axis = 0;
    for (int sign = 1; sign >= -1; sign -= 2)
        for (int k = 0; k < n; k++)
            if (f->power[k] == sign) axis = axis_power(axis, p[k].size, p[k].value, sign);
    axis = axis ? axis_scaled(axis, extent, axis_numbered(axis)->extent) : 0;
    return axis && axis_numbered(axis)->over <= MOST_OVER ? axis : 0;
}

/* 2 * WIDTH + HIDDEN + 1 */
static int sum_found(const Found *f, const Probe *p, int n, int64_t extent)
{
    int axis = 0;
    for (int k = 0; k < n; k++) {
        if (!f->slope[k]) continue;
        int term = axis_scaled(axis_of(p[k].size, p[k].value), f->slope[k], 1);
        axis = axis ? axis_sum(axis, term) : term;
        extent -= f->slope[k] * p[k].value;
    }
    return extent < -MOST_PLUS || extent > MOST_PLUS ? 0 : axis_longer(axis, extent);
}

static int axis_found(const Found *f, const Probe *p, int n, int64_t extent)
{
    return f->product ? product_found(f, p, n, extent) : f->sum ? sum_found(f, p, n, extent) : 0;
}

static void learn(Trace *trace, const Notes *base, const Probe *p, int n)
{
    int at[MOST_PROBES] = {0};
    for (int i = 0; i < base->n; i++) {
        Noted noted = base->at[i];
        Found found[MAXRANK];
        for (int d = 0; d < MAXRANK; d++) found[d] = (Found){.product = true, .sum = true, .fixed = true};
        for (int k = 0; k < n; k++) {
            const Noted *other = p[k].notes ? partner(base, i, p[k].notes, &at[k]) : NULL;
            for (int d = 0; d < noted.rank; d++) {
                if (other) depend(&found[d], &p[k], k, noted.dim[d], other->dim[d]);
                else found[d].fixed = false;
            }
        }
        for (int d = 0; d < noted.rank; d++) {
            noted.axis[d] = (uint16_t)axis_found(&found[d], p, n, noted.dim[d]);
            noted.fixed |= (unsigned)found[d].fixed << d;
        }
        push(&trace->learned, noted);
        push(&trace->next_there, 0);
    }
}

void learn_axes(lua_State *L, int model, int c)
{
    Probe base = {.notes = new_notes()}, probes[MOST_PROBES] = {0};
    int n = 0;
    run_probes(L, model, c, &base, 1, 0);
    if (!base.notes) return;
    probe_sizes(L, model, c, base.notes, probes, &n);
    sort_notes(base.notes);
    for (int i = 0; i < n; i++)
        if (probes[i].notes) sort_notes(probes[i].notes);
    learn(trace_of(L), base.notes, probes, n);
    for (int i = 0; i < n; i++) forget_notes(&probes[i]);
    forget_notes(&base);
}
