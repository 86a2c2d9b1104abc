/* train_generate.c: `trainer generate`: feeds the decode entry one token at a time, its state kept between calls. */
#include "trainer.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

struct Generation {
    Trainer *t;
    const Lathe_entry *entry;
    Lathe_call call;
    Memory memory;
    Tokenizer *tokenizer;
    Encoder *encoder;
    const Lathe_tensor *token, *logits;
    int64_t context;  /* positions the model knows; 0: any number */
    int64_t position; /* tokens in the state */
    int32_t *history; /* prompt and what was generated */
    int64_t n, step;  /* step: of the run, where it samples */
    json_t *prompts;  /* of the run's samples */
    Drawing *drawing; /* where the model says itself how they are drawn; all but t, prompts is unused then */
};

/* ------------------------------------------------------------------ feeding tokens */

static void feed(Generation *g, int32_t id)
{
    memcpy(g->memory.call + g->token->offset, &id, sizeof id);
    set_scalars(g->entry, g->memory.call, g->t->seed, 0, g->position++);
    g->entry->run(&g->call);
}

static void forget(Generation *g)
{
    if (g->memory.state) memset(g->memory.state, 0, (size_t)g->t->model->state_bytes);
    g->position = 0;
}

/* Feeds history[k].  Past the context the state starts anew from the newer half of what it held. */
static void feed_next(Generation *g, int64_t k)
{
    if (g->context && g->position == g->context) {
        forget(g);
        for (int64_t i = k - g->context / 2; i < k; i++) feed(g, g->history[i]);
    }
    feed(g, g->history[k]);
}

/* ------------------------------------------------------------------ one prompt */

typedef struct Shown { /* what was generated, shown as it comes or gathered */
    bool gather;
    char *text;
    size_t bytes, room;
} Shown;

/* A character that is not whole yet is held back: the next token may end it. */
static void show(const Generation *g, Shown *s, int32_t id)
{
    const char *piece;
    size_t n = (size_t)token_bytes(g->tokenizer, id, &piece);
    if (!s->text || s->bytes + n > s->room) s->text = must_grow(s->text, s->room = 2 * (s->bytes + n) + 64);
    memcpy(s->text + s->bytes, piece, n);
    s->bytes += n;
    if (s->gather) return;
    size_t held = (size_t)unfinished_utf8(s->text, (int64_t)s->bytes), whole = s->bytes - held;
    fwrite(s->text, 1, whole, stdout);
    fflush(stdout);
    memmove(s->text, s->text + whole, held);
    s->bytes = held;
}

/* Without a prompt the text starts after a line's end, or with the first token if there is none. */
static void take_prompt(Generation *g, const char *prompt, int64_t tokens)
{
    Ids ids = {0};
    int32_t start = token_of_text(g->tokenizer, "\n");
    encode_bytes(g->encoder, prompt, (int64_t)strlen(prompt), &ids);
    g->history = must_alloc(sizeof *g->history * (size_t)(ids.n + tokens + 1));
    if (ids.n) memcpy(g->history, ids.at, sizeof *ids.at * (size_t)ids.n);
    g->n = ids.n;
    free_ids(&ids);
    if (g->n == 0) g->history[g->n++] = start < 0 ? 0 : start;
}

static void continue_prompt(Generation *g, int number, const char *prompt, int64_t tokens, Shown *shown)
{
    Sampler sampler;
    forget(g);
    take_prompt(g, prompt, tokens);
    int64_t given = *prompt ? g->n : 0, fed = 0;
    sampler_init(&sampler, g->t, tokenizer_size(g->tokenizer), number);
    sampler.step = g->step;
    for (int64_t i = 0; i < given; i++) show(g, shown, g->history[i]);
    for (int64_t made = 0; made < tokens; made++) {
        while (fed < g->n) {
            sampler.seen[g->history[fed]] = 1;
            feed_next(g, fed++);
        }
        int32_t id = sample_token(&sampler, g->logits->dtype, (char *)g->call.out + g->logits->offset, g->n);
        g->history[g->n++] = id;
        show(g, shown, id);
    }
    sampler_free(&sampler);
}

/* ------------------------------------------------------------------ starting */

