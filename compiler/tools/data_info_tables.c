/* data_info_tables.c: `lathe data info` of tables of columns: rows, and of each column its kind, range, values, and how
 * many are missing. */
#define _GNU_SOURCE /* getline */
#include "base/json_text.h"
#include "data/cells.h"
#include "data/scale.h"
#include "data/schema.h"
#include "source/reader.h"
#include "tools/data_command.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_VALUES = 1 << 16, MOST_BYTES = 1 << 24, SHOWN_VALUES = 8, DATE_BYTES = 32 };

typedef struct Cells_seen { /* of a column */
    char *name;
    int64_t missing, present, numbers, dates;
    char *odd;     /* the first cell that is no number, where there are numbers before or after it, and its place */
    char *undated; /* the same of dates */
    Scale number, day;
    char first_day[DATE_BYTES], last_day[DATE_BYTES];
    Strings values;
    int64_t *count; /* of each value */
    bool many;      /* more values than are kept */
    int64_t lists;  /* cells that are lists, and how long they are */
    size_t shortest, longest;
} Cells_seen;

typedef struct Seen_table {
    Cells_seen *column;
    int columns;
    int64_t rows;
} Seen_table;

/* ------------------------------------------------------------------ which they are */

static bool names_table(const char *path)
{
    static const char *const ends[] = {".csv", ".tsv", ".csv.gz", ".tsv.gz", ".csv.zst", ".tsv.zst"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (has_end(path, ends[i])) return true;
    return false;
}

/* Texts, or pairs of texts, are documents. */
static bool has_documents(const char *path)
{
    Cells *c = open_cells_and_lists(path);
    bool found = column_named(c, "text") >= 0;
    for (int i = 0; i < PAIR_NAMINGS; i++)
        found |= column_named(c, pair_names[i][0]) >= 0 && column_named(c, pair_names[i][1]) >= 0;
    close_cells(c);
    return found;
}

/* JSON lines whose first has no text: documents have more than one form, so the keys of a table are looked for. */
static bool is_table_of_json(const char *path)
{
    FILE *f = has_end(path, ".jsonl") || has_end(path, ".ndjson") ? fopen(path, "r") : NULL;
    char *line = NULL;
    size_t room = 0;
    json_t *row = f && getline(&line, &room, f) > 0 ? json_loads(line, 0, NULL) : NULL;
    bool found = json_object_size(row) > 0 && !json_object_get(row, "text") && !json_object_get(row, "messages");
    for (int i = 0; i < PAIR_NAMINGS; i++) found &= !json_object_get(row, pair_names[i][0]);
    json_decref(row);
    free(line);
    if (f) fclose(f);
    return found;
}

bool are_tables(const Words *paths)
{
    for (int i = 0; i < paths->n; i++) {
        const char *path = paths->at[i];
        if (access(path, R_OK) != 0) return false; /* a pattern */
        if (names_table(path) ? has_documents(path) : !is_table_of_json(path)) return false;
    }
    return paths->n > 0;
}

/* ------------------------------------------------------------------ reading */

static void count_value(Cells_seen *s, const char *text)
{
    int64_t n = (int64_t)strlen(text);
    int32_t k = s->many ? -1 : find_string(&s->values, text, n);
    if (s->many) return;
    s->many = k < 0 && (s->values.n == MOST_VALUES || s->values.bytes + n > MOST_BYTES);
    if (s->many) return;
    if (k < 0) {
        k = add_string(&s->values, text, n, true);
        s->count = must_grow(s->count, sizeof *s->count * (size_t)(k + 1));
        s->count[k] = 0;
    }
    s->count[k]++;
}

static void count_day(Cells_seen *s, const char *text, double day)
{
    if (day < s->day.low) snprintf(s->first_day, DATE_BYTES, "%s", text);
    if (day > s->day.high) snprintf(s->last_day, DATE_BYTES, "%s", text);
    see_number(&s->day, day);
}

static char *odd_cell(const Cells *c, int k) { return text_of("\"%.60s\" (%s)", cell(c, k), cell_place(c, k)); }

static void count_list(Cells_seen *s, const json_t *list)
{
    const size_t n = json_array_size(list);
    if (!s->lists || n < s->shortest) s->shortest = n;
    if (n > s->longest) s->longest = n;
    s->lists++;
    s->present++;
}

static void count_cell(Cells_seen *s, const Cells *c, int k)
{
    const char *text = cell(c, k);
    double x, day;
    if (cell_list(c, k)) {
        count_list(s, cell_list(c, k));
        return;
    }
    if (is_missing(text)) {
        s->missing++;
        return;
    }
    bool number = parse_real(text, &x), date = parse_date(text, &day);
    s->present++;
    s->numbers += number;
    s->dates += date;
    if (number) see_number(&s->number, x);
    else if (!s->odd) s->odd = odd_cell(c, k);
    if (date) count_day(s, text, day);
    else if (!s->undated) s->undated = odd_cell(c, k);
    count_value(s, text);
}

static void start_columns(Seen_table *t, const Cells *c)
{
    t->columns = cell_count(c);
    t->column = must_alloc(sizeof *t->column * (size_t)(t->columns + 1));
    for (int k = 0; k < t->columns; k++) {
        t->column[k].name = text_of("%s", column_name(c, k));
        start_scale(&t->column[k].number);
        start_scale(&t->column[k].day);
    }
}

static void read_rows(Seen_table *t, const char *path)
{
    Cells *c = open_cells_and_lists(path);
    if (!t->column) start_columns(t, c);
    int *at = must_alloc(sizeof *at * (size_t)(t->columns + 1));
    for (int k = 0; k < t->columns; k++) at[k] = place_of_column(c, t->column[k].name, true, path);
    for (; next_cells(c); t->rows++)
        for (int k = 0; k < t->columns; k++) count_cell(&t->column[k], c, at[k]);
    free(at);
    close_cells(c);
}

/* ------------------------------------------------------------------ told */

static const char *kind_of_cells(const Cells_seen *s)
{
    if (!s->present) return "empty";
    if (s->lists) return s->lists == s->present ? "lists" : "text and lists";
    return s->numbers == s->present ? "numbers" : s->dates == s->present ? "dates" : "text";
}

/* "yes 300, no 299", the commonest first, if there are few; else ", such as …" */
static char *commonest_text(const Cells_seen *s)
{
    int64_t n, *left = must_alloc(sizeof *left * (size_t)(s->values.n + 1));
    char *all = text_of("%s different",
                        s->many ? text_of("more than %s", grouped_text(s->values.n)) : grouped_text(s->values.n));
    memcpy(left, s->count, sizeof *left * (size_t)s->values.n);
    for (int shown = 0; shown < SHOWN_VALUES && shown < s->values.n; shown++) {
        int32_t best = 0;
        for (int32_t k = 1; k < s->values.n; k++)
            if (left[k] > left[best]) best = k;
        const char *text = string_at(&s->values, best, &n);
        all = text_of("%s%s\"%.*s\" %s", all, shown ? ", " : ": ", (int)(n < 40 ? n : 40), text,
                      grouped_text(left[best]));
        left[best] = -1;
    }
    free(left);
    return s->values.n > SHOWN_VALUES ? text_of("%s, …", all) : all;
}

static void print_odd(const Cells_seen *s, int64_t n, const char *form, const char *odd)
{
    if (n && n < s->present && odd)
        show(stdout, "; %s of its %s values are %s; %s is not one", grouped_text(n), grouped_text(s->present), form,
             odd);
}

static void print_column(const Cells_seen *s)
{
    const char *kind = kind_of_cells(s);
    print_padded(stdout, s->name, 11);
    show(stdout, " %s", kind);
    if (strcmp(kind, "numbers") == 0)
        show(stdout, ", %.6g to %.6g, mean %.6g", s->number.low, s->number.high, mean_of_scale(&s->number));
    if (strcmp(kind, "dates") == 0) show(stdout, ", %s to %s", s->first_day, s->last_day);
    if (s->lists && s->shortest == s->longest) show(stdout, " of %zu", s->longest);
    else if (s->lists) show(stdout, " of %zu to %zu", s->shortest, s->longest);
    bool few = !s->many && s->values.n <= SHOWN_VALUES;
    if (s->present > s->lists && (few || strcmp(kind, "text") == 0)) show(stdout, ", %s", commonest_text(s));
    if (s->missing) show(stdout, "; %s missing", grouped_text(s->missing));
    print_odd(s, s->numbers, "numbers", s->odd);
    print_odd(s, s->dates, "dates", s->undated);
    show(stdout, "\n");
}

static json_t *column_json(const Cells_seen *s)
{
    const char *kind = kind_of_cells(s);
    json_t *all =
        json_pack("{s:s,s:I,s:I}", "kind", kind, "present", (json_int_t)s->present, "missing", (json_int_t)s->missing);
    put_json(all, "different", s->many || s->lists ? json_null() : json_integer(s->values.n));
    if (s->lists) {
        put_json(all, "lists", json_integer(s->lists));
        put_json(all, "shortest", json_integer((json_int_t)s->shortest));
        put_json(all, "longest", json_integer((json_int_t)s->longest));
    }
    if (s->numbers) {
        put_json(all, "numbers", json_integer(s->numbers));
        put_json(all, "min", real_json(s->number.low));
        put_json(all, "max", real_json(s->number.high));
        put_json(all, "mean", real_json(mean_of_scale(&s->number)));
    }
    if (s->dates) {
        put_json(all, "first", word_json(s->first_day));
        put_json(all, "last", word_json(s->last_day));
    }
    return all;
}

void tell_tables(const Words *paths, bool json)
{
    Seen_table t = {0};
    json_t *columns = json_object();
    for (int i = 0; i < paths->n; i++) read_rows(&t, paths->at[i]);
    if (!json)
        show(stdout, "table       %s rows, %d columns (as documents: --text COLUMN)\n", grouped_text(t.rows),
             t.columns);
    for (int k = 0; k < t.columns; k++)
        if (json) put_json(columns, t.column[k].name, column_json(&t.column[k]));
        else print_column(&t.column[k]);
    if (json) print_json(json_pack("{s:I,s:o}", "rows", (json_int_t)t.rows, "columns", columns));
}
