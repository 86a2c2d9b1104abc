/* carry.c: states that an entry carries from call to call, for rows that continue from batch to batch (nn.scan and
 * nn.lstm with carry = true): which rows begin, and copies of the states.
 *
 * The entry itself reads and replaces its states.  A row whose `begins` is 1 ignores the state and begins as the
 * description says, so states are never cleared.  A checkpoint is written from a copy, because the next step replaces
 * them. */
#include "interface/lathe_model.h"
#include "model/tables.h"
#include "step/carry.h"

#include <string.h>

bool entry_carries(const Lathe_entry *e) { return tensor_with_role(e, LATHE_BEGINS) != NULL; }

bool model_carries(const Lathe_model *m)
{
    const Lathe_entry *e = find_entry(m, ENTRY_train);
    return e && entry_carries(e);
}

void set_begins(const Lathe_entry *e, char *in, bool begins)
{
    const Lathe_tensor *t = tensor_with_role(e, LATHE_BEGINS);
    for (int64_t i = 0; t && i < tensor_size(t); i++) ((int32_t *)(void *)(in + t->offset))[i] = begins;
}

static int64_t carried_state_bytes(const Lathe_tensor *s) { return tensor_size(s) * dtype_size(s->dtype); }

/* ------------------------------------------------------------------ copies: one after the other */

int64_t carried_bytes(const Lathe_model *m)
{
    int64_t sum = 0;
    for (int k = 0; k < m->states; k++)
        if (m->state[k].role == LATHE_CARRIED) sum += carried_state_bytes(&m->state[k]);
    return sum;
}

void copy_carried(const Lathe_model *m, char *to, const char *state)
{
    for (int k = 0; k < m->states; k++) {
        const Lathe_tensor *s = &m->state[k];
        if (s->role != LATHE_CARRIED) continue;
        memcpy(to, state + s->offset, (size_t)carried_state_bytes(s));
        to += carried_state_bytes(s);
    }
}

void place_carried(const Lathe_model *m, const char *copy, char *state)
{
    for (int k = 0; k < m->states; k++) {
        const Lathe_tensor *s = &m->state[k];
        if (s->role != LATHE_CARRIED) continue;
        memcpy(state + s->offset, copy, (size_t)carried_state_bytes(s));
        copy += carried_state_bytes(s);
    }
}
