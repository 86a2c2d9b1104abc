/* exact.c: --exact-sums and --shard-parameters: what they cannot be with. */
#include "desc/passes.h"
#include "desc/target.h"
#include "front/front.h"

static const char *why_not_exact(const Desc *d)
{
    if (d->options->target->device) return "it is for processors, not yet for --target cuda; leave it out there";
    if (makes_library(d->options)) return "it is for trainers, whose ranks share a step; leave it out of a library";
    if (d->recipe.noise_scale) return "it does not measure noise_scale; leave one of them out";
    if (d->recipe.accumulate_at) return "its steps all have as many rows; leave accumulate_at or it out";
    if (d->one_rank) return format("%s, so a batch cannot be cut into groups of rows", d->one_rank);
    return NULL;
}

static _Noreturn void refuse_exact(const Trace *trace, const char *key, const char *why)
{
    const Where at = place_of_key(trace, NULL, key);
    const char *place = at.file ? format("%s:%d: ", at.file, at.line) : "";
    usage_error("--exact-sums %lld: %s%s", (long long)trace->desc->options->exact_rows, place, why);
}

/* After all other checks: they find Desc.one_rank. */
void check_exact_sums(const Trace *trace)
{
    const Desc *d = trace->desc;
    const long long rows = (long long)d->options->exact_rows, batch = (long long)d->batch;
    if (!rows) return;
    const char *why = why_not_exact(d);
    if (why) usage_error("--exact-sums %lld: %s", rows, why);
    if (batch % rows)
        refuse_exact(
            trace, "batch",
            format("it cuts each batch into groups of %lld rows, and batch = %lld is no multiple of it; choose "
                   "a batch that is, or another number of rows",
                   rows, batch));
    const long long parts = batch / rows * (long long)d->recipe.accumulate;
    if (parts & (parts - 1))
        refuse_exact(trace, d->recipe.accumulate > 1 ? "accumulate" : "batch",
                     format("a step of one process has %lld groups of %lld rows (batch = %lld, accumulate = %lld), and "
                            "only a power of two of them can be added in pairs; change batch, accumulate or the number "
                            "of rows",
                            parts, rows, batch, (long long)d->recipe.accumulate));
}

static const char *why_not_sharded(const Desc *d)
{
    const Param *frozen = NULL, *directed = NULL, *magnitude = NULL;
    for (int i = 0; i < d->params.n; i++) {
        if (d->params.at[i]->frozen) frozen = d->params.at[i];
        if (d->params.at[i]->directed) directed = d->params.at[i];
    }
    for (int i = 0; i < d->adapters.n; i++)
        if (d->adapters.at[i].magnitude) magnitude = d->adapters.at[i].magnitude;
    if (makes_library(d->options)) return "it is for trainers, whose ranks share a step; leave it out of a library";
    if (without(d, PASS_done)) return "it needs the pass done; leave --no-done out";
    if (d->one_rank) return format("%s, so ranks cannot share a batch", d->one_rank);
    if (d->teacher) return "a teacher's parameters stay whole in every rank; leave --distill out";
    if (frozen && d->options->target->device)
        return format("the parameter %s is frozen, and GPUs keep no whole parameters beside parts; train all of them",
                      frozen->name);
    if (magnitude)
        return format("%s begins as the norm of a weight with its adapter, which no rank has all of; leave dora out",
                      magnitude->name);
    if (directed)
        return format("the optimizer of %s needs whole matrices (%s); take adamw", directed->name, d->direction->name);
    if (lathe_averages(&d->recipe)) return "it keeps no mean of the weights; leave ema and schedule_free out";
    if (d->recipe.noise_scale || d->recipe.accumulate_at)
        return "it measures no noise scale, and its steps all have as many rows; leave noise_scale and accumulate_at "
               "out";
    return NULL;
}

void check_shards(const Trace *trace)
{
    const char *why = trace->desc->options->shard_parameters ? why_not_sharded(trace->desc) : NULL;
    if (why) usage_error("--shard-parameters: %s", why);
}
