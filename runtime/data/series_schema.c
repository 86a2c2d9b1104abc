/* series_schema.c: which columns of time series are forecast, known of the past, known ahead, time, or series. */
#include "base/words.h"
#include "data/array.h"
#include "data/cells.h"
#include "data/series.h"

#include <stdlib.h>
#include <string.h>

enum { USES = 6 };

typedef struct Use {
    const char *option, *names; /* of columns; NULL: none */
    Column_kind kind;
    bool one; /* the names are one name */
} Use;

static void list_uses(const Series_form *f, Use *use)
{
    const Use all[USES] = {{"time", f->time, COLUMN_TIME, true},      {"series", f->series, COLUMN_SERIES, true},
                           {"past", f->past, COLUMN_NUMBER, false},   {"known", f->known, COLUMN_KNOWN, false},
                           {"drop", f->drop, COLUMN_LEFT_OUT, false}, {"target", f->target, COLUMN_TARGET, false}};
    memcpy(use, all, sizeof all);
}

static bool use_has(const Use *u, const char *name)
{
    return u->names && ((u->one && strcmp(u->names, name) == 0) || (!u->one && list_has(u->names, name)));
}

static const Use *use_of_column(const Use *use, const char *name)
{
    const Use *found = NULL;
    for (const Use *u = use; u < use + USES; u++) {
        if (!use_has(u, name)) continue;
        if (found)
            fail(EXIT_USAGE, NULL, "column \"%.60s\" is named by %s and by %s; it has one use", name, found->option,
                 u->option);
        found = u;
    }
    return found;
}

static void add_column_of_series(Schema *s, const Use *use, const char *name)
{
    const Use *u = use_of_column(use, name);
    const bool others = !use[USES - 1].names; /* all others are targets */
    s->column = must_grow(s->column, sizeof *s->column * (size_t)(s->columns + 1));
    s->column[s->columns++] = (Column){.name = text_of("%s", name),
                                       .kind = u        ? u->kind
                                               : others ? COLUMN_TARGET
                                                        : COLUMN_LEFT_OUT};
}

int columns_of_kind(const Schema *s, Column_kind kind)
{
    int n = 0;
    for (int k = 0; k < s->columns; k++) n += s->column[k].kind == kind;
    return n;
}

Column *value_column(const Schema *s, int k)
{
    static const Column_kind order[] = {COLUMN_TARGET, COLUMN_NUMBER, COLUMN_KNOWN};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        for (int c = 0; c < s->columns; c++)
            if (s->column[c].kind == order[i] && k-- == 0) return &s->column[c];
    bug_if(true);
    return NULL;
}

/* ------------------------------------------------------------------ tables */

static void check_uses(const Cells *c, const char *path, const Use *use)
{
    for (const Use *u = use; u < use + USES; u++) {
        if (u->names && u->one && column_named(c, u->names) < 0)
            fail(EXIT_DATA, path, "%s: there is no column \"%.60s\" %s", u->option, u->names,
                 among_columns(c, u->names));
        if (!u->one) check_listed(c, path, u->option, u->names);
    }
}

/* Columns that no option names are forecast, if they are numbers. */
static void leave_out_texts(Schema *s, const Words *paths, const Use *use)
{
    bool *filled = must_alloc((size_t)s->columns + 1);
    for (int i = 0; i < paths->n; i++) {
        Cells *c = open_cells(paths->at[i]);
        while (next_cells(c))
            for (int k = 0; k < s->columns; k++) {
                Column *column = &s->column[k];
                int at = column->kind == COLUMN_TARGET ? column_named(c, column->name) : -1;
                double x;
                if (at < 0 || use_of_column(use, column->name) || is_missing(cell(c, at))) continue;
                filled[k] = true;
                if (parse_real(cell(c, at), &x)) continue;
                column->kind = COLUMN_LEFT_OUT;
                note("column \"%s\" is left out: it has other values than numbers, such as \"%.60s\"", column->name,
                     cell(c, at));
            }
        close_cells(c);
    }
    for (int k = 0; k < s->columns; k++) {
        if (filled[k] || s->column[k].kind != COLUMN_TARGET) continue;
        s->column[k].kind = COLUMN_LEFT_OUT;
        note("column \"%s\" is left out: all its values are missing", s->column[k].name);
    }
    free(filled);
}

static void take_columns_of_tables(Schema *s, const Words *paths, const Use *use)
{
    for (int i = 0; i < paths->n; i++)
        refuse_stream(paths->at[i], "series to train on are read twice, and a pipe can be read only once");
    Cells *c = open_cells(paths->at[0]);
    check_uses(c, paths->at[0], use);
    for (int k = 0; k < cell_count(c); k++) add_column_of_series(s, use, column_name(c, k));
    close_cells(c);
    if (!use[USES - 1].names) leave_out_texts(s, paths, use);
}

/* ------------------------------------------------------------------ arrays */

/* Columns of an array are called 0, 1, 2, … */
static void take_columns_of_array(Schema *s, const char *path, const Use *use)
{
    Array *a = open_npy(path);
    if (a->rank != 2 && a->rank != 3)
        fail(EXIT_DATA, path, "expected an array [time, columns] or [series, time, columns], found %d axes", a->rank);
    for (int64_t k = 0; k < a->dim[a->rank - 1]; k++) add_column_of_series(s, use, text_of("%lld", (long long)k));
    close_array(a);
    for (const Use *u = use; u < use + USES; u++) {
        int found = 0;
        for (int k = 0; k < s->columns; k++) found += use_has(u, s->column[k].name);
        if (u->names && (!found || u->kind == COLUMN_TIME || u->kind == COLUMN_SERIES))
            fail(EXIT_DATA, path,
                 "%s: there is no column \"%.60s\"; those of an array are called 0 to %d, and say no "
                 "time and no series",
                 u->option, u->names, s->columns - 1);
    }
}

Schema *find_series_schema(const Words *paths, const Series_form *form)
{
    Schema *s = must_alloc(sizeof *s);
    Use use[USES];
    list_uses(form, use);
    if (are_arrays(paths)) take_columns_of_array(s, paths->at[0], use);
    else take_columns_of_tables(s, paths, use);
    s->targets = columns_of_kind(s, COLUMN_TARGET);
    if (!s->targets)
        fail(EXIT_DATA, paths->at[0], "expected columns of numbers to forecast, found none among %d; name them: target",
             s->columns);
    for (s->target = 0; s->column[s->target].kind != COLUMN_TARGET;) s->target++;
    return s;
}
