/* carry_file.c: states that an entry carries, in checkpoints. */
#include "base/file.h"
#include "base/words.h"
#include "interface/lathe_model.h"
#include "model/safetensors.h"
#include "model/tables.h"
#include "step/carry.h"

#include <string.h>

static int64_t numbers_bytes(const Lathe_tensor *s) { return tensor_size(s) * dtype_size(s->dtype); }

/* "train.lstm.h" as "lstm.h". */
static const char *carried_name(const Lathe_tensor *s) { return strchr(s->name, '.') + 1; }

/* Its axes in a file; returns their number. */
static int stored_axes(const Lathe_tensor *s, int gpus, int64_t *dim)
{
    int ahead = gpus > 1;
    dim[0] = gpus;
    memcpy(dim + ahead, s->dim, sizeof *dim * (size_t)s->rank);
    return s->rank + ahead;
}

Store_writer *start_carried(const Lathe_model *m, const char *copy, int gpus, const char *path, Fault *f)
{
    Store_writer *w = start_store_at(path, f);
    int64_t apart = carried_bytes(m), dim[LATHE_MAXRANK + 1];
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < m->states; k++) {
            const Lathe_tensor *s = &m->state[k];
            if (s->role != LATHE_CARRIED) continue;
            if (pass == 0) {
                declare_tensor(w, carried_name(s), s->dtype, stored_axes(s, gpus, dim), dim);
                continue;
            }
            for (int g = 0; g < gpus; g++) put_elements(w, copy + g * apart, tensor_size(s), s->dtype);
            copy += numbers_bytes(s);
        }
    flush_store(w);
    return w;
}

/* ------------------------------------------------------------------ back */

static void load_elements(const Lathe_tensor *s, const Stored *stored, int64_t from, char *to)
{
    for (int64_t i = 0; i < tensor_size(s); i++) {
        double x = stored_element(stored, from + i);
        if (s->dtype == LATHE_I32) ((int32_t *)(void *)to)[i] = (int32_t)x;
        else if (s->dtype == LATHE_F64) ((double *)(void *)to)[i] = x;
        else ((float *)(void *)to)[i] = (float)x;
    }
}

static const Stored *stored_state(const Lathe_tensor *s, const Store *from, int gpus)
{
    const Stored *stored = find_stored(from, carried_name(s));
    bool whole = s->dtype == LATHE_I32;
    int64_t dim[LATHE_MAXRANK + 1];
    int rank = stored_axes(s, gpus, dim);
    if (!stored)
        fail(EXIT_DATA, from->path, "expected a state %s, which this model carries, found none", carried_name(s));
    if (stored->rank != rank || memcmp(stored->dim, dim, sizeof *dim * (size_t)rank) != 0)
        fail(
            EXIT_DATA, from->path,
            "%s: expected shape %s, found %s: states belong to a batch's rows; resume with the batch, accumulation and "
            "GPUs "
            "that the run was begun with",
            carried_name(s), dims_text(rank, dim), dims_text(stored->rank, stored->dim));
    if (!stored_is(stored, whole ? "I32" : "F32 F64"))
        fail(EXIT_DATA, from->path, "%s: expected %s, found %s", carried_name(s), whole ? "I32" : "F32 or F64",
             stored->dtype);
    return stored;
}

void load_carried(const Lathe_model *m, const Store *from, int gpus, char *copy)
{
    int64_t apart = carried_bytes(m);
    for (int k = 0; k < m->states; k++) {
        const Lathe_tensor *s = &m->state[k];
        if (s->role != LATHE_CARRIED) continue;
        const Stored *stored = stored_state(s, from, gpus);
        for (int g = 0; g < gpus; g++) load_elements(s, stored, g * tensor_size(s), copy + g * apart);
        copy += numbers_bytes(s);
    }
}