static void find_tensors(Generation *g)
{
    const Lathe_model *m = g->t->model;
    g->entry = need_entry(m, "decode");
    g->token = tensor_with_role(g->entry, LATHE_TOKENS);
    g->logits = output_named(g->entry, "logits");
    if (!g->token) fail(EXIT_ERROR, NULL, "%s takes no tokens: there is no text to continue", m->name);
    if (!g->logits || tensor_size(g->logits) != m->vocab)
        fail(EXIT_ERROR, NULL,
             "%s has no output \"logits\" of %lld elements for one token, which generate draws from; return it from "
             "the description's forward",
             m->name, (long long)m->vocab);
    g->context = tensor_with_role(g->entry, LATHE_POSITION) ? m->seq : 0;
}

Tokenizer *vocabulary_of(Trainer *t, const char *weights)
{
    Tokenizer *own = choose_tokenizer(t, weights);
    bool found = tokenizer_size(own) > 0;
    if (!found && tokenizer_kind(own) == TOKEN_CHARS && t->data.n) open_text(&t->data, own, t->model->vocab);
    if (tokenizer_kind(own) == TOKEN_BYTES && (!found || tokenizer_size(own) > t->model->vocab))
        limit_bytes(own, t->model->vocab);
    if (tokenizer_size(own) == 0)
        fail(EXIT_DATA, text_of("%s/tokenizer.json", folder_of(weights)),
             "expected the characters that the model was trained with, "
             "as train leaves them beside its weights; give the text it was trained on with --data");
    check_tokenizer_size(t, own);
    return own;
}

/* Bytes need not be UTF-8; JSON must be: what is not becomes U+FFFD. */
json_t *text_json(const char *text, size_t bytes)
{
    char *clean = must_alloc(3 * bytes + 1), *to = clean;
    for (size_t i = 0; i < bytes;) {
        uint32_t code = 0xfffd;
        int n = decode_utf8((const unsigned char *)text + i, (int64_t)(bytes - i), &code);
        to += encode_utf8(n ? code : 0xfffd, to);
        i += n ? (size_t)n : 1;
    }
    json_t *s = json_stringn(clean, (size_t)(to - clean));
    free(clean);
    return s;
}

static json_t *sample_json(const Generation *g, const char *prompt, const Shown *s)
{
    json_t *all = json_object(), *tokens = json_array();
    for (int64_t i = 0; i < g->n; i++) json_array_append_new(tokens, json_integer(g->history[i]));
    json_object_set_new(all, "prompt", json_string(prompt));
    json_object_set_new(all, "text", text_json(s->text, s->bytes));
    json_object_set_new(all, "tokens", tokens);
    return all;
}

static int64_t tokens_of(const Generation *g)
{
    return g->t->recipe.sample_tokens > 0 ? g->t->recipe.sample_tokens : 256;
}

static int64_t copies(const Trainer *t) { return t->samples ? t->samples : 1; }

int generated(const Trainer *t)
{
    enum { MOST = 1000000 };
    int64_t prompts = t->prompt.n ? t->prompt.n : 1;
    if (copies(t) > MOST / prompts)
        fail(EXIT_USAGE, NULL, "--samples %lld: more than %d in all", (long long)t->samples, MOST);
    return (int)(prompts * copies(t));
}

const char *prompt_number(const Trainer *t, int k) { return t->prompt.n ? t->prompt.at[k / copies(t)] : ""; }

static void generate_one(Generation *g, int number, const char *prompt, json_t *results)
{
    Shown shown = {.gather = g->t->json};
    continue_prompt(g, number, prompt, tokens_of(g), &shown);
    if (shown.gather) json_array_append_new(results, sample_json(g, prompt, &shown));
    else if (shown.bytes) fwrite(shown.text, 1, shown.bytes, stdout); /* of a character that did not end */
    if (!shown.gather) printf("\n%s", number + 1 < generated(g->t) ? "---\n" : "");
    free(shown.text);
    free(g->history);
}

