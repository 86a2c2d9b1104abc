/* slots.h: compare_slots(): the entry slots gives each text the logits of the whole sequence, and the bits that decode
 * gives it alone, whatever the other slots hold: texts that began earlier, that begin after another one, or nothing. */
#ifndef TEST_SLOTS_H
#define TEST_SLOTS_H

#include "decoder.h"

typedef struct Slots_text { /* in a slot */
    int64_t sequence, position; /* position: of its next token; -1: idle */
    int64_t begins;             /* at this step */
} Slots_text;

/* Row k of the states of slots begins anew. */
static void clear_slot(const Live *l, int64_t k)
{
    for (int i = 0; i < l->model->states; i++) {
        const Lathe_tensor *s = &l->model->state[i];
        if (s->role != LATHE_SLOT_STATE || s->rows_axis < 0) continue;
        int64_t outer = 1, elements_of_row = 1;
        for (int a = 0; a < s->rows_axis; a++) outer *= s->dim[a];
        for (int a = s->rows_axis + 1; a < s->rank; a++) elements_of_row *= s->dim[a];
        const int64_t piece = bytes_of_elements((DType)s->dtype, elements_of_row);
        for (int64_t o = 0; o < outer; o++)
            memset(l->state + s->offset + (o * s->dim[s->rows_axis] + k) * piece, 0, (size_t)piece);
    }
}

static double *slots_step(const Decoder *d, int entry, const Slots_text *text, int64_t slots)
{
    const Lathe_entry *e = &d->l->model->entry[entry];
    const Lathe_tensor *tokens = input_of(d->l, entry, "tokens");
    const Lathe_tensor *position = find_tensor(e->input, e->inputs, "slot_position");
    for (int64_t k = 0; k < slots; k++) {
        bool idle = text[k].position < 0;
        int64_t at = text[k].sequence * d->seq + text[k].position;
        double id = idle ? floor(uniform(d->rng) * (double)d->vocab)
                         : get_element(LATHE_I32, input_at(d->l, d->whole, "tokens"), at);
        set_element(tokens->dtype, input_room(d, entry, tokens), k, id);
        if (position) set_element(LATHE_I32, input_room(d, entry, position), k, idle ? 0 : (double)text[k].position);
    }
    call_entry(d->l, entry);
    return read_output(d->l, entry, "logits");
}

/* What decode gives each sequence alone: [batch][seq][vocab]. */
static double *alone(const Decoder *d)
{
    double *all = NEW_ARRAY(double, d->batch * d->seq * d->vocab);
    for (int64_t b = 0; b < d->batch; b++) {
        begin(d, b);
        for (int64_t t = 0; t < d->seq; t++)
            memcpy(all + (b * d->seq + t) * d->vocab, step(d, b, t), sizeof(double) * (size_t)d->vocab);
    }
    return all;
}

static void compare_slots(const Decoder *d, const char *what, const double *expected, double bound)
{
    int entry = entry_index(d->l, "slots");
    int64_t slots = d->l->model->recipe.slots, waits = 0, most = 3 * d->seq, bits = 0;
    if (!expect(entry >= 0 && d->l->model->entry[entry].rows == slots, "%s: has slots", what)) return;
    Slots_text *text = NEW_ARRAY(Slots_text, slots);
    double *own = alone(d), worst = 0;
    for (int64_t k = 0; k < slots; k++) text[k] = (Slots_text){k % d->batch, -1, waits += k % 3};
    memset(d->l->state, 0, (size_t)d->l->model->state_bytes);
    fill_statistics(d->l->model, d->l->state);
    for (int64_t now = 0; now < most; now++) {
        for (int64_t k = 0; k < slots; k++)
            if (text[k].begins == now) text[k].position = 0, clear_slot(d->l, k);
        double *got = slots_step(d, entry, text, slots);
        for (int64_t k = 0; k < slots; k++) {
            if (text[k].position < 0) continue;
            int64_t at = (text[k].sequence * d->seq + text[k].position) * d->vocab;
            double error = norm_of_difference(got + k * d->vocab, expected + at, d->vocab) / norm_of(expected + at, d->vocab);
            expect(error <= bound, "%s: slot %lld position %lld: logits differ by %.2g of their norm", what, (long long)k,
                   (long long)text[k].position, error);
            bits += memcmp(got + k * d->vocab, own + at, sizeof *own * (size_t)d->vocab) != 0;
            worst = fmax(worst, error);
            if (++text[k].position < d->seq) continue;
            text[k] = (Slots_text){(text[k].sequence + 1) % d->batch, -1, now + 2 + k % 2};
        }
    }
    expect(bits == 0, "%s: %lld of the steps of slots have other bits than decode gives them alone", what, (long long)bits);
    printf("%-28s %lld slots, worst difference %.1e\n", what, (long long)slots, worst);
}

#endif
