/* csv.c: a table of numbers from CSV files: the first line names the columns, one of them holds the class.
 *
 * Fields are separated by commas and may be in double quotes; every field is a number.  Several files must have the
 * same columns; their rows are joined. */
#include "base/hash.h"
#include "base/words.h"
#include "data/array.h"
#include "data/cells.h"
#include "data/data.h"
#include "source/source.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct Csv_data {
    Csv_form form;
    int columns, target_column, weight_column, group_column; /* -1: there is none; group: none that is no feature */
    char **name;                                             /* [columns] */
    bool *rounded; /* [columns]: the warning about rounded integers was given */
    int64_t rows, room;
    double *feature; /* [rows][columns - 1] */
    int32_t *class;  /* [rows] */
    double *weight;  /* [rows], if there are weights */
    uint64_t *group; /* [rows] of the column that is no feature */
};

/* The position of a field. */
typedef struct Cursor {
    const char *path;
    char *at;         /* the line, ended by 0 */
    int line, column; /* from 1; column counts characters of the line */
    bool more;        /* there is another field */
} Cursor;

static char *field_place(const Cursor *c) { return text_of("%s:%d:%d", c->path, c->line, c->column); }
static char *line_place(const Cursor *c) { return text_of("%s:%d", c->path, c->line); }

/* ------------------------------------------------------------------ reading a file */

/* The file's bytes, decompressed if it is compressed. */
static char *read_input_whole(Input *in, int64_t *bytes)
{
    int64_t room = 1 << 16, got;
    char *text = NULL;
    *bytes = 0;
    do {
        text = must_grow(text, (size_t)(room *= 2) + 1);
        got = read_input(in, text + *bytes, room - *bytes);
        *bytes += got;
    } while (*bytes == room);
    return text;
}

static char *read_table_text(const char *path, int64_t *bytes)
{
    struct stat about;
    if (stat(path, &about) != 0 || access(path, R_OK) != 0)
        fail(EXIT_DATA, path, "expected a CSV file, but it cannot be read: %s; check the path given to --data",
             error_text(errno));
    if (S_ISDIR(about.st_mode)) refuse_folder(path);
    Input *in = open_input(path, -1);
    char *text = read_input_whole(in, bytes);
    close_input(in);
    if (*bytes == 0)
        fail(EXIT_DATA, path, "expected a CSV file, found an empty one; its first line should name the columns");
    return text;
}

/* Cuts the next field out of the line, without spaces and quotes around it; the cursor's column is its start. */
static char *next_field(Cursor *c, int *width)
{
    char *start = c->at, *end = start;
    bool quoted = *start == '"';
    if (quoted) {
        end = strchr(++start, '"');
        if (!end) fail(EXIT_DATA, field_place(c), "expected a closing \" in this line");
    }
    char *comma = strchr(end, ',');
    if (!quoted) end = comma ? comma : start + strlen(start);
    *width = (int)((comma ? comma : c->at + strlen(c->at)) - c->at) + 1;
    c->more = comma != NULL;
    c->at = comma ? comma + 1 : c->at;
    while (end > start && (end[-1] == ' ' || end[-1] == '\t')) end--;
    *end = 0;
    while (*start == ' ' || *start == '\t') start++;
    return start;
}

static char *next_row(Cursor *c, char **rest, const char *end)
{
    if (*rest >= end) return NULL;
    char *line = *rest, *stop = memchr(line, '\n', (size_t)(end - line));
    if (!stop) stop = (char *)end;
    *rest = stop + 1;
    if (stop > line && stop[-1] == '\r') stop--;
    if (memchr(line, 0, (size_t)(stop - line)))
        fail(EXIT_DATA, line_place(c), "expected text, found a zero byte; is this a CSV file?");
    *stop = 0;
    return line;
}

/* ------------------------------------------------------------------ what values may be */

enum { EXACT = 1 << 24 }; /* fp32 holds all integers up to it */

bool is_class(const Csv_form *f, double x)
{
    if (f->ignored && x == (double)f->ignored) return true;
    return x == floor(x) && x >= 0 && x <= (f->classes ? (double)f->classes - 1 : INT32_MAX);
}

const char *no_class(const Csv_form *f, double x)
{
    const char *cure = x != floor(x) ? "classes are whole numbers; is this a column to be predicted as a number?"
                       : f->classes  ? "number the classes from 0, or rebuild for more classes"
                                     : "number the classes from 0";
    return text_of("expected a class, 0%s%s, found %g; %s",
                   f->classes ? text_of(" to %lld", (long long)f->classes - 1) : " or more",
                   f->ignored ? text_of(" (or %lld, which losses leave out)", (long long)f->ignored) : "", x, cure);
}

/* Whether fp32 represents x well enough: fractions may be rounded, integers should not be. */
bool fits_single(const Csv_form *f, double x)
{
    if (!f->single) return true;
    if (fabs(x) > FLT_MAX) return false;
    return fabs(x) <= EXACT || x != floor(x) || (double)(float)x == x;
}

