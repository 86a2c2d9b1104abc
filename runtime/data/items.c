/* items.c: distinct sources of pairs, with all targets that the data has for each: texts are written for the sources
 * and compared with the targets. */
#include "base/words.h"
#include "data/data.h"
#include "data/reading.h"
#include "data/stream.h"
#include "interface/lathe_model.h"
#include "math/random.h"
#include "source/source.h"
#include "token/tokenizer.h"

#include <stdlib.h>
#include <string.h>

enum { ITEM_SITE = 0x7fff0009 };

typedef struct Seen { /* a source */
    uint64_t hash;
    int64_t first; /* document */
    int64_t item;  /* -1: it was not drawn */
} Seen;

typedef struct Finding {
    const Reading *reading;
    Sources *files;
    bool held; /* only pairs kept for evaluation */
    Seen *list;
    int64_t n, room;
} Finding;

/* ------------------------------------------------------------------ documents */

static Sources *open_pairs_of(const Reading *reading, const Tokenizer *k, bool held)
{
    const Lathe_recipe *r = reading->recipe;
    Source_options o = source_settings(r, tokenizer_kind(k) == TOKEN_BYTES);
    if (!names_setting(reading, "documents")) o.split = SPLIT_LINE;
    if (!held && r->text_field) o.target = NULL;
    o.targets = TARGETS_EACH;
    o.both = held;
    o.ids_below = reading->model->vocab;
    Sources *s = open_sources(&reading->paths, &o);
    for (int i = 0; i < s->n; i++)
        if (s->file[i].bytes < 0)
            fail(EXIT_USAGE, s->file[i].path,
                 "sources are read twice, but standard input and pipes can be read only once; write the data into a "
                 "file");
    return s;
}

static bool is_pair_wanted(const Finding *f, const Document *d)
{
    double part = f->reading->recipe->val_fraction;
    if (!d->text || !d->first || (f->held && !d->target)) return false;
    return !f->held || is_held(part, d->hash);
}

typedef void Take_document(Finding *f, void *with, const Document *d, int64_t number);

static void read_documents(Finding *f, Take_document *take, void *with)
{
    Reader *r = open_reader(f->files, LATHE_PART_BYTES, NULL, NULL);
    int64_t number = 0;
    Document d;
    for (int i = 0; i < f->files->n; i++) {
        reader_file(r, i, NULL);
        while (next_document(r, &d))
            if (is_pair_wanted(f, &d)) take(f, with, &d, number++);
    }
    close_reader(r);
}

/* ------------------------------------------------------------------ which sources */

static void see_document(Finding *f, void *with, const Document *d, int64_t number)
{
    (void)with;
    if (f->n == f->room) f->list = must_grow(f->list, sizeof *f->list * (size_t)(f->room = 2 * f->room + 1024));
    f->list[f->n++] = (Seen){d->hash, number, -1};
}

static int by_hash(const void *a, const void *b)
{
    const Seen *x = a, *y = b;
    if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

static int by_first(const void *a, const void *b)
{
    const Seen *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

/* Keeps the first of equal sources. */
static void drop_repeats(Finding *f)
{
    int64_t n = 0;
    if (f->n) qsort(f->list, (size_t)f->n, sizeof *f->list, by_hash);
    for (int64_t i = 0; i < f->n; i++)
        if (i == 0 || f->list[i].hash != f->list[n - 1].hash) f->list[n++] = f->list[i];
    f->n = n;
    if (n) qsort(f->list, (size_t)n, sizeof *f->list, by_first);
}

/* Draws items by the seed, without repeats (Fisher and Yates), and keeps their order.  Returns their number. */
static int64_t draw_items(Finding *f, int64_t most)
{
    int64_t n = most && most < f->n ? most : f->n, next = 0, *order = must_alloc(sizeof *order * (size_t)(f->n + 1));
    for (int64_t i = 0; i < f->n; i++) order[i] = i;
    for (int64_t i = 0; i < n; i++) {
        int64_t k = n == f->n ? i : i + uniform_below(f->reading->seed, 0, ITEM_SITE, i, f->n - i), swap = order[k];
        order[k] = order[i];
        order[i] = swap;
        f->list[swap].item = 0;
    }
    for (int64_t i = 0; i < f->n; i++)
        if (f->list[i].item == 0) f->list[i].item = next++;
    free(order);
    if (f->n) qsort(f->list, (size_t)f->n, sizeof *f->list, by_hash);
    return n;
}

/* ------------------------------------------------------------------ their texts */

static Passage copy_passage(const char *at, int64_t bytes)
{
    char *copy = must_alloc((size_t)bytes + 1);
    memcpy(copy, at, (size_t)bytes);
    return (Passage){copy, bytes};
}

static void take_document(Finding *f, void *with, const Document *d, int64_t number)
{
    Item_list *all = with;
    Seen key = {.hash = d->hash}, *at;
    int64_t from = 0, to = f->n;
    (void)number;
    while (to - from > 1) {
        int64_t middle = (from + to) / 2;
        if (f->list[middle].hash <= key.hash) from = middle;
        else to = middle;
    }
    at = &f->list[from];
    if (at->item < 0) return;
    Reference_list *l = &all->reference[at->item];
    if (!all->source[at->item].at) all->source[at->item] = copy_passage(d->text, d->bytes);
    if (!f->held) return;
    if (l->n == l->room) l->at = must_grow(l->at, sizeof *l->at * (size_t)(l->room = 2 * l->room + 4));
    l->at[l->n++] = copy_passage(d->target, d->target_bytes);
}

Item_list *read_items(const Reading *reading, const Tokenizer *k, int64_t most, bool held)
{
    Finding f = {.reading = reading, .files = open_pairs_of(reading, k, held), .held = held};
    Item_list *all = must_alloc(sizeof *all);
    read_documents(&f, see_document, NULL);
    drop_repeats(&f);
    if (f.n == 0)
        fail(EXIT_DATA, reading->paths.at[0], "expected pairs%s, found none%s", held ? " to evaluate" : "",
             held ? "; give more, or --val-fraction 1 for all" : "");
    all->found = f.n;
    all->n = draw_items(&f, most);
    all->source = must_alloc(sizeof *all->source * (size_t)all->n);
    all->reference = must_alloc(sizeof *all->reference * (size_t)all->n);
    read_documents(&f, take_document, all);
    close_sources(f.files);
    free(f.list);
    return all;
}
