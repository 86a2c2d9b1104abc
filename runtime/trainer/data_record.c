/* data_record.c: RUN/data.json: what a run's data is, how long its texts are, and how much of a batch is padding.
 *
 * Lengths are those that the model gets: of each step's inputs the documents in packed rows, texts and sources by the
 * inputs that have their lengths, and targets that count.  They are sums since the program's start, kept as whole
 * numbers; each rank on processors counts its rows, and rank 0 adds them up.  The file is written at the start, 2, 4,
 * 8, … seconds after it, and at the end. */
#include "trainer/data_record.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/words.h"
#include "model/tables.h"
#include "step/entry.h"
#include "trainer/ranks.h"
#include "trainer/shared.h"

#include <stdlib.h>

enum { BINS = 32, FIRST_FILE = 2 };

typedef struct Lengths {          /* of pieces of text */
    int64_t most_places;          /* of a row */
    int64_t pieces, used, places; /* used: places that have text */
    int64_t shortest, longest, full, bin[BINS + 1];
} Lengths;

enum { DOCUMENTS, TEXTS, SOURCES, KINDS };
static const char *const kinds[KINDS] = {"documents in packed rows", "texts", "sources"};

typedef struct Data_counts {
    int64_t rows, steps;
    Lengths lengths[KINDS];
    int64_t targets, counted; /* places of targets; those that losses count */
} Data_counts;

struct Data_record {
    const Trainer *t;
    const Data *d;
    int64_t items; /* of a step, at most */
    double started, next_file;
    Data_counts own, all; /* of this rank; of all ranks, when they were last added up */
};

/* ------------------------------------------------------------------ batches */

static void count_length(Lengths *l, int64_t length)
{
    if (l->pieces++ == 0 || length < l->shortest) l->shortest = length;
    if (length > l->longest) l->longest = length;
    l->used += length;
    l->full += length == l->most_places;
    l->bin[length * BINS / l->most_places]++;
}

/* Number k of a document in each place; 0: padding. */
static void add_packed(Lengths *l, const int32_t *segment, int64_t rows, int64_t seq)
{
    l->most_places = seq;
    for (int64_t r = 0; r < rows; r++, segment += seq)
        for (int64_t i = 0, end; i < seq; i = end) {
            for (end = i + 1; end < seq && segment[end] == segment[i]; end++) {}
            if (segment[i] > 0) count_length(l, end - i);
        }
    l->places += rows * seq;
}

static void add_lengths(Lengths *l, const int32_t *length, int64_t rows, int64_t most)
{
    l->most_places = most;
    for (int64_t r = 0; r < rows; r++)
        if (length[r] >= 0) count_length(l, length[r] < most ? length[r] : most);
    l->places += rows * most;
}

static void note_input(Data_record *r, const Lathe_tensor *x, const char *in)
{
    const Lathe_model *m = r->t->model;
    const int32_t *at = (const int32_t *)(const void *)(in + x->offset);
    const int64_t n = tensor_size(x), last = x->rank ? x->dim[x->rank - 1] : 1;
    if (x->dtype != LATHE_I32 || n < 1) return;
    Data_counts *c = &r->own;
    if (x->role == LATHE_SEGMENTS) add_packed(&c->lengths[DOCUMENTS], at, n / last, last);
    if (x->role == LATHE_LENGTHS && m->seq > 0) add_lengths(&c->lengths[TEXTS], at, n, m->seq);
    if (x->role == LATHE_SOURCE_LENGTHS && m->source_seq > 0) add_lengths(&c->lengths[SOURCES], at, n, m->source_seq);
    if (x->role != LATHE_TARGETS) return;
    c->targets += n;
    for (int64_t i = 0; i < n; i++) c->counted += at[i] >= 0;
}

void note_batch(Data_record *r, const Lathe_entry *e, const char *in)
{
    if (!r || on_device()) return;
    r->own.steps++;
    r->own.rows += e->rows;
    for (int i = 0; i < e->inputs; i++) note_input(r, &e->input[i], in);
}

/* ------------------------------------------------------------------ of all ranks */

static void add_other_lengths(Lengths *to, const Lengths *l)
{
    if (!l->pieces) return;
    if (!to->pieces || l->shortest < to->shortest) to->shortest = l->shortest;
    if (l->longest > to->longest) to->longest = l->longest;
    to->most_places = l->most_places;
    to->pieces += l->pieces;
    to->used += l->used;
    to->full += l->full;
    for (int k = 0; k <= BINS; k++) to->bin[k] += l->bin[k];
}

static void add_counts(Data_counts *to, const Data_counts *c)
{
    to->rows += c->rows;
    to->targets += c->targets;
    to->counted += c->counted;
    for (int k = 0; k < KINDS; k++) {
        add_other_lengths(&to->lengths[k], &c->lengths[k]);
        to->lengths[k].places += c->lengths[k].places;
    }
}

void share_counts(Data_record *r)
{
    const int ranks = gpus_of(r->t);
    Data_counts *of_rank = is_follower(r->t) ? NULL : must_alloc(sizeof *of_rank * (size_t)ranks);
    gather_bytes(&r->own, (char *)of_rank, sizeof r->own);
    r->all = r->own;
    for (int k = 1; k < ranks && of_rank; k++) add_counts(&r->all, &of_rank[k]);
    free(of_rank);
}

