/* banner.c: the first lines of a run: model, memory, data, and the run folder. */
#include "base/words.h"
#include "data/data.h"
#include "interface/lathe_model.h"
#include "model/adapter.h"
#include "model/block.h"
#include "model/tables.h"
#include "ranks/courier.h"
#include "step/growth.h"
#include "token/tokenizer.h"
#include "trainer/memory.h"
#include "trainer/ranks.h"
#include "trainer/report.h"
#include "trainer/trainer.h"
#include "trainer/unsent.h"

#include <omp.h>
#include <stdlib.h>

/* "24 rows a step"; of a batch that grows "6 rows a step, 12 after step 10". */
static char *a_step(const Report *r, int64_t each, const char *unit)
{
    if (batch_grows(r->t->model)) return words_of_growth(r->t->model, each, unit);
    return text_of("%s %s a step", grouped_text(r->items_per_step * each), unit);
}

/* Sizes of the documents kept for evaluation.  These are drawn by their hashes, so they are a sample of all documents,
 * and the only ones read so far. */
static void print_sizes(const Block *held)
{
    const Document_sizes *s = &held->sizes;
    if (s->documents == 0) {
        show(stderr,
             "data: the number of documents and tokens is not known before they are read (`lathe data info`)\n");
        return;
    }
    show(stderr,
         "data: documents of %s to %s tokens, %s on average, %.0f %% of them split (of %s kept for evaluation, "
         "%s tokens%s)\n",
         grouped_text(s->shortest), grouped_text(s->longest), grouped_text(s->ids / s->documents),
         100 * (double)s->split / (double)s->documents, grouped_text(s->documents), grouped_text(s->ids),
         held->last ? ", all there are" : "");
}

static void print_epochs(const Report *r)
{
    const Epochs *e = r->data->epochs;
    char *what = e->n == 1 ? files_text(e->source) : text_of("%d sources", e->n);
    show(stderr, "data: %s; documents in epochs, %s tokens shuffled with each other, %d reader%s%s\n", what,
         grouped_text(e->order.block_tokens), e->readers, e->readers == 1 ? "" : "s", e->n == 1 ? "" : " each");
    if (e->order.pairs)
        show(stderr, "data: %s pairs to evaluate, %s; bos %d, eos %d, pad %d, the tokenizer's ids below %lld\n",
             grouped_text(e->held_rows), a_step(r, 1, "pairs"), e->order.bos, e->order.eos, e->order.pad,
             (long long)tokenizer_size(e->tokenizer));
    else
        show(stderr, "data: %s sequences of %s tokens to evaluate; %s%s\n", grouped_text(e->held_rows),
             grouped_text(e->order.seq), e->order.pack ? "up to " : "", a_step(r, e->order.seq, "tokens"));
    for (int i = 0; i < e->n; i++) {
        const Epoch_source *s = &e->source[i];
        if (e->n > 1) show(stderr, "data: %.4g %% from %s: %s\n", 100 * source_share(e, i), s->path, files_text(s));
        if (!e->order.pairs) print_sizes(&s->held);
    }
}

void print_banner(const Report *r)
{
    const Trainer *t = r->t;
    const Lathe_model *m = t->model;
    const Data *d = r->data;
    const char *unit = has_tokens(d) ? "tokens" : item_word(d);
    int64_t heap = data_heap(d) - planned(m, CATEGORY_data);
    char *split = d->val ? words_of_split(&d->rule) : NULL;
    show(stderr, "%s%s: %s parameters, %s, %d thread%s, %s of memory (%s beside it for the data's tables)\n", m->name,
         config_of(m), grouped_text(m->parameter_count), m->precision, omp_get_max_threads(),
         omp_get_max_threads() == 1 ? "" : "s", bytes_text(bytes_of_run(t)), bytes_text(heap > 0 ? heap : 0));
    char *trained = training_words(m);
    if (trained) show(stderr, "%s\n", trained);
    free(trained);
    if (m->teacher)
        show(stderr, "teacher: %s%s, %s parameters, %s\n", m->teacher->name, config_of(m->teacher),
             grouped_text(m->teacher->parameter_count), t->teacher);
    if (t->ranks)
        show(stderr, "%d %s, each with this memory and %s %s per step%s\n", gpus_of(t), m->device ? "GPUs" : "ranks",
             grouped_text(r->items_per_step / gpus_of(t)), item_word(d),
             carrier_in_use()
                 ? text_of("; %s%s", carrier_in_use()->name, sends_narrow(t) ? "; gradients sent as bf16" : "")
                 : "");
    if (d->files) show(stderr, "data: %s\n", words_of_files(d->files));
    if (d->sentences) show(stderr, "data: %s\n", words_of_sentences(d->sentences));
    if (d->epochs) print_epochs(r);
    else
        show(stderr, "data: %s %s to train on, %s to evaluate%s; %s\n", grouped_text(d->train), unit,
             grouped_text(d->held ? 0 : d->val), split ? text_of(" (%s)", split) : "", a_step(r, d->seq, unit));
    if (d->held)
        show(stderr, "data: %s %s of %s%s to evaluate\n", grouped_text(d->held->val_items), item_word(d->held),
             t->val_data.at[0], t->val_data.n > 1 ? ", …" : "");
    if (!r->metrics_path) return;
    show(stderr, "run: %s", run_folder(t));
    if (r->first) show(stderr, ", continues after step %lld of %lld", (long long)r->first, (long long)r->steps);
    fputc('\n', stderr);
}
