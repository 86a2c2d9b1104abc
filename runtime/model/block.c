/* block.c: sizes of the one block of a run, and the parts of it that an entry gets. */
#include "base/bug.h"
#include "interface/lathe_model.h"
#include "lathe_rt.h"
#include "model/block.h"
#include "model/place.h"
#include "model/tables.h"

#include <string.h>

enum { BLOCK = 1 << 21 }; /* bytes: a huge page, which one thread clears */

static const char *const category_names[] = {
#define CATEGORY(name) [CATEGORY_##name] = #name,
#include "interface/categories.def"
};

int64_t planned(const Lathe_model *m, Category category)
{
    for (int i = 0; i < m->categories; i++)
        if (strcmp(m->plan[i].category, category_names[category]) == 0) return m->plan[i].bytes;
    return 0;
}

int64_t weight_bytes(const Lathe_model *m)
{
    int64_t bytes = bytes_of_numbers(lathe_weights(m), m->flat_elements - weights_in_blocks(m));
    for (Lathe_dtype t = 0; t < LATHE_DTYPES; t++)
        if (m->in_blocks[t]) bytes += bytes_of_numbers(t, m->in_blocks[t]);
    return bytes;
}
int64_t flat_bytes(const Lathe_model *m) { return lathe_trained_elements(m) * dtype_size(m->real); }

int64_t call_bytes(const Lathe_entry *e)
{
    return align64(e->in_bytes) + align64(e->out_bytes) + align64(e->work_bytes);
}

int64_t states_taken(const Lathe_model *m, bool decodes, bool slots)
{
    int64_t end = 0;
    for (int i = 0; i < m->states; i++) {
        const Lathe_tensor *s = &m->state[i];
        int64_t own = s->offset + bytes_of_numbers(s->dtype, tensor_size(s));
        bool taken = s->role == LATHE_STATE ? decodes : s->role != LATHE_SLOT_STATE;
        if (taken && own > end) end = own;
    }
    return slots ? m->state_bytes : align64(end);
}

void clear_memory(void *at, int64_t bytes)
{
    PARALLEL
    for (int64_t i = 0; i < (bytes + BLOCK - 1) / BLOCK; i++) {
        int64_t left = bytes - i * BLOCK;
        memset((char *)at + i * BLOCK, 0, (size_t)(left < BLOCK ? left : BLOCK));
    }
}

int64_t ahead_bytes(const Lathe_model *m)
{
    const Lathe_entry *train = find_entry(m, ENTRY_train);
    return m->device && train ? lathe_ahead_bytes(train->in_bytes) : 0;
}

Lathe_call call_behind(const Memory *m, const Lathe_entry *e, const Lathe_entry *first)
{
    Memory behind = *m;
    behind.call += align64(first->in_bytes);
    behind.call_bytes -= align64(first->in_bytes);
    return call_of(&behind, e);
}

Lathe_call call_of(const Memory *m, const Lathe_entry *e)
{
    bug_if(call_bytes(e) > m->call_bytes);
    char *out = m->call + align64(e->in_bytes);
    return (Lathe_call){m->params, m->grads, m->call, out, m->state, out + align64(e->out_bytes), NULL};
}