/* Reports an x that does not fit. */
void tell_feature(double x, const char *place, const char *column)
{
    if (fabs(x) > FLT_MAX)
        fail(EXIT_DATA, place,
             "%s: %g is beyond the range of fp32, %g; scale the column, or build with --precision fp64", column, x,
             (double)FLT_MAX);
    note("warning: %s: %s: %.0f becomes %.0f in fp32, which holds integers up to %d; if these are ids or times, "
         "number them from 0 or build with --precision fp64",
         place, column, x, (double)(float)x, EXACT);
}

/* ------------------------------------------------------------------ the header */

/* The first few columns. */
static char *column_names(const Csv_data *c)
{
    enum { SHOWN = 8 };
    char *all = text_of("\"%.60s\"", c->name[0]);
    for (int i = 1; i < c->columns && i < SHOWN; i++) all = text_of("%s, \"%.60s\"", all, c->name[i]);
    return c->columns > SHOWN ? text_of("%s, …", all) : all;
}

static void take_header(Csv_data *c, Cursor *at)
{
    int cap = 0, width;
    int group = -1;
    c->target_column = c->weight_column = c->group_column = -1;
    for (at->more = true; at->more; at->column += width) {
        char *name = next_field(at, &width);
        if (c->columns == cap) c->name = must_grow(c->name, sizeof *c->name * (size_t)(cap = cap * 2 + 16));
        if (strcmp(name, c->form.target) == 0) c->target_column = c->columns;
        else if (c->form.weight && strcmp(name, c->form.weight) == 0) c->weight_column = c->columns;
        else if (c->form.group && strcmp(name, c->form.group) == 0) group = c->columns;
        c->name[c->columns++] = text_of("%s", name);
    }
    if (csv_features(c) == c->form.features + 1) c->group_column = group;
    c->rounded = must_alloc(sizeof *c->rounded * (size_t)c->columns);
    memset(c->rounded, 0, sizeof *c->rounded * (size_t)c->columns);
    if (c->form.weight && c->weight_column < 0 && !c->form.optional)
        fail(EXIT_DATA, line_place(at),
             "expected a column \"%s\" (the weights of rows) among the %d that the first line names, %s",
             c->form.weight, c->columns, column_names(c));
    if (c->target_column >= 0 || c->form.optional) return;
    const char *close = nearest_word(c->form.target, (const char *const *)c->name, c->columns);
    fail(EXIT_DATA, line_place(at),
         "expected a column \"%s\" (the class) among the %d that the first line names, %s%s%s%s; name it "
         "with --set csv_target=COLUMN",
         c->form.target, c->columns, column_names(c), close ? "; did you mean \"" : "", close ? close : "",
         close ? "\"?" : "");
}

static void compare_header(const Csv_data *c, Cursor *at)
{
    int width, k = 0;
    for (at->more = true; at->more; at->column += width, k++) {
        char *name = next_field(at, &width);
        if (k >= c->columns || strcmp(name, c->name[k]) != 0)
            fail(EXIT_DATA, field_place(at), "expected column \"%s\", as in the first file, found \"%s\"",
                 k < c->columns ? c->name[k] : "(none)", name);
    }
    if (k < c->columns)
        fail(EXIT_DATA, line_place(at), "expected %d columns, as in the first file, found %d", c->columns, k);
}

/* ------------------------------------------------------------------ rows */

static double number_in(const Csv_data *c, const Cursor *at, const char *field, int column)
{
    double x;
    if (!parse_real(field, &x))
        fail(EXIT_DATA, field_place(at), "column \"%s\": expected a number, found %s", c->name[column],
             *field ? text_of("\"%s\"", field) : "nothing");
    return x;
}

static int32_t class_in(const Csv_data *c, const Cursor *at, double x)
{
    if (!is_class(&c->form, x))
        fail(EXIT_DATA, field_place(at), "column \"%s\": %s", c->form.target, no_class(&c->form, x));
    return (int32_t)x;
}

static double weight_in(const Csv_data *c, const Cursor *at, double x)
{
    if (x < 0)
        fail(EXIT_DATA, field_place(at), "column \"%s\": expected a weight of 0 or more, found %g", c->form.weight, x);
    return x;
}

static double feature_in(Csv_data *c, const Cursor *at, double x, int column)
{
    if (fits_single(&c->form, x)) return x;
    if (fabs(x) > FLT_MAX || !c->rounded[column])
        tell_feature(x, field_place(at), text_of("column \"%s\"", c->name[column]));
    c->rounded[column] = true;
    return x;
}

