/* draw.c: `trainer generate` for a model whose description draws samples itself. */
#include "base/file.h"
#include "base/json_text.h"
#include "base/words.h"
#include "model/block.h"
#include "model/tables.h"
#include "step/entry.h"
#include "step/statistics.h"
#include "text/draw.h"
#include "text/generate.h"
#include "trainer/checkpoint.h"
#include "trainer/knobs.h"
#include "trainer/memory.h"
#include "trainer/predict.h"
#include "trainer/samples.h"
#include "trainer/trainer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Noreturn void refuse_setting(const Trainer *t, const char *name)
{
    fail(EXIT_USAGE, NULL, "%s has no effect: %s draws whole samples with the function sample of its description", name,
         t->model->name);
}

/* Settings for drawing the next token from logits, or for the end of a text, have no effect here. */
static void refuse_settings(const Trainer *t)
{
    static const char *const names[] = {"sample_tokens", "temperature", "top_k", "top_p", "min_p", "repetition_penalty"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (was_set(t, names[i])) refuse_setting(t, names[i]);
    if (t->stop.n) refuse_setting(t, "--stop");
    if (t->stop_tokens.n) refuse_setting(t, "--stop-token");
    if (t->ignore_eos) refuse_setting(t, "--ignore-eos");
    if (t->grammar_file) refuse_setting(t, "--grammar");
    if (t->schema_file) refuse_setting(t, "--json-schema");
    if (t->chat) refuse_setting(t, "--chat");
    if (t->system) refuse_setting(t, "--system");
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

/* ------------------------------------------------------------------ --to */

static bool is_saved(const Trainer *t, const Lathe_tensor *o)
{
    return t->only ? strcmp(o->name, t->only) == 0 : strcmp(o->name, "tokens") != 0;
}

/* The output that is written into a file; NULL: samples are printed. */
static const Lathe_tensor *saved_output(const Trainer *t)
{
    const Lathe_entry *e = need_entry(t->model, ENTRY_sample);
    const Lathe_tensor *found = NULL;
    int n = 0;
    char *all = text_of("%s", "");
    for (int i = 0; i < e->outputs; i++) {
        all = text_of("%s%s%s", all, i ? ", " : "", e->output[i].name);
        if (is_saved(t, &e->output[i])) found = &e->output[i], n++;
    }
    if (!t->to && t->only) fail(EXIT_USAGE, NULL, "--only %s has no effect without --to FILE.npy", t->only);
    if (!t->to) return NULL;
    if (!has_end(t->to, ".npy")) fail(EXIT_USAGE, NULL, "--to %s: expected a file whose name ends in .npy", t->to);
    if (n != 1)
        fail(EXIT_USAGE, NULL, "--to %s: a .npy holds one array; name one of the outputs %s with --only", t->to, all);
    return found;
}

static void save_row(Out *file, const Lathe_tensor *o, const void *row)
{
    const int64_t n = tensor_size(o) / o->dim[0];
    if (o->dtype != LATHE_BF16 && o->dtype != LATHE_F16) return put_out(file, row, (size_t)(n * dtype_size(o->dtype)));
    for (int64_t k = 0; k < n; k++) put_out(file, &(float){(float)read_element(o->dtype, row, k)}, sizeof(float));
}

static void save_all(const Trainer *t, const Drawing *d, const Lathe_tensor *o, const Passage *prompt, int n)
{
    Fault f = {0};
    size_t bytes;
    char *aside = text_of("%s.part", t->to), *head = npy_head(o, n, &bytes);
    begin_unfinished(aside);
    Out *file = open_out(aside, &f);
    put_out(file, head, bytes);
    for (int i = 0; i < n && !f.path; i++) {
        int64_t row = i % drawing_batch(d);
        if (row == 0) draw_batch(d, prompt + i, n - i, i / drawing_batch(d), 0);
        save_row(file, o, drawn_row(d, o, row));
    }
    close_out(file);
    replace_file(aside, t->to, &f);
    if (f.path) fail(EXIT_ERROR, f.path, "%s", f.text);
    end_unfinished();
    show(stderr, "%s: %s %s of %d samples\n", t->to, o->name, dims_text(o->rank - 1, o->dim + 1), n);
    free(aside);
    free(head);
}

/* ------------------------------------------------------------------ all of them */

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
    const Lathe_tensor *saved = saved_output(t);
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
    if (saved) save_all(t, d, saved, prompt, n);
    else draw_all(t, d, prompt, n, results);
    if (t->json && !saved) print_json(results);
    free(prompt);
    return 0;
}
