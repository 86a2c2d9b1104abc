/* stop.c: the end of a text: tokens that end it, and texts that stop it (--stop), which may span tokens. */
#include "base/words.h"
#include "model/origin.h"
#include "text/beam.h"
#include "text/generate.h"
#include "text/writing.h"
#include "token/tokenizer.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ tokens */

void add_end(Ends *e, int64_t id, int64_t vocab)
{
    if (id < 0 || id >= vocab || is_end(e, (int32_t)id)) return;
    if (e->n == MAX_ENDS) fail(EXIT_USAGE, NULL, "more than %d tokens would end a text; leave some out", MAX_ENDS);
    e->id[e->n++] = (int32_t)id;
}

/* Names in published tokenizers of special tokens that end a text, or an assistant's turn. */
static const char *const usual_ends[] = {
    "<|endoftext|>", "<|end_of_text|>", "</s>",          "<eos>",           "[EOS]",
    "<|im_end|>",    "<|eot_id|>",      "<end_of_turn>", "<|eom_id|>",      "<|end|>",
    "<|return|>",    "<|call|>",        "<|endofturn|>", "<|end_of_turn|>", "<end_of_utterance>"};

static void add_named(Ends *e, const Writing *asked, const Tokenizer *k)
{
    for (int i = 0; i < asked->stop_tokens.n; i++) {
        const char *text = asked->stop_tokens.at[i];
        int64_t id;
        if (!isdigit((unsigned char)*text) || !parse_count(text, &id)) id = special_id(k, text);
        if (id < 0) id = token_of_text(k, text);
        if (id < 0 || id >= asked->model->vocab)
            fail(EXIT_USAGE, NULL,
                 "--stop-token %s: expected a token of the tokenizer (%s) or its number, below %lld; for a text of "
                 "several tokens, use --stop",
                 text, tokenizer_words(k), (long long)asked->model->vocab);
        add_end(e, id, asked->model->vocab);
    }
}

static void add_said_ends(Ends *e, const json_t *said, int64_t vocab)
{
    size_t i;
    json_t *id;
    if (json_is_integer(said)) add_end(e, json_integer_value(said), vocab);
    json_array_foreach(said, i, id) if (json_is_integer(id)) add_end(e, json_integer_value(id), vocab);
}

/* Adds the end tokens of config.json, generation_config.json and tokenizer_config.json; o may be NULL. */
static void add_origin_ends(const Origin *o, const Tokenizer *k, Ends *e, int64_t vocab)
{
    const json_t *token = json_object_get(origin_object(o, "tokenizer_config.json"), "eos_token");
    if (json_is_object(token)) token = json_object_get(token, "content");
    add_said_ends(e, json_object_get(origin_object(o, "generation_config.json"), "eos_token_id"), vocab);
    add_said_ends(e, json_object_get(origin_object(o, "config.json"), "eos_token_id"), vocab);
    if (json_is_string(token)) add_end(e, special_id(k, json_string_value(token)), vocab);
}

Ends ends_of_texts(const Writing *asked, const Tokenizer *k, bool pairs, int32_t settled)
{
    Ends e = {0};
    int64_t vocab = asked->model->vocab;
    add_end(&e, settled, vocab);
    add_named(&e, asked, k);
    if (pairs) return e;
    add_origin_ends(asked->origin, k, &e, vocab);
    for (size_t i = 0; i < sizeof usual_ends / sizeof *usual_ends; i++)
        add_end(&e, special_id(k, usual_ends[i]), vocab);
    return e;
}

/* ------------------------------------------------------------------ texts */

struct Stops {
    const Tokenizer *tokenizer;
    const Words *text;
    int64_t longest; /* bytes */
    char *room;      /* the end of a text, long enough for any stop */
    int64_t bytes, size;
};

Stops *open_stops(const Writing *asked, const Tokenizer *k)
{
    if (asked->stop.n == 0) return NULL;
    Stops *s = must_alloc(sizeof *s);
    *s = (Stops){.tokenizer = k, .text = &asked->stop};
    for (int i = 0; i < asked->stop.n; i++) {
        int64_t n = (int64_t)strlen(asked->stop.at[i]);
        if (n == 0) fail(EXIT_USAGE, NULL, "--stop \"\": expected a text, found none; every text would end at once");
        if (n > s->longest) s->longest = n;
    }
    return s;
}

void close_stops(Stops *s)
{
    if (s) free(s->room);
    free(s);
}

/* Puts into room the last token's bytes and enough earlier tokens for a stop that ends there. */
static void take_tail(Stops *s, const int32_t *token, int64_t n)
{
    const char *piece;
    int64_t first = n, bytes = 0, before = 0;
    for (; first == n || (first > 0 && before < s->longest - 1); first--) {
        int64_t more = token_bytes(s->tokenizer, token[first - 1], &piece);
        bytes += more;
        if (first < n) before += more;
    }
    if (bytes > s->size) s->room = must_grow(s->room, (size_t)(s->size = 2 * bytes));
    s->bytes = 0;
    for (int64_t i = first; i < n; i++) {
        int64_t more = token_bytes(s->tokenizer, token[i], &piece);
        memcpy(s->room + s->bytes, piece, (size_t)more);
        s->bytes += more;
    }
}

static int64_t place_of_word(const char *text, int64_t bytes, const char *word)
{
    int64_t n = (int64_t)strlen(word);
    for (int64_t i = 0; i + n <= bytes; i++) {
        const char *at = memchr(text + i, word[0], (size_t)(bytes - n - i + 1));
        if (!at) return -1;
        i = at - text;
        if (memcmp(at, word, (size_t)n) == 0) return i;
    }
    return -1;
}

int64_t bytes_to_stop(Stops *s, const int32_t *token, int64_t n, const char **which)
{
    int64_t first = -1;
    if (!s || n == 0) return 0;
    take_tail(s, token, n);
    for (int i = 0; i < s->text->n; i++) {
        int64_t at = place_of_word(s->room, s->bytes, s->text->at[i]);
        if (at < 0 || (first >= 0 && at >= first)) continue;
        first = at;
        *which = s->text->at[i];
    }
    return first < 0 ? 0 : s->bytes - first;
}

/* The length of the longest end of the text that begins a stop. */
int64_t unfinished_stop(const Words *stop, const char *text, int64_t bytes)
{
    int64_t most = 0;
    for (int i = 0; i < stop->n; i++) {
        int64_t n = (int64_t)strlen(stop->at[i]) - 1;
        if (n > bytes) n = bytes;
        while (n > most && memcmp(text + bytes - n, stop->at[i], (size_t)n) != 0) n--;
        if (n > most) most = n;
    }
    return most;
}
