/* table.c: a table of mixed columns: cells become numbers and ids.
 *
 * Kept in memory: 8 bytes a number, 4 a category.  Numbers are scaled to mean 0 and deviation 1 as a batch is filled;
 * a missing one is 0 then, the mean. */
#include "base/hash.h"
#include "base/words.h"
#include "data/cells.h"
#include "data/scale.h"
#include "data/table.h"
#include "model/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 8 }; /* columns that are told of */

struct Table {
    Schema *schema;
    int64_t rows, room;
    int slots;            /* numbers of a row, without flags */
    double *number;       /* [rows][slots], NAN: missing */
    int32_t *level;       /* [rows][categories] the level's number in its column; -1: unknown */
    double *target;       /* [rows][targets] */
    int64_t *unknown;     /* [columns] cells that are not known */
    char **first_unknown; /* [columns] its place and text */
    Table_reading how;
    uint64_t *key;  /* [rows] what the split compares; NULL: nothing */
    double *weight; /* [rows]; NULL: there is none */
};

/* ------------------------------------------------------------------ cells */

static double circle(double x, double period) { return 2 * 3.14159265358979323846 * x / period; }

/* A date's day, and where it is in the year and in the week. */
static void take_date(const Cells *c, int at, double *to)
{
    double day;
    if (!parse_date(cell(c, at), &day))
        fail(EXIT_DATA, cell_place(c, at), "expected a date such as 2024-02-29, as in training, found \"%.60s\"",
             cell(c, at));
    to[0] = day;
    to[1] = sin(circle(day, 365.2425)), to[2] = cos(circle(day, 365.2425));
    to[3] = sin(circle(day, 7)), to[4] = cos(circle(day, 7));
}

static int32_t take_level(Table *t, int column, const Cells *c, int at)
{
    const char *text = is_missing(cell(c, at)) ? "" : cell(c, at);
    int level = level_of(&t->schema->column[column], text);
    if (level < 0 && !t->unknown[column]++)
        t->first_unknown[column] = text_of("\"%.60s\" at %s", text, cell_place(c, at));
    return level;
}

static double take_target(const Table *t, const Column *target, const Cells *c, int at)
{
    double x = 0;
    if (is_missing(cell(c, at))) fail(EXIT_DATA, cell_place(c, at), "expected a value of the target, found none");
    if (!t->schema->classes) {
        number_of_cell(c, at, &x);
        return x;
    }
    int level = level_of(target, cell(c, at));
    if (level < 0)
        fail(EXIT_DATA, cell_place(c, at), "expected one of the %d classes of the training data, found \"%.60s\"",
             target->levels, cell(c, at));
    return target->id[level];
}

/* ------------------------------------------------------------------ rows */

static bool keeps_keys(const Split_rule *s)
{
    return reads_keys(s) && (s->by == LATHE_BY_HASH || s->by == LATHE_BY_GROUP);
}

static void make_room(Table *t)
{
    if (t->rows < t->room) return;
    t->room = t->room * 2 + 1024;
    t->number = must_grow(t->number, sizeof *t->number * (size_t)(t->room * t->slots + 1));
    t->level = must_grow(t->level, sizeof *t->level * (size_t)(t->room * t->schema->categories + 1));
    t->target = must_grow(t->target, sizeof *t->target * (size_t)(t->room * t->schema->targets));
    if (t->how.weight) t->weight = must_grow(t->weight, sizeof *t->weight * (size_t)t->room);
    if (keeps_keys(&t->how.split)) t->key = must_grow(t->key, sizeof *t->key * (size_t)t->room);
}

/* Of the group, or of the row as the file has it: columns may come in another order. */
static uint64_t key_of_cells(const Split_rule *s, const Cells *c, int group)
{
    uint64_t sum = 0;
    if (s->by == LATHE_BY_GROUP) return hash_of(cell(c, group), strlen(cell(c, group)));
    for (int k = 0; k < cell_count(c); k++) {
        Hash h;
        if (!*cell(c, k)) continue; /* a key of other JSON lines */
        hash_start(&h);
        hash_add(&h, column_name(c, k), strlen(column_name(c, k)) + 1);
        hash_add(&h, cell(c, k), strlen(cell(c, k)));
        sum += hash_end(&h);
    }
    return hash_of(&sum, sizeof sum);
}

