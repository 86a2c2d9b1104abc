/* model.c: `lathe doctor MODEL.lua [--data FILE…] [--out RUN]`: what fits, what to expect, what is
 * misconfigured. */
#include "desc/settings.h"
#include "doctor/doctor.h"
#include "emit/emit.h"
#include "runtime/interface/growth.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static char *in_mb(int64_t bytes)
{
    return bytes < 10000000000 ? format("%.1f MB", 1e-6 * (double)bytes) : format("%.1f GB", 1e-9 * (double)bytes);
}

/* Tokens or rows of an optimizer step. */
static int64_t items_of(const Desc *d)
{
    return max64(1, d->batch) * max64(1, d->seq) * max64(1, d->recipe.accumulate);
}

/* Of all steps: they may begin with fewer micro-batches. */
static double items_of_run(const Desc *d)
{
    const double micro_batch = (double)items_of(d) / (double)max64(1, d->recipe.accumulate);
    return micro_batch * (double)lathe_micro_batches(&d->recipe, d->recipe.steps);
}

static void examine_fit(Doctor *doc, const Module *m)
{
    const Plan *p = &m->plan;
    bool fits = !doc->memory || p->total <= doc->memory;
    finding(doc, fits ? FINE : BAD, "fits",
            format("%s parameters; a run takes %s of %s available", grouped(m->plan.flat.count), in_mb(p->total),
                   in_mb(doc->memory)),
            format("--memory %lldM takes the fastest plan that fits; or build it smaller (--set batch=N)",
                   (long long)(doc->memory * 9 / 10 >> 20)));
    if (p->parameters * 8 < p->outputs)
        finding(doc, ODD, "outputs", format("outputs take %s, parameters %s", in_mb(p->outputs), in_mb(p->parameters)),
                "return logits for generating only, and train with nn.linear_cross_entropy");
}

static char *duration(double seconds)
{
    return seconds < 120    ? format("%.2g seconds", seconds)
           : seconds < 7200 ? format("%.2g minutes", seconds / 60)
                            : format("%.2g hours", seconds / 3600);
}

static void examine_speed(Doctor *doc, const Module *m)
{
    const Desc *d = m->desc;
    Rates usual = usual_rates();
    bool measured = doc->rates.engine != NULL;
    double ms = step_ms(m, measured ? &doc->rates : &usual);
    double rate = 1e3 * (double)items_of(d) / ms;
    const char *unit = d->seq ? "tokens" : "rows";
    finding(doc, FINE, "expect",
            format("about %.3g ms a step, %.3g %s/s (estimated from the plan%s)", ms, rate, unit,
                   measured ? " and the rates above" : " for a machine of a few years ago"),
            NULL);
    if (d->recipe.steps)
        finding(doc, FINE, "expect",
                format("%lld steps of %s%s %s: %s", (long long)d->recipe.steps, d->recipe.accumulate_at ? "up to " : "",
                       grouped(items_of(d)), unit, duration(items_of_run(d) / rate)),
                NULL);
}

static void examine_recipe(Doctor *doc, const Desc *d)
{
    const Lathe_recipe *r = &d->recipe;
    if (!r->steps)
        finding(doc, ODD, "recipe", format("it does not say how long to train"),
                "say steps = N in train = {…}, or --steps N");
    if (r->warmup >= r->steps && r->steps)
        finding(
            doc, ODD, "recipe",
            format("warmup %lld of %lld steps: the rate never reaches lr", (long long)r->warmup, (long long)r->steps),
            "--set warmup=N with N well below steps");
    if (r->lr > 0.1 && r->optimizer != LATHE_SGD)
        finding(doc, ODD, "recipe",
                format("lr %g for %s: it is likely to diverge", r->lr, setting_word(r, "optimizer")),
                "--set lr=0.001, or less for large models");
    if (r->schedule != LATHE_CONSTANT_RATE && r->final_lr > r->lr)
        finding(doc, ODD, "recipe", format("final_lr %g is above lr %g: the rate grows", r->final_lr, r->lr),
                "--set final_lr=N below lr");
    if (!r->val_fraction)
        finding(doc, ODD, "recipe", format("nothing is kept for evaluation (val_fraction 0)"), "--val-fraction 0.1");
}

/* Bytes of the files; a token of `bytes` is one, of `chars` at most four. */
static void examine_data(Doctor *doc, const Desc *d)
{
    const Lathe_recipe *r = &d->recipe;
    int64_t bytes = 0;
    for (int i = 0; i < doc->data.n; i++) {
        struct stat st;
        if (stat(doc->data.at[i], &st) == 0 && S_ISREG(st.st_mode)) bytes += st.st_size;
        else {
            finding(doc, BAD, "data", format("%s: %s", doc->data.at[i], errno ? strerror(errno) : "is no plain file"),
                    "check the path");
            return;
        }
    }
    if (!doc->data.n) return;
    finding(doc, bytes ? FINE : BAD, "data", format("%s in %d files", in_mb(bytes), doc->data.n),
            "give a file with something in it");
    if (!d->seq || lathe_reads_rows(r)) return;
    double val = r->val_fraction * (double)bytes, epochs = items_of_run(d) / ((double)bytes - val + 1);
    if ((double)bytes - val < (double)(d->seq + 1))
        finding(doc, BAD, "data", format("less than one sequence of %lld tokens", (long long)d->seq),
                "more text, or a smaller seq (--set seq=N)");
    else if (r->val_fraction > 0 && val < (double)(d->seq + 1))
        finding(doc, ODD, "data", format("the part for evaluation is less than one sequence: there will be none"),
                "--val-fraction, larger");
    if (epochs > 100)
        finding(doc, ODD, "data",
                format("all steps see each byte about %.0f times: the model will know it by heart", epochs),
                "fewer steps, more text, or dropout");
}

void examine_description(Doctor *doc, const Module *m)
{
    examine_fit(doc, m);
    examine_speed(doc, m);
    examine_recipe(doc, m->desc);
    examine_data(doc, m->desc);
}
