/* decoder.h: compare_model(): one token at a time over states gives the logits of the whole sequence at once, at every
 * position; with several rows decoded together, each another sequence, and of pairs after `encode`.  Where there is an
 * entry prefill, also after it has read all tokens before that position, or fewer than it could and others behind them. */
#ifndef TEST_DECODER_H
#define TEST_DECODER_H

#include "harness.h"

#include <math.h>
#include <string.h>

typedef struct Decoder {
    Live *l;
    int whole, encode, decode, prefill; /* entries; encode, prefill -1: there is none */
    int64_t batch, rows, seq, vocab, chunk, room;
    Rng *rng;
} Decoder;

static char *input_room(const Decoder *d, int entry, const Lathe_tensor *t) { return d->l->room[entry].in + t->offset; }

/* Row k of decode has the sequence (first + k) mod batch of the whole forward. */
static int64_t sequence_of(const Decoder *d, int64_t first, int64_t k) { return (first + k) % d->batch; }

/* Sources of the whole forward, or their lengths, for the rows of encode; nothing where encode does not read it. */
static void give_source(const Decoder *d, const char *name, int64_t first)
{
    const Lathe_entry *e = &d->l->model->entry[d->encode];
    const Lathe_tensor *t = find_tensor(e->input, e->inputs, name);
    if (!t) return;
    int64_t width = tensor_elements(t) / d->rows;
    for (int64_t k = 0; k < d->rows; k++)
        for (int64_t i = 0; i < width; i++)
            set_element(t->dtype, input_room(d, d->encode, t), k * width + i,
                        get_element(LATHE_I32, input_at(d->l, d->whole, name), sequence_of(d, first, k) * width + i));
}

static void begin(const Decoder *d, int64_t first)
{
    memset(d->l->state, d->encode >= 0 ? 0xff : 0, (size_t)d->l->model->state_bytes); /* NaN */
    for (int i = 0; i < d->l->model->states && d->encode >= 0; i++) {
        const Lathe_tensor *s = &d->l->model->state[i];
        int64_t each = s->dtype == LATHE_F64 ? 8 : s->dtype == LATHE_BOOL ? 1 : 4;
        if (!s->fixed) memset(d->l->state + s->offset, 0, (size_t)(tensor_elements(s) * each));
    }
    fill_statistics(d->l->model, d->l->state);
    if (d->encode < 0) return;
    give_source(d, "source", first);
    give_source(d, "source_lengths", first);
    call_entry(d->l, d->encode);
}

/* Takes each row's token t; the logits [rows][vocab]. */
static double *step(const Decoder *d, int64_t first, int64_t t)
{
    const Lathe_entry *e = &d->l->model->entry[d->decode];
    const Lathe_tensor *tokens = input_of(d->l, d->decode, "tokens");
    const Lathe_tensor *position = find_tensor(e->input, e->inputs, "position"); /* a recurrence needs none */
    for (int64_t k = 0; k < d->rows; k++)
        set_element(tokens->dtype, input_room(d, d->decode, tokens), k,
                    get_element(LATHE_I32, input_at(d->l, d->whole, "tokens"), sequence_of(d, first, k) * d->seq + t));
    if (position) set_element(position->dtype, input_room(d, d->decode, position), 0, (double)t);
    call_entry(d->l, d->decode);
    return read_output(d->l, d->decode, "logits");
}

/* Reads tokens t … t + n - 1 of each row, and any others up to a chunk. */
static void read_chunk(const Decoder *d, int64_t first, int64_t t, int64_t n)
{
    const Lathe_tensor *tokens = input_of(d->l, d->prefill, "tokens");
    for (int64_t k = 0; k < d->rows; k++)
        for (int64_t i = 0; i < d->chunk; i++) {
            int64_t at = sequence_of(d, first, k) * d->seq + t + i;
            double id = i < n ? get_element(LATHE_I32, input_at(d->l, d->whole, "tokens"), at)
                              : floor(uniform(d->rng) * (double)d->vocab);
            set_element(tokens->dtype, input_room(d, d->prefill, tokens), k * d->chunk + i, id);
        }
    const Lathe_tensor *position = input_of(d->l, d->prefill, "position");
    set_element(position->dtype, input_room(d, d->prefill, position), 0, (double)t);
    call_entry(d->l, d->prefill);
}

