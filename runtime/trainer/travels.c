/* travels.c: what a step shared by ranks waits for: buckets on their way, and when this rank could only wait. */
#include "trainer/travels.h"
#include "base/json_text.h"
#include "base/words.h"
#include "interface/dealt.h"

enum { MOST = 32 * LATHE_MOST_DEALT }; /* parameters in parts come and go for each micro-batch */

/* Parameters that the last step sent arrive in this one. */
static struct Travels {
    Travel at[2][MOST + 1]; /* of two steps, in turn; the last: one too many, which is not told */
    int n[2], step;
    double waited;
} travels;

void begin_travels(void)
{
    travels.step = 1 - travels.step;
    travels.n[travels.step] = 0;
    travels.waited = 0;
}

Travel *begin_travel(Travel_kind kind, int64_t bytes)
{
    int *n = &travels.n[travels.step];
    Travel *t = &travels.at[travels.step][*n < MOST ? (*n)++ : MOST];
    *t = (Travel){kind, bytes, seconds_now(), 0};
    return t;
}

void end_travel(void *travel) { ((Travel *)travel)->end = seconds_now(); }

void end_wait(Travel *wait)
{
    end_travel(wait);
    travels.waited += wait->end - wait->begin;
}

double waited_for_ranks(void)
{
    const double waited = travels.waited;
    travels.waited = 0;
    return waited;
}

bool any_travels(void) { return travels.n[0] + travels.n[1] > 0; }

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
                                   ends ? "e" : "b", "id", id, "pid", 1, "tid", TRACE_RANKS, "ts", ends ? to : from, "args",
                                   "bytes", (json_int_t)t->bytes));
}

/* What ended before the step, such as when ranks last met, is left out. */
void add_travels(json_t *events, double begin)
{
    for (int back = 1; back >= 0; back--) {
        const int step = back ? 1 - travels.step : travels.step;
        for (int i = 0; i < travels.n[step]; i++) {
            const Travel *t = &travels.at[step][i];
            if (!(t->end > 0) || t->end > begin) add_event_of(events, t, begin);
        }
    }
}
