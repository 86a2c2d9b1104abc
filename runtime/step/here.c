/* here.c: a turn of a step on this processor: gradients and their norm, then the update. */
#include "step/here.h"
#include "lathe_rt.h"
#include "model/tables.h"
#include "step/average.h"
#include "step/direction.h"
#include "step/entry.h"
#include "step/scale.h"

#include <math.h>
#include <string.h>

/* The factor of e's gradients; writes it to the input that it has for that. */
static double scale_loss(const Optimizer *o, const Lathe_entry *e, const Lathe_call *call)
{
    const Lathe_tensor *t = tensor_with_role(e, LATHE_LOSS_SCALE);
    if (!t) return 1;
    memcpy((char *)call->in + t->offset, &o->loss_scale.scale, sizeof o->loss_scale.scale);
    return (double)o->loss_scale.scale;
}

static void take_part_squares(Turn_result *r, const Lathe_entry *e, const Lathe_call *call)
{
    r->measures_noise = output_named(e, LATHE_PART_SQUARES);
    if (r->measures_noise) r->part_squares = output_scalar(e, call->out, LATHE_PART_SQUARES) / (r->unit * r->unit);
}

void compute_gradients(const Turn *u, const Lathe_call *call, Turn_result *r)
{
    r->unit = scale_loss(&u->optimizer, u->entry, call);
    run_entry(u->entry, call);
    forward_part();
    r->loss = output_scalar(u->entry, call->out, "loss");
    for (int k = 0; k < r->parts; k++) r->part[k] = output_scalar(u->entry, call->out, u->entry->output[1 + k].name);
    take_part_squares(r, u->entry, call);
}

void compute_turn(const Turn *u, const Lathe_call *call, Turn_result *r)
{
    compute_gradients(u, call, r);
    drop_frozen(&u->optimizer, call->grads);
    r->norm = gradient_norm(&u->optimizer, call->grads) / r->unit;
}

bool may_update(const Turn_result *r) { return isfinite(r->loss) && isfinite(r->norm); }

void update_turn_by(Update_by *by, Turn *u, const Memory *m, const Lathe_call *call, int64_t number, int32_t seed,
                    Turn_result *r)
{
    Optimizer *o = &u->optimizer;
    Pace pace = pace_at(u->recipe, number, r->norm);
    pace.seed = seed;
    pace.scale /= r->unit;
    if (may_update(r)) {
        const int64_t update = updates_before(u, number) - o->loss_scale.skipped;
        if (o->average) pace.averaged = averaged_share(o, u->recipe, update);
        clip_directed(o, call->grads, &pace);
        take_direction(u, m, &pace, update);
        by(o, m->params, call->grads, update, &pace);
    }
    if (isfinite(r->loss)) r->skipped = adapt_loss_scale(&o->loss_scale, isfinite(r->norm));
}

void update_turn(Turn *u, const Memory *m, const Lathe_call *call, int64_t number, int32_t seed, Turn_result *r)
{
    update_turn_by(optimizer_step, u, m, call, number, seed, r);
}
