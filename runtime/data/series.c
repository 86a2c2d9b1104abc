/* series.c: windows of time series: which there are, which are trained on, and how they get into an entry's inputs.
 *
 * A window is named by its first row: its `past` rows are known, the `ahead` rows after them are forecast.  Windows
 * share the rows of Series.number, which has each value once.
 *
 *     last            the first part of each series, n (1 - fraction) of its n rows, is trained on: windows lie within
 *                     it.  Evaluated are windows whose rows to forecast lie within the rest; their past may reach back.
 *     hash, group     whole series, by the hashes of their names. */
#include "base/hash.h"
#include "base/words.h"
#include "data/scale.h"
#include "data/series.h"
#include "model/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t STEP = 0x9E3779B97F4A7C15u; /* of hashes along time */

/* ------------------------------------------------------------------ opening */

/* Of an input of any entry: predict has no future. */
static const Lathe_tensor *input_of_series(const Lathe_model *m, const char *name)
{
    for (int i = 0; i < m->entries; i++)
        for (int k = 0; k < m->entry[i].inputs; k++)
            if (strcmp(m->entry[i].input[k].name, name) == 0) return &m->entry[i].input[k];
    return NULL;
}

static int64_t last_axis(const Lathe_tensor *t, int from_end) { return t->dim[t->rank - 1 - from_end]; }

static void check_width(const Series *s, const Lathe_tensor *t, const char *what, int64_t found)
{
    if (!t || last_axis(t, 0) == found) return;
    fail(EXIT_DATA, s->reading->paths.at[0],
         "the data has %lld %s (input %s), and this trainer was built for %lld; build it for this data: lathe train "
         "MODEL.lua --data %s",
         (long long)found, what, t->name, (long long)last_axis(t, 0), s->reading->paths.at[0]);
}

static void settle_sizes(Series *s)
{
    const Lathe_model *m = s->reading->model;
    const Lathe_tensor *past = input_of_series(m, "past"), *future = input_of_series(m, "future"),
                       *known = input_of_series(m, "known");
    if (!past || !future)
        fail(EXIT_USAGE, NULL, "%s does not read input.%s, so there is nothing to forecast", m->name,
             past ? "future" : "past");
    s->past = last_axis(past, 1), s->ahead = last_axis(future, 1);
    s->targets = s->schema->targets;
    s->channels = s->targets + columns_of_kind(s->schema, COLUMN_NUMBER);
    s->columns = s->channels + columns_of_kind(s->schema, COLUMN_KNOWN);
    check_width(s, past, "channels", s->channels);
    check_width(s, future, "columns to forecast", s->targets);
    check_width(s, known, "columns known ahead", s->columns - s->channels);
    if (!known && s->columns > s->channels)
        note("columns known ahead are not used: %s does not read input.known", m->name);
}

static uint64_t hash_of_time_row(const Series *s, int64_t row)
{
    return hash_of(s->number + row * s->columns, sizeof *s->number * (size_t)s->columns);
}

/* With the trail, the hash of rows a … b - 1 is trail[b] - trail[a] STEP^(b - a). */
static void leave_trail(Series *s)
{
    s->trail = must_alloc(sizeof *s->trail * (size_t)(s->rows + 1));
    for (int64_t r = 0; r < s->rows; r++) s->trail[r + 1] = s->trail[r] * STEP + hash_of_time_row(s, r);
}

static Schema *new_series_schema(const Reading *reading)
{
    const Lathe_recipe *r = reading->recipe;
    return find_series_schema(&reading->paths, &(Series_form){r->csv_target, r->past_columns, r->known_columns,
                                                              r->time_column, r->series_column, r->drop});
}

Series *open_series(const Reading *reading, Schema *known)
{
    Series *s = must_alloc(sizeof *s);
    s->reading = reading;
    s->schema = known ? known : new_series_schema(reading);
    settle_sizes(s);
    read_series(s);
    return s;
}

int64_t series_heap(const Series *s)
{
    return s->room * (8 * s->columns + (s->time ? 8 : 0)) + s->rows * ((s->observed ? s->columns : 0) + 8) +
           s->n * (int64_t)sizeof *s->at;
}

/* ------------------------------------------------------------------ which windows */

typedef struct Windows {
    int32_t *row;
    uint64_t *key; /* of the window's series; NULL: not wanted */
    int64_t n, room;
} Windows;

static int64_t stride_of(const Series *s) { return s->reading->recipe->stride ? s->reading->recipe->stride : 1; }

static void add_window(Windows *w, int64_t row, const One_series *q)
{
    if (w->n == w->room) {
        w->room = w->room * 2 + 1024;
        w->row = must_grow(w->row, sizeof *w->row * (size_t)w->room);
        if (q) w->key = must_grow(w->key, sizeof *w->key * (size_t)w->room);
    }
    if (q) w->key[w->n] = hash_of(q->name, strlen(q->name));
    w->row[w->n++] = (int32_t)row;
}

