/* val_data.c: --val-data: what is evaluated comes from files of its own, of which all is held back; of --data
 * nothing is then.  A Data beside the one that is trained on, opened as `eval --data FILES --val-fraction 1` would, but
 * for the tokenizer, which is the training's. */
#include "trainer/trainer.h"

#include <stdlib.h>
#include <string.h>

static void refuse_both(const Trainer *t)
{
    if (was_set(t, "val_fraction") && t->recipe.val_fraction > 0)
        fail(EXIT_USAGE, NULL, "--val-data and --val-fraction both say what is evaluated; give one");
}

/* A run that goes on keeps what it had left out of its training part. */
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

static void refuse_pipe(const Data *held)
{
    if (held->epochs && held->epochs->order.once)
        fail(EXIT_USAGE, held->t->data.at[0],
             "--val-data is read at the start and again when a run goes on, and standard input and pipes can be read "
             "once; "
             "write what it yields into a file");
}

void open_val_data(Data *d)
{
    if (d->t->val_data.n == 0) return;
    Trainer *t = must_alloc(sizeof *t);
    *t = *d->t;
    t->command = "eval";
    evaluate_val_data(t);
    for (int i = 0; i < t->data.n; i++)
        if (strcmp(t->data.at[i], "-") == 0)
            fail(EXIT_USAGE, NULL, "--val-data -: standard input can be read once; write what it yields into a file");
    d->held = must_alloc(sizeof *d->held);
    open_data_as(d->held, t, false, d->tokenizer);
    refuse_pipe(d->held);
    check_data_memory(d->t, data_heap(d));
}

const Data *evaluated(const Data *d) { return d->held ? d->held : d; }

static int64_t heap_of(const Data *d, bool held)
{
    if (d->epochs) return held ? held_bytes(d->epochs) : epochs_bytes(d->epochs);
    return d->text ? text_heap(d->text) : csv_heap(d->csv);
}

int64_t data_heap(const Data *d) { return heap_of(d, false) + (d->held ? heap_of(d->held, true) : 0); }
