/* generate.c: `trainer generate`: texts for prompts, or for the sources of a file, printed as text or JSON. */
#include "base/file.h"
#include "base/json_text.h"
#include "base/utf8.h"
#include "base/words.h"
#include "data/chats.h"
#include "data/data.h"
#include "data/reading.h"
#include "model/block.h"
#include "model/origin.h"
#include "model/tables.h"
#include "step/entry.h"
#include "step/statistics.h"
#include "text/generate.h"
#include "token/tokenizer.h"
#include "trainer/checkpoint.h"
#include "trainer/data.h"
#include "trainer/memory.h"
#include "trainer/samples.h"
#include "trainer/state.h"
#include "trainer/trainer.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ as text, as JSON */

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

/* ------------------------------------------------------------------ onto the terminal */

typedef struct Shown { /* what was shown for the prompts so far */
    const Trainer *t;
    Text_writer *writer;
    const Tokenizer *tokenizer;
    const Passage *prompt;
    int64_t prompts;
    bool seen, lines;  /* seen: the text was shown token by token; lines: each text is a line of output */
    Text_written text; /* the part of the current text that was shown */
    size_t printed;    /* bytes of it; an incomplete character waits, and so does what may begin a stop text */
    json_t *results;
} Shown;

static void see_token(void *with, int32_t id)
{
    Shown *s = with;
    append_token(&s->text, s->tokenizer, id);
    size_t waiting = (size_t)unfinished_stop(&s->t->stop, s->text.at, (int64_t)s->text.bytes),
           whole = s->text.bytes - waiting;
    whole -= (size_t)unfinished_utf8(s->text.at, (int64_t)whole);
    if (whole <= s->printed) return;
    show_raw(stdout, s->text.at + s->printed, whole - s->printed);
    fflush(stdout);
    s->printed = whole;
}

static void print_written(const Shown *s, int64_t k, const Written *w)
{
    Text_written text = text_written(s->tokenizer, w);
    bug_if(text.bytes < s->printed);
    for (size_t i = 0; s->lines && i < text.bytes; i++)
        if (text.at[i] == '\n' || text.at[i] == '\r') text.at[i] = ' ';
    if (text.bytes > s->printed) show_raw(stdout, text.at + s->printed, text.bytes - s->printed);
    show(stdout, "\n%s", !s->lines && k + 1 < s->prompts ? "---\n" : "");
    fflush(stdout);
    free(text.at);
}

static void take_written(void *with, int64_t k, const Written *w)
{
    Shown *s = with;
    if (s->results) add_json(s->results, written_json(s->writer, s->tokenizer, s->prompt[k], w));
    else print_written(s, k, w);
    s->text.bytes = s->printed = 0;
}

/* ------------------------------------------------------------------ starting */

Tokenizer *vocabulary_of(Trainer *t, const char *weights)
{
    Reading *reading = reading_of(t, false);
    Tokenizer *own = choose_tokenizer(reading, weights);
    bool found = tokenizer_size(own) > 0;
    if (!found && tokenizer_kind(own) == TOKEN_CHARS && t->data.n) open_text(&t->data, own, t->model->vocab);
    if (tokenizer_kind(own) == TOKEN_BYTES && (!found || tokenizer_size(own) > t->model->vocab))
        limit_bytes(own, t->model->vocab);
    if (tokenizer_size(own) == 0)
        fail(EXIT_DATA, text_of("%s/tokenizer.json", folder_of(weights)),
             "expected the characters that the model was trained with, which train saves beside its weights; give the "
             "text it was trained on with --data");
    check_tokenizer_size(reading, own);
    free(reading);
    return own;
}

static int64_t copies(const Trainer *t) { return t->samples ? t->samples : 1; }

int generated(const Trainer *t)
{
    enum { MOST = 1000000 };
    int64_t prompts = t->prompts ? t->prompts->n : 1;
    if (copies(t) > MOST / prompts)
        fail(EXIT_USAGE, NULL, "--samples %lld: more than %d in all", (long long)t->samples, MOST);
    return (int)(prompts * copies(t));
}

Prompt prompt_number(const Trainer *t, int k)
{
    return t->prompts ? t->prompts->at[k / copies(t)] : (Prompt){{"", 0}, "prompt"};
}

