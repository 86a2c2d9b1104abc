/* budget.c: --memory SIZE: plans a fixed list of ways to train in less memory, each exactly, and takes the fastest that
 * fits.
 *
 * All but the last compute the same numbers, bit for bit, under the same tiles: they differ in what the backward part
 * keeps.  The last ones cut each micro-batch into smaller ones, which changes the order of the sum of gradients and
 * nothing else (front/objective.c); where that cannot be they are left out.  Of several ranks (--ranks, --gpus,
 * --hosts) the plan of each counts.  Every plan is compiled in a process of its own, since marks on nodes would stay.
 */
#include "emit/emit.h"
#include "lathe.h"
#include "plan/plan.h"
#include "timing/timing.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct Way {
    double recompute;
    int split;
    const char *name;
} Way;

static const Way ways[] = {
    {0, 1, "keep all that backward needs"},
    {0.125, 1, "recompute an eighth of what layers save"},
    {0.1875, 1, "recompute three sixteenths of what layers save"},
    {0.25, 1, "recompute a quarter of what layers save"},
    {0.375, 1, "recompute three eighths of what layers save"},
    {0.5, 1, "recompute half of what layers save"},
    {0.625, 1, "recompute five eighths of what layers save"},
    {0.75, 1, "recompute three quarters of what layers save"},
    {0.875, 1, "recompute seven eighths of what layers save"},
    {1, 1, "recompute layers from what goes into each"},
    {2, 1, "recompute layers in parts, from where branches meet"},
    {1, 2, "recompute layers, micro-batches in two (other rounding)"},
    {1, 4, "recompute layers, micro-batches in four (other rounding)"},
    {1, 8, "recompute layers, micro-batches in eight (other rounding)"},
    {2, 8, "recompute parts, micro-batches in eight (other rounding)"},
};

typedef struct Choice {
    Way by;
    struct Outcome {
        int64_t total, activations;
        int64_t more; /* of total: what a rank needs beyond one process; negative: less */
        double ms;
        char uncut[400]; /* why the batch cannot be cut so; "": it can */
    } is;
} Choice;

struct Choices {
    Choice all[COUNT_OF(ways)];
    const Choice *chosen;
};

/* ------------------------------------------------------------------ trying */

/* The options of the choice, besides what was asked for. */
static Options *options_of(const Choice *c, const Options *asked)
{
    Options *o = copy_of(asked, sizeof *o);
    o->recompute = c->by.recompute;
    o->split = c->by.split;
    return o;
}

static int64_t ranks_of(const Options *o)
{
    return o->hosts ? processes_on(o->hosts) : o->target->device ? o->gpus : o->ranks;
}

static void tell_outcome(const Choice *c, const Options *asked, int to)
{
    Desc *d = front(options_of(c, asked));
    struct Outcome is = {.total = INT64_MAX};
    if (d->batch % c->by.split) snprintf(is.uncut, sizeof is.uncut, "batch = %lld", (long long)d->batch);
    else if (asked->exact_rows && c->by.split > 1)
        snprintf(is.uncut, sizeof is.uncut, "--exact-sums has its own groups");
    else if (d->uncut) snprintf(is.uncut, sizeof is.uncut, "%s", d->uncut);
    if (!is.uncut[0]) {
        Module *m = compile(d);
        const Plan *p = &m->plan;
        const int64_t ranks = ranks_of(asked), one = p->total;
        Rates r = usual_rates();
        const double ms = step_ms(m, &r);
        if (ranks > 1 && !d->one_rank) plan_for_ranks(m, (int)ranks);
        is = (struct Outcome){p->total, p->inputs + p->outputs + p->work, p->total - one, ms, ""};
    }
    _exit(write(to, &is, sizeof is) == (ssize_t)sizeof is ? 0 : 1);
}

/* A description with a mistake says so in the first child, and that is the end.  again: it has been compiled before. */
static void try_choice(Choice *c, const Options *asked, bool again)
{
    int ends[2], status;
    fflush(NULL);
    must(pipe(ends) == 0);
    pid_t child = fork();
    must(child >= 0);
    if (child == 0) {
        remarks_made = again;
        tell_outcome(c, asked, ends[1]);
    }
    close(ends[1]);
    ssize_t n = read(ends[0], &c->is, sizeof c->is);
    close(ends[0]);
    must(waitpid(child, &status, 0) == child);
    if (!WIFEXITED(status) || WEXITSTATUS(status)) exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    must(n == (ssize_t)sizeof c->is);
}

