/* serial.c: the serial part of a step: kernels that one thread runs while the others wait.  They, and those that few
 * threads can share, bound what more threads are good for (Amdahl's law). */
#include "timing/timing.h"
#include "base/escape.h"
#include "emit/emit.h"
#include "kernels/nest.h"

#include <math.h>
#include <stdlib.h>

enum { MANY_CORES = 192, NAMED = 3 };

static int longest_first(const void *a, const void *b)
{
    const Time_part *x = a, *y = b;
    if (x->seconds != y->seconds) return x->seconds < y->seconds ? 1 : -1;
    return x->kernel->step - y->kernel->step;
}

/* Iterations of its loops that threads share; 1: one thread runs it.  Products and the like are cut into many. */
static double iterations_shared(const Kernel *k)
{
    enum { SLICE = 16 }; /* columns: column_from() */
    const Nest *n = k->nest;
    bool loops = k->kind == ROWS || is_picked(k) || is_lengthwise(k);
    if (!threads_share(k)) return 1;
    if (!loops || !n || k->share == COLUMN_SUMS) return INFINITY;
    const Space *s = &n->space;
    if (n->sweep_shared) return (double)s->shape.dim[s->shape.rank - 1];
    if (n->by_columns) return (double)(s->shape.dim[n->picked->id - 1] / SLICE);
    if (k->block && n->threads) return (double)n->blocks;
    double all = (double)extent_of(s, 0, n->threads);
    return n->across && n->threads == s->shape.rank - 1 ? ceil(all / (double)n->across) : all;
}

/* Rates are those of all r->threads, and what one thread runs was counted so many times (kernel_work); but a thread
 * alone has about all of the memory's rate. */
static double seconds_on_one(const Time_part *p, const Rates *r)
{
    Rates bytes = {.seconds[BYTE] = r->seconds[BYTE]}, rest = *r;
    rest.seconds[BYTE] = rest.seconds[CALL] = 0;
    double times = p->kernel && !threads_share(p->kernel) ? 1 : r->threads;
    return p->calls * (seconds_of_work(&p->work, &bytes) + times * seconds_of_work(&p->work, &rest));
}

static double seconds_on_many(const Time_part *p, const Rates *r)
{
    double all = p->kernel ? iterations_shared(p->kernel) : INFINITY;
    double part = all > 1e9 ? 1.0 / MANY_CORES : ceil(all / MANY_CORES) / all;
    return seconds_on_one(p, r) * part;
}

/* Without what it costs to wake threads. */
Serial serial_part(const Module *m, const Rates *r)
{
    Serial s = {0};
    Step_time t;
    double alone = 0, one = 0, many = 0;
    if (!longest_step(m, r, &t)) return s;
    for (int i = 0; i < t.parts.n; i++) {
        Time_part *p = &t.parts.at[i];
        p->seconds = seconds_on_one(p, r);
        one += p->seconds;
        many += seconds_on_many(p, r);
        s.kernels += p->kernel != NULL;
        if (!p->kernel || iterations_shared(p->kernel) > 1) continue;
        alone += p->seconds;
        push(&s.alone, *p);
    }
    if (s.alone.n) qsort(s.alone.at, (size_t)s.alone.n, sizeof *s.alone.at, longest_first);
    s.share = alone / one;
    s.most_times = one / many;
    return s;
}

void say_serial(Page *page, Text *t, const Rates *r)
{
    Serial s = serial_part(page->module, r);
    if (!s.kernels) return;
    say(t, "serial part: about %.2g %% of a step on one thread, %d of %d kernels", 100 * s.share, s.alone.n, s.kernels);
    for (int i = 0; i < s.alone.n && i < NAMED; i++)
        say(t, "%s%s", i ? ", " : ": ", kernel_called(page, s.alone.at[i].kernel));
    say(t, "%s; so %d threads are at most about %.3g times as fast\n", s.alone.n > NAMED ? ", …" : "", MANY_CORES,
        s.most_times);
}

void say_serial_json(Page *page, Text *t, const Rates *r)
{
    Serial s = serial_part(page->module, r);
    if (!s.kernels) return;
    say(t, ",\n \"serial\": {\"share\": %.4g, \"times_as_fast_with_%d_threads\": %.4g, \"kernels\": [", s.share,
        MANY_CORES, s.most_times);
    for (int i = 0; i < s.alone.n; i++)
        say(t, "%s%s", i ? ", " : "", json_text(kernel_called(page, s.alone.at[i].kernel)));
    say(t, "]}");
}
