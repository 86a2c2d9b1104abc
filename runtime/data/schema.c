/* schema.c: finds out what the columns of a table are: one pass over all rows. */
#include "base/words.h"
#include "data/cells.h"
#include "data/schema.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_LEVELS = 1 << 16, FEW_CLASSES = 10, FEW_NAMES = 20, FEW_NUMBERS = 16, SHOWN = 8, MOST_TEXT = 1 << 30 };

/* ------------------------------------------------------------------ cells */

bool is_missing(const char *text)
{
    static const char *const words[] = {"", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "none", "?"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(text, words[i]) == 0) return true;
    return false;
}

/* Days from 1970-01-01 to a date of the Gregorian calendar (Howard Hinnant, chrono-compatible low-level date
 * algorithms, days_from_civil). */
static int64_t days_of(int year, int month, int day)
{
    int64_t y = year - (month <= 2), era = (y >= 0 ? y : y - 399) / 400, of_era = y - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* The number of `digits` digits at *at, which moves behind it; -1: there are others. */
static int digits_at(const char **at, int digits)
{
    int n = 0;
    for (; digits > 0; digits--, ++*at) {
        if (!isdigit((unsigned char)**at)) return -1;
        n = 10 * n + (**at - '0');
    }
    return n;
}

bool parse_date(const char *text, double *days)
{
    static const int lengths[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const char *at = text;
    int year = digits_at(&at, 4), month = *at == '-' ? at++, digits_at(&at, 2) : -1;
    int day = *at == '-' && month > 0 ? at++, digits_at(&at, 2) : -1, hour = 0, minute = 0, second = 0;
    if (year < 0 || month < 1 || month > 12 || day < 1 || day > lengths[month - 1]) return false;
    if (*at == ' ' || *at == 'T') {
        at++, hour = digits_at(&at, 2);
        minute = *at == ':' ? at++, digits_at(&at, 2) : -1;
        if (*at == ':') at++, second = digits_at(&at, 2);
    }
    if (*at == 'Z') at++;
    if (*at || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60) return false;
    *days = (double)days_of(year, month, day) + (hour * 3600 + minute * 60 + second) / 86400.0;
    return true;
}

int slots_of(const Column *c)
{
    return c->kind == COLUMN_NUMBER || c->kind == COLUMN_KNOWN ? 1 : c->kind == COLUMN_DATE ? MOST_SLOTS : 0;
}

int place_of_column(Cells *c, const char *name, bool needed, const char *path)
{
    int at = needed ? column_named(c, name) : wanted_column(c, name);
    if (at < 0)
        fail(EXIT_DATA, path, "expected a column \"%.60s\", as in the training data, found none %s", name,
             among_columns(c, name));
    return at;
}

int place_of_weight(const Cells *c, const char *name, const char *path)
{
    int at = name ? column_named(c, name) : -1;
    if (name && at < 0)
        fail(EXIT_DATA, path, "expected a column \"%.60s\" (the weights of rows) %s", name, among_columns(c, name));
    return at;
}

int level_of(const Column *c, const char *name)
{
    int low = 0, high = c->levels - 1;
    while (low <= high) {
        int middle = (low + high) / 2, order = strcmp(name, c->level[middle]);
        if (order == 0) return middle;
        if (order < 0) high = middle - 1;
        else low = middle + 1;
    }
    return -1;
}

/* ------------------------------------------------------------------ what was seen of a column */

/* Values of a column that may be numbers or dates are not kept beyond the first FEW_NUMBERS, since there may be as many
 * as rows.  If a later cell is a text after all, the files are read once more for its values. */
typedef struct Form { /* of cells: they are numbers, or dates */
    int64_t n;
    char *other, *other_place; /* the first cell that is not one */
} Form;

typedef struct Seen {
    bool numbers, dates, whole; /* all that is not missing is a number, a date, a whole number */
    bool all;                   /* values are kept whatever they are */
    bool passed;                /* some were not kept */
    bool many;                  /* more different values than MOST_LEVELS, which are not kept */
    Form number, date;
    int64_t present;
    Strings values;
    char *first_missing; /* its place */
} Seen;

static void keep_value(Seen *s, const char *text, int64_t *kept, const Cells *c)
{
    const int64_t n = (int64_t)strlen(text);
    if (s->many || find_string(&s->values, text, n) >= 0) return;
    s->many = s->values.n == MOST_LEVELS;
    *kept += s->many ? -s->values.bytes : n;
    if (s->many) free_strings(&s->values);
    else add_string(&s->values, text, n, true);
    if (*kept > MOST_TEXT)
        fail(EXIT_DATA, cell_place(c, cell_count(c)),
             "the different texts of the columns up to this row have more than %s; leave out the columns that are no "
             "categories (drop)",
             bytes_text(MOST_TEXT));
}

static bool count_form(Form *f, bool is, const Cells *c, int at)
{
    f->n += is;
    if (is || f->other) return is;
    f->other = text_of("%.60s", cell(c, at));
    f->other_place = cell_place(c, at);
    return false;
}

/* So nearly all that the other cells may be mistakes. */
static bool nearly_all_are(const Form *f, const Seen *s)
{
    int64_t others = s->present - f->n;
    return others > 0 && others <= s->present / 10;
}

static void see(Seen *s, const Cells *c, int at, int64_t *kept)
{
    const char *text = cell(c, at);
    double x = 0, day;
    s->present++;
    s->numbers &= count_form(&s->number, parse_real(text, &x), c, at);
    s->dates &= count_form(&s->date, parse_date(text, &day), c, at);
    s->whole &= s->numbers && x == floor(x) && fabs(x) < 1e9;
    s->passed |= !s->all && (s->numbers || s->dates) && s->values.n == FEW_NUMBERS;
    if (!s->passed) keep_value(s, text, kept, c);
}

static void see_row(Schema *s, Seen *seen, const Cells *c, const int *at, int64_t *kept)
{
    s->rows++;
    for (int k = 0; k < s->columns; k++) {
        if (!is_missing(cell(c, at[k]))) see(&seen[k], c, at[k], kept);
        else if (!s->column[k].missing++) seen[k].first_missing = cell_place(c, at[k]);
    }
}

/* ------------------------------------------------------------------ kinds */

bool list_has(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = list; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        at += strspn(at, " ");
        if (strncmp(at, name, n) == 0 && (at[n] == ',' || !at[n])) return true;
    }
    return false;
}

void check_listed(const Cells *c, const char *path, const char *option, const char *list)
{
    for (const char *at = list, *end; at && *at; at = *end ? end + 1 : NULL) {
        at += strspn(at, " ");
        end = at + strcspn(at, ",");
        char *word = text_of("%.*s", (int)(end - at), at);
        if (column_named(c, word) < 0)
            fail(EXIT_DATA, path, "%s: there is no column \"%.60s\" %s", option, word, among_columns(c, word));
        free(word);
    }
}

static int by_level(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void take_levels(Column *c, const Seen *s)
{
    int missing = c->missing && c->kind == COLUMN_CATEGORY;
    c->levels = s->values.n + missing;
    c->level = must_alloc(sizeof *c->level * (size_t)(c->levels + 1));
    c->id = must_alloc(sizeof *c->id * (size_t)(c->levels + 1));
    for (int32_t k = 0; k < s->values.n; k++) {
        int64_t n;
        const char *text = string_at(&s->values, k, &n);
        c->level[k] = text_of("%.*s", (int)n, text);
    }
    if (missing) c->level[s->values.n] = text_of("%s", "");
    qsort(c->level, (size_t)c->levels, sizeof *c->level, by_level);
}

static void leave_column_out(Column *c, const char *why)
{
    c->kind = COLUMN_LEFT_OUT;
    c->why = text_of("%s", why);
}

/* Text in a column of numbers or dates makes all of them texts. */
static void tell_of_other(Column *c, const Seen *s, const Form *f, const char *form)
{
    if (nearly_all_are(f, s))
        c->why = text_of("%s%s%lld of its %lld values are %s; \"%s\" (%s) is not one", c->why ? c->why : "",
                         c->why ? "; " : "", (long long)f->n, (long long)s->present, form, f->other, f->other_place);
}

static void find_kind(Column *c, const Seen *s, const Table_form *form, int64_t rows)
{
    bool category = list_has(form->as_categories, c->name);
    bool weight = form->weight && strcmp(c->name, form->weight) == 0;
    bool group = form->group && strcmp(c->name, form->group) == 0 && !category;
    if (list_has(form->drop, c->name) || weight || group) c->kind = COLUMN_LEFT_OUT;
    else if (!s->present) leave_column_out(c, "all its values are missing");
    else if (!s->many && s->values.n == 1 && !c->missing) leave_column_out(c, "it has the same value in all rows");
    else if (s->numbers && !category) c->kind = COLUMN_NUMBER;
    else if (s->dates && !category) c->kind = COLUMN_DATE;
    else if (s->many || (!category && s->values.n > FEW_NAMES && s->values.n > rows / 2))
        leave_column_out(c, "nearly every row has a text of its own");
    else c->kind = COLUMN_CATEGORY;
    c->flagged = c->missing && (c->kind == COLUMN_NUMBER || c->kind == COLUMN_DATE);
    if (c->kind == COLUMN_CATEGORY) take_levels(c, s);
    if (category || (c->kind == COLUMN_LEFT_OUT && !c->why)) return;
    if (c->kind != COLUMN_NUMBER) tell_of_other(c, s, &s->number, "numbers");
    if (c->kind != COLUMN_DATE) tell_of_other(c, s, &s->date, "dates");
}

static void find_target(Schema *s, Column *c, const Seen *t, const Table_form *form)
{
    const char *place = text_of("column \"%.60s\"", c->name);
    bool few = t->whole && !t->many && t->values.n <= FEW_CLASSES && s->targets == 1;
    if (c->missing)
        fail(EXIT_DATA, t->first_missing,
             "expected a value of the target in each row, found none; remove the rows without one");
    if (!t->many && t->values.n == 1) fail(EXIT_DATA, place, "the target has the same value in all rows");
    if (s->targets > 1 && (!t->numbers || form->task == LATHE_CLASSES))
        fail(EXIT_DATA, t->numbers ? place : t->number.other_place,
             "expected a number in each row, since there are %d targets, found %s; a table has one target of classes, "
             "or several of numbers; for both give arrays (data.arrays), or train a model for each",
             s->targets, t->numbers ? "task=class" : text_of("\"%s\"", t->number.other));
    if (form->task == LATHE_TASK_FOUND && nearly_all_are(&t->number, t))
        fail(EXIT_DATA, t->number.other_place,
             "expected a number, as in %lld of %lld rows, found \"%s\"; correct the cell, or remove the row; if the "
             "column holds classes: task=class",
             (long long)t->number.n, (long long)t->present, t->number.other);
    s->classes = form->task == LATHE_CLASSES || (form->task == LATHE_TASK_FOUND && (!t->numbers || few));
    if (!s->classes && !t->numbers)
        fail(EXIT_DATA, t->number.other_place,
             "expected a number in each row, as task=real says, found \"%s\"; task=class takes classes",
             t->number.other);
    if (s->classes && (t->many || t->values.n > s->rows / 2))
        fail(EXIT_DATA, place, "expected classes, found %s different values in %lld rows%s",
             t->many ? "too many" : text_of("%d", t->values.n), (long long)s->rows,
             t->numbers    ? "; task=real predicts a number"
             : t->number.n ? text_of("; \"%s\" (%s) is not a number", t->number.other, t->number.other_place)
                           : "");
    if (s->classes) take_levels(c, t);
    for (int k = 0; k < c->levels; k++) c->id[k] = k;
}

static void count_inputs(Schema *s)
{
    for (int k = 0; k < s->columns; k++) {
        const Column *c = &s->column[k];
        s->numbers += slots_of(c) + c->flagged;
        if (c->kind != COLUMN_CATEGORY) continue;
        s->categories++;
        s->levels += c->levels + 1; /* and the unknown */
    }
}

/* ------------------------------------------------------------------ files */

static Schema *new_schema(const Cells *c, const Table_form *form)
{
    Schema *s = must_alloc(sizeof *s);
    s->columns = cell_count(c);
    s->column = must_alloc(sizeof *s->column * (size_t)s->columns);
    for (int k = 0; k < s->columns; k++) s->column[k].name = text_of("%s", column_name(c, k));
    bool one = column_named(c, form->target) >= 0; /* also with commas in its name */
    s->target = -1;
    for (int k = s->columns - 1; k >= 0; k--) {
        if (one ? strcmp(s->column[k].name, form->target) != 0 : !list_has(form->target, s->column[k].name)) continue;
        s->column[k].kind = COLUMN_TARGET;
        s->target = k;
        s->targets++;
    }
    return s;
}

Column *target_column(const Schema *s, int k)
{
    Column *c = &s->column[s->target];
    for (; k > 0 || c->kind != COLUMN_TARGET; c++) k -= c->kind == COLUMN_TARGET;
    return c;
}

/* Where each column of the first file is in this one; names may come in another order. */
static int *columns_of_first(const Schema *s, Cells *c, const char *path)
{
    int *at = must_alloc(sizeof *at * (size_t)s->columns);
    for (int k = 0; k < s->columns; k++)
        if ((at[k] = wanted_column(c, s->column[k].name)) < 0)
            fail(EXIT_DATA, path, "expected a column \"%.60s\", as in the first file, found none", s->column[k].name);
    return at;
}

void refuse_stream(const char *path, const char *why)
{
    struct stat about;
    bool pipe = stat(path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode);
    if (pipe || strcmp(path, "-") == 0) fail(EXIT_DATA, path, "%s; write it into a file", why);
}

static Schema *schema_of_first(Cells *c, const Table_form *form, const char *path)
{
    Schema *s = new_schema(c, form);
    check_listed(c, path, "drop", form->drop);
    check_listed(c, path, "categories", form->as_categories);
    place_of_weight(c, form->weight, path);
    if (s->target < 0)
        fail(EXIT_DATA, path,
             "expected the target in a column \"%s\" (--set csv_target=COLUMN names another), found none %s",
             form->target, among_columns(c, form->target));
    if (s->targets > 1 || strcmp(s->column[s->target].name, form->target) != 0)
        check_listed(c, path, "target", form->target);
    return s;
}

static Seen *see_nothing(const Schema *s, const Table_form *form)
{
    Seen *seen = must_alloc(sizeof *seen * (size_t)s->columns);
    for (int k = 0; k < s->columns; k++) {
        seen[k].numbers = seen[k].dates = seen[k].whole = true;
        seen[k].all = s->column[k].kind == COLUMN_TARGET || list_has(form->as_categories, s->column[k].name);
    }
    return seen;
}

/* Reads the files once more for the values of columns that turned out to be texts after many numbers. */
static void see_again(const Words *paths, const Schema *s, Seen *seen, int64_t *kept)
{
    int *again = must_alloc(sizeof *again * (size_t)s->columns), n = 0;
    for (int k = 0; k < s->columns; k++)
        if (seen[k].passed && !seen[k].numbers && !seen[k].dates) again[n++] = k;
    for (int i = 0; i < paths->n && n; i++) {
        Cells *c = open_cells(paths->at[i]);
        int *at = columns_of_first(s, c, paths->at[i]);
        while (next_cells(c))
            for (int k = 0; k < n; k++)
                if (!is_missing(cell(c, at[again[k]]))) keep_value(&seen[again[k]], cell(c, at[again[k]]), kept, c);
        free(at);
        close_cells(c);
    }
    free(again);
}

Schema *find_schema(const Words *paths, const Table_form *form)
{
    Schema *s = NULL;
    Seen *seen = NULL;
    int64_t kept = 0; /* bytes of values */
    for (int i = 0; i < paths->n; i++) {
        refuse_stream(paths->at[i], "a table to train on is read twice, and a pipe can be read only once");
        Cells *c = open_cells(paths->at[i]);
        if (!s) s = schema_of_first(c, form, paths->at[i]);
        if (!seen) seen = see_nothing(s, form);
        int *at = columns_of_first(s, c, paths->at[i]);
        while (next_cells(c)) see_row(s, seen, c, at, &kept);
        free(at);
        close_cells(c);
    }
    if (!s->rows) fail(EXIT_DATA, paths->at[0], "expected rows to train on, found none; give more data");
    see_again(paths, s, seen, &kept);
    for (int k = 0; k < s->columns; k++)
        if (s->column[k].kind == COLUMN_TARGET) find_target(s, &s->column[k], &seen[k], form);
        else find_kind(&s->column[k], &seen[k], form, s->rows);
    count_inputs(s);
    for (int k = 0; k < s->columns; k++) free_strings(&seen[k].values);
    free(seen);
    return s;
}

/* ------------------------------------------------------------------ words */

const char *schema_text(const Schema *s)
{
    const Column *t = &s->column[s->target];
    char *target =
        s->classes ? text_of("\"%s\": one of %d classes", t->name, t->levels) : text_of("\"%s\": a number", t->name);
    for (int k = 1; k < s->targets; k++) target = text_of("%s, \"%s\": a number", target, target_column(s, k)->name);
    return text_of("%lld rows; %d number%s, %d categor%s of %lld values; target %s", (long long)s->rows, s->numbers,
                   s->numbers == 1 ? "" : "s", s->categories, s->categories == 1 ? "y" : "ies", (long long)s->levels,
                   target);
}

static void tell_columns(const Schema *s, Column_kind kind, const char *one, const char *several)
{
    int n = 0;
    for (int k = 0; k < s->columns; k++)
        if (s->column[k].kind == kind && s->column[k].why && n++ < SHOWN)
            note("column \"%s\" is %s: %s", s->column[k].name, one, s->column[k].why);
    if (n > SHOWN)
        note("%d more column%s %s for reasons like these", n - SHOWN, n == SHOWN + 1 ? " is" : "s are",
             n == SHOWN + 1 ? one : several);
}

void tell_left_out(const Schema *s)
{
    tell_columns(s, COLUMN_LEFT_OUT, "left out", "left out");
    tell_columns(s, COLUMN_CATEGORY, "a category", "categories");
}
