/* csv.c: a table of numbers from CSV files: the first line names the columns, one of them holds the class.
 *
 * Fields are separated by commas and may be in double quotes; every field is a number.  Several files must have the
 * same columns; their rows are joined. */
#include "base/hash.h"
#include "base/words.h"
#include "data/array.h"
#include "data/cells.h"
#include "data/data.h"
#include "data/stored.h"
#include "source/source.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A stored row is its features, class and weight, and the hash of its group if that is no feature: 8 bytes each. */
enum { CLASS, WEIGHT, GROUP, BEHIND }; /* behind its features */
enum { CHUNK = 1 << 17, MOST_LINE = 1 << 24 };

struct Csv_data {
    Csv_form form;
    int columns, target_column, weight_column, group_column; /* -1: there is none; group: none that is no feature */
    char **name;                                             /* [columns] */
    bool *rounded; /* [columns]: the warning about rounded integers was given */
    Stored *rows;
};

typedef struct Lines { /* of a file */
    Input *in;
    char *room; /* what of it is in memory: at … end, and a byte more */
    int64_t at, end, size;
    bool ended;
} Lines;

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

/* Reads more behind `end`; the line that begins at `at` moves to the front. */
static void read_csv_bytes(Lines *l, const Cursor *c)
{
    if (l->end > l->at) memmove(l->room, l->room + l->at, (size_t)(l->end - l->at));
    l->end -= l->at;
    l->at = 0;
    if (l->end > MOST_LINE)
        fail(EXIT_DATA, line_place(c), "the line has more than %d bytes; is this a CSV file?", MOST_LINE);
    if (l->size < l->end + CHUNK) l->room = must_grow(l->room, (size_t)(l->size = 2 * l->size + CHUNK) + 1);
    int64_t got = read_input(l->in, l->room + l->end, l->size - l->end);
    l->ended = got < l->size - l->end;
    l->end += got;
}

static Lines open_lines(const Cursor *c)
{
    struct stat about;
    if (stat(c->path, &about) != 0 || access(c->path, R_OK) != 0)
        fail(EXIT_DATA, c->path, "expected a CSV file, but it cannot be read: %s; check the path given to --data",
             error_text(errno));
    if (S_ISDIR(about.st_mode)) refuse_folder(c->path);
    Lines l = {.in = open_input(c->path, -1)};
    read_csv_bytes(&l, c);
    if (l.end == 0)
        fail(EXIT_DATA, c->path, "expected a CSV file, found an empty one; its first line should name the columns");
    if (l.end >= 3 && memcmp(l.room, "\xef\xbb\xbf", 3) == 0) l.at = 3;
    return l;
}

