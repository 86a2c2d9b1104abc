/* series_rows.c: reads time series, from tables and arrays, into rows of numbers, series after series.
 *
 * Rows of several series may be mixed in a file; those of one rise in time.  While files are read, each row has its
 * series and its place in a file, for messages; then rows are sorted by series, and only numbers and times are kept. */
#include "base/words.h"
#include "data/array.h"
#include "data/cells.h"
#include "data/series.h"
#include "token/token.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BITS = 40 }; /* of Loading.place: below them the line, above them the number of the file */

typedef struct Loading {
    Series *s;
    Strings names;
    int32_t *of;    /* [rows] the row's series */
    int64_t *place; /* [rows] file and line, or row of an array */
    int64_t *count; /* [series] rows */
    double *last;   /* [series] the last time */
    int file;
    bool dates, numbers; /* times are these */
    bool arrays;
} Loading;

static char *place_of_row(const Loading *l, int64_t row)
{
    int64_t line = l->place[row] & (((int64_t)1 << LINE_BITS) - 1);
    const char *path = l->s->reading->paths.at[l->place[row] >> LINE_BITS];
    return l->arrays ? text_of("%s: row %lld", path, (long long)line) : text_of("%s:%lld", path, (long long)line);
}

/* ------------------------------------------------------------------ rows, as the files have them */

static void grow_loading(Loading *l)
{
    Series *s = l->s;
    if (s->rows < s->room) return;
    s->room = s->room * 2 + 1024;
    if (s->room > INT32_MAX) fail(EXIT_DATA, s->reading->paths.at[l->file], "expected fewer than 2^31 rows");
    if (s->reading->check_memory) s->reading->check_memory(s->reading->with, series_heap(s) + s->room * 12, false);
    s->number = must_grow(s->number, sizeof *s->number * (size_t)(s->room * s->columns));
    if (columns_of_kind(s->schema, COLUMN_TIME)) s->time = must_grow(s->time, sizeof *s->time * (size_t)s->room);
    l->of = must_grow(l->of, sizeof *l->of * (size_t)s->room);
    l->place = must_grow(l->place, sizeof *l->place * (size_t)s->room);
}

static int32_t series_called(Loading *l, const char *name)
{
    int32_t k = find_string(&l->names, name, (int64_t)strlen(name));
    if (k >= 0) return k;
    k = add_string(&l->names, name, (int64_t)strlen(name), true);
    if ((k & (k - 1)) == 0) { /* at 0, and powers of 2 */
        l->count = must_grow(l->count, sizeof *l->count * (size_t)(2 * k + 2));
        l->last = must_grow(l->last, sizeof *l->last * (size_t)(2 * k + 2));
    }
    l->count[k] = 0;
    return k;
}

static double *add_row_of_series(Loading *l, int32_t of, int64_t line)
{
    grow_loading(l);
    int64_t row = l->s->rows++;
    l->of[row] = of;
    l->place[row] = (int64_t)l->file << LINE_BITS | line;
    l->count[of]++;
    return l->s->number + row * l->s->columns;
}

/* ------------------------------------------------------------------ time */

/* A date may be a month: 2024-02. */
static bool parse_moment(const char *text, double *days)
{
    char *first = text_of("%s-01", text);
    bool fits = parse_date(text, days) || parse_date(first, days);
    free(first);
    return fits;
}

static double take_time(Loading *l, const Cells *c, int at)
{
    const char *text = cell(c, at);
    double x;
    if (is_missing(text)) fail(EXIT_DATA, cell_place(c, at), "expected the time of the row, found none");
    bool number = parse_real(text, &x), date = !number && parse_moment(text, &x);
    if (!l->dates && !l->numbers) l->dates = date, l->numbers = number;
    if ((date && l->dates) || (number && l->numbers)) return x;
    fail(EXIT_DATA, cell_place(c, at), "expected %s, found \"%.60s\"",
         l->dates     ? "a date such as 2024-02-29 or 2024-02-29 13:00, as the rows before have"
         : l->numbers ? "a number, as the rows before have"
                      : "a number, or a date such as 2024-02-29 or 2024-02-29 13:00",
         text);
}

