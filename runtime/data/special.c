/* special.c: the tokens around documents, and between and after the halves of pairs, from the recipe or the
 * tokenizer. */
#include "base/words.h"
#include "data/data.h"
#include "data/reading.h"
#include "data/stream.h"
#include "interface/lathe_model.h"
#include "model/origin.h"
#include "token/tokenizer.h"

#include <ctype.h>
#include <string.h>

/* ------------------------------------------------------------------ by name */

/* The id of a special token by its text, or its number; "none": -1. */
static int32_t token_named(const Reading *reading, const Tokenizer *k, const char *knob, const char *text)
{
    int64_t id;
    if (strcmp(text, "none") == 0) return -1;
    if (isdigit((unsigned char)*text) && parse_count(text, &id) && id < reading->model->vocab) return (int32_t)id;
    id = special_id(k, text);
    if (id < 0) id = token_of_text(k, text);
    if (id < 0)
        fail(EXIT_USAGE, NULL, "--set %s=%s: the tokenizer has no such token; give another, its number, or none", knob,
             text);
    return (int32_t)id;
}

/* ------------------------------------------------------------------ documents */

/* The usual end token; lines and paragraphs end with a newline, which is not part of the document. */
static int32_t usual_end(const Reading *reading, const Tokenizer *k)
{
    int32_t id = special_id(k, "<|endoftext|>");
    bool parts = reading->recipe->documents == LATHE_LINES || reading->recipe->documents == LATHE_PARAGRAPHS;
    return id < 0 && parts ? token_of_text(k, "\n") : id;
}

const Origin *origin_read(const Reading *reading, const Tokenizer *k)
{
    if (!reading->weights || (reading->tokenizer_given && !came_with(k, reading->weights))) return NULL;
    return read_origin(reading->weights);
}

/* Published models were trained on texts that begin as their tokenizers begin them, and end with the usual token. */
static void settle_as_imported(Order *o, const Lathe_recipe *r, const Tokenizer *k)
{
    const int32_t *begin, end = usual_tokens(k).eos;
    if (r->documents == LATHE_WHOLE) return;
    if (!r->bos && tokens_before(k, &begin) == 1) o->begin = *begin;
    if (!r->eos && end >= 0 && special_id(k, "<|endoftext|>") < 0) o->end = end;
}

static void settle_text(Order *o, const Reading *reading, const Tokenizer *k)
{
    const Lathe_recipe *r = reading->recipe;
    o->bos = r->bos ? token_named(reading, k, "bos", r->bos) : -1;
    o->eos = r->eos ? token_named(reading, k, "eos", r->eos) : r->documents == LATHE_WHOLE ? -1 : usual_end(reading, k);
    o->begin = o->bos, o->end = o->eos;
    if (origin_read(reading, k)) settle_as_imported(o, r, k);
    o->sep = r->sep ? token_named(reading, k, "sep", r->sep) : token_of_text(k, "\n");
    o->pair_end = r->eos || o->end >= 0 ? o->end : token_of_text(k, "\n");
}

/* ------------------------------------------------------------------ encoder and decoder */

/* The token that the setting names; else the tokenizer's own; else its eos; else the next id that the model has beyond
 * the tokenizer's. */
static int32_t pair_token(const Reading *reading, const Tokenizer *k, const char *knob, const char *named,
                          int32_t usual, int32_t eos, int64_t *beyond)
{
    int32_t id = named ? token_named(reading, k, knob, named) : usual;
    if (named || id >= 0) return id;
    if (eos >= 0 && eos < tokenizer_size(k)) return eos;
    if (*beyond < reading->model->vocab) return (int32_t)(*beyond)++;
    fail(EXIT_USAGE, NULL,
         "the tokenizer has no token for %s, and the model has no room beyond its %s; name one (--set %s=…, its text "
         "or id), or build with --set vocab=%lld",
         knob, tokenizer_words(k), knob, (long long)tokenizer_size(k) + 3);
}

static void settle_pair(Order *o, const Reading *reading, const Tokenizer *k)
{
    const Lathe_recipe *r = reading->recipe;
    int64_t beyond = tokenizer_size(k);
    const Usual_tokens usual = usual_tokens(k);
    o->eos = pair_token(reading, k, "eos", r->eos, usual.eos, -1, &beyond);
    o->bos = pair_token(reading, k, "bos", r->bos, usual.bos, o->eos, &beyond);
    o->pad = pair_token(reading, k, "pad", r->pad, usual.pad, o->eos, &beyond);
    if (o->bos < 0 || o->pad < 0)
        fail(EXIT_USAGE, NULL,
             "--set %s=none: a decoder needs a token to begin with, and short rows one to fill them; name it",
             o->bos < 0 ? "bos" : "pad");
}

void settle_specials(Order *o, const Reading *reading, const Tokenizer *k)
{
    if (o->pairs) settle_pair(o, reading, k);
    else settle_text(o, reading, k);
    if (o->bos >= o->ids || o->eos >= o->ids || o->sep >= o->ids || o->pad >= o->ids)
        fail(EXIT_USAGE, NULL,
             "the tokens around documents (bos, eos, sep, pad) are beyond the model's vocabulary of %lld",
             (long long)o->ids);
}

/* ------------------------------------------------------------------ targets that count */

void settle_pairs(Order *o, const Reading *reading)
{
    const Lathe_recipe *r = reading->recipe;
    bool can = lathe_ignores(&reading->model->recipe);
    if (r->loss_on == LATHE_LOSS_TARGET && !can)
        fail(EXIT_USAGE, NULL,
             "--set loss_on=target: this model was built to count every token; rebuild it with --set loss_on=target "
             "(data.text { loss_on = \"target\" })");
    o->pairs = reading->model->recipe.pairs;
    o->targets_only = !o->pairs && can && r->loss_on != LATHE_LOSS_ALL;
    o->all_count = r->loss_on == LATHE_LOSS_ALL;
    o->skip_long = r->on_long == LATHE_SKIP_LONG;
    o->source_seq = reading->model->source_seq;
    o->batch = reading->gpus * reading->model->batch;
    o->buckets = r->buckets;
}

bool names_setting(const Reading *r, const char *setting)
{
    for (int i = 0; i < r->named.n; i++)
        if (strcmp(r->named.at[i], setting) == 0) return true;
    return false;
}
