/* draw.c: `trainer generate` for a model whose description draws samples itself. */
#include "base/json_text.h"
#include "base/words.h"
#include "model/block.h"
#include "step/entry.h"
#include "step/statistics.h"
#include "text/draw.h"
#include "text/generate.h"
#include "trainer/checkpoint.h"
#include "trainer/knobs.h"
#include "trainer/memory.h"
#include "trainer/samples.h"
#include "trainer/trainer.h"

#include <stdlib.h>

static _Noreturn void refuse_setting(const Trainer *t, const char *name)
{
    fail(EXIT_USAGE, NULL, "%s has no effect: %s draws whole samples with the function sample of its description", name,
         t->model->name);
}

/* Settings for drawing the next token from logits, or for the end of a text, have no effect here. */
static void refuse_settings(const Trainer *t)
{
    static const char *const names[] = {"sample_tokens", "temperature", "top_k", "top_p", "repetition_penalty"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (was_set(t, names[i])) refuse_setting(t, names[i]);
    if (t->stop.n) refuse_setting(t, "--stop");
    if (t->stop_tokens.n) refuse_setting(t, "--stop-token");
    if (t->ignore_eos) refuse_setting(t, "--ignore-eos");
}

static Passage *prompts_of(const Trainer *t, const Drawing *d, int n)
{
    Passage *all = must_alloc(sizeof *all * (size_t)n);
    for (int i = 0; i < n; i++) {
        Prompt p = prompt_number(t, i);
        all[i] = p.text;
        check_prompt(d, p.text, p.place);
    }
    return all;
}

static void draw_all(const Trainer *t, const Drawing *d, const Passage *prompt, int n, json_t *results)
{
    for (int i = 0; i < n; i++) {
        int64_t row = i % drawing_batch(d);
        if (row == 0) draw_batch(d, prompt + i, n - i, i / drawing_batch(d), 0);
        if (t->json) add_json(results, drawn_json(d, row, prompt[i]));
        else print_drawn(d, row);
        if (!t->json && i + 1 < n) show(stdout, "---\n");
    }
}

int draw_command(Trainer *t)
{
    static const Entry entries[] = {ENTRY_sample, NO_ENTRY};
    Memory memory;
    refuse_settings(t);
    int n = generated(t);
    char *path = weights_path(t);
    use_threads(t);
    take_memory(&memory, t, false, false, entries);
    Drawing *d = open_drawing(t->model, t->seed, &memory);
    if (draws_text(d)) set_drawing_tokens(d, vocabulary_of(t, path), "prompt");
    Passage *prompt = prompts_of(t, d, n);
    load_saved_weights(t, path, &memory);
    weights_up(t->model, &memory);
    json_t *results = json_array();
    draw_all(t, d, prompt, n, results);
    if (t->json) print_json(results);
    free(prompt);
    return 0;
}