static char *text_of_time(double t, bool dates)
{
    if (!dates) return text_of("%.15g", t);
    /* The days of a date of the Gregorian calendar, reversed (Howard Hinnant, civil_from_days). */
    int64_t seconds = llround(t * 86400), days = (seconds >= 0 ? seconds : seconds - 86399) / 86400;
    int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097, of_era = z - era * 146097;
    int64_t years = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * years + years / 4 - years / 100), m = (5 * of_year + 2) / 153;
    int64_t month = m < 10 ? m + 3 : m - 9, left = seconds - days * 86400;
    char *date = text_of("%04lld-%02lld-%02lld", (long long)(years + era * 400 + (month <= 2)), (long long)month,
                         (long long)(of_year - (153 * m + 2) / 5 + 1));
    return left ? text_of("%s %02lld:%02lld:%02lld", date, (long long)left / 3600, (long long)left / 60 % 60,
                          (long long)left % 60)
                : date;
}

char *series_time_text(const Series *s, int64_t row) { return text_of_time(s->time[row], s->dates); }

static void check_time(Loading *l, const Cells *c, int at, int32_t of, double t)
{
    if (l->count[of] && t <= l->last[of]) {
        int64_t n;
        const char *name = string_at(&l->names, of, &n);
        fail(EXIT_DATA, cell_place(c, at),
             "expected a time after %s, that of the row before in series \"%.*s\", found %s%s; sort the rows%s",
             text_of_time(l->last[of], l->dates), n < 60 ? (int)n : 60, name, t == l->last[of] ? "the same" : "",
             t == l->last[of] ? "" : text_of_time(t, l->dates),
             columns_of_kind(l->s->schema, COLUMN_SERIES) ? "" : ", or name the column that says the series: series");
    }
    l->last[of] = t;
}

/* ------------------------------------------------------------------ tables */

typedef struct Found { /* where columns are in a file */
    int *value;        /* [columns] in the order of Series.number */
    int time, series;
} Found;

static Found find_columns_of_series(const Series *s, Cells *c, const char *path)
{
    Found f = {.value = must_alloc(sizeof(int) * (size_t)s->columns), .time = -1, .series = -1};
    for (int k = 0; k < s->columns; k++) f.value[k] = place_of_column(c, value_column(s->schema, k)->name, false, path);
    for (int k = 0; k < s->schema->columns; k++) {
        const Column *column = &s->schema->column[k];
        if (column->kind == COLUMN_TIME) f.time = place_of_column(c, column->name, true, path);
        if (column->kind == COLUMN_SERIES) f.series = place_of_column(c, column->name, true, path);
    }
    return f;
}

/* Names of files, without folders; whole paths, if two files have the same name. */
static const char *name_of_file(const Words *paths, int file)
{
    const char *slash = strrchr(paths->at[file], '/'), *name = slash ? slash + 1 : paths->at[file];
    for (int i = 0; i < paths->n; i++) {
        const char *other = strrchr(paths->at[i], '/');
        if (i != file && strcmp(other ? other + 1 : paths->at[i], name) == 0) return paths->at[file];
    }
    return text_of("%.*s", (int)strcspn(name, "."), name);
}

static void take_series_row(Loading *l, const Cells *c, const Found *f, const char *name)
{
    if (f->series >= 0 && is_missing(cell(c, f->series)))
        fail(EXIT_DATA, cell_place(c, f->series), "expected the series of the row, found none");
    int32_t of = series_called(l, f->series >= 0 ? cell(c, f->series) : name);
    double t = f->time < 0 ? 0 : take_time(l, c, f->time);
    if (f->time >= 0) check_time(l, c, f->time, of, t);
    double *to = add_row_of_series(l, of, cell_line(c));
    if (f->time >= 0) l->s->time[l->s->rows - 1] = t;
    for (int k = 0; k < l->s->columns; k++)
        if (is_missing(cell(c, f->value[k]))) to[k] = NAN;
        else number_of_cell(c, f->value[k], &to[k]);
}

static void read_table_of_series(Loading *l)
{
    const Words *paths = &l->s->reading->paths;
    const char *path = paths->at[l->file], *name = name_of_file(paths, l->file);
    Cells *c = open_cells(path);
    Found f = find_columns_of_series(l->s, c, path);
    while (next_cells(c)) take_series_row(l, c, &f, name);
    free(f.value);
    close_cells(c);
}

