/* schema_json.c: a table's columns as a checkpoint has them, table.json. */
#include "base/file.h"
#include "base/json_text.h"
#include "base/words.h"
#include "data/schema.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_words[] = {"number", "date", "category", "left out", "target", "known", "time", "series"};

static json_t *reals_json(const double *x, int n)
{
    json_t *all = json_array();
    for (int i = 0; i < n; i++) add_json(all, json_real(x[i]));
    return all;
}

static json_t *column_json(const Column *c)
{
    json_t *all =
        json_pack("{s:o, s:s, s:b}", "name", word_json(c->name), "kind", kind_words[c->kind], "flagged", c->flagged);
    int n = c->kind == COLUMN_TARGET ? 1 : slots_of(c);
    put_json(all, "mean", reals_json(c->mean, n));
    put_json(all, "deviation", reals_json(c->deviation, n));
    json_t *levels = json_array(), *ids = json_array();
    for (int k = 0; k < c->levels; k++) {
        add_json(levels, word_json(c->level[k]));
        add_json(ids, json_integer(c->id[k]));
    }
    put_json(all, "unknown", json_integer(c->unknown));
    put_json(all, "values", levels);
    put_json(all, "ids", ids);
    return all;
}

json_t *schema_json(const Schema *s)
{
    json_t *columns = json_array();
    for (int k = 0; k < s->columns; k++)
        if (s->column[k].kind != COLUMN_LEFT_OUT) add_json(columns, column_json(&s->column[k]));
    return json_pack("{s:i, s:b, s:I, s:o}", "format", 1, "classes", s->classes, "levels", (json_int_t)s->levels,
                     "columns", columns);
}

/* ------------------------------------------------------------------ reading */

static _Noreturn void damaged(const char *path, const char *what)
{
    fail(EXIT_DATA, path, "expected the columns of a checkpoint's table, found %s; the file is damaged", what);
}

static int kind_of(const char *path, const json_t *word)
{
    for (int k = 0; k < (int)(sizeof kind_words / sizeof *kind_words); k++)
        if (json_is_string(word) && strcmp(json_string_value(word), kind_words[k]) == 0) return k;
    damaged(path, "a column of no kind");
}

static void take_reals(const char *path, const json_t *from, double *to, int n)
{
    if ((int)json_array_size(from) != n) damaged(path, "another number of means or deviations");
    for (int i = 0; i < n; i++) {
        to[i] = json_number_value(json_array_get(from, (size_t)i));
        if (!isfinite(to[i])) damaged(path, "a mean or deviation that is not finite");
    }
}

static void take_column(const char *path, Column *c, const json_t *from)
{
    const json_t *levels = json_object_get(from, "values"), *ids = json_object_get(from, "ids");
    c->name = word_of_json(json_object_get(from, "name"));
    if (!c->name) damaged(path, "a column without a name");
    c->kind = (Column_kind)kind_of(path, json_object_get(from, "kind"));
    c->flagged = json_is_true(json_object_get(from, "flagged"));
    int n = c->kind == COLUMN_TARGET ? 1 : slots_of(c);
    take_reals(path, json_object_get(from, "mean"), c->mean, n);
    take_reals(path, json_object_get(from, "deviation"), c->deviation, n);
    json_int_t unknown = json_integer_value(json_object_get(from, "unknown"));
    if (unknown < 0 || unknown > INT32_MAX) damaged(path, "an id below 0");
    c->unknown = (int32_t)unknown;
    c->levels = (int)json_array_size(levels);
    if (json_array_size(ids) != (size_t)c->levels) damaged(path, "values without ids");
    c->level = must_alloc(sizeof *c->level * (size_t)(c->levels + 1));
    c->id = must_alloc(sizeof *c->id * (size_t)(c->levels + 1));
    for (int k = 0; k < c->levels; k++) {
        c->level[k] = word_of_json(json_array_get(levels, (size_t)k));
        json_int_t id = json_integer_value(json_array_get(ids, (size_t)k));
        if (!c->level[k] || id < 0 || id > INT32_MAX || (k && strcmp(c->level[k - 1], c->level[k]) >= 0))
            damaged(path, "values out of order");
        if (c->kind == COLUMN_TARGET && id != k) damaged(path, "classes out of order");
        c->id[k] = (int32_t)id;
    }
}

Schema *read_schema(const char *path)
{
    json_error_t error;
    FILE *f = open_stream_to_read(path);
    if (!f) fail(EXIT_DATA, path, "cannot be read: %s", error_text(errno));
    json_t *all = json_loadf(f, JSON_REJECT_DUPLICATES, &error), *columns = json_object_get(all, "columns");
    fclose(f);
    if (!all || !json_is_array(columns)) damaged(path, all ? "no list of columns" : error.text);
    Schema *s = must_alloc(sizeof *s);
    s->columns = (int)json_array_size(columns);
    s->column = must_alloc(sizeof *s->column * (size_t)(s->columns + 1));
    s->target = -1;
    s->classes = json_is_true(json_object_get(all, "classes"));
    s->levels = json_integer_value(json_object_get(all, "levels"));
    if (s->levels < 0 || s->levels > INT32_MAX) damaged(path, "an impossible number of values");
    for (int k = 0; k < s->columns; k++) {
        Column *c = &s->column[k];
        take_column(path, c, json_array_get(columns, (size_t)k));
        if (c->kind == COLUMN_TARGET && s->targets++ == 0) s->target = k;
        s->numbers += slots_of(c) + c->flagged;
        s->categories += c->kind == COLUMN_CATEGORY;
    }
    if (s->target < 0) damaged(path, "no target");
    if (s->classes && s->targets > 1) damaged(path, "several targets that are classes");
    json_decref(all);
    return s;
}
