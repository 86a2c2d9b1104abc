/* page.c: `lathe plan --time`: the time that a step will take, kernel by kernel. */
#include "emit/emit.h"
#include "base/escape.h"
#include "timing/timing.h"

#include <stdlib.h>

static const char *const words[] = {
#define COST(name, word, ...) word,
#include "timing/costs.def"
};

static int by_seconds(const void *a, const void *b)
{
    const Time_part *x = a, *y = b;
    if (x->seconds != y->seconds) return x->seconds < y->seconds ? 1 : -1;
    return x->kernel && y->kernel ? x->kernel->step - y->kernel->step : 0;
}

static const char *part_name(Page *page, const Time_part *p)
{
    return p->kernel ? kernel_called(page, p->kernel) : p->name;
}

static const char *line_of_kernel(const Kernel *k)
{
    return k && k->where.file ? format("%s:%d", file_name(k->where.file), k->where.line) : "";
}

/* "of generator " where a description has turns; "of 2 micro-batches " where it begins with fewer than accumulate. */
static const char *whose(const Program *p)
{
    const Graph *g = p->graph;
    if (g->grown) return format("of %d micro-batch%s ", g->grown, g->grown > 1 ? "es" : "");
    return g->turn ? format("of %s, ", g->turn) : "";
}

char *milliseconds(double ms) { return format(ms < 1000 ? "%.4g ms" : "%.0f ms", ms); }

/* "bound by products (compute) in 62 % of that time, …", the most first: a kernel counts by what takes longest. */
static void say_bounds(Text *t, const Step_time *x)
{
    static const char *const bounds[] = {"products", "bytes", "elements", "launches"};
    static const char *const told[] = {"products (compute)", "bytes (memory traffic)", "elements (compute)",
                                       "launches"};
    double seconds[COUNT_OF(bounds)] = {0};
    for (int i = 0; i < x->parts.n; i++)
        for (int k = 0; k < COUNT_OF(bounds); k++)
            if (same(x->parts.at[i].bound, bounds[k])) seconds[k] += x->parts.at[i].seconds;
    for (int n = 0; n < COUNT_OF(bounds); n++) {
        int most = 0;
        for (int k = 1; k < COUNT_OF(bounds); k++)
            if (seconds[k] > seconds[most]) most = k;
        if (seconds[most] <= 0) break;
        say(t, "%s %s in %.0f %%%s", n ? ", by" : "bound by", told[most], 100 * seconds[most] / x->seconds,
            n ? "" : " of that time");
        seconds[most] = 0;
    }
    say(t, "\n");
}

static void say_time_of(Page *page, Text *t, const Program *p, const Rates *r)
{
    Step_time x = step_time(page->module, r, p);
    say(t, "a step %swill take about %s\n", whose(p), milliseconds(1e3 * x.seconds));
    if (r->gpu) say_bounds(t, &x);
    say(t, "\n       ms   share  times  %skernel\n", r->gpu ? "bound by  " : "");
    qsort(x.parts.at, (size_t)x.parts.n, sizeof *x.parts.at, by_seconds);
    for (int i = 0; i < x.parts.n; i++) {
        const Time_part *q = &x.parts.at[i];
        say(t, "%9.4f  %4.1f %%  %5.0f  ", 1e3 * q->seconds, 100 * q->seconds / x.seconds, q->calls);
        if (q->bound) say(t, "%-8s  ", q->bound);
        say(t, "%-40s %s\n", part_name(page, q), line_of_kernel(q->kernel));
    }
    say(t, "\n");
}

