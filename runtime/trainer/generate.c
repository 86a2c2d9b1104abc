/* generate.c: `trainer generate`: texts for prompts, or for the sources of a file, printed as text or JSON. */
#include "base/file.h"
#include "base/json_text.h"
#include "base/words.h"
#include "data/data.h"
#include "data/reading.h"
#include "model/block.h"
#include "model/origin.h"
#include "model/tables.h"
#include "step/entry.h"
#include "step/statistics.h"
#include "text/slots.h"
#include "token/tokenizer.h"
#include "trainer/checkpoint.h"
#include "trainer/constrain.h"
#include "trainer/data.h"
#include "trainer/memory.h"
#include "trainer/samples.h"
#include "trainer/shown.h"
#include "trainer/state.h"
#include "trainer/trainer.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

typedef struct Shown { /* what was shown for the prompts so far */
    Streamed out;
    Text_writer *writer;
    const Trainer *t;
    const Passage *prompt;
    int64_t prompts;
    bool seen, lines; /* seen: the text was shown token by token; lines: each text is a line of output */
    json_t *results;
} Shown;

static void see_token(void *with, int32_t id) { show_token(&((Shown *)with)->out, id); }

static void take_written(void *with, int64_t k, const Written *w)
{
    Shown *s = with;
    if (s->results) {
        add_json(s->results, written_json(s->writer, s->out.tokenizer, s->prompt[k], w));
        check_constrained(w);
        return;
    }
    show_rest(&s->out, w, s->lines);
    show(stdout, "\n%s", !s->lines && k + 1 < s->prompts ? "---\n" : "");
    fflush(stdout);
    check_constrained(w);
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
        *items = read_items(reading_of(t, false), s->out.tokenizer, 0, false);
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

void check_weights_named(const Trainer *t)
{
    if (t->out_given && t->weights)
        fail(EXIT_USAGE, NULL,
             "--out names the run whose weights are taken, and --weights names them too: leave one "
             "out; to write into a file: `> FILE`, for numbers `--json > FILE`");
}

/* Several texts are drawn in slots, where there are some; beams need one position for all rows. */
static bool in_slots(const Trainer *t)
{
    return generated(t) > 1 && !t->recipe.beams && find_entry(t->model, ENTRY_slots);
}

static void write_prompts(Shown *s, const Memory *memory)
{
    bool several = in_slots(s->t);
    s->seen = writes_by_rows(s->writer) && !several && !s->lines && !s->t->json;
    if (several) write_in_slots(open_slots(s->writer, memory, true), s->prompt, s->prompts, take_written, s);
    else write_texts(s->writer, s->prompt, s->prompts, 0, 0, take_written, s->seen ? see_token : NULL, s);
}

int generate_command(Trainer *t)
{
    static const Entry one[] = {ENTRY_decode, ENTRY_prefill, ENTRY_encode, NO_ENTRY},
                       several[] = {ENTRY_decode, ENTRY_prefill, ENTRY_slots, NO_ENTRY};
    Shown s = {.t = t, .out.stop = &t->stop, .results = t->json ? json_array() : NULL};
    Memory memory;
    Item_list *items = NULL;
    check_weights_named(t);
    if (find_entry(t->model, ENTRY_sample)) return draw_command(t);
    if (t->to || t->only)
        fail(EXIT_USAGE, NULL,
             "--%s is of samples that are arrays, and %s writes texts; leave it out, and write `> FILE`",
             t->to ? "to" : "only", t->model->name);
    need_entry(t->model, ENTRY_decode);
    char *path = weights_path(t);
    take_own_settings(t, path, t->model->recipe.pairs ? NULL : "eos"); /* the tokens that begin and end texts */
    if (t->chat) take_own_settings(t, path, "bos");
    if (t->chat) take_own_settings(t, path, "chat");
    t->origin = read_origin(path);
    s.out.tokenizer = vocabulary_of(t, path);
    take_grammar(t, s.out.tokenizer);
    use_threads(t);
    take_memory(&memory, t, false, false, in_slots(t) ? several : one);
    s.writer = open_text_writer(t->chat || t->system ? chat_of(t, s.out.tokenizer) : writing_of(t), &memory,
                                s.out.tokenizer, "prompt");
    s.prompt = find_prompts(&s, &items);
    load_saved_weights(t, path, &memory);
    weights_up(t->model, &memory);
    write_prompts(&s, &memory);
    if (t->json) print_json(s.results);
    if (sources_cut(s.writer))
        note("%lld of %lld sources were cut: they are longer than the %lld tokens that the model reads",
             (long long)sources_cut(s.writer), (long long)s.prompts, (long long)t->model->source_seq);
    return 0;
}
