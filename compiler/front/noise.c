/* noise.c: train.noise_scale: where it cannot be measured. */
#include "desc/target.h"
#include "front/front.h"

void check_noise_scale(const Trace *trace)
{
    const Desc *d = trace->desc;
    const Where w = place_of_key(trace, NULL, "noise_scale");
    if (!d->recipe.noise_scale) return;
    if (d->recipe.accumulate < 2)
        err(w,
            "noise_scale compares the gradients of micro-batches with that of the whole step, and accumulate is 1; set "
            "accumulate = 2 or more (half of the batch, twice accumulate is the same step), or leave noise_scale out");
    if (d->turns.n) err(w, "noise_scale is for descriptions without turns; leave it out");
    if (d->options->target->device)
        err(w, "noise_scale is measured on the processor only, not yet with --target cuda; leave it out there");
    for (int i = 0; i < d->params.n; i++) {
        const Param *p = d->params.at[i];
        if (p->frozen || !frozen_copies(d, p)) continue;
        err(w,
            "noise_scale is about all layers of a stack, and train's groups freeze some of '%s' (line %d); leave it "
            "out, or freeze all",
            p->export_name, p->where.line);
    }
}