/* ------------------------------------------------------------------ arrays */

static int array_column(const Series *s, const Array *a, const Column *column)
{
    int64_t k = -1, width = a->dim[a->rank - 1];
    if (parse_count(column->name, &k) && k >= 0 && k < width) return (int)k;
    fail(EXIT_DATA, a->place, "expected a column \"%.60s\", as in the training data, found %lld, called 0 to %lld%s",
         column->name, (long long)width, (long long)width - 1,
         columns_of_kind(s->schema, COLUMN_TIME) + columns_of_kind(s->schema, COLUMN_SERIES)
             ? "; the training data was a table"
             : "");
}

static int *find_array_columns(const Series *s, const Array *a)
{
    int *value = must_alloc(sizeof *value * (size_t)s->columns);
    for (int k = 0; k < s->columns; k++) value[k] = array_column(s, a, value_column(s->schema, k));
    return value;
}

static void take_array_row(Loading *l, int32_t of, int64_t row, const double *x, const int *value)
{
    double *to = add_row_of_series(l, of, row);
    for (int k = 0; k < l->s->columns; k++) {
        to[k] = x[value[k]];
        if (isinf(to[k])) fail(EXIT_DATA, place_of_row(l, l->s->rows - 1), "expected finite numbers, found %g", to[k]);
    }
}

/* [time, columns] or [series, time, columns] */
static void read_array_of_series(Loading *l)
{
    const Words *paths = &l->s->reading->paths;
    Array *a = open_npy(paths->at[l->file]);
    if (a->rank != 2 && a->rank != 3)
        fail(EXIT_DATA, a->place, "expected an array [time, columns] or [series, time, columns], found %d axes",
             a->rank);
    const char *name = name_of_file(paths, l->file);
    int64_t n = a->rank == 3 ? a->dim[0] : 1, rows = a->dim[a->rank - 2], width = a->dim[a->rank - 1];
    double *x = must_alloc(sizeof *x * (size_t)(a->width + 1));
    int *value = find_array_columns(l->s, a);
    for (int64_t i = 0; i < n; i++) {
        int32_t of = series_called(l, n > 1 ? text_of("%s %lld", name, (long long)i) : name);
        if (a->rank == 3) read_array(a, i, 1, x);
        for (int64_t r = 0; r < rows; r++) {
            if (a->rank == 2) read_array(a, r, 1, x);
            take_array_row(l, of, i * rows + r, a->rank == 3 ? x + r * width : x, value);
        }
    }
    free(value);
    free(x);
    close_array(a);
}

/* ------------------------------------------------------------------ series after series */

static void list_series(Loading *l)
{
    Series *s = l->s;
    s->n = l->names.n;
    s->at = must_alloc(sizeof *s->at * (size_t)(s->n + 1));
    for (int k = 0; k < s->n; k++) {
        int64_t n;
        const char *name = string_at(&l->names, k, &n);
        s->at[k] = (One_series){.first = k ? s->at[k - 1].first + s->at[k - 1].rows : 0,
                                .rows = l->count[k],
                                .name = text_of("%.*s", (int)n, name)};
    }
}

/* Where each row goes; NULL: rows are in this order already. */
static int64_t *places_by_series(const Loading *l)
{
    const Series *s = l->s;
    int64_t *to = must_alloc(sizeof *to * (size_t)(s->rows + 1)), *next = must_alloc(sizeof *next * (size_t)(s->n + 1));
    bool sorted = true;
    for (int k = 0; k < s->n; k++) next[k] = s->at[k].first;
    for (int64_t r = 0; r < s->rows; r++) {
        to[r] = next[l->of[r]]++;
        sorted &= to[r] == r;
    }
    free(next);
    if (!sorted) return to;
    free(to);
    return NULL;
}

static void *moved_rows(void *from, const int64_t *to, int64_t rows, int64_t bytes)
{
    char *all = must_alloc((size_t)(rows * bytes + 1));
    for (int64_t r = 0; r < rows; r++) memcpy(all + to[r] * bytes, (char *)from + r * bytes, (size_t)bytes);
    free(from);
    return all;
}