static void grow_rows(Csv_data *c)
{
    c->room = c->room * 2 + 1024;
    c->feature = must_grow(c->feature, sizeof *c->feature * (size_t)c->room * (size_t)c->columns);
    c->class = must_grow(c->class, sizeof *c->class * (size_t)c->room);
    if (c->form.weight) c->weight = must_grow(c->weight, sizeof *c->weight * (size_t)c->room);
    if (c->group_column >= 0) c->group = must_grow(c->group, sizeof *c->group * (size_t)c->room);
}

static void take_row(Csv_data *c, Cursor *at)
{
    int width, k = 0;
    if (c->rows == c->room) grow_rows(c);
    double *to = c->feature + c->rows * csv_features(c);
    for (at->more = true; at->more; at->column += width, k++) {
        char *field = next_field(at, &width);
        if (k >= c->columns || ((k == c->target_column || k == c->weight_column) && c->form.optional)) continue;
        if (k == c->group_column) {
            c->group[c->rows] = hash_of(field, strlen(field));
            continue;
        }
        double x = number_in(c, at, field, k);
        if (k == c->target_column) c->class[c->rows] = class_in(c, at, x);
        else if (k == c->weight_column) c->weight[c->rows] = weight_in(c, at, x);
        else *to++ = feature_in(c, at, x, k);
    }
    if (k != c->columns)
        fail(EXIT_DATA, line_place(at), "expected %d fields, as the first line has, found %d", c->columns, k);
    c->rows++;
}

static void take_file(Csv_data *c, const char *path, bool first)
{
    int64_t bytes;
    char *text = read_table_text(path, &bytes), *rest = text;
    Cursor at = {.path = path, .line = 1, .column = 1};
    if (bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) rest += 3;
    for (char *line; (line = next_row(&at, &rest, text + bytes)); at.line++) {
        at.at = line;
        at.column = 1;
        if (at.line == 1 && first) take_header(c, &at);
        else if (at.line == 1) compare_header(c, &at);
        else if (*line) take_row(c, &at);
    }
    free(text);
}

/* ------------------------------------------------------------------ what others call */

/* A table whose rows the caller fills in. */
Csv_data *new_csv(int64_t rows, int features, double **feature, int32_t **class)
{
    Csv_data *c = must_alloc(sizeof *c);
    c->columns = features + 1;
    c->weight_column = c->group_column = -1;
    c->rows = c->room = rows;
    c->feature = *feature = must_alloc(sizeof *c->feature * (size_t)rows * (size_t)features);
    c->class = *class = must_alloc(sizeof *c->class * (size_t)rows);
    return c;
}

Csv_data *open_csv(const Words *paths, const Csv_form *form)
{
    if (are_arrays(paths)) return open_arrays(paths, form);
    Csv_data *c = must_alloc(sizeof *c);
    c->form = *form;
    for (int i = 0; i < paths->n; i++) take_file(c, paths->at[i], i == 0);
    return c;
}

int64_t csv_rows(const Csv_data *c) { return c->rows; }

int csv_features(const Csv_data *c)
{
    return c->columns - (c->target_column >= 0) - (c->weight_column >= 0) - (c->group_column >= 0);
}

uint64_t csv_hash(const Csv_data *c)
{
    Hash h;
    hash_start(&h);
    hash_add(&h, c->feature, sizeof *c->feature * (size_t)(c->rows * csv_features(c)));
    hash_add(&h, c->class, sizeof *c->class * (size_t)c->rows);
    if (c->weight) hash_add(&h, c->weight, sizeof *c->weight * (size_t)c->rows);
    return hash_end(&h);
}

static uint64_t hash_of_number(double x)
{
    x += 0; /* -0 is 0 */
    return hash_of(&x, sizeof x);
}

uint64_t csv_row_hash(const Csv_data *c, int64_t row)
{
    uint64_t sum = hash_of_number(c->class[row]);
    for (int k = 0; k < csv_features(c); k++) sum = sum * 31 + hash_of_number(csv_row(c, row)[k]);
    return hash_of(&sum, sizeof sum);
}

bool csv_group(const Csv_data *c, const char *column, int64_t row, uint64_t *key)
{
    int k = 0;
    while (c->name && k < c->columns && strcmp(c->name[k], column) != 0) k++;
    if (!c->name || k == c->columns) return false;
    if (k == c->group_column) {
        *key = c->group[row];
        return true;
    }
    int before = (c->target_column >= 0 && k > c->target_column) + (c->weight_column >= 0 && k > c->weight_column);
    if (k == c->target_column) *key = hash_of_number(c->class[row]);
    else *key = hash_of_number(k == c->weight_column ? c->weight[row] : csv_row(c, row)[k - before]);
    return true;
}

int64_t csv_heap(const Csv_data *c) { return c->room * (8 * c->columns + 4 + (c->group ? 8 : 0)); }
const double *csv_row(const Csv_data *c, int64_t row) { return c->feature + row * csv_features(c); }
int32_t csv_class(const Csv_data *c, int64_t row) { return c->class[row]; }
double csv_weight(const Csv_data *c, int64_t row) { return c->weight[row]; }
