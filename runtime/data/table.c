/* table.c: a table of mixed columns: cells become numbers and ids.
 *
 * A row is kept as 8 bytes a number, 4 a category (data/stored.c).  Numbers are scaled to mean 0 and deviation 1 as a
 * batch is filled; a missing one is 0 then, the mean. */
#include "base/hash.h"
#include "base/words.h"
#include "data/cells.h"
#include "data/files.h"
#include "data/scale.h"
#include "data/stored.h"
#include "data/table.h"
#include "math/double.h"
#include "model/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 8 }; /* columns that are told of */

/* A stored row is, one after another:
 *     double number [slots]        NAN: missing
 *     double target [targets]
 *     double weight                if there are weights
 *     uint64_t key                 if the split compares them: of the row's texts, or of its group
 *     int32_t level [categories]   the level's number in its column; -1: unknown */
struct Table {
    Schema *schema;
    Stored *rows;
    int slots;                  /* numbers of a row, without flags */
    int64_t weight, key, level; /* where they begin in a row, in units of 8 bytes */
    int64_t *unknown;           /* [columns] cells that are not known */
    char **first_unknown;       /* [columns] its place and text */
    Table_reading how;
};

static const double *row_of(const Table *t, int64_t row) { return stored_row(t->rows, row); }
static const double *targets_of(const Table *t, int64_t row) { return row_of(t, row) + t->slots; }
static const int32_t *levels_of(const Table *t, int64_t row) { return (const void *)(row_of(t, row) + t->level); }

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
    to[1] = sin_f64(circle(day, 365.2425)), to[2] = cos_f64(circle(day, 365.2425));
    to[3] = sin_f64(circle(day, 7)), to[4] = cos_f64(circle(day, 7));
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
    double *row = add_stored(t->rows), *to = row, *target = row + t->slots;
    int32_t *level = (void *)(row + t->level);
    if (t->key < t->level) *(uint64_t *)(void *)(row + t->key) = key_of_cells(&t->how.split, c, at->group);
    if (t->weight < t->key) row[t->weight] = take_weight(c, at->weight);
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
        fail(EXIT_DATA, path,
             "expected a column \"%.60s\", the group that rows are split by, found none %s; to evaluate all rows, "
             "--val-fraction 1",
             s->group, among_columns(c, s->group));
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
                       place_of_weight(c, t->how.weight, path)};
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
    t->weight = t->slots + s->targets;
    t->key = t->weight + (t->how.weight != NULL);
    t->level = t->key + keeps_keys(&how->split);
    t->rows = open_stored(8 * t->level + (4 * (int64_t)s->categories + 7) / 8 * 8);
    for (int i = 0; i < paths->n; i++) load_file(t, paths->at[i]);
    tell_unknown(t);
    return t;
}

/* ------------------------------------------------------------------ learning */

typedef struct Sums {       /* from rows in their order */
    Scale *number, *target; /* [slots], [targets] */
    double *number_mean, *target_mean;
    int64_t **count; /* [categories][levels] rows */
} Sums;

static Sums start_sums(const Table *t)
{
    const Schema *s = t->schema;
    Sums l = {.number = must_alloc(sizeof *l.number * (size_t)(t->slots + 1)),
              .target = must_alloc(sizeof *l.target * (size_t)(s->targets + 1)),
              .number_mean = must_alloc(sizeof *l.number_mean * (size_t)(t->slots + 1)),
              .target_mean = must_alloc(sizeof *l.target_mean * (size_t)(s->targets + 1)),
              .count = must_alloc(sizeof *l.count * (size_t)(s->categories + 1))};
    for (int i = 0; i < t->slots; i++) start_scale(&l.number[i]);
    for (int k = 0; k < s->targets; k++) start_scale(&l.target[k]);
    for (int k = 0, category = 0; k < s->columns; k++)
        if (s->column[k].kind == COLUMN_CATEGORY)
            l.count[category++] = must_alloc(sizeof **l.count * (size_t)(s->column[k].levels + 1));
    return l;
}

