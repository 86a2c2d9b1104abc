/* statistics.c: states that belong to the model (nn.batchnorm): between the states of entries and an array that files
 * are read into and written from.
 *
 * In that array they lie one after another, as the table Lathe_model.statistic says.  A checkpoint is written from it,
 * because the next step replaces the states. */
#include "model/tables.h"
#include "step/entry.h"
#include "step/statistics.h"

#include <string.h>

static bool is_statistic(const Lathe_tensor *s) { return s->role == LATHE_STATISTIC; }
static int64_t bytes_of(const Lathe_tensor *s) { return tensor_size(s) * dtype_size(s->dtype); }

int64_t statistics_bytes(const Lathe_model *m)
{
    int64_t sum = 0;
    for (int k = 0; k < m->states; k++)
        if (is_statistic(&m->state[k])) sum += bytes_of(&m->state[k]);
    return sum;
}

static void place_statistics(const Lathe_model *m, const Memory *memory)
{
    const char *from = memory->statistics;
    for (int k = 0; k < m->states; k++) {
        const Lathe_tensor *s = &m->state[k];
        if (!is_statistic(s)) continue;
        memcpy((char *)memory->state + s->offset, from, (size_t)bytes_of(s));
        from += bytes_of(s);
    }
}

void copy_statistics(const Lathe_model *m, const Memory *memory)
{
    char *to = memory->statistics;
    if (!m->statistics) return;
    device_down(memory->state, memory->state_bytes);
    for (int k = 0; k < m->states; k++) {
        const Lathe_tensor *s = &m->state[k];
        if (!is_statistic(s)) continue;
        memcpy(to, (const char *)memory->state + s->offset, (size_t)bytes_of(s));
        to += bytes_of(s);
    }
}

void weights_up(const Lathe_model *m, const Memory *memory)
{
    device_up(memory->params, weight_bytes(m));
    if (memory->teacher) device_up(memory->teacher, weight_bytes(m->teacher));
    if (!m->statistics) return;
    place_statistics(m, memory);
    device_up(memory->state, memory->state_bytes);
}