static double take_weight(const Cells *c, int at)
{
    double x;
    if (is_missing(cell(c, at))) fail(EXIT_DATA, cell_place(c, at), "expected the weight of the row, found none");
    number_of_cell(c, at, &x);
    if (x < 0) fail(EXIT_DATA, cell_place(c, at), "expected a weight of 0 or more, found %g", x);
    return x;
}

typedef struct Places { /* of columns in a file */
    int *of_schema;     /* [columns] -1: it is not read */
    int group, weight;  /* -1: likewise */
} Places;

static void take_table_row(Table *t, const Cells *c, const Places *at)
{
    make_room(t);
    double *to = t->number + t->rows * t->slots;
    int32_t *level = t->level + t->rows * t->schema->categories;
    double *target = t->target + t->rows * t->schema->targets;
    for (int k = 0; k < t->schema->targets; k++) target[k] = 0;
    if (t->key) t->key[t->rows] = key_of_cells(&t->how.split, c, at->group);
    if (t->weight) t->weight[t->rows] = take_weight(c, at->weight);
    for (int k = 0; k < t->schema->columns; k++) {
        const Column *column = &t->schema->column[k];
        int slots = slots_of(column), here = at->of_schema[k];
        if (here < 0) continue;
        if (slots && is_missing(cell(c, here)))
            for (int i = 0; i < slots; i++) to[i] = NAN;
        else if (column->kind == COLUMN_NUMBER) number_of_cell(c, here, to);
        else if (column->kind == COLUMN_DATE) take_date(c, here, to);
        else if (column->kind == COLUMN_CATEGORY) *level++ = take_level(t, k, c, here);
        else if (column->kind == COLUMN_TARGET) *target++ = take_target(t, column, c, here);
        to += slots;
    }
    t->rows++;
}

static int *places_of_columns(const Table *t, Cells *c, const char *path)
{
    int *at = must_alloc(sizeof *at * (size_t)t->schema->columns);
    for (int k = 0; k < t->schema->columns; k++) {
        const Column *column = &t->schema->column[k];
        at[k] = -1;
        const bool target = column->kind == COLUMN_TARGET;
        if (column->kind == COLUMN_LEFT_OUT || (target && t->how.predicting)) continue;
        at[k] = place_of_column(c, column->name, target, path);
    }
    return at;
}

static int place_of_group(const Split_rule *s, const Cells *c, const char *path)
{
    int at = s->group ? column_named(c, s->group) : -1;
    if (s->by == LATHE_BY_GROUP && keeps_keys(s) && at < 0)
        fail(
            EXIT_DATA, path,
            "expected a column \"%.60s\", the group that rows are split by, found none among %d; to evaluate all rows, "
            "--val-fraction 1",
            s->group, cell_count(c));
    return at;
}

static int place_of_weight(const char *name, const Cells *c, const char *path)
{
    int at = name ? column_named(c, name) : -1;
    if (name && at < 0)
        fail(EXIT_DATA, path, "expected a column \"%.60s\", the weights of rows, found none among %d", name,
             cell_count(c));
    return at;
}

static void tell_unknown(const Table *t)
{
    int n = 0;
    for (int k = 0; k < t->schema->columns; k++)
        if (t->unknown[k] && n++ < SHOWN)
            note("column \"%s\": %lld value%s not in the training data, such as %s", t->schema->column[k].name,
                 (long long)t->unknown[k], t->unknown[k] == 1 ? " is" : "s are", t->first_unknown[k]);
    if (n > SHOWN) note("%d more column%s such values", n - SHOWN, n == SHOWN + 1 ? " has" : "s have");
}

static void load_file(Table *t, const char *path)
{
    Cells *c = open_cells(path);
    const Places at = {places_of_columns(t, c, path), place_of_group(&t->how.split, c, path),
                       place_of_weight(t->how.weight, c, path)};
    while (next_cells(c)) take_table_row(t, c, &at);
    free(at.of_schema);
    close_cells(c);
}

