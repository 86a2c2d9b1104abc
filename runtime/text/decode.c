/* decode.c: the entries encode, decode and prefill, by rows: feeding tokens, reordering states, encoding sources.
 *
 * A state's rows are copied whole, whichever axis they are on (Lathe_tensor.rows_axis), so this file knows no model.
 * All rows have the same position: prompts of different lengths begin together, and generation starts where each ends.
 * Prefill reads `chunk` tokens of each row into the states.  It may be given fewer: what those behind them leave is
 * written again before a token sees it.
 * For models with a source, `rows` sources are encoded at once and stored, and rows get them when their turn comes. */
#include "base/words.h"
#include "data/data.h"
#include "interface/lathe_model.h"
#include "model/block.h"
#include "model/tables.h"
#include "step/entry.h"
#include "text/generate.h"

#include <string.h>

enum { PAYS = 16 }; /* a chunk of 128 takes as long as 7 tokens, fed one by one */

/* ------------------------------------------------------------------ opening */

static void find_tensors(Decoder *d, const Lathe_model *m)
{
    d->entry = need_entry(m, ENTRY_decode);
    d->encode = find_entry(m, ENTRY_encode);
    d->token = tensor_with_role(d->entry, LATHE_TOKENS);
    d->logits = output_named(d->entry, "logits");
    if (!d->token) fail(EXIT_ERROR, NULL, "%s takes no tokens: it cannot continue a text", m->name);
    d->rows = d->entry->rows;
    if (!d->logits || tensor_size(d->logits) != d->rows * m->vocab)
        fail(EXIT_ERROR, NULL,
             "%s has no output \"logits\" of %lld elements for one token, which generate draws from; return it from "
             "the description's forward",
             m->name, (long long)m->vocab);
}

/* Finds the outputs that have one number per token. */
static void find_extras(Decoder *d)
{
    for (int i = 0; i < d->entry->outputs; i++) {
        const Lathe_tensor *t = &d->entry->output[i];
        if (t->rank && tensor_size(t) == d->rows && t != d->logits && d->extras < LATHE_EXTRAS)
            d->extra[d->extras++] = t;
    }
}

static int64_t state_size(const Lathe_tensor *s) { return bytes_of_numbers(s->dtype, tensor_size(s)); }

/* Whether a state belongs to encode and decode, and is not one that train or eval carries. */
static bool is_own(const Lathe_tensor *s) { return s->role == LATHE_STATE; }

/* Bytes of the states one after the other, each at a multiple of 64 bytes: all, or those that encode writes. */
static int64_t states_bytes(const Lathe_model *m, bool fixed)
{
    int64_t sum = 0;
    for (int i = 0; i < m->states; i++)
        if (is_own(&m->state[i]) && (m->state[i].fixed || !fixed)) sum += (state_size(&m->state[i]) + 63) / 64 * 64;
    return sum;
}

static void lay_out_rooms(Decoder *d, const Memory *m, const Lathe_model *model)
{
    int64_t states = states_bytes(model, false), fixed = states_bytes(model, true);
    d->history = (int32_t *)m->generation;
    d->room = m->generation + lathe_history_bytes(d->rows, lathe_room(model->seq, model->context));
    d->kept = d->room + states;
    d->rest = d->room + lathe_rows_room(d->rows, states, fixed);
    d->rest_bytes = m->generation + m->generation_bytes - d->rest;
    bug_if(d->rest_bytes < 0);
}

static void open_prefill(Decoder *d, const Lathe_model *model, const Memory *m)
{
    d->prefill = find_entry(model, ENTRY_prefill);
    if (!d->prefill) return;
    d->prefill_call = call_of(m, d->prefill);
    d->prompt = tensor_with_role(d->prefill, LATHE_TOKENS);
    d->chunk = model->recipe.prefill;
}

void open_decoder(Decoder *d, const Lathe_model *model, int32_t seed, const Memory *m, bool imported)
{
    *d = (Decoder){.model = model, .seed = seed, .state = m->state, .vocab = model->vocab};
    find_tensors(d, model);
    find_extras(d);
    d->call = call_of(m, d->entry);
    if (d->encode) d->encode_call = call_of(m, d->encode);
    open_prefill(d, model, m);
    d->places = lathe_room(model->seq, model->context);
    if (tensor_with_role(d->entry, LATHE_POSITION))
        d->context = imported || d->places < model->seq ? d->places : model->seq;
    lay_out_rooms(d, m, model);
}

