/* samples.c: texts that a run writes after its evaluations, for prompts that stay the same.
 *
 * Samples and evaluations write only the inputs, outputs and states of their entries, and draw by seed and step, so
 * they do not change training in any bit. */
#include "base/json_text.h"
#include "base/words.h"
#include "model/block.h"
#include "model/tables.h"
#include "text/draw.h"
#include "text/generate.h"
#include "token/tokenizer.h"
#include "trainer/samples.h"
#include "trainer/shown.h"
#include "trainer/trainer.h"

#include <stdlib.h>
#include <string.h>

struct Samples {
    Text_writer *writer;
    Drawing *drawing; /* if the description's function sample draws them; otherwise NULL */
    const Tokenizer *tokenizer;
    json_t *prompts;
    json_t *sample; /* the last one written */
};

static json_t *without_prompts(int64_t n)
{
    json_t *all = json_array();
    for (int64_t i = 0; i < n; i++) add_json(all, json_string(""));
    return all;
}

/* Reads a JSON array of texts, a number of samples without prompts, or one plain text. */
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
        fail(EXIT_USAGE, NULL, "samples=%s: expected a text, or a JSON array of texts, such as [\"Once upon\", \"A\"]",
             text);
    return all;
}

static Passage prompt_of(const Samples *s, int k)
{
    const json_t *text = json_array_get(s->prompts, (size_t)k);
    return (Passage){json_string_value(text), (int64_t)json_string_length(text)};
}

static void open_drawn(Samples *s, const Trainer *t, const Memory *m, Tokenizer *tokenizer)
{
    s->drawing = open_drawing(t->model, t->seed, m);
    if (draws_text(s->drawing)) set_drawing_tokens(s->drawing, tokenizer, "samples");
    for (int k = 0; k < sample_count(s); k++) check_prompt(s->drawing, prompt_of(s, k), NULL);
}

/* Draws a batch at a time; the other samples of a batch stay in the outputs of that call. */
static json_t *drawn_sample(const Samples *s, int k, int64_t step)
{
    int64_t rows = drawing_batch(s->drawing), row = k % rows, n = sample_count(s) - k;
    Passage *prompt = must_alloc(sizeof *prompt * (size_t)n);
    for (int i = 0; i < n; i++) prompt[i] = prompt_of(s, k + i);
    if (row == 0) draw_batch(s->drawing, prompt, n, k / rows, step);
    free(prompt);
    return drawn_json(s->drawing, row, prompt_of(s, k));
}

bool wants_samples(const Trainer *t) { return t->recipe.samples && *t->recipe.samples; }

Samples *open_samples(const Trainer *t, const Memory *m, Tokenizer *tokenizer, Text_writer *w)
{
    if (!wants_samples(t)) return NULL;
    Samples *s = must_alloc(sizeof *s);
    *s = (Samples){.tokenizer = tokenizer, .prompts = read_prompts(t->recipe.samples)};
    if (find_entry(t->model, ENTRY_sample)) {
        open_drawn(s, t, m, tokenizer);
        return s;
    }
    s->writer = w;
    for (int k = 0; k < sample_count(s); k++) check_start(s->writer, prompt_of(s, k), "samples");
    return s;
}

int sample_count(const Samples *s) { return (int)json_array_size(s->prompts); }

int sample_calls(const Samples *s)
{
    int n = sample_count(s), batch = s->drawing ? (int)drawing_batch(s->drawing) : 1;
    return (n + batch - 1) / batch;
}

static void take_sample(void *with, int64_t k, const Written *w)
{
    Samples *s = with;
    s->sample = written_json(s->writer, s->tokenizer, prompt_of(s, (int)k), w);
}

json_t *draw_sample(Samples *s, int k, int64_t step)
{
    const Passage prompt = prompt_of(s, k);
    if (s->drawing) return drawn_sample(s, k, step);
    write_texts(s->writer, &prompt, 1, k, step, take_sample, NULL, s);
    return s->sample;
}