static void free_sums(const Table *t, Sums *l)
{
    for (int k = 0; k < t->schema->categories; k++) free(l->count[k]);
    free(l->number), free(l->target), free(l->number_mean), free(l->target_mean), free(l->count);
}

static void sum_rows(const Table *t, Sums *l, const int32_t *row, int64_t rows)
{
    const int targets = t->schema->targets, categories = t->schema->categories;
    for (int64_t r = 0; r < rows; r++) {
        const double *x = row_of(t, row[r]);
        const int32_t *level = levels_of(t, row[r]);
        for (int i = 0; i < t->slots; i++) see_number(&l->number[i], x[i]);
        for (int k = 0; k < targets; k++) see_number(&l->target[k], x[t->slots + k]);
        for (int k = 0; k < categories; k++)
            if (level[k] >= 0) l->count[k][level[k]]++; /* below: the file has changed since its columns were found */
    }
    for (int i = 0; i < t->slots; i++) l->number_mean[i] = mean_of_scale(&l->number[i]);
    for (int k = 0; k < targets; k++) l->target_mean[k] = mean_of_scale(&l->target[k]);
    for (int64_t r = 0; r < rows; r++) {
        const double *x = row_of(t, row[r]);
        for (int i = 0; i < t->slots; i++) see_deviation(&l->number[i], x[i], l->number_mean[i]);
        for (int k = 0; k < targets; k++) see_deviation(&l->target[k], x[t->slots + k], l->target_mean[k]);
    }
}

/* Ids of the column from `next` on, first its unknown one; returns the one after them. */
static int32_t learn_ids(Column *c, const int64_t *count, int32_t next)
{
    c->unknown = next++;
    for (int k = 0; k < c->levels; k++) c->id[k] = count[k] > 1 ? next++ : c->unknown;
    return next;
}

static void learn_targets(Schema *s, const Sums *l)
{
    for (int k = 0; k < s->targets && !s->classes; k++) {
        Column *target = target_column(s, k);
        *target->mean = l->target_mean[k];
        *target->deviation = deviation_of_scale(&l->target[k], target->name, *target->mean);
        if (!(*target->deviation > 0))
            fail(EXIT_DATA, text_of("column \"%.60s\"", target->name),
                 "the target has the same value in all rows to train on");
    }
}

void learn_columns(Table *t, const int32_t *row, int64_t rows)
{
    Schema *s = t->schema;
    Sums l = start_sums(t);
    int32_t next = 0;
    sum_rows(t, &l, row, rows);
    for (int k = 0, slot = 0, category = 0; k < s->columns; k++) {
        Column *c = &s->column[k];
        for (int i = 0; i < slots_of(c); i++, slot++) {
            c->mean[i] = i ? 0 : l.number_mean[slot];
            c->deviation[i] = i ? 1 : deviation_of_scale(&l.number[slot], c->name, *c->mean);
        } /* sines and cosines are as they are */
        if (c->kind == COLUMN_CATEGORY) next = learn_ids(c, l.count[category++], next);
    }
    learn_targets(s, &l);
    free_sums(t, &l);
}

/* ------------------------------------------------------------------ batches */

int64_t table_rows(const Table *t) { return stored_rows(t->rows); }
Schema *table_schema(const Table *t) { return t->schema; }
double table_target(const Table *t, int64_t row, int k) { return targets_of(t, row)[k]; }
int64_t table_heap(const Table *t) { return stored_heap(t->rows); }
bool table_has_keys(const Table *t) { return t->key < t->level; }

uint64_t table_key(const Table *t, int64_t row)
{
    bug_if(!table_has_keys(t));
    return *(const uint64_t *)(const void *)(row_of(t, row) + t->key);
}

uint64_t table_row_hash(const Table *t, int64_t row)
{
    Hash h;
    hash_start(&h);
    hash_add(&h, row_of(t, row), sizeof(double) * (size_t)t->slots);
    hash_add(&h, levels_of(t, row), sizeof(int32_t) * (size_t)t->schema->categories);
    hash_add(&h, targets_of(t, row), sizeof(double) * (size_t)t->schema->targets);
    return hash_end(&h);
}