Table *load_table(const Words *paths, Schema *s, const Table_reading *how)
{
    Table *t = must_alloc(sizeof *t);
    t->schema = s;
    t->how = *how;
    if (how->predicting) t->how.weight = NULL;
    t->unknown = must_alloc(sizeof *t->unknown * (size_t)s->columns);
    t->first_unknown = must_alloc(sizeof *t->first_unknown * (size_t)s->columns);
    for (int k = 0; k < s->columns; k++) t->slots += slots_of(&s->column[k]);
    for (int i = 0; i < paths->n; i++) load_file(t, paths->at[i]);
    tell_unknown(t);
    return t;
}

/* ------------------------------------------------------------------ learning */

/* Ids of the column from `next` on, first its unknown one; returns the one after them. */
static int32_t learn_ids(const Table *t, const Learned *l, Column *c, int category, int32_t next)
{
    c->unknown = next++;
    int64_t *count = must_alloc(sizeof *count * (size_t)(c->levels + 1));
    for (int64_t i = 0; i < l->n; i++) {
        int32_t level = t->level[l->row[i] * (int64_t)t->schema->categories + category];
        if (level >= 0) count[level]++; /* below: the file has changed since its columns were found */
    }
    for (int k = 0; k < c->levels; k++) c->id[k] = count[k] > 1 ? next++ : c->unknown;
    free(count);
    return next;
}

void learn_columns(Table *t, const int32_t *row, int64_t rows)
{
    Schema *s = t->schema;
    const Learned l = {row, rows};
    int32_t next = 0;
    for (int k = 0, slot = 0, category = 0; k < s->columns; k++) {
        Column *c = &s->column[k];
        for (int i = 0; i < slots_of(c); i++, slot++)
            if (i == 0) learn_scale(c->name, &l, t->number + slot, t->slots, &c->mean[i], &c->deviation[i]);
            else c->deviation[i] = 1; /* sines and cosines are as they are */
        if (c->kind == COLUMN_CATEGORY) next = learn_ids(t, &l, c, category++, next);
    }
    for (int k = 0; k < s->targets && !s->classes; k++) {
        Column *target = target_column(s, k);
        learn_scale(target->name, &l, t->target + k, s->targets, target->mean, target->deviation);
        if (!(*target->deviation > 0))
            fail(EXIT_DATA, text_of("column \"%.60s\"", target->name),
                 "the target has the same value in all rows to train on");
    }
}

/* ------------------------------------------------------------------ batches */

int64_t table_rows(const Table *t) { return t->rows; }
Schema *table_schema(const Table *t) { return t->schema; }
double table_target(const Table *t, int64_t row, int k) { return t->target[row * t->schema->targets + k]; }

const uint64_t *table_keys(const Table *t) { return t->key; }

int64_t table_heap(const Table *t)
{
    return t->room *
           (8 * t->slots + 4 * t->schema->categories + 8 * t->schema->targets + (t->key ? 8 : 0) + (t->weight ? 8 : 0));
}

uint64_t table_row_hash(const Table *t, int64_t row)
{
    Hash h;
    hash_start(&h);
    hash_add(&h, t->number + row * t->slots, sizeof *t->number * (size_t)t->slots);
    hash_add(&h, t->level + row * t->schema->categories, sizeof *t->level * (size_t)t->schema->categories);
    hash_add(&h, t->target + row * t->schema->targets, sizeof *t->target * (size_t)t->schema->targets);
    return hash_end(&h);
}

uint64_t table_hash(const Table *t)
{
    Hash h;
    hash_start(&h);
    hash_add(&h, t->number, sizeof *t->number * (size_t)(t->rows * t->slots));
    hash_add(&h, t->level, sizeof *t->level * (size_t)(t->rows * t->schema->categories));
    hash_add(&h, t->target, sizeof *t->target * (size_t)(t->rows * t->schema->targets));
    if (t->weight) hash_add(&h, t->weight, sizeof *t->weight * (size_t)t->rows);
    return hash_end(&h);
}

static void fill_numbers(const Table *t, const Lathe_tensor *to, char *at, int64_t row, int64_t first)
{
    const double *x = t->number + row * t->slots;
    for (int k = 0; k < t->schema->columns; k++) {
        const Column *c = &t->schema->column[k];
        int slots = slots_of(c);
        for (int i = 0; i < slots; i++) write_real(to->dtype, at, first++, scaled(x[i], c->mean[i], c->deviation[i]));
        if (c->flagged) write_real(to->dtype, at, first++, isnan(x[0]));
        x += slots;
    }
}