/* What a slot has for its draws, beside the first (open_slots()). */
static int64_t bytes_of_slot(const Lathe_model *m, const Lathe_recipe *r, int extras)
{
    return m->vocab + lathe_written_tokens(r, m->seq) * extras * (int64_t)sizeof(float) + 2 * 16;
}

int64_t generation_bytes(const Lathe_model *m, const Lathe_recipe *r, int64_t slots)
{
    Decoder d = {.entry = find_entry(m, ENTRY_decode)};
    if (!d.entry || !tensor_with_role(d.entry, LATHE_TOKENS)) return 0;
    d.rows = d.entry->rows;
    d.logits = output_named(d.entry, "logits");
    find_extras(&d);
    return lathe_generation_bytes(r, d.rows, m->seq, m->context, m->vocab, d.extras, states_bytes(m, false),
                                  states_bytes(m, true)) +
           (slots > 1 ? slots * bytes_of_slot(m, r, d.extras) : 0);
}

/* ------------------------------------------------------------------ tokens */

void forget_rows(Decoder *d)
{
    for (int i = 0; i < d->model->states; i++) {
        const Lathe_tensor *s = &d->model->state[i];
        if (is_own(s) && !s->fixed && !s->places_axis) clear_there(d->state + s->offset, state_size(s));
    }
    d->position = 0;
}

static void run_rows(Decoder *d, const int32_t *id)
{
    char *in = (char *)d->call.in;
    memcpy(in + d->token->offset, id, sizeof *id * (size_t)d->rows);
    set_scalars(d->entry, in, d->seed, 0, d->position++);
    run_entry(d->entry, &d->call);
    d->giver = d->entry;
    d->given = d->call.out;
}

/* The same of n tokens from the history, at most a chunk. */
static void run_chunk(Decoder *d, int64_t n)
{
    char *in = (char *)d->prefill_call.in;
    int32_t *to = (int32_t *)(in + (d->prompt ? d->prompt->offset : 0));
    const int32_t *from = d->history + d->position * d->rows;
    for (int64_t r = 0; d->prompt && r < d->rows; r++)
        for (int64_t i = 0; i < d->chunk; i++) to[r * d->chunk + i] = from[(i < n ? i : n - 1) * d->rows + r];
    set_scalars(d->prefill, in, d->seed, 0, d->position);
    run_entry(d->prefill, &d->prefill_call);
    d->position += n;
}

int64_t chunk_that_pays(const Decoder *d, int64_t position, int64_t n)
{
    int64_t some = n < d->chunk ? n : d->chunk;
    return d->prefill && some * PAYS >= d->chunk && position + d->chunk <= d->places ? some : 0;
}

/* Feeds the next n tokens of the history. */
static void run_history(Decoder *d, int64_t n)
{
    for (int64_t some; n; n -= some) {
        some = chunk_that_pays(d, d->position, n);
        if (some) run_chunk(d, some);
        else run_rows(d, d->history + d->position * d->rows), some = 1;
    }
}

void feed_chunk(Decoder *d, int64_t position, const int32_t *id, int64_t n)
{
    bug_if(d->rows != 1);
    d->position = position;
    memcpy(d->history + position, id, sizeof *id * (size_t)n);
    run_chunk(d, n);
}

const void *feed_token(Decoder *d, int64_t position, int32_t id)
{
    bug_if(d->rows != 1);
    d->position = position;
    run_rows(d, &id);
    return (const char *)d->call.out + d->logits->offset;
}

/* Past the context, states are computed again from the newer half of their tokens. */
static void slide(Decoder *d)
{
    int64_t rows = d->rows, half = d->context / 2;
    int32_t *newer = d->history + (d->context - half) * rows;
    forget_rows(d);
    memmove(d->history, newer, sizeof *newer * (size_t)(half * rows));
    run_history(d, half);
}

void feed_prompt(Decoder *d, const int32_t *id, int64_t n)
{
    for (int64_t some; d->context && n; n -= some, id += some * d->rows) {
        if (d->position == d->context) slide(d);
        some = n < d->context - d->position ? n : d->context - d->position;
        memcpy(d->history + d->position * d->rows, id, sizeof *id * (size_t)(some * d->rows));
        run_history(d, some);
    }
    for (; n; n--, id += d->rows) run_rows(d, id);
}