/* Reads tokens 0 … n - 1. */
static void read_before(const Decoder *d, int64_t first, int64_t n)
{
    int64_t t = 0;
    while (t < n) {
        int64_t some = n - t < d->chunk ? n - t : d->chunk;
        if (t + d->chunk > d->room) step(d, first, t), some = 1;
        else read_chunk(d, first, t, some);
        t += some;
    }
}

/* Of a pair only what there is of the target. */
static int64_t length_of(const Decoder *d, int64_t b)
{
    const Lathe_entry *e = &d->l->model->entry[d->whole];
    const Lathe_tensor *lengths = find_tensor(e->input, e->inputs, "lengths");
    return lengths ? (int64_t)get_element(LATHE_I32, input_at(d->l, d->whole, "lengths"), b) : d->seq;
}

static double compare_step(const Decoder *d, const char *what, const double *expected, int64_t first, int64_t t,
                           double bound)
{
    double *got = step(d, first, t), worst = 0;
    for (int64_t k = 0; k < d->rows; k++) {
        int64_t b = sequence_of(d, first, k);
        if (t >= length_of(d, b)) continue;
        const double *row = expected + (b * d->seq + t) * d->vocab; /* [B][T][V] */
        double error = norm_of_difference(got + k * d->vocab, row, d->vocab) / norm_of(row, d->vocab);
        expect(error <= bound, "%s: sequence %lld position %lld: logits differ by %.2g of their norm", what,
               (long long)b, (long long)t, error);
        worst = fmax(worst, error);
    }
    return worst;
}

/* Decode is inside one document. */
static void fill_document(const Decoder *d, const char *input, bool counts)
{
    const Lathe_entry *e = &d->l->model->entry[d->whole];
    const Lathe_tensor *t = find_tensor(e->input, e->inputs, input);
    for (int64_t i = 0; t && i < tensor_elements(t); i++)
        set_element(LATHE_I32, input_at(d->l, d->whole, input), i, counts ? (double)(i % d->seq) : 1);
}

static void compare_slots(const Decoder *d, const char *what, const double *expected, double bound);

static void compare_model(const char *what, const char *arguments, double bound)
{
    Rng r = rng_of(3);
    Live *l = build_model(arguments);
    Decoder d = {l,
                 entry_index(l, "grad"),
                 entry_index(l, "encode"),
                 entry_index(l, "decode"),
                 entry_index(l, "prefill"),
                 .seq = l->model->seq,
                 .room = lathe_room(l->model->seq, l->model->context),
                 .rng = &r};
    if (!expect(d.whole >= 0 && d.decode >= 0, "%s: has a grad and a decode entry", what)) return;
    expect(l->model->recipe.pairs == (d.encode >= 0), "%s: encode is there for sources alone", what);
    d.batch = l->model->batch, d.vocab = l->model->vocab, d.rows = input_of(l, d.decode, "tokens")->dim[0];
    expect(d.rows == l->model->recipe.rows, "%s: as many rows as it says", what);
    fill_params(l, &r);
    fill_inputs(l, d.whole, &r);
    fill_document(&d, "segments", false);
    fill_document(&d, "positions", true);
    call_entry(l, d.whole);
    double *expected = read_output(l, d.whole, "logits"), worst = 0;
    for (int64_t first = 0; first < d.batch; first++) {
        begin(&d, first);
        for (int64_t t = 0; t < d.seq; t++) worst = fmax(worst, compare_step(&d, what, expected, first, t, bound));
    }
    expect((l->model->recipe.prefill > 1) == (d.prefill >= 0), "%s: prefill is there as it says", what);
    if (d.prefill >= 0) d.chunk = tensor_elements(input_of(l, d.prefill, "tokens")) / d.rows;
    for (int64_t t = 0; d.prefill >= 0 && t < d.seq; t++) {
        begin(&d, t % d.batch);
        read_before(&d, t % d.batch, t);
        worst = fmax(worst, compare_step(&d, what, expected, t % d.batch, t, bound));
    }
    printf("%-28s %lld rows, worst difference %.1e\n", what, (long long)d.rows, worst);
    if (l->model->recipe.slots > 1) compare_slots(&d, what, expected, bound);
    unload(l);
}

#include "slots.h"

#endif