/* Windows whose rows to forecast are at `from` or after it, and before `to`. */
static void add_windows(const Series *s, Windows *w, const One_series *q, int64_t from, int64_t to, bool keyed)
{
    for (int64_t at = from > s->past ? from - s->past : 0; at + s->past + s->ahead <= to; at += stride_of(s))
        add_window(w, q->first + at, keyed ? q : NULL);
}

/* Rows of the series to train on. */
static int64_t rows_before_cut(const Split_rule *rule, const One_series *q)
{
    return (int64_t)((double)q->rows * (1 - rule->fraction));
}

static void tell_short(const Series *s, int64_t rows, const char *what)
{
    int64_t n = 0, longest = 0;
    const One_series *first = NULL;
    for (const One_series *q = s->at; q < s->at + s->n; q++) {
        if (q->rows > longest) longest = q->rows;
        if (q->rows < rows && !n++) first = q;
    }
    if (n && n < s->n)
        note("%s of the %s series %s fewer than %lld rows, %s, such as \"%.60s\" with %lld, and %s left out",
             grouped_text(n), grouped_text(s->n), n == 1 ? "has" : "have", (long long)rows, what, first->name,
             (long long)first->rows, n == 1 ? "is" : "are");
    if (n == s->n)
        fail(EXIT_DATA, s->reading->paths.at[0],
             "expected a series of at least %lld rows, %s; the longest of %s has %lld", (long long)rows, what,
             grouped_text(n), (long long)longest);
}

/* The window after which forecasts begin, and with every_window those before it. */
static void add_last_windows(const Series *s, Windows *w, const One_series *q)
{
    const Lathe_entry *e = find_entry(s->reading->model, ENTRY_predict);
    bool needs_known = false;
    for (int i = 0; i < e->inputs; i++)
        needs_known |= strcmp(e->input[i].name, "known") == 0 && s->reading->inputs >> (i < 63 ? i : 63) & 1;
    if (q->rows < s->past) return;
    if (needs_known && q->ahead < s->ahead)
        fail(EXIT_DATA, s->reading->paths.at[0],
             "expected the columns known ahead for the %lld rows after the last of series \"%.60s\", found %lld; add "
             "rows with these columns, the others empty",
             (long long)s->ahead, q->name, (long long)q->ahead);
    int64_t last = q->rows - s->past, at = s->reading->every_window ? last % stride_of(s) : last;
    for (; at <= last; at += stride_of(s)) add_window(w, q->first + at, NULL);
}

static int64_t divide_in_time(const Series *s, const Split_rule *rule, Windows *w)
{
    int64_t train = 0;
    for (int held = 0; held < 2; held++) {
        for (const One_series *q = s->at; q < s->at + s->n; q++) {
            int64_t cut = rows_before_cut(rule, q);
            add_windows(s, w, q, held ? cut : 0, held ? q->rows : cut, false);
        }
        if (!held) train = w->n;
    }
    return train;
}

static int64_t divide_by_series(const Series *s, const Split_rule *rule, Windows *w)
{
    for (const One_series *q = s->at; q < s->at + s->n; q++) add_windows(s, w, q, 0, q->rows, true);
    int32_t *place = must_alloc(sizeof *place * (size_t)(w->n + 1)),
            *row = must_alloc(sizeof *row * (size_t)(w->n + 1));
    int64_t train = split_rows(rule, w->n, w->key, place);
    for (int64_t i = 0; i < w->n; i++) row[i] = w->row[place[i]];
    free(place);
    free(w->row);
    w->row = row;
    return train;
}

static void check_rule(const Series *s, const Split_rule *rule)
{
    if (rule->by == LATHE_STRATIFIED)
        fail(EXIT_USAGE, NULL,
             "split=stratified divides classes; series are divided in time (last), or by hash or "
             "group: whole series");
    if (rule->folds && rule->by == LATHE_LAST_PART)
        fail(EXIT_USAGE, NULL,
             "--fold %lld/%lld: a part in the middle of a series would be evaluated by what came "
             "after it; folds are of whole series: --set split=group",
             (long long)rule->fold, (long long)rule->folds);
    if (reads_keys(rule) && s->n < 2)
        fail(EXIT_DATA, s->reading->paths.at[0],
             "expected at least 2 series, to train on and to evaluate, found %d; "
             "--set split=last divides one in time",
             s->n);
}

int64_t divide_series(const Series *s, const Split_rule *rule, int32_t **row, int64_t *train)
{
    Windows w = {0};
    *train = 0;
    if (s->reading->predicting) {
        tell_short(s, s->past, "which a forecast starts from");
        for (const One_series *q = s->at; q < s->at + s->n; q++) add_last_windows(s, &w, q);
    } else {
        check_rule(s, rule);
        tell_short(s, s->past + s->ahead, "a window");
        *train = reads_keys(rule) ? divide_by_series(s, rule, &w) : divide_in_time(s, rule, &w);
    }
    free(w.key);
    *row = w.row;
    return w.n;
}

/* ------------------------------------------------------------------ scales */

const One_series *series_of_row(const Series *s, int64_t row)
{
    int low = 0, high = s->n - 1;
    while (low < high) {
        int middle = (low + high + 1) / 2;
        if (s->at[middle].first <= row) low = middle;
        else high = middle - 1;
    }
    return &s->at[low];
}