const void *feed_rows(Decoder *d, const int32_t *id)
{
    if (d->context && d->position == d->context) slide(d);
    if (d->context) memcpy(d->history + d->position * d->rows, id, sizeof *id * (size_t)d->rows);
    run_rows(d, id);
    return (const char *)d->call.out + d->logits->offset;
}

void read_extras(const Decoder *d, int64_t row, float *to)
{
    for (int k = 0; k < d->extras; k++) {
        const Lathe_tensor *t = &d->giver->output[d->extra[k] - d->entry->output];
        to[k] = (float)read_element(t->dtype, d->given + t->offset, row);
    }
}

/* ------------------------------------------------------------------ rows of states */

/* Row k of s becomes row from[k] of the states at `of`, for all k. */
static void copy_rows(const Decoder *d, const Lathe_tensor *s, const char *of, const int32_t *from)
{
    int64_t outer = 1, inner = 1;
    for (int k = 0; k < s->rows_axis; k++) outer *= s->dim[k];
    for (int k = s->rows_axis + 1; k < s->rank; k++) inner *= s->dim[k];
    const int64_t piece = bytes_of_numbers(s->dtype, inner);
    char *to = d->state + s->offset;
    for (int64_t r = 0; r < d->rows; r++)
        copy_there(to + r * piece, of + from[r] * piece, piece, outer, d->rows * piece);
}

static void copy_state(char *to, const char *from, const Lathe_tensor *s)
{
    copy_there(to, from, state_size(s), 1, state_size(s));
}

static void reorder_history(Decoder *d, const int32_t *from)
{
    int32_t *line = d->history + d->context * d->rows;
    for (int64_t i = 0; d->context && i < d->position; i++) {
        int32_t *at = d->history + i * d->rows;
        memcpy(line, at, sizeof *line * (size_t)d->rows);
        for (int64_t r = 0; r < d->rows; r++) at[r] = line[from[r]];
    }
}

void reorder_rows(Decoder *d, const int32_t *from)
{
    for (int i = 0; i < d->model->states; i++) {
        const Lathe_tensor *s = &d->model->state[i];
        if (s->fixed || s->rows_axis < 0) continue;
        copy_state(d->room, d->state + s->offset, s);
        copy_rows(d, s, d->room, from);
    }
    reorder_history(d, from);
}

/* ------------------------------------------------------------------ sources */

static void fill_sources(const Decoder *d, const Id_list *source, int64_t n, int32_t pad)
{
    const Lathe_tensor *ids = tensor_with_role(d->encode, LATHE_SOURCE);
    const Lathe_tensor *lengths = tensor_with_role(d->encode, LATHE_SOURCE_LENGTHS);
    char *in = (char *)d->encode_call.in;
    int64_t width = d->model->source_seq;
    for (int64_t r = 0; r < d->rows; r++) {
        const Id_list *s = &source[r < n ? r : 0];
        int32_t *to = (int32_t *)(in + (ids ? ids->offset : 0)) + r * width;
        for (int64_t i = 0; ids && i < width; i++) to[i] = i < s->n ? s->at[i] : pad;
        if (lengths) ((int32_t *)(in + lengths->offset))[r] = (int32_t)s->n;
    }
}

void encode_rows(Decoder *d, const Id_list *source, int64_t n, int32_t pad)
{
    char *to = d->kept;
    fill_sources(d, source, n, pad);
    set_scalars(d->encode, (char *)d->encode_call.in, d->seed, 0, 0);
    run_entry(d->encode, &d->encode_call);
    for (int i = 0; d->rows > 1 && i < d->model->states; i++) {
        const Lathe_tensor *s = &d->model->state[i];
        if (!s->fixed) continue;
        copy_state(to, d->state + s->offset, s);
        to += (state_size(s) + 63) / 64 * 64;
    }
}

void take_encoded(Decoder *d, const int32_t *from)
{
    const char *kept = d->kept;
    for (int i = 0; d->rows > 1 && i < d->model->states; i++) {
        const Lathe_tensor *s = &d->model->state[i];
        if (!s->fixed) continue;
        if (s->rows_axis >= 0) copy_rows(d, s, kept, from);
        kept += (state_size(s) + 63) / 64 * 64;
    }
}
