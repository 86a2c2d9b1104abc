/* direction.c: optimizers written in Lua: runs the entry direction (compiler/front/direction.c); its states on devices.
 */
#include "lathe_rt.h"
#include "model/block.h"
#include "model/tables.h"
#include "step/direction.h"
#include "step/entry.h"

/* ------------------------------------------------------------------ an update */

static double value_of_input(Lathe_role role, const Pace *pace, int64_t update)
{
    switch (role) {
    case LATHE_GRADIENT_SCALE: return pace->scale;
    case LATHE_LEARNING_RATE: return pace->lr;
    default: return (double)update + 1;
    }
}

void fill_direction(const Lathe_entry *e, char *in, const Pace *pace, int64_t update)
{
    for (const Lathe_tensor *t = e->input; t < e->input + e->inputs; t++)
        write_real(t->dtype, in + t->offset, 0, value_of_input(t->role, pace, update));
}

Lathe_call call_direction(const Turn *u, const Memory *memory) { return call_behind(memory, u->direction, u->entry); }

void take_direction(const Turn *u, const Memory *memory, const Pace *pace, int64_t update)
{
    const Lathe_entry *e = u->direction;
    if (!e) return;
    const Lathe_call call = call_direction(u, memory);
    fill_direction(e, (char *)call.in, pace, update);
    compute_unwatched(e, &call); /* its kernels have numbers that train's have, too */
    LAP(LAP_DIRECTION);
}

/* ------------------------------------------------------------------ what it keeps */

bool model_directs(const Lathe_model *m)
{
    bool any = false;
    for (int k = 0; k < m->states; k++) any |= m->state[k].role == LATHE_MOMENT;
    return any;
}

void directions_down(const Lathe_model *m, char *state)
{
    for (const Lathe_tensor *s = m->state; s < m->state + m->states; s++)
        if (s->role == LATHE_MOMENT) device_down(state + s->offset, tensor_size(s) * dtype_size(s->dtype));
}

void share_directions(const Lathe_model *m, char *state, bool first)
{
    for (const Lathe_tensor *s = m->state; s < m->state + m->states; s++) {
        const int64_t bytes = tensor_size(s) * dtype_size(s->dtype);
        if (s->role != LATHE_MOMENT) continue;
        if (first) device_up(state + s->offset, bytes);
        share_there(state + s->offset, bytes);
        device_down(state + s->offset, bytes); /* waits, so that a failure is reported */
    }
}