/* Whether each series is in the training part; then all of it is, or in time its rows before the cut. */
static bool *find_trained(const Series *s, const Split_rule *rule, const int32_t *row, int64_t train)
{
    bool *trained = must_alloc((size_t)s->n + 1);
    for (int k = 0; k < s->n; k++) trained[k] = !reads_keys(rule);
    for (int64_t i = 0; i < train && reads_keys(rule); i++) trained[series_of_row(s, row[i]) - s->at] = true;
    return trained;
}

void learn_series(const Series *s, const Split_rule *rule, const int32_t *row, int64_t train)
{
    bool *trained = find_trained(s, rule, row, train);
    int32_t *all = must_alloc(sizeof *all * (size_t)(s->rows + 1));
    Learned l = {all, 0};
    for (int k = 0; k < s->n; k++) {
        int64_t rows = reads_keys(rule) ? s->at[k].rows : rows_before_cut(rule, &s->at[k]);
        for (int64_t r = 0; r < rows && trained[k]; r++) all[l.n++] = (int32_t)(s->at[k].first + r);
    }
    for (int k = 0; k < s->columns; k++) {
        Column *c = value_column(s->schema, k);
        learn_scale(c->name, &l, s->number + k, s->columns, c->mean, c->deviation);
    }
    free(all);
    free(trained);
}

void fill_missing(Series *s)
{
    for (const One_series *q = s->at; q < s->at + s->n && s->observed; q++)
        for (int64_t i = s->columns; i < (q->rows + q->ahead) * s->columns; i++) {
            double *x = s->number + q->first * s->columns + i;
            if (isnan(*x)) *x = x[-s->columns];
        }
    if (!s->reading->predicting) leave_trail(s);
}

/* ------------------------------------------------------------------ batches */

typedef struct Part_of_window {
    int64_t from, rows; /* rows of the window */
    int first, width;   /* columns of Series.number */
    bool observed;      /* whether they are there, not what they are */
} Part_of_window;

static bool part_of_input(const Series *s, const char *name, Part_of_window *p)
{
    const char *flags = strstr(name, "_observed");
    size_t n = flags ? (size_t)(flags - name) : strlen(name);
    *p = (Part_of_window){.rows = s->past, .width = s->channels, .observed = flags};
    if (strncmp(name, "past", n) == 0) return n == 4;
    if (strcmp(name, "known") == 0)
        *p = (Part_of_window){0, s->past + s->ahead, s->channels, s->columns - s->channels, false};
    else if (n == 6 && strncmp(name, "future", n) == 0) *p = (Part_of_window){s->past, s->ahead, 0, s->targets, flags};
    else return false;
    return true;
}

static void fill_part(const Series *s, const Lathe_tensor *t, char *at, int64_t place, int64_t item,
                      const Part_of_window *p, const Column *const *column)
{
    for (int64_t r = 0; r < p->rows; r++) {
        int64_t value = (item + p->from + r) * s->columns + p->first;
        for (int k = 0; k < p->width; k++, value++) {
            double x = p->observed ? !s->observed || s->observed[value]
                                   : scaled(s->number[value], *column[k]->mean, *column[k]->deviation);
            write_real(t->dtype, at, place++, x);
        }
    }
}

void fill_series(const Series *s, const Lathe_entry *e, char *in, const int64_t *item)
{
    const Column **column = must_alloc(sizeof(Column *) * (size_t)s->columns);
    for (int k = 0; k < s->columns; k++) column[k] = value_column(s->schema, k);
    for (int i = 0; i < e->inputs; i++) {
        const Lathe_tensor *t = &e->input[i];
        Part_of_window p;
        if (!part_of_input(s, t->name, &p)) continue; /* scalars */
        for (int64_t r = 0; r < e->rows; r++)
            fill_part(s, t, in + t->offset, r * p.rows * p.width, item[r], &p, column + p.first);
    }
    free(column);
}

/* ------------------------------------------------------------------ what there is */

double series_target(const Series *s, int64_t item, int64_t step, int k)
{
    int64_t value = (item + s->past + step) * s->columns + k;
    return s->observed && !s->observed[value] ? NAN : s->number[value];
}

uint64_t window_hash(const Series *s, int64_t item)
{
    uint64_t power = 1;
    for (int64_t i = 0; i < s->past + s->ahead; i++) power *= STEP;
    return s->trail[item + s->past + s->ahead] - s->trail[item] * power;
}

uint64_t series_hash(const Series *s)
{
    Hash h;
    hash_start(&h);
    for (const One_series *q = s->at; q < s->at + s->n; q++) {
        hash_add(&h, q->name, strlen(q->name) + 1);
        hash_add(&h, s->number + q->first * s->columns,
                 sizeof *s->number * (size_t)((q->rows + q->ahead) * s->columns));
        if (s->time) hash_add(&h, s->time + q->first, sizeof *s->time * (size_t)(q->rows + q->ahead));
        hash_add(&h, &q->rows, sizeof q->rows);
    }
    return hash_end(&h);
}
