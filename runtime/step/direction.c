/* direction.c: optimizers written in Lua: runs the entry direction (compiler/front/direction.c), and takes its states
 * into checkpoints and back. */
#include "base/words.h"
#include "lathe_rt.h"
#include "model/block.h"
#include "model/tables.h"
#include "step/direction.h"
#include "step/entry.h"

#include <string.h>

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
    void (*lap)(int) = rt_lap;
    fill_direction(e, (char *)call.in, pace, update);
    rt_lap = NULL; /* its kernels have numbers that train's have, too */
    compute_entry(e, &call);
    rt_lap = lap;
    LAP(LAP_DIRECTION);
}

/* ------------------------------------------------------------------ checkpoints */

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

/* "direction.layer.up.weight.momentum" as "layer.up.weight.momentum", with an axis for its layers. */
static const char *name_in_file(const Lathe_tensor *s) { return strchr(s->name, '.') + 1; }

Store_writer *start_directions(const Lathe_model *m, const char *state, const char *path, Fault *f)
{
    Store_writer *w = start_store_at(path, f);
    for (int pass = 0; pass < 2; pass++)
        for (const Lathe_tensor *s = m->state; s < m->state + m->states; s++) {
            if (s->role != LATHE_MOMENT) continue;
            if (pass == 0) declare_tensor(w, name_in_file(s), s->dtype, s->rank, s->dim);
            else put_elements(w, state + s->offset, tensor_size(s), s->dtype);
        }
    flush_store(w);
    return w;
}

static const Stored *stored_direction(const Lathe_tensor *s, const Store *from)
{
    const Stored *stored = find_stored(from, name_in_file(s));
    if (!stored)
        fail(EXIT_DATA, from->path, "expected %s, which this model's optimizer keeps, found none", name_in_file(s));
    if (stored->rank != s->rank || memcmp(stored->dim, s->dim, sizeof *s->dim * (size_t)s->rank) != 0)
        fail(EXIT_DATA, from->path, "%s: expected shape %s, found %s", name_in_file(s), dims_text(s->rank, s->dim),
             dims_text(stored->rank, stored->dim));
    if (!stored_is(stored, "F32 F64"))
        fail(EXIT_DATA, from->path, "%s: expected F32 or F64, found %s", name_in_file(s), stored->dtype);
    return stored;
}

void load_directions(const Lathe_model *m, const Store *from, char *state)
{
    for (const Lathe_tensor *s = m->state; s < m->state + m->states; s++) {
        if (s->role != LATHE_MOMENT) continue;
        const Stored *stored = stored_direction(s, from);
        for (int64_t i = 0; i < tensor_size(s); i++)
            write_real(s->dtype, state + s->offset, i, stored_element(stored, i));
    }
}
