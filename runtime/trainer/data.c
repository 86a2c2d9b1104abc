/* data.c: the data that a run reads, as its command line says.
 *
 * With --val-data, evaluations use all of other files, and training uses all of --data.  Those files are a second Data,
 * opened as `eval --data FILES --val-fraction 1` opens it, but with the tokenizer of the training data. */
#include "base/words.h"
#include "data/data.h"
#include "data/reading.h"
#include "model/origin.h"
#include "text/writing.h"
#include "token/tokenizer.h"
#include "trainer/data.h"
#include "trainer/knobs.h"
#include "trainer/memory.h"
#include "trainer/ranks.h"
#include "trainer/trainer.h"

#include <stdlib.h>
#include <string.h>

static void refuse_both(const Trainer *t)
{
    if (was_set(t, "fold")) fail(EXIT_USAGE, NULL, "--val-data and --fold both say which data is evaluated; give one");
    if (was_set(t, "val_fraction") && t->recipe.val_fraction > 0)
        fail(EXIT_USAGE, NULL, "--val-data and --val-fraction both say which data is evaluated; give one");
}

/* A resumed run keeps out of its training part what it kept out before. */
void settle_val_data(Trainer *t)
{
    if (t->val_data.n == 0) return;
    refuse_both(t);
    if (!t->resume) t->recipe.val_fraction = 0;
}

void evaluate_val_data(Trainer *t)
{
    if (t->val_data.n == 0) return;
    refuse_both(t);
    t->data = t->val_data;
    t->val_data = (Words){0};
    t->recipe.val_fraction = 1;
    t->recipe.mix = NULL;
}

/* ------------------------------------------------------------------ opening */

static void check_run_memory(const void *with, int64_t bytes, bool grows) { check_data_memory(with, bytes, grows); }

Reading *reading_of(const Trainer *t, bool training)
{
    Reading *r = must_alloc(sizeof *r);
    *r = (Reading){.model = t->model,
                   .recipe = &t->recipe,
                   .paths = t->data,
                   .named = settings_given(t),
                   .command = t->command,
                   .tokenizer = t->tokenizer,
                   .weights = t->weights,
                   .readers = t->readers,
                   .seed = t->seed,
                   .gpus = gpus_of(t),
                   .rank = &t->rank,
                   .tokenizer_given = t->tokenizer_given,
                   .training = training,
                   .own_classes = t->init_except != NULL,
                   .check_memory = strcmp(t->command, "train") == 0 ? check_run_memory : NULL,
                   .with = t};
    return r;
}

static void check_split(const Trainer *t)
{
    const Lathe_recipe *r = &t->recipe;
    if (!lathe_reads_rows(r) && (r->fold || was_set(t, "split")))
        fail(EXIT_USAGE, NULL, "%s divides rows, and %s reads text, of which --val-fraction F is kept for evaluation",
             r->fold ? "--fold" : "split", t->model->name);
    if (r->fold && was_set(t, "val_fraction") && (r->val_fraction < 1 || was_set(t, "fold")))
        fail(EXIT_USAGE, NULL,
             "fold %s and --val-fraction both say which rows are evaluated; give one (--val-fraction 1 alone: all)",
             r->fold);
}

/* Data to evaluate is read with the tokenizer saved beside the weights. */
void open_run_data(Data *d, const Trainer *t, bool training)
{
    Reading *r = reading_of(t, training);
    check_split(t);
    if (!training && t->data.n &&
        (reads_text(r) || t->model->recipe.table || t->model->recipe.images || t->model->recipe.audio ||
         t->model->recipe.series || t->model->recipe.sentences))
        r->weights = weights_path(t);
    open_data(d, r, NULL);
}

static void refuse_pipe(const Data *held)
{
    if (held->epochs && held->epochs->order.once)
        fail(EXIT_USAGE, held->reading->paths.at[0],
             "--val-data is read at the start and again on --resume, but standard input and pipes can be read only "
             "once; write the data into a file");
}

void open_val_data(Data *d, const Trainer *t)
{
    if (t->val_data.n == 0) return;
    Trainer *own = must_alloc(sizeof *own);
    *own = *t;
    own->command = "eval";
    evaluate_val_data(own);
    for (int i = 0; i < own->data.n; i++)
        if (strcmp(own->data.at[i], "-") == 0)
            fail(EXIT_USAGE, NULL, "--val-data -: standard input can be read only once; write the data into a file");
    d->held = must_alloc(sizeof *d->held);
    Reading *r = reading_of(own, false);
    r->schema = columns_of(d);
    r->classes = classes_of(d);
    open_data(d->held, r, d->tokenizer);
    refuse_pipe(d->held);
    tell_equal_rows(d, d->held);
    check_data_memory(t, data_heap(d), data_grows(d));
}

/* ------------------------------------------------------------------ what is written */

Writing writing_of(const Trainer *t)
{
    return (Writing){.model = t->model,
                     .recipe = &t->recipe,
                     .origin = t->origin,
                     .stop = t->stop,
                     .stop_tokens = t->stop_tokens,
                     .seed = t->seed,
                     .grammar = t->grammar,
                     .vocabulary = t->vocabulary,
                     .ignore_eos = t->ignore_eos,
                     .tokens_given = was_set(t, "sample_tokens")};
}

void settle_origin(Trainer *t, const Tokenizer *k)
{
    t->origin = t->weights ? read_origin(t->weights) : NULL;
    if (!t->origin || !k || !t->tokenizer_given || came_with(k, t->weights)) return;
    forget_tokens(t->origin);
    note("the tokenizer differs from that of %s: its chat template, and the ids that begin and end texts there, are "
         "left out of checkpoints",
         t->weights);
}