uint64_t table_hash(const Table *t)
{
    Hash h;
    hash_start(&h);
    hash_stored(&h, t->rows, 0, 8 * (int64_t)t->slots);
    hash_stored(&h, t->rows, 8 * t->level, 4 * (int64_t)t->schema->categories);
    hash_stored(&h, t->rows, 8 * (int64_t)t->slots, 8 * (int64_t)t->schema->targets);
    if (t->weight < t->key) hash_stored(&h, t->rows, 8 * t->weight, 8);
    return hash_end(&h);
}

static void fill_numbers(const Table *t, const Lathe_tensor *to, char *at, const double *x, int64_t first)
{
    for (int k = 0; k < t->schema->columns; k++) {
        const Column *c = &t->schema->column[k];
        int slots = slots_of(c);
        for (int i = 0; i < slots; i++) write_real(to->dtype, at, first++, scaled(x[i], c->mean[i], c->deviation[i]));
        if (c->flagged) write_real(to->dtype, at, first++, isnan(x[0]));
        x += slots;
    }
}

static void fill_categories(const Table *t, int32_t *to, const int32_t *level)
{
    for (int k = 0; k < t->schema->columns; k++) {
        const Column *c = &t->schema->column[k];
        if (c->kind == COLUMN_CATEGORY) *to++ = *level < 0 ? c->unknown : c->id[*level], level++;
    }
}

static void fill_target(const Table *t, const Lathe_tensor *to, char *at, const double *x, int64_t place)
{
    const int n = t->schema->targets;
    if (to->dtype == LATHE_I32) ((int32_t *)(void *)at)[place] = (int32_t)*x;
    for (int k = 0, column = t->schema->target; k < n && to->dtype != LATHE_I32; column++) {
        const Column *c = &t->schema->column[column];
        if (c->kind != COLUMN_TARGET) continue;
        write_real(to->dtype, at, place * n + k, scaled(x[k], *c->mean, *c->deviation));
        k++;
    }
}

void fill_table_units(const Table *t, const Lathe_entry *e, char *in)
{
    const Column *target = &t->schema->column[t->schema->target];
    for (int i = 0; i < e->inputs; i++) {
        const Lathe_tensor *to = &e->input[i];
        if (to->role == LATHE_TARGET_MEAN) write_real(to->dtype, in + to->offset, 0, *target->mean);
        if (to->role == LATHE_TARGET_DEVIATION) write_real(to->dtype, in + to->offset, 0, *target->deviation);
    }
}

void fill_table(const Table *t, const Lathe_entry *e, char *in, const int64_t *row)
{
    fill_table_units(t, e, in);
    for (int64_t r = 0; r < e->rows; r++) {
        const double *x = row_of(t, row[r]);
        for (int i = 0; i < e->inputs; i++) {
            const Lathe_tensor *to = &e->input[i];
            char *at = in + to->offset;
            if (weighs_rows(to)) write_real(to->dtype, at, r, x[t->weight]);
            else if (to->role == LATHE_TARGETS) fill_target(t, to, at, x + t->slots, r);
            else if (to->role == LATHE_FEATURES && to->dtype == LATHE_I32)
                fill_categories(t, (int32_t *)(void *)at + r * t->schema->categories, (const void *)(x + t->level));
            else if (to->role == LATHE_FEATURES) fill_numbers(t, to, at, x, r * t->schema->numbers);
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

static char *class_words(const Column *target)
{
    const Words names = {.at = (const char **)target->level, .n = target->levels};
    return text_of("classes (%s)", shown_words(&names));
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
            refuse_size(t, path, class_words(&s->column[s->target]), classes, x->below);
        if (x->role == LATHE_TARGETS && width != s->targets) refuse_size(t, path, "targets", s->targets, width);
        if (x->role != LATHE_FEATURES) continue;
        bool ids = x->dtype == LATHE_I32;
        if (!ids && width != s->numbers) refuse_size(t, path, "numbers", s->numbers, width);
        if (ids && width != s->categories) refuse_size(t, path, "categories", s->categories, width);
        if (ids && next > x->below) refuse_size(t, path, "values of categories", next, x->below);
    }
}
