/* optimizers.c: what settings of optimizers ask of a description: a mean of the weights, moments in 8 bits, and rates
 * by layers. */
#include "desc/target.h"
#include "front/front.h"
#include "passes/passes.h"

#include <string.h>

/* A mean of the weights (EMA, schedule-free) is one for all turns. */
static void check_average(const Trace *trace)
{
    const Desc *d = trace->desc;
    const bool own = d->recipe.optimizer == LATHE_SCHEDULE_FREE;
    const Where w = place_of_key(trace, NULL, own ? "optimizer" : "ema");
    for (int k = 0; k < d->turns.n; k++)
        if (d->turns.at[k].recipe.optimizer == LATHE_SCHEDULE_FREE)
            err(place_of_turn(trace, &d->turns.at[k]),
                "optim.schedule_free is for descriptions without turns; give the turn optim.adamw or another");
    if (own && d->recipe.clip_weights > 0)
        err(w, "clip_weights limits what optim.schedule_free trains, not the mean of it; leave one of them out");
    if (own && d->options->target->device && precision_of(d->options).scaled)
        err(w, "optim.schedule_free counts the updates that fp16 skips, which a GPU's host learns too late; take "
               "--precision bf16");
    if (own && d->recipe.ema > 0) err(w, "optim.schedule_free has a mean of the weights already; leave ema out");
}

/* Moments in 8 bits are for one optimizer. */
static void check_bits(const Trace *trace)
{
    const Desc *d = trace->desc;
    const Lathe_recipe *r = &d->recipe;
    const Where w = place_of_key(trace, NULL, "bits");
    for (int k = 0; k < d->turns.n; k++)
        if (d->turns.at[k].recipe.bits == 8)
            err(place_of_turn(trace, &d->turns.at[k]),
                "moments in 8 bits (bits = 8) are for descriptions without turns; leave bits out");
    if (r->bits != 8 && r->bits != 32)
        err(w, "bits is 8 or 32, of a number in the moments of optim.adamw, found %lld", (long long)r->bits);
    if (r->bits == 32) return;
    if (d->options->gpus > 1)
        err(w, "moments in 8 bits (bits = 8) are for one GPU; leave bits out, and each GPU keeps its part of them");
    if (d->options->ranks > 1)
        err(w, "moments in 8 bits (bits = 8) are for one rank; leave bits out, and each rank keeps its part of them");
    if (r->optimizer != LATHE_ADAMW)
        err(w, "only optim.adamw keeps its moments in 8 bits; leave bits out, or take optim.adamw");
}

/* ------------------------------------------------------------------ layer_decay: BEiT's rates, as timm counts layers
 */

static const char advised[] = "put the layers into one nn.stack, or give groups an lr_scale instead";

/* A parameter of the stack; NULL: there is none.  Refuses several. */
static const Param *param_of_stack(const Trace *trace, Where w)
{
    const Param *found = NULL;
    for (int i = 0; i < trace->desc->params.n; i++) {
        const Param *p = trace->desc->params.at[i];
        if (!p->loops) continue;
        if (p->loops > 1)
            err(w, "layer_decay counts the layers of one nn.stack, and parameter '%s' (line %d) is in two loops; %s",
                p->name, p->where.line, advised);
        if (found && (!same(found->stack, p->stack) || found->shape.dim[0] != p->shape.dim[0]))
            err(w,
                "layer_decay counts the layers of one nn.stack, and here are several: of parameter '%s' (line %d) and "
                "of '%s' (line %d); %s",
                found->name, found->where.line, p->name, p->where.line, advised);
        if (!found) found = p;
    }
    return found;
}

/* What was made before the stack, such as embeddings, lies below its first layer; what was made after it, such as a
 * head, has the whole rate. */
static void settle_heights(const Trace *trace)
{
    const Desc *d = trace->desc;
    const Where w = place_of_key(trace, NULL, "layer_decay");
    if (d->recipe.layer_decay == 0) return;
    if (d->turns.n) err(w, "layer_decay is for descriptions without turns; give groups an lr_scale instead");
    const Param *of_stack = param_of_stack(trace, w);
    if (!of_stack) err(w, "layer_decay needs layers to count, and this description has no nn.stack; %s", advised);
    bool before = true;
    for (int i = 0; i < d->params.n; i++) {
        Param *p = d->params.at[i];
        before &= p->loops == 0;
        p->height = p->loops ? of_stack->shape.dim[0] : before ? of_stack->shape.dim[0] + 1 : 0;
    }
}

void check_optimizers(const Trace *trace)
{
    check_average(trace);
    check_bits(trace);
    settle_heights(trace);
}