static void fill_categories(const Table *t, int32_t *to, int64_t row)
{
    const int32_t *level = t->level + row * t->schema->categories;
    for (int k = 0; k < t->schema->columns; k++) {
        const Column *c = &t->schema->column[k];
        if (c->kind == COLUMN_CATEGORY) *to++ = *level < 0 ? c->unknown : c->id[*level], level++;
    }
}

static void fill_target(const Table *t, const Lathe_tensor *to, char *at, int64_t row, int64_t place)
{
    const int n = t->schema->targets;
    const double *x = t->target + row * n;
    if (to->dtype == LATHE_I32) ((int32_t *)(void *)at)[place] = (int32_t)*x;
    for (int k = 0; k < n && to->dtype != LATHE_I32; k++) {
        const Column *c = target_column(t->schema, k);
        write_real(to->dtype, at, place * n + k, scaled(x[k], *c->mean, *c->deviation));
    }
}

void fill_table(const Table *t, const Lathe_entry *e, char *in, const int64_t *row)
{
    for (int i = 0; i < e->inputs; i++) {
        const Lathe_tensor *to = &e->input[i];
        char *at = in + to->offset;
        for (int64_t r = 0; r < e->rows; r++) {
            if (weighs_rows(to)) write_real(to->dtype, at, r, t->weight[row[r]]);
            else if (to->role == LATHE_TARGETS) fill_target(t, to, at, row[r], r);
            else if (to->role == LATHE_FEATURES && to->dtype == LATHE_I32)
                fill_categories(t, (int32_t *)(void *)at + r * t->schema->categories, row[r]);
            else if (to->role == LATHE_FEATURES) fill_numbers(t, to, at, row[r], r * t->schema->numbers);
        }
    }
}

/* ------------------------------------------------------------------ sizes */

static _Noreturn void refuse_size(const Table *t, const char *path, const char *what, int64_t found, int64_t built)
{
    const char *group = t->how.split.group;
    fail(EXIT_DATA, path,
         "the data has %lld %s, and this trainer was built for %lld; build it for this data: lathe train MODEL.lua "
         "--data %s%s%s%s",
         (long long)found, what, (long long)built, path,
         group ? text_of("; column \"%.60s\", the group, is no input unless categories name it (--set as_categories=",
                         group)
               : "",
         group ? shell_word(group) : "", group ? ")" : "");
}

/* All ids are below it. */
static int64_t ids_of_categories(const Schema *s)
{
    int64_t next = 0;
    for (int k = 0; k < s->columns; k++) {
        const Column *c = &s->column[k];
        if (c->kind != COLUMN_CATEGORY) continue;
        if (c->unknown >= next) next = c->unknown + 1;
        for (int i = 0; i < c->levels; i++)
            if (c->id[i] >= next) next = c->id[i] + 1;
    }
    return next;
}

void check_sizes(const Table *t, const Lathe_entry *e, const char *path)
{
    const Schema *s = t->schema;
    int64_t next = ids_of_categories(s);
    for (int i = 0; i < e->inputs; i++) {
        const Lathe_tensor *x = &e->input[i];
        int64_t width = tensor_size(x) / e->rows, classes = s->column[s->target].levels;
        if (weighs_rows(x)) continue;
        if (x->role == LATHE_TARGETS && s->classes != (x->dtype == LATHE_I32))
            fail(EXIT_DATA, path,
                 "the target is %s, and this trainer was built for %s; build it for this data, or say task=%s",
                 s->classes ? "a class" : "a number", s->classes ? "a number" : "classes",
                 s->classes ? "real" : "class");
        if (x->role == LATHE_TARGETS && s->classes && classes != x->below)
            refuse_size(t, path, "classes", classes, x->below);
        if (x->role == LATHE_TARGETS && width != s->targets) refuse_size(t, path, "targets", s->targets, width);
        if (x->role != LATHE_FEATURES) continue;
        bool ids = x->dtype == LATHE_I32;
        if (!ids && width != s->numbers) refuse_size(t, path, "numbers", s->numbers, width);
        if (ids && width != s->categories) refuse_size(t, path, "categories", s->categories, width);
        if (ids && next > x->below) refuse_size(t, path, "values of categories", next, x->below);
    }
}