static void say_gpu(Text *t, const Module *m, const Rates *r)
{
    say(t,
        "\ntime, predicted for one %s from its data sheet: products of 16 bits at %.0f TFLOP/s, of fp32 at %.0f, "
        "memory at "
        "%.0f GB/s, %.0f MB of cache, %.1f us a launch\n"
        "No GPU has confirmed these times: expect them to be off by a third, by more for small kernels, for attention "
        "without cuDNN, for convolutions and for loops in one launch.\n",
        r->gpu->title, 1e-12 * gpu_product_rate(r, BF16), 1e-12 * gpu_product_rate(r, F32), r->gpu->memory,
        r->gpu->cache, r->gpu->launch);
    const double gib = 1 << 30;
    if ((double)m->plan.total > gib * r->gpu->room)
        say(t, "It does not fit there: it needs %.1f GiB of %.0f; --memory chooses a smaller plan.\n",
            (double)m->plan.total / gib, r->gpu->room);
}

static void say_machine(Text *t, const Rates *r)
{
    say(t,
        "\ntime, predicted for this machine: %d threads (engine %s), products at %.0f GFLOP/s, %.2f tanh/ns, copies at "
        "%.0f GB/s, %.2f us to wake threads\n",
        r->threads, r->engine, 2e-9 / r->seconds[PRODUCT], 1e-9 / r->seconds[CURVE], 1e-9 / r->seconds[BYTE],
        1e6 * r->seconds[CALL]);
    double load = 0;
    if (getloadavg(&load, 1) == 1 && load > 0.5 * r->threads)
        say(t, "other programs are running (load %.1f), so this machine measured slower than it is when idle\n", load);
}

void say_times(Page *page, Text *t, const Rates *r)
{
    const Module *m = page->module;
    if (r->gpu) say_gpu(t, m, r);
    else say_machine(t, r);
    for (int i = 0; i < m->programs.n; i++)
        if (entry_of(m->programs.at[i]->graph)->step) say_time_of(page, t, m->programs.at[i], r);
    if (!r->gpu) say_serial(page, t, r);
}

static void say_part_json(Page *page, Text *t, const Time_part *p)
{
    say(t, "{\"entry\": %s, \"name\": %s, \"lap\": %d, \"where\": %s, \"calls\": %.0f, \"ms\": %.6g, %s\"work\": {",
        p->program ? json_text(p->program->graph->name) : "null", json_text(part_name(page, p)),
        p->kernel ? p->kernel->step : -1, json_text(line_of_kernel(p->kernel)), p->calls, 1e3 * p->seconds,
        p->bound ? format("\"bound\": \"%s\", ", p->bound) : "");
    for (int i = 0, n = 0; i < COSTS; i++)
        if (p->work.amount[i] > 0) say(t, "%s\"%s\": %.6g", n++ ? ", " : "", words[i], p->work.amount[i]);
    say(t, "}}");
}

void say_times_json(Page *page, Text *t, const Rates *r)
{
    static const char *const units[] = {UNIT_LIST(LIST_WORD)};
    const Module *m = page->module;
    say(t, ",\n \"time\": {");
    if (r->gpu) say(t, "\"gpu\": %s, ", json_text(r->gpu->name));
    else say(t, "\"threads\": %d, ", r->threads);
    say(t, "\"cache_bytes\": %.0f, \"seconds\": {", r->cache);
    for (int i = 0; i < UNITS && !r->gpu; i++) say(t, "%s\"%s\": %.6g", i ? ", " : "", units[i], r->seconds[i]);
    say(t, "},\n  \"steps\": [");
    for (int i = 0, n = 0; i < m->programs.n; i++) {
        const Program *p = m->programs.at[i];
        if (!entry_of(p->graph)->step) continue;
        Step_time x = step_time(m, r, p);
        say(t, "%s{\"turn\": %s, %s\"ms\": %.6g, \"kernels\": [", n++ ? ",\n   " : "",
            p->graph->turn ? json_text(p->graph->turn) : "null",
            p->graph->grown ? format("\"micro_batches\": %d, ", p->graph->grown) : "", 1e3 * x.seconds);
        for (int k = 0; k < x.parts.n; k++) {
            say(t, "%s", k ? ",\n    " : "\n    ");
            say_part_json(page, t, &x.parts.at[k]);
        }
        say(t, "]}");
    }
    say(t, "]}");
}
