/* travels.c: what a step shared by ranks waits for: buckets on their way, and when this rank could only wait. */
#include "trainer/travels.h"
#include "base/json_text.h"
#include "base/words.h"
#include "interface/dealt.h"

enum { MOST = 4 * LATHE_MOST_DEALT };

static struct Travels {
    Travel at[MOST + 1]; /* the last: one too many, which is not told */
    int n;
    double waited;
} travels;

void begin_travels(void) { travels.n = 0, travels.waited = 0; }

Travel *begin_travel(Travel_kind kind, int64_t bytes)
{
    Travel *t = &travels.at[travels.n < MOST ? travels.n++ : MOST];
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

bool any_travels(void) { return travels.n > 0; }

/* Waits lie inside the kernels' row.  Several buckets are on their way at once: their events may overlap.  What ranks
 * did before the step, when they last met, is left out. */
void add_travels(json_t *events, double begin)
{
    static const char *const names[] = {"gradients", "parameters", "waits for other ranks"};
    for (int i = 0; i < travels.n; i++) {
        const Travel *t = &travels.at[i];
        const double from = 1e6 * (t->begin - begin), to = 1e6 * (t->end - begin);
        const char *name = names[t->kind];
        if (from < 0) continue;
        if (t->kind == TRAVEL_WAIT) {
            add_json(events, json_pack("{s:s, s:s, s:s, s:i, s:i, s:f, s:f}", "name", name, "cat", "ranks", "ph", "X",
                                       "pid", 1, "tid", TRACE_KERNELS, "ts", from, "dur", to - from));
            continue;
        }
        for (int ends = 0; ends < 2; ends++)
            add_json(events, json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:f, s:{s:I}}", "name", name, "cat", "ranks",
                                       "ph", ends ? "e" : "b", "id", i, "pid", 1, "tid", TRACE_RANKS, "ts",
                                       ends ? to : from, "args", "bytes", (json_int_t)t->bytes));
    }
}
