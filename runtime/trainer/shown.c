/* shown.c: texts that a model wrote, as they are shown: their bytes, JSON, token by token on the way. */
#include "base/json_text.h"
#include "base/utf8.h"
#include "base/words.h"
#include "trainer/shown.h"

#include <stdlib.h>
#include <string.h>

/* Appends a token's bytes. */
static void append_token(Text_written *s, const Tokenizer *k, int32_t id)
{
    const char *piece;
    size_t n = (size_t)token_bytes(k, id, &piece);
    if (!s->at || s->bytes + n > s->room) s->at = must_grow(s->at, s->room = 2 * (s->bytes + n) + 64);
    memcpy(s->at + s->bytes, piece, n);
    s->bytes += n;
}

Text_written text_written(const Tokenizer *k, const Written *w)
{
    Text_written s = {0};
    for (int64_t i = w->shown; i < w->n; i++) append_token(&s, k, w->token[i]);
    s.bytes -= (size_t)w->cut;
    return s;
}

static json_t *extra_json(const Written *w, int k, int extras)
{
    json_t *list = json_array();
    int64_t n = w->n - w->from;
    for (int64_t i = 0; i < n; i++) {
        json_t *number = real_json((double)w->extra[i * extras + k]); /* NULL where it is not finite */
        add_json(list, number ? number : json_null());
    }
    return json_pack("{s:[I], s:o}", "shape", (json_int_t)n, "values", list);
}

json_t *written_json(const Text_writer *from, const Tokenizer *k, Passage prompt, const Written *w)
{
    json_t *all = json_object(), *tokens = json_array();
    Text_written s = text_written(k, w);
    int extras = writer_extras(from);
    for (int64_t i = 0; i < w->n; i++) add_json(tokens, json_integer(w->token[i]));
    put_json(all, "prompt", text_json(prompt.at, (size_t)prompt.bytes));
    put_json(all, "text", text_json(s.at, s.bytes));
    put_json(all, "tokens", tokens);
    if (w->scored) put_json(all, "score", real_json(w->score));
    put_json(all, "ended", json_boolean(w->ended));
    if (w->stop) put_json(all, "stop", text_json(w->stop, strlen(w->stop)));
    for (int i = 0; i < extras; i++) {
        json_t *outputs = json_object_get(all, "outputs");
        if (!outputs) put_json(all, "outputs", outputs = json_object());
        put_json(outputs, extra_name(from, i), extra_json(w, i, extras));
    }
    free(s.at);
    return all;
}

/* ------------------------------------------------------------------ on the way */

size_t extend_shown(Streamed *s, int32_t id)
{
    append_token(&s->text, s->tokenizer, id);
    size_t waiting = (size_t)unfinished_stop(s->stop, s->text.at, (int64_t)s->text.bytes),
           whole = s->text.bytes - waiting;
    return whole - (size_t)unfinished_utf8(s->text.at, (int64_t)whole);
}

void show_token(Streamed *s, int32_t id)
{
    size_t whole = extend_shown(s, id);
    if (whole <= s->printed) return;
    show_raw(stdout, s->text.at + s->printed, whole - s->printed);
    fflush(stdout);
    s->printed = whole;
}

void show_rest(Streamed *s, const Written *w, bool line)
{
    Text_written text = text_written(s->tokenizer, w);
    bug_if(text.bytes < s->printed);
    for (size_t i = 0; line && i < text.bytes; i++)
        if (text.at[i] == '\n' || text.at[i] == '\r') text.at[i] = ' ';
    if (text.bytes > s->printed) show_raw(stdout, text.at + s->printed, text.bytes - s->printed);
    s->text.bytes = s->printed = 0;
    free(text.at);
}