static void sort_by_series(Loading *l)
{
    Series *s = l->s;
    list_series(l);
    int64_t *to = places_by_series(l);
    if (!to) return;
    if (s->reading->check_memory) s->reading->check_memory(s->reading->with, 2 * series_heap(s) + s->rows * 20, false);
    s->number = moved_rows(s->number, to, s->rows, 8 * s->columns);
    if (s->time) s->time = moved_rows(s->time, to, s->rows, 8);
    l->place = moved_rows(l->place, to, s->rows, 8);
    s->room = s->rows;
    free(to);
}

/* ------------------------------------------------------------------ what is missing */

static bool has_past_value(const Series *s, int64_t row)
{
    for (int k = 0; k < s->channels; k++)
        if (!isnan(s->number[row * s->columns + k])) return true;
    return false;
}

/* Rows at the end of a series without a value of the past have the columns that are known ahead alone. */
static void settle_ends(Series *s)
{
    for (One_series *q = s->at; q < s->at + s->n; q++)
        while (q->rows && !has_past_value(s, q->first + q->rows - 1)) q->rows--, q->ahead++;
}

static void refuse_empty(const Loading *l, int64_t row, int column)
{
    const char *place = text_of("%s, column \"%.60s\"", place_of_row(l, row), value_column(l->s->schema, column)->name);
    fail(EXIT_DATA, place,
         "expected a number, found none; mend it, or take the last value before it: --set missing=fill");
}

static void mark_filled(Series *s, int64_t value)
{
    if (!s->observed) {
        s->observed = must_alloc((size_t)(s->rows * s->columns));
        memset(s->observed, 1, (size_t)(s->rows * s->columns));
    }
    s->observed[value] = 0;
}

/* Finds what is missing.  It is filled once scales are learned (series.c). */
static void find_missing(Loading *l)
{
    Series *s = l->s;
    for (const One_series *q = s->at; q < s->at + s->n; q++)
        for (int64_t r = q->first; r < q->first + q->rows + q->ahead; r++)
            for (int k = r < q->first + q->rows ? 0 : s->channels; k < s->columns; k++) {
                if (!isnan(s->number[r * s->columns + k])) continue;
                if (s->reading->recipe->missing == LATHE_REFUSE_MISSING) refuse_empty(l, r, k);
                mark_filled(s, r * s->columns + k);
            }
}

/* ------------------------------------------------------------------ gaps */

static int by_distance(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median distance of rows. */
static double usual_distance(const Series *s, const One_series *q)
{
    int64_t n = q->rows + q->ahead - 1;
    double *apart = must_alloc(sizeof *apart * (size_t)n), middle;
    for (int64_t i = 0; i < n; i++) apart[i] = s->time[q->first + i + 1] - s->time[q->first + i];
    qsort(apart, (size_t)n, sizeof *apart, by_distance);
    middle = apart[n / 2];
    free(apart);
    return middle;
}

/* A gap is more than one and a half of the usual distance, so months are none. */
static void tell_gaps(const Loading *l)
{
    const Series *s = l->s;
    int64_t gaps = 0, first = 0;
    for (const One_series *q = s->at; q < s->at + s->n; q++) {
        if (q->rows + q->ahead < 3) continue;
        double usual = usual_distance(s, q);
        for (int64_t r = q->first + 1; r < q->first + q->rows + q->ahead; r++)
            if (s->time[r] - s->time[r - 1] > 1.5 * usual && !gaps++) first = r;
    }
    if (gaps)
        note("%s: the row comes at %s after %s, a longer time than usual; there %s %s such gap%s, over which windows "
             "go as if no time had passed; add the rows with empty cells, and --set missing=fill, to count it",
             place_of_row(l, first), series_time_text(s, first), series_time_text(s, first - 1),
             gaps == 1 ? "is" : "are", grouped_text(gaps), gaps == 1 ? "" : "s");
}

/* ------------------------------------------------------------------ all files */

void read_series(Series *s)
{
    Loading l = {.s = s, .arrays = are_arrays(&s->reading->paths)};
    for (l.file = 0; l.file < s->reading->paths.n; l.file++)
        if (l.arrays) read_array_of_series(&l);
        else read_table_of_series(&l);
    s->dates = l.dates;
    sort_by_series(&l);
    settle_ends(s);
    find_missing(&l);
    if (s->time) tell_gaps(&l);
    free_strings(&l.names);
    free(l.of);
    free(l.place);
    free(l.count);
    free(l.last);
}
