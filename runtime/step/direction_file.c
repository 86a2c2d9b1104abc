/* direction_file.c: what an optimizer written in Lua keeps, in checkpoints. */
#include "base/words.h"
#include "model/safetensors.h"
#include "model/tables.h"
#include "step/direction.h"

#include <string.h>

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
