/* slot_states.c: the entry slots, decode for rows with positions of their own: feeding tokens, and states that go
 * between a slot and the one row of decode, which reads prompts, and texts that are alone.
 *
 * The states of slots are those of decode in the same order, with a row for each slot.  Of a state with an entry for
 * each position only the entries that are written go over. */
#include "base/words.h"
#include "interface/lathe_model.h"
#include "math/engine.h"
#include "model/block.h"
#include "model/tables.h"
#include "step/entry.h"
#include "text/slots.h"

#include <string.h>

/* The k-th state of a role. */
static const Lathe_tensor *state_of_role(const Lathe_model *m, Lathe_role role, int k)
{
    for (int i = 0; i < m->states; i++)
        if (m->state[i].role == role && k-- == 0) return &m->state[i];
    return NULL;
}

static const Lathe_tensor *state_of_slots(const Decoder *d, int k)
{
    return state_of_role(d->model, LATHE_SLOT_STATE, k);
}

static void check_states(const Decoder *d)
{
    const Lathe_tensor *s, *one;
    for (int k = 0; (s = state_of_slots(d, k)); k++) {
        one = state_of_role(d->model, LATHE_STATE, k);
        bug_if(!one || one->rank != s->rank || one->dtype != s->dtype || s->rows_axis < 0);
        for (int a = 0; a < s->rank; a++) bug_if(one->dim[a] != (a == s->rows_axis ? 1 : s->dim[a]));
    }
}

void open_slot_states(Slot_states *s, const Decoder *d, const Memory *m)
{
    const Lathe_entry *e = find_entry(d->model, ENTRY_slots);
    *s = (Slot_states){.entry = e, .call = call_of(m, e), .n = e->rows};
    s->token = tensor_with_role(e, LATHE_TOKENS);
    s->position = tensor_with_role(e, LATHE_POSITION);
    s->logits = output_named(e, "logits");
    bug_if(d->rows != 1 || !s->token || !s->logits || e->outputs != d->entry->outputs);
    check_states(d);
    if (on_device()) clear_there(d->state, d->model->state_bytes); /* here it is zero */
}

/* A row of a state is `outer` pieces of `bytes`, of which the first `used` are written. */
typedef struct Row_parts {
    int64_t outer, bytes, used;
} Row_parts;

/* n: tokens in it. */
static Row_parts parts_of_row(const Lathe_tensor *s, int64_t n)
{
    Row_parts p = {1, 0, 0};
    bool by_place = s->places_axis > s->rows_axis;
    int last = by_place ? s->places_axis : s->rows_axis;
    int64_t entry = 1;
    for (int a = last + 1; a < s->rank; a++) entry *= s->dim[a];
    p.bytes = bytes_of_numbers(s->dtype, entry);
    p.used = p.bytes * (by_place ? n : 1);
    if (by_place) p.bytes *= s->dim[last];
    for (int a = 0; a < last; a++)
        if (a != s->rows_axis) p.outer *= s->dim[a];
    return p;
}

/* Where piece i of row k begins, in a state with so many rows. */
static int64_t piece_at(const Lathe_tensor *s, const Row_parts *p, int64_t i, int64_t k, int64_t rows)
{
    int64_t inner = 1; /* pieces that a row has together */
    for (int a = s->rows_axis + 1; a < s->places_axis; a++) inner *= s->dim[a];
    return ((i / inner * rows + k) * inner + i % inner) * p->bytes;
}

static void move_states(const Slot_states *slots, const Decoder *d, int64_t k, int64_t n, bool to_slot)
{
    const Lathe_tensor *s;
    for (int i = 0; (s = state_of_slots(d, i)); i++) {
        const Row_parts p = parts_of_row(s, n);
        char *one = d->state + state_of_role(d->model, LATHE_STATE, i)->offset, *all = d->state + s->offset;
        for (int64_t j = 0; j < p.outer; j++) {
            char *a = one + piece_at(s, &p, j, 0, 1), *b = all + piece_at(s, &p, j, k, slots->n);
            copy_there(to_slot ? b : a, to_slot ? a : b, p.used, 1, p.used);
        }
    }
}

void give_slot(const Slot_states *s, const Decoder *d, int64_t k, int64_t n) { move_states(s, d, k, n, true); }
void take_slot(const Slot_states *s, const Decoder *d, int64_t k, int64_t n) { move_states(s, d, k, n, false); }

/* Entries of positions are written before they are seen. */
void clear_slot(const Slot_states *slots, const Decoder *d, int64_t k)
{
    const Lathe_tensor *s;
    for (int i = 0; (s = state_of_slots(d, i)); i++) {
        if (s->places_axis) continue;
        const Row_parts p = parts_of_row(s, 0);
        for (int64_t j = 0; j < p.outer; j++)
            clear_there(d->state + s->offset + piece_at(s, &p, j, k, slots->n), p.bytes);
    }
}

const void *feed_slots(const Slot_states *s, Decoder *d, const int32_t *id, const int32_t *position, int64_t live)
{
    char *in = (char *)s->call.in;
    set_scalars(s->entry, in, d->seed, 0, 0);
    memcpy(in + s->token->offset, id, sizeof *id * (size_t)s->n);
    if (s->position) memcpy(in + s->position->offset, position, sizeof *position * (size_t)s->n);
    gemm_rows_live(live);
    run_entry(s->entry, &s->call);
    d->giver = s->entry;
    d->given = s->call.out;
    return d->given + s->logits->offset;
}