static void close_lines(Lines *l)
{
    close_input(l->in);
    free(l->room);
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

/* The next line, without its end; NULL: there is none. */
static char *next_csv_line(const Cursor *c, Lines *l)
{
    char *stop;
    for (int64_t from = l->at; !(stop = memchr(l->room + from, '\n', (size_t)(l->end - from))) && !l->ended;) {
        from = l->end - l->at;
        read_csv_bytes(l, c);
    }
    if (l->at >= l->end) return NULL;
    char *line = l->room + l->at;
    l->at = stop ? stop + 1 - l->room : l->end; /* the last line may have no end */
    if (!stop) stop = l->room + l->end;
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

static void open_csv_rows(Csv_data *c) { c->rows = open_stored(8 * (csv_features(c) + BEHIND)); }

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
    open_csv_rows(c);
    if (c->form.weight && c->weight_column < 0 && !c->form.optional)
        fail(EXIT_DATA, line_place(at),
             "expected a column \"%s\" (the weights of rows) among the %d that the first line names, %s",
             c->form.weight, c->columns, column_names(c));
    if (c->target_column >= 0 || c->form.optional) return;
    const char *close = nearest_word(c->form.target, (const char *const *)c->name, c->columns);
    fail(EXIT_DATA, line_place(at),
         "expected the class in a column \"%s\" (--set csv_target=COLUMN names another), found %s%s%s%s",
         c->form.target, column_names(c), close ? "; did you mean \"" : "", close ? close : "", close ? "\"?" : "");
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

static void take_row(Csv_data *c, Cursor *at)
{
    int width, k = 0;
    double *to = add_stored(c->rows), *behind = to + csv_features(c);
    for (at->more = true; at->more; at->column += width, k++) {
        char *field = next_field(at, &width);
        if (k >= c->columns || ((k == c->target_column || k == c->weight_column) && c->form.optional)) continue;
        if (k == c->group_column) {
            *(uint64_t *)(void *)(behind + GROUP) = hash_of(field, strlen(field));
            continue;
        }
        double x = number_in(c, at, field, k);
        if (k == c->target_column) behind[CLASS] = class_in(c, at, x);
        else if (k == c->weight_column) behind[WEIGHT] = weight_in(c, at, x);
        else *to++ = feature_in(c, at, x, k);
    }
    if (k != c->columns)
        fail(EXIT_DATA, line_place(at), "expected %d fields, as the first line has, found %d", c->columns, k);
}

static void take_file(Csv_data *c, const char *path, bool first)
{
    Cursor at = {.path = path, .line = 1, .column = 1};
    Lines l = open_lines(&at);
    for (char *line; (line = next_csv_line(&at, &l)); at.line++) {
        at.at = line;
        at.column = 1;
        if (at.line == 1 && first) take_header(c, &at);
        else if (at.line == 1) compare_header(c, &at);
        else if (*line) take_row(c, &at);
    }
    close_lines(&l);
}

/* ------------------------------------------------------------------ what others call */

Csv_data *new_csv(int features)
{
    Csv_data *c = must_alloc(sizeof *c);
    c->columns = features + 1;
    c->weight_column = c->group_column = -1;
    open_csv_rows(c);
    return c;
}

void add_csv_row(Csv_data *c, const double *feature, int32_t class)
{
    double *to = add_stored(c->rows);
    memcpy(to, feature, sizeof *to * (size_t)csv_features(c));
    to[csv_features(c) + CLASS] = class;
}

Csv_data *open_csv(const Words *paths, const Csv_form *form)
{
    if (are_arrays(paths)) return open_arrays(paths, form);
    Csv_data *c = must_alloc(sizeof *c);
    c->form = *form;
    for (int i = 0; i < paths->n; i++) take_file(c, paths->at[i], i == 0);
    return c;
}

int64_t csv_rows(const Csv_data *c) { return stored_rows(c->rows); }

int csv_features(const Csv_data *c)
{
    return c->columns - (c->target_column >= 0) - (c->weight_column >= 0) - (c->group_column >= 0);
}

uint64_t csv_hash(const Csv_data *c)
{
    Hash h;
    hash_start(&h);
    hash_stored(&h, c->rows, 0, 8 * (int64_t)csv_features(c));
    for (int64_t row = 0; row < csv_rows(c); row++) hash_add(&h, &(int32_t){csv_class(c, row)}, sizeof(int32_t));
    if (c->form.weight) hash_stored(&h, c->rows, 8 * (int64_t)(csv_features(c) + WEIGHT), 8);
    return hash_end(&h);
}

static uint64_t hash_of_number(double x)
{
    x += 0; /* -0 is 0 */
    return hash_of(&x, sizeof x);
}

uint64_t csv_row_hash(const Csv_data *c, int64_t row)
{
    uint64_t sum = hash_of_number(csv_class(c, row));
    const double *x = csv_row(c, row);
    for (int k = 0; k < csv_features(c); k++) sum = sum * 31 + hash_of_number(x[k]);
    return hash_of(&sum, sizeof sum);
}

bool csv_group(const Csv_data *c, const char *column, int64_t row, uint64_t *key)
{
    int k = 0;
    while (c->name && k < c->columns && strcmp(c->name[k], column) != 0) k++;
    if (!c->name || k == c->columns) return false;
    if (k == c->group_column) {
        *key = *(const uint64_t *)(const void *)(csv_row(c, row) + csv_features(c) + GROUP);
        return true;
    }
    int before = (c->target_column >= 0 && k > c->target_column) + (c->weight_column >= 0 && k > c->weight_column);
    if (k == c->target_column) *key = hash_of_number(csv_class(c, row));
    else *key = hash_of_number(k == c->weight_column ? csv_weight(c, row) : csv_row(c, row)[k - before]);
    return true;
}

int64_t csv_heap(const Csv_data *c) { return stored_heap(c->rows); }
const double *csv_row(const Csv_data *c, int64_t row) { return stored_row(c->rows, row); }
int32_t csv_class(const Csv_data *c, int64_t row) { return (int32_t)csv_row(c, row)[csv_features(c) + CLASS]; }
double csv_weight(const Csv_data *c, int64_t row) { return csv_row(c, row)[csv_features(c) + WEIGHT]; }
