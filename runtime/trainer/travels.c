/* travels.c: what a step shared by ranks waits for: buckets on their way, and when this rank could only wait.
 *
 * Each travel is kept for a trace alone, and only until that is written: a step of many micro-batches has thousands. */
#include "trainer/travels.h"
#include "base/json_text.h"
#include "base/words.h"

#include <stdlib.h>

enum { CHUNK = 1024 }; /* they stay where they are: the courier's thread ends them */

typedef struct Travel_list { /* of a step */
    Travel **chunk;
    int chunks, n;
} Travel_list;

/* Parameters that the last step sent arrive in this one. */
static struct Travels {
    Travel_list at[2]; /* of two steps, in turn */
    int step;
    bool kept;
    double waited;
} travels;

void keep_travels(bool kept) { travels.kept = kept; }

void begin_travels(void)
{
    travels.step = 1 - travels.step;
    travels.at[travels.step].n = 0;
    travels.waited = 0;
}

static Travel *new_travel(Travel_kind kind, int64_t bytes, double begin)
{
    Travel_list *l = &travels.at[travels.step];
    if (l->n == l->chunks * CHUNK) {
        l->chunk = must_grow(l->chunk, sizeof *l->chunk * (size_t)(l->chunks + 1));
        l->chunk[l->chunks++] = must_alloc(CHUNK * sizeof(Travel));
    }
    Travel *t = &l->chunk[l->n / CHUNK][l->n % CHUNK];
    l->n++;
    *t = (Travel){kind, bytes, begin, 0};
    return t;
}

Travel *begin_travel(Travel_kind kind, int64_t bytes)
{
    return travels.kept ? new_travel(kind, bytes, seconds_now()) : NULL;
}

void end_travel(void *travel)
{
    if (travel) ((Travel *)travel)->end = seconds_now();
}

void note_wait(double begin)
{
    const double end = seconds_now();
    travels.waited += end - begin;
    if (travels.kept) new_travel(TRAVEL_WAIT, 0, begin)->end = end;
}

double waited_for_ranks(void)
{
    const double waited = travels.waited;
    travels.waited = 0;
    return waited;
}

bool any_travels(void) { return travels.at[0].n + travels.at[1].n > 0; }

/* Of a trace that begins at 0, µs.  Waits lie inside the kernels' row.  Several buckets are on their way at once: their
 * events may overlap. */
static void add_event_of(json_t *events, const Travel *t, double begin)
{
    static const char *const names[] = {"gradients", "parameters", "waits for other ranks"};
    const double end = t->end > 0 ? t->end : seconds_now(); /* it is still under way */
    const double from = t->begin > begin ? 1e6 * (t->begin - begin) : 0, to = 1e6 * (end - begin);
    const char *name = names[t->kind];
    const int id = (int)json_array_size(events);
    if (t->kind == TRAVEL_WAIT) {
        add_json(events, json_pack("{s:s, s:s, s:s, s:i, s:i, s:f, s:f}", "name", name, "cat", "ranks", "ph", "X",
                                   "pid", 1, "tid", TRACE_KERNELS, "ts", from, "dur", to - from));
        return;
    }
    for (int ends = 0; ends < 2; ends++)
        add_json(events, json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:f, s:{s:I}}", "name", name, "cat", "ranks", "ph",
                                   ends ? "e" : "b", "id", id, "pid", 1, "tid", TRACE_RANKS, "ts", ends ? to : from,
                                   "args", "bytes", (json_int_t)t->bytes));
}

/* What ended before the step, such as when ranks last met, is left out. */
void add_travels(json_t *events, double begin)
{
    for (int back = 1; back >= 0; back--) {
        const Travel_list *l = &travels.at[back ? 1 - travels.step : travels.step];
        for (int i = 0; i < l->n; i++) {
            const Travel *t = &l->chunk[i / CHUNK][i % CHUNK];
            if (!(t->end > 0) || t->end > begin) add_event_of(events, t, begin);
        }
    }
}