int generate_command(Trainer *t)
{
    static const char *const entries[] = {"decode", NULL};
    Generation g = {.t = t};
    if (find_entry(t->model, "sample")) return draw_command(t);
    find_tensors(&g);
    char *path = weights_path(t);
    g.tokenizer = vocabulary_of(t, path);
    g.encoder = open_encoder(g.tokenizer);
    encoder_place(g.encoder, "prompt");
    rt_init_gemm(t->threads ? t->threads : omp_get_max_threads());
    take_memory(&g.memory, t, false, false, entries);
    load_saved_weights(t, path, g.memory.params);
    g.call = call_of(&g.memory, g.entry);
    json_t *results = json_array();
    for (int i = 0; i < generated(t); i++) generate_one(&g, i, prompt_number(t, i), results);
    if (t->json) print_json(results);
    return 0;
}

/* ------------------------------------------------------------------ samples of a run */

static json_t *without_prompts(int64_t n)
{
    json_t *all = json_array();
    for (int64_t i = 0; i < n; i++) json_array_append_new(all, json_string(""));
    return all;
}

/* A JSON array of texts, a number of samples without any, or one text as it is. */
static json_t *read_prompts(const char *text)
{
    enum { MOST = 10000 };
    int64_t n;
    if (parse_count(text, &n)) {
        if (n < 1 || n > MOST) fail(EXIT_USAGE, NULL, "samples=%s: expected 1 to %d of them, or texts", text, MOST);
        return without_prompts(n);
    }
    json_t *all = *text == '[' ? json_loads(text, 0, NULL) : json_pack("[s]", text);
    bool texts = json_is_array(all);
    for (size_t i = 0; texts && i < json_array_size(all); i++) texts = json_is_string(json_array_get(all, i));
    if (!texts)
        fail(EXIT_USAGE, NULL, "samples=%s: expected a text, or a JSON array of texts, as [\"Once upon\", \"A\"]",
             text);
    return all;
}

static const char *prompt_of(const Generation *g, int k)
{
    return json_string_value(json_array_get(g->prompts, (size_t)k));
}

static void open_drawn_samples(Generation *g)
{
    g->drawing = open_drawing(g->t, &g->memory);
    if (draws_text(g->drawing)) set_drawing_tokens(g->drawing, g->tokenizer, "samples");
    for (int k = 0; k < sample_count(g); k++) check_prompt(g->drawing, prompt_of(g, k));
}

/* A batch at a time; the others of a batch lie where the call left them. */
static json_t *drawn_sample(const Generation *g, int k, int64_t step)
{
    int64_t rows = drawing_batch(g->drawing), row = k % rows, n = sample_count(g) - k;
    const char **prompt = must_alloc(sizeof *prompt * (size_t)n);
    for (int i = 0; i < n; i++) prompt[i] = prompt_of(g, k + i);
    if (row == 0) draw_batch(g->drawing, prompt, n, k / rows, step);
    free(prompt);
    return drawn_json(g->drawing, row, prompt_of(g, k));
}

Generation *open_samples(Trainer *t, const Memory *m, Tokenizer *tokenizer)
{
    if (!t->recipe.samples || !*t->recipe.samples) return NULL;
    Generation *g = must_alloc(sizeof *g);
    *g = (Generation){.t = t, .memory = *m, .tokenizer = tokenizer, .prompts = read_prompts(t->recipe.samples)};
    if (find_entry(t->model, "sample")) {
        open_drawn_samples(g);
        return g;
    }
    find_tensors(g);
    g->call = call_of(&g->memory, g->entry);
    g->encoder = open_encoder(tokenizer);
    encoder_place(g->encoder, "samples");
    for (int k = 0; k < sample_count(g); k++) {
        take_prompt(g, prompt_of(g, k), 0);
        free(g->history);
    }
    return g;
}

int sample_count(const Generation *g) { return (int)json_array_size(g->prompts); }

int sample_calls(const Generation *g)
{
    int n = sample_count(g), batch = g->drawing ? (int)drawing_batch(g->drawing) : 1;
    return (n + batch - 1) / batch;
}

json_t *draw_sample(Generation *g, int k, int64_t step)
{
    Shown shown = {.gather = true};
    if (g->drawing) return drawn_sample(g, k, step);
    g->step = step;
    continue_prompt(g, k, prompt_of(g, k), tokens_of(g), &shown);
    json_t *sample = sample_json(g, prompt_of(g, k), &shown);
    free(shown.text);
    free(g->history);
    return sample;
}