void add_up_data_record(Data_record *r)
{
    if (!r || !shares_steps(r->t)) return;
    order_counts(r->t);
    share_counts(r);
}

/* ------------------------------------------------------------------ the file */

static json_t *lengths_json(const Lengths *l, const char *of)
{
    json_t *all = json_object(), *bins = json_array();
    for (int k = 0; k <= BINS; k++) add_json(bins, json_integer(l->bin[k]));
    put_json(all, "of", json_string(of));
    put_json(all, "pieces", json_integer(l->pieces));
    put_json(all, "row", json_integer(l->most_places));
    put_json(all, "places", json_integer(l->places));
    put_json(all, "used", json_integer(l->used));
    put_json(all, "shortest", json_integer(l->shortest));
    put_json(all, "longest", json_integer(l->longest));
    put_json(all, "full", json_integer(l->full));
    put_json(all, "bins", bins);
    return all;
}

/* Tokens are counted before cutting. */
static json_t *pairs_json(const Pair_sum *s)
{
    json_t *all = json_object();
    put_json(all, "pairs", json_integer(s->pairs));
    put_json(all, "source", json_integer(s->source));
    put_json(all, "target", json_integer(s->target));
    put_json(all, "longest_source", json_integer(s->most_source));
    put_json(all, "longest_target", json_integer(s->most_target));
    put_json(all, "cut", json_integer(s->cut));
    put_json(all, "skipped", json_integer(s->skipped));
    return all;
}

/* Of the part kept for evaluation, a sample of all, which alone is read at the start. */
static json_t *source_json(const Epochs *e, int i)
{
    const Epoch_source *s = &e->source[i];
    const Document_sizes *held = &s->held.sizes;
    char *files = files_text(s);
    json_t *all = json_object();
    put_json(all, "path", s->path ? word_json(s->path) : json_null());
    put_json(all, "files", word_json(files));
    put_json(all, "share", json_real(source_share(e, i)));
    put_json(all, "held_documents", json_integer(held->documents));
    if (held->documents) {
        put_json(all, "held_tokens", json_integer(held->ids));
        put_json(all, "shortest", json_integer(held->shortest));
        put_json(all, "longest", json_integer(held->longest));
        put_json(all, "split", json_integer(held->split));
    }
    if (s->held.sum.pairs) put_json(all, "held_pairs", pairs_json(&s->held.sum));
    free(files);
    return all;
}

static json_t *record_json(const Data_record *r)
{
    const Data *d = r->d, *held = evaluated(d);
    json_t *all = json_object(), *sources = json_array(), *lengths = json_array();
    for (int i = 0; d->epochs && i < d->epochs->n; i++) add_json(sources, source_json(d->epochs, i));
    const Data_counts *c = shares_steps(r->t) ? &r->all : &r->own;
    for (int k = 0; k < KINDS; k++)
        if (c->lengths[k].pieces) add_json(lengths, lengths_json(&c->lengths[k], kinds[k]));
    put_json(all, "form", json_integer(1));
    put_json(all, "items", json_string(item_word(d)));
    put_json(all, "unit", json_string(has_tokens(d) ? "tokens" : item_word(d)));
    put_json(all, "train", d->epochs ? json_null() : json_integer(d->train)); /* epochs have not read all of it */
    put_json(all, "val", json_integer(d->epochs ? d->epochs->held_rows : held->val));
    put_json(all, "seq", json_integer(d->seq));
    const int64_t items = c->steps ? c->rows / c->steps : r->items;
    put_json(all, "items_a_step", json_integer(items));
    put_json(all, "places_a_step", json_integer(items * d->seq));
    put_json(all, "steps", json_integer(c->steps));
    put_json(all, "targets", json_integer(c->targets));
    put_json(all, "counted", json_integer(c->counted));
    put_json(all, "sources", sources);
    put_json(all, "lengths", lengths);
    return all;
}

static void write_record(const Data_record *r)
{
    Fault f = {0};
    json_t *all = record_json(r);
    char *text = json_written(all, JSON_COMPACT | JSON_REAL_PRECISION(7)), *line = text_of("%s\n", text),
         *path = text_of("%s/data.json", run_folder(r->t));
    replace_text(path, line, &f);
    clear_fault(&f); /* nothing depends on it */
    free(text), free(line), free(path);
    json_decref(all);
}

Data_record *count_data(const Trainer *t)
{
    Data_record *r = must_alloc(sizeof *r);
    *r = (Data_record){.t = t};
    return r;
}

Data_record *open_data_record(const Trainer *t, const Data *d, int64_t items)
{
    if (t->no_report) return NULL;
    Data_record *r = must_alloc(sizeof *r);
    *r = (Data_record){.t = t, .d = d, .items = items, .started = seconds_now(), .next_file = FIRST_FILE};
    write_record(r);
    return r;
}

void keep_data_record(Data_record *r)
{
    double now = r ? seconds_now() - r->started : 0;
    if (!r || now < r->next_file) return;
    add_up_data_record(r);
    write_record(r);
    r->next_file = 2 * now;
}

void close_data_record(Data_record *r)
{
    if (r) write_record(r);
    free(r);
}
