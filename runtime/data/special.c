/* special.c: the tokens around documents, between the halves of pairs and behind them: as the recipe names them,
 * or as the tokenizer has them. */
#include "trainer/trainer.h"

#include <ctype.h>
#include <string.h>

/* ------------------------------------------------------------------ by name */

/* The id of a special token by its text, or its number; "none": -1. */
static int32_t token_named(const Trainer *t, const Tokenizer *k, const char *knob, const char *text)
{
    int64_t id;
    if (strcmp(text, "none") == 0) return -1;
    if (isdigit((unsigned char)*text) && parse_count(text, &id) && id < t->model->vocab) return (int32_t)id;
    id = special_id(k, text);
    if (id < 0) id = token_of_text(k, text);
    if (id < 0)
        fail(EXIT_USAGE, NULL, "--set %s=%s: the tokenizer has no such token; give another, its number, or none", knob,
             text);
    return (int32_t)id;
}

/* The first of some that the tokenizer has; NULL ends them. */
static int32_t first_special(const Tokenizer *k, const char *const *names)
{
    int32_t id = -1;
    while (id < 0 && *names) id = special_id(k, *names++);
    return id;
}

static const char *const begins[] = {"<s>", "<bos>", "[BOS]", "<|startoftext|>", "<|begin_of_text|>", NULL};
static const char *const ends[] = {"</s>", "<eos>", "[EOS]", "<|endoftext|>", "<|end_of_text|>", NULL};
static const char *const pads[] = {"<pad>", "[PAD]", "<|pad|>", "<|padding|>", NULL};

Usual_tokens usual_tokens(const Tokenizer *k)
{
    return (Usual_tokens){first_special(k, begins), first_special(k, ends), first_special(k, pads)};
}

/* ------------------------------------------------------------------ documents */

/* Lines and paragraphs come without the newline at their end. */
static int32_t usual_end(const Trainer *t, const Tokenizer *k)
{
    int32_t id = special_id(k, "<|endoftext|>");
    bool parts = t->recipe.documents == LATHE_LINES || t->recipe.documents == LATHE_PARAGRAPHS;
    return id < 0 && parts ? token_of_text(k, "\n") : id;
}

static void settle_text(Order *o, const Trainer *t, const Tokenizer *k)
{
    const Lathe_recipe *r = &t->recipe;
    o->bos = r->bos ? token_named(t, k, "bos", r->bos) : -1;
    o->eos = r->eos ? token_named(t, k, "eos", r->eos) : r->documents == LATHE_WHOLE ? -1 : usual_end(t, k);
    o->sep = r->sep ? token_named(t, k, "sep", r->sep) : token_of_text(k, "\n");
    o->pair_end = r->eos || o->eos >= 0 ? o->eos : token_of_text(k, "\n");
}

/* ------------------------------------------------------------------ encoder and decoder */

/* As named; as tokenizers call it; eos, if the tokenizer has one; the next id that the model has beyond the
 * tokenizer's. */
static int32_t pair_token(const Trainer *t, const Tokenizer *k, const char *knob, const char *named,
                          const char *const *names, int32_t eos, int64_t *beyond)
{
    int32_t id = named ? token_named(t, k, knob, named) : first_special(k, names);
    if (named || id >= 0) return id;
    if (eos >= 0 && eos < tokenizer_size(k)) return eos;
    if (*beyond < t->model->vocab) return (int32_t)(*beyond)++;
    fail(EXIT_USAGE, NULL,
         "the tokenizer has no token for %s, and its %s are all that the model has room for; name one (--set %s=…, its "
         "text or id), or build with --set vocab=%lld",
         knob, tokenizer_words(k), knob, (long long)tokenizer_size(k) + 3);
}

static void settle_pair(Order *o, const Trainer *t, const Tokenizer *k)
{
    const Lathe_recipe *r = &t->recipe;
    int64_t beyond = tokenizer_size(k);
    o->eos = pair_token(t, k, "eos", r->eos, ends, -1, &beyond);
    o->bos = pair_token(t, k, "bos", r->bos, begins, o->eos, &beyond);
    o->pad = pair_token(t, k, "pad", r->pad, pads, o->eos, &beyond);
    if (o->bos < 0 || o->pad < 0)
        fail(EXIT_USAGE, NULL,
             "--set %s=none: a decoder begins with a token, and short rows are filled up with one; name it",
             o->bos < 0 ? "bos" : "pad");
}

void settle_specials(Order *o, const Trainer *t, const Tokenizer *k)
{
    if (o->pairs) settle_pair(o, t, k);
    else settle_text(o, t, k);
    if (o->bos >= o->ids || o->eos >= o->ids || o->sep >= o->ids || o->pad >= o->ids)
        fail(EXIT_USAGE, NULL,
             "the tokens around documents (bos, eos, sep, pad) are beyond the model's vocabulary of %lld",
             (long long)o->ids);
}

/* ------------------------------------------------------------------ what counts */

void settle_pairs(Order *o, const Trainer *t)
{
    const Lathe_recipe *r = &t->recipe;
    bool can = lathe_ignores(&t->model->recipe);
    if (r->loss_on == LATHE_LOSS_TARGET && !can)
        fail(EXIT_USAGE, NULL,
             "--set loss_on=target: this model was built to count every token; rebuild it with --set loss_on=target "
             "(data.text { loss_on = \"target\" })");
    o->pairs = t->model->recipe.pairs;
    o->targets_only = !o->pairs && can && r->loss_on != LATHE_LOSS_ALL;
    o->all_count = r->loss_on == LATHE_LOSS_ALL;
    o->skip_long = r->on_long == LATHE_SKIP_LONG;
    o->source_seq = t->model->source_seq;
    o->batch = gpus_of(t) * t->model->batch;
    o->buckets = r->buckets;
}