/* The prompts: each --prompt by itself; for models that read sources, the sources of --data too. */
static const Passage *find_prompts(Shown *s, Item_list **items)
{
    const Trainer *t = s->t;
    bool file = reads_sources(s->writer) && t->data.n > 0;
    s->prompts = generated(t);
    if (file && t->prompts) fail(EXIT_USAGE, NULL, "--prompt and --data both give sources; give one");
    if (file) {
        *items = read_items(reading_of(t, false), s->tokenizer, 0, false);
        s->prompts = (*items)->n;
        s->lines = true;
        return (*items)->source;
    }
    Passage *all = must_alloc(sizeof *all * (size_t)s->prompts);
    for (int64_t k = 0; k < s->prompts; k++) {
        Prompt p = prompt_number(t, (int)k);
        all[k] = p.text;
        check_start(s->writer, p.text, p.place);
    }
    return all;
}

/* --chat: the form that the run was trained on. */
static Chat_form *settle_chat(Trainer *t, const Tokenizer *k)
{
    char *why;
    Chat_form *form = must_alloc(sizeof *form);
    if (t->system && !t->chat) fail(EXIT_USAGE, NULL, "--system is what the system says in a chat: give --chat too");
    if (!t->chat) return NULL;
    if (t->model->recipe.pairs)
        fail(EXIT_USAGE, NULL, "--chat: %s writes a target for a source, and knows no chats; leave it out",
             t->model->name);
    if (!t->prompts) fail(EXIT_USAGE, NULL, "--chat answers what a person says: give it with --prompt TEXT");
    if (!find_chat_form(&t->recipe, t->origin, k, form, &why)) fail(EXIT_DATA, t->weights, "--chat: %s", why);
    if (special_id(k, form->end) < 0) { /* the person's turn, or the end of the chat */
        add_word(&t->stop, text_of("%s%suser%s", form->end, form->before, form->after));
        add_word(&t->stop, text_of("%s\n", form->end));
    }
    return form;
}

static Writing asked_of(Trainer *t, const Tokenizer *k)
{
    const Chat_form *chat = settle_chat(t, k);
    Writing asked = writing_of(t);
    asked.chat = chat;
    if (t->system) asked.system = (Passage){t->system, (int64_t)strlen(t->system)};
    return asked;
}

int generate_command(Trainer *t)
{
    static const Entry entries[] = {ENTRY_decode, ENTRY_encode, NO_ENTRY};
    Shown s = {.t = t, .results = t->json ? json_array() : NULL};
    Memory memory;
    Item_list *items = NULL;
    if (t->out_given && t->weights)
        fail(EXIT_USAGE, NULL,
             "--out names the run whose weights are taken, and --weights names them too: leave one "
             "out; to write into a file: `> FILE`, for numbers `--json > FILE`");
    if (find_entry(t->model, ENTRY_sample)) return draw_command(t);
    if (t->to || t->only)
        fail(EXIT_USAGE, NULL,
             "--%s is of samples that are arrays, and %s writes texts; leave it out, and write `> FILE`",
             t->to ? "to" : "only", t->model->name);
    need_entry(t->model, ENTRY_decode);
    char *path = weights_path(t);
    take_own_settings(t, path, t->model->recipe.pairs ? NULL : "eos"); /* the tokens that begin and end texts */
    if (!t->model->recipe.pairs) take_own_settings(t, path, "chat");
    t->origin = read_origin(path);
    s.tokenizer = vocabulary_of(t, path);
    use_threads(t);
    take_memory(&memory, t, false, false, entries);
    s.writer = open_text_writer(asked_of(t, s.tokenizer), &memory, s.tokenizer, "prompt");
    s.prompt = find_prompts(&s, &items);
    load_saved_weights(t, path, &memory);
    weights_up(t->model, &memory);
    s.seen = writes_by_rows(s.writer) && !s.lines && !t->json;
    write_texts(s.writer, s.prompt, s.prompts, 0, 0, take_written, s.seen ? see_token : NULL, &s);
    if (t->json) print_json(s.results);
    if (sources_cut(s.writer))
        note("%lld of %lld sources were cut: they are longer than the %lld tokens that the model reads",
             (long long)sources_cut(s.writer), (long long)s.prompts, (long long)t->model->source_seq);
    return 0;
}