/* 512M, 2G, 1.5G, bytes; or 60%: of the activations, inputs and outputs that the first plan, `all`, needs, and what is
 * needed besides. */
static int64_t limit_of(const char *size, const struct Outcome *all)
{
    char *end;
    double n = strtod(size, &end);
    const char *units = "KMGT", *unit = *end ? strchr(units, *end & ~0x20) : NULL;
    if (end == size || !(n > 0) || (*end && *end != '%' && !unit) || (*end && end[1]))
        usage_error("--memory %s: expected a size such as 512M or 2G, or 60%% of the activations", size);
    if (*end == '%') return all->total - all->activations + (int64_t)(n / 100 * (double)all->activations);
    for (; unit && unit >= units; unit--) n *= 1024;
    return n < 9e18 ? (int64_t)n : INT64_MAX;
}

static void refuse_budget(const Choices *c, const char *size, int64_t limit)
{
    const Choice *least = c->all;
    const char *uncut = "";
    for (int i = 0; i < COUNT_OF(c->all); i++) {
        if (c->all[i].is.total < least->is.total) least = &c->all[i];
        if (c->all[i].is.uncut[0]) uncut = format("\n  micro-batches cannot be cut: %s", c->all[i].is.uncut);
    }
    err((Where){0},
        "--memory %s: no plan fits %s bytes; the smallest (%s) needs %s bytes, %s more\n"
        "  allow that much, or make the model, its batch or its sequences smaller (--set batch=…)%s",
        size, grouped(limit), least->by.name, grouped(least->is.total), grouped(least->is.total - limit), uncut);
}

/* What cutting the batch changes, and what it does not change. */
static const char *text_of_cuts(const Desc *d)
{
    int split = d->options->split;
    return format(
        "--memory cuts each micro-batch of %lld rows into %d of %lld: the loss and the gradients are those of "
        "the whole, up to rounding",
        (long long)d->batch, split, (long long)(d->batch / split));
}

Module *compile_within(const Options *asked, const Choices **tried)
{
    const char *size = asked->memory;
    Choices *c = NEW(Choices);
    for (int i = 0; i < COUNT_OF(ways); i++) {
        c->all[i].by = ways[i];
        try_choice(&c->all[i], asked, i > 0);
    }
    int64_t limit = limit_of(size, &c->all[0].is);
    for (int i = 0; i < COUNT_OF(ways); i++)
        if (c->all[i].is.total <= limit && (!c->chosen || c->all[i].is.ms < c->chosen->is.ms)) c->chosen = &c->all[i];
    if (!c->chosen) refuse_budget(c, size, limit);
    remarks_made = true;
    *tried = c;
    Options *o = options_of(c->chosen, asked);
    o->limit = limit - c->chosen->is.more;
    Desc *d = front(o);
    if (d->options->split > 1) fprintf(stderr, "%s\n", text_of_cuts(d));
    return compile(d);
}

/* ------------------------------------------------------------------ what was tried */

void say_choices(Text *t, const Choices *tried)
{
    say(t, "plans (bytes in all, estimated milliseconds a step):\n");
    for (int i = 0; i < COUNT_OF(tried->all); i++) {
        const Choice *c = &tried->all[i];
        if (c->is.uncut[0]) say(t, "    %-58s cannot be: %s\n", c->by.name, c->is.uncut);
        else
            say(t, "  %s %-58s %18s %10.1f\n", c == tried->chosen ? "*" : " ", c->by.name, grouped(c->is.total),
                c->is.ms);
    }
    say(t, "\n");
}

void say_choices_json(Text *t, const Choices *tried)
{
    say(t, ",\n \"plans\": [");
    for (int i = 0; i < COUNT_OF(tried->all); i++) {
        const Choice *c = &tried->all[i];
        if (!c->is.uncut[0])
            say(t, "%s{\"name\": \"%s\", \"planned_bytes\": %lld, \"step_ms_estimate\": %.3f, \"taken\": %s}",
                i ? ",\n  " : "", c->by.name, (long long)c->is.total, c->is.ms, c == tried->chosen ? "true" : "false");
    }
    say(t, "]");
}
