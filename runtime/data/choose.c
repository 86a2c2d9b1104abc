/* choose.c: which items a step reads: windows and rows; of documents, the stream knows (stream.c). */
#include "data/data.h"
#include "math/random.h"
#include "step/growth.h"

enum { WINDOW_SITE = 0x7fff0001, ORDER_SITE = 0x7fff0002 };

/* Fisher and Yates's shuffle of the training rows. */
static void shuffle(Data *d, int64_t epoch)
{
    for (int64_t i = 0; i < d->train; i++) d->order[i] = d->row[i];
    for (int64_t i = d->train - 1; i > 0; i--) {
        int64_t k = uniform_below(d->reading->seed, epoch, ORDER_SITE, i, i + 1);
        int32_t swap = d->order[i];
        d->order[i] = d->order[k];
        d->order[k] = swap;
    }
    d->epoch = epoch;
}

int64_t items_before(const Data *d, int64_t step)
{
    return d->reading->gpus * rows_before(d->reading->model, step) + d->more;
}

int64_t steps_for_items(const Data *d, int64_t items)
{
    const int64_t ranks = d->reading->gpus,
                  steps = steps_of_rows(d->reading->model, (items - d->more + ranks - 1) / ranks);
    return steps > 1 ? steps : 1;
}

/* The k-th item of a step behind `before` items. */
static int64_t train_item(Data *d, int64_t step, int64_t before, int64_t k)
{
    if (d->stretch) return (k * d->stretch + step % d->stretch) * d->seq;
    if (d->text) return uniform_below(d->reading->seed, step, WINDOW_SITE, k, d->train_items);
    int64_t position = before + k, epoch = position / d->train;
    if (epoch != d->epoch) shuffle(d, epoch);
    return d->order[position % d->train];
}

void train_items(Data *d, int64_t step, int64_t n, int64_t *item)
{
    int64_t before = items_before(d, step), first = n * *d->reading->rank;
    for (int64_t k = 0; k < n; k++) item[k] = train_item(d, step, before, first + k);
}

File_turn turn_of_row(void *with, int64_t step, int64_t rows, int64_t k)
{
    Data *d = with;
    int64_t before = items_before(d, step), at = (*d->reading->rank * rows + k) % (d->reading->gpus * rows);
    return (File_turn){train_item(d, step, before, at), (before + at) / d->train};
}

int64_t val_item(const Data *d, int64_t k)
{
    if (d->epochs) return k;
    return d->row ? d->row[d->train + k] : d->train + k * d->seq;
}
