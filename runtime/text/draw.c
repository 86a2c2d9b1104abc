/* draw.c: samples of a model whose description has a function sample: the entry `sample` draws a batch of them in one
 * call.  Draws depend only on the seed, the number of the call and, in a training run, the step. */
#include "base/json_text.h"
#include "base/words.h"
#include "interface/lathe_model.h"
#include "math/math.h"
#include "model/block.h"
#include "model/tables.h"
#include "step/entry.h"
#include "text/draw.h"
#include "token/tokenizer.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { DRAW_SITE = 0x7fff0004 };

struct Drawing {
    const Lathe_model *model;
    int32_t seed;
    const Lathe_entry *entry;
    Lathe_call call;
    char *in;
    Tokenizer *tokenizer; /* NULL: there are no texts */
    Encoder *encoder;
    const Lathe_tensor *given, *tokens; /* beginnings of texts, [batch][time]; the texts; NULL: none */
    int64_t batch;                      /* samples per call */
};

/* ------------------------------------------------------------------ a batch */

static int32_t *row_of_given(const Drawing *d, int64_t row)
{
    return (int32_t *)(void *)(d->in + d->given->offset) + row * d->given->dim[1];
}

/* The row's first ids are the prompt's, the others -1. */
static void give_prompt(const Drawing *d, int64_t row, Passage prompt)
{
    Ids ids = {0};
    if (prompt.bytes && !d->given)
        fail(EXIT_USAGE, NULL, "%s takes no prompt: its function sample does not read input.tokens", d->model->name);
    if (!d->given) return;
    int32_t *to = row_of_given(d, row);
    int64_t room = d->given->dim[1];
    encode_bytes(d->encoder, prompt.at, prompt.bytes, &ids);
    if (ids.n > room)
        fail(EXIT_USAGE, NULL, "the prompt has %lld tokens, but %s makes texts of %lld; shorten it", (long long)ids.n,
             d->model->name, (long long)room);
    for (int64_t i = 0; i < room; i++) to[i] = i < ids.n ? ids.at[i] : -1;
    free_ids(&ids);
}

void check_prompt(const Drawing *d, Passage prompt, const char *place)
{
    if (d->encoder && place) encoder_place(d->encoder, place);
    give_prompt(d, 0, prompt);
}

void draw_batch(const Drawing *d, const Passage *prompt, int64_t n, int64_t number, int64_t step)
{
    int32_t seed = philox_word(d->seed, (int)number, DRAW_SITE, 0, 0) & INT32_MAX;
    for (int64_t i = 0; i < d->batch; i++) give_prompt(d, i, i < n ? prompt[i] : (Passage){"", 0});
    set_scalars(d->entry, d->in, seed, step, 0);
    run_entry(d->entry, &d->call);
}

/* ------------------------------------------------------------------ a sample of the batch */

const void *drawn_row(const Drawing *d, const Lathe_tensor *o, int64_t row)
{
    return (const char *)d->call.out + o->offset + tensor_size(o) / o->dim[0] * row * dtype_size(o->dtype);
}

/* Bytes of a token; U+FFFD for an id without a token. */
static int64_t id_bytes(const Drawing *d, int32_t id, const char **at)
{
    *at = "\xef\xbf\xbd";
    return id >= 0 && id < tokenizer_size(d->tokenizer) ? token_bytes(d->tokenizer, id, at) : 3;
}

static json_t *row_text(const Drawing *d, int64_t row)
{
    const int32_t *id = (const void *)drawn_row(d, d->tokens, row);
    const char *piece;
    int64_t n = d->tokens->dim[1], bytes = 0;
    for (int64_t i = 0; i < n; i++) bytes += id_bytes(d, id[i], &piece);
    char *text = must_alloc((size_t)bytes + 1), *to = text;
    for (int64_t i = 0; i < n; i++) {
        int64_t more = id_bytes(d, id[i], &piece);
        memcpy(to, piece, (size_t)more);
        to += more;
    }
    json_t *json = text_json(text, (size_t)bytes);
    free(text);
    return json;
}

static json_t *row_numbers(const Drawing *d, const Lathe_tensor *o, int64_t row)
{
    json_t *list = json_array();
    const char *at = drawn_row(d, o, row);
    bool whole = o->dtype == LATHE_I32 || o->dtype == LATHE_BOOL;
    for (int64_t i = 0; i < tensor_size(o) / o->dim[0]; i++) {
        double x = read_element(o->dtype, at, i);
        json_t *number = whole ? json_integer((json_int_t)x) : real_json(x); /* NULL where it is not finite */
        add_json(list, number ? number : json_null());
    }
    return list;
}

static json_t *row_shape(const Lathe_tensor *o)
{
    json_t *dims = json_array();
    for (int k = 1; k < o->rank; k++) add_json(dims, json_integer(o->dim[k]));
    return dims;
}

json_t *drawn_json(const Drawing *d, int64_t row, Passage prompt)
{
    json_t *all = json_object(), *others = json_object();
    put_json(all, "prompt", text_json(prompt.at, (size_t)prompt.bytes));
    if (d->tokens) {
        put_json(all, "text", row_text(d, row));
        put_json(all, "tokens", row_numbers(d, d->tokens, row));
    }
    for (int i = 0; i < d->entry->outputs; i++) {
        const Lathe_tensor *o = &d->entry->output[i];
        json_t *one = json_pack("{s:o, s:o}", "shape", row_shape(o), "values", row_numbers(d, o, row));
        if (o != d->tokens) json_object_set(others, o->name, one);
        json_decref(one);
    }
    if (json_object_size(others)) json_object_set(all, "outputs", others);
    json_decref(others);
    return all;
}

/* ------------------------------------------------------------------ printing */

static void print_numbers(const Drawing *d, const Lathe_tensor *o, int64_t row)
{
    const char *at = drawn_row(d, o, row);
    int64_t n = tensor_size(o) / o->dim[0], line = o->rank > 1 ? o->dim[o->rank - 1] : 1;
    char *dims = dims_text(o->rank - 1, o->dim + 1);
    show(stdout, "%s %s\n", o->name, dims);
    for (int64_t i = 0; i < n; i++)
        show(stdout, "%.6g%s", read_element(o->dtype, at, i), (i + 1) % line == 0 ? "\n" : " ");
    free(dims);
}

void print_drawn(const Drawing *d, int64_t row)
{
    if (d->tokens) {
        json_t *text = row_text(d, row);
        show_raw(stdout, json_string_value(text), json_string_length(text));
        show(stdout, "\n");
        json_decref(text);
    }
    for (int i = 0; i < d->entry->outputs; i++)
        if (&d->entry->output[i] != d->tokens) print_numbers(d, &d->entry->output[i], row);
}

/* ------------------------------------------------------------------ starting */

Drawing *open_drawing(const Lathe_model *model, int32_t seed, const Memory *m)
{
    Drawing *d = must_alloc(sizeof *d);
    *d = (Drawing){
        .model = model, .seed = seed, .entry = need_entry(model, ENTRY_sample), .in = m->call, .batch = model->batch};
    d->call = call_of(m, d->entry);
    d->given = tensor_with_role(d->entry, LATHE_TOKENS);
    d->tokens = output_named(d->entry, "tokens");
    return d;
}

void set_drawing_tokens(Drawing *d, Tokenizer *k, const char *place)
{
    d->tokenizer = k;
    d->encoder = open_encoder(k);
    encoder_place(d->encoder, place);
}

bool draws_text(const Drawing *d) { return d->given || d->tokens; }
int64_t drawing_batch(const Drawing *d) { return d->batch; }
