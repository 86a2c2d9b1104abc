/* cells.c: reads tables in CSV and TSV files, and in JSON lines, a row at a time.
 *
 * Of JSON lines the columns are all keys of the file, in the order of their first lines, so the file is read once more
 * before its rows. */
#include "base/words.h"
#include "data/cells.h"
#include "data/files.h"
#include "source/source.h"
#include "token/token.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CHUNK = 1 << 16, MOST_ROW = 1 << 24, MOST_COLUMNS = 1 << 16, SHOWN = 20 };

struct Cells {
    char *path;
    Input *in;
    char *chunk; /* [CHUNK] bytes of the file, at … end */
    int64_t at, end;
    bool ended;
    char separator;          /* 0: JSON lines */
    int64_t line, next_line; /* of the row's first byte; of the next byte */
    char *text;              /* of the row: its fields, each ended by 0 */
    int64_t used, room;
    int64_t *field; /* [fields] where each begins in text */
    int fields, field_room;
    char **name; /* [columns] */
    int columns, name_room;
    Strings places; /* the names, to find their columns by */
    bool lists;     /* values may be lists */
    json_t *row;    /* whose lists are asked for */
};

/* ------------------------------------------------------------------ bytes */

/* The next byte; -1 at the end. */
static int look(Cells *c)
{
    if (c->at == c->end && !c->ended) {
        c->at = 0;
        c->end = read_input(c->in, c->chunk, CHUNK);
        c->ended = c->end == 0;
    }
    return c->at < c->end ? (unsigned char)c->chunk[c->at] : -1;
}

static char *row_place(const Cells *c) { return text_of("%s:%lld", c->path, (long long)c->line); }

static void keep_byte(Cells *c, int byte)
{
    if (c->used == MOST_ROW)
        fail(EXIT_DATA, row_place(c), "the row has more than %d bytes; is a closing \" missing?", MOST_ROW);
    if (c->used == c->room) c->text = must_grow(c->text, (size_t)(c->room = c->room * 2 + 256));
    c->text[c->used++] = (char)byte;
}

static void begin_field(Cells *c)
{
    if (c->fields == MOST_COLUMNS)
        fail(EXIT_DATA, row_place(c), "expected at most %d columns; is this a table?", MOST_COLUMNS);
    if (c->fields == c->field_room)
        c->field = must_grow(c->field, sizeof *c->field * (size_t)(c->field_room = c->field_room * 2 + 16));
    c->field[c->fields++] = c->used;
}

static bool at_line_end(int byte) { return byte < 0 || byte == '\n' || byte == '\r'; }

static void pass_line_end(Cells *c)
{
    if (look(c) == '\r') {
        c->at++;
        if (look(c) != '\n') c->next_line++;
    }
    if (look(c) == '\n') c->at++, c->next_line++;
}

/* ------------------------------------------------------------------ fields */

/* Up to the closing quote, after the opening one. */
static void take_quoted_text(Cells *c)
{
    for (;; c->at++) {
        int byte = look(c);
        if (byte < 0)
            fail(EXIT_DATA, row_place(c),
                 "expected a closing \" of a field that begins in this row, found the end of the file");
        c->next_line += byte == '\n';
        if (byte == '"') {
            c->at++;
            if (look(c) != '"') return;
        }
        keep_byte(c, byte);
    }
}

static void take_plain_text(Cells *c, int64_t begin)
{
    for (int byte; !at_line_end(byte = look(c)) && byte != c->separator; c->at++) {
        if (byte == 0) fail(EXIT_DATA, row_place(c), "expected text, found a zero byte; is this a CSV file?");
        keep_byte(c, byte);
    }
    while (c->used > begin && (c->text[c->used - 1] == ' ' || c->text[c->used - 1] == '\t')) c->used--;
}

static void skip_blanks(Cells *c)
{
    while (look(c) == ' ' || (look(c) == '\t' && c->separator != '\t')) c->at++;
}

static void take_cell(Cells *c)
{
    begin_field(c);
    skip_blanks(c);
    if (look(c) != '"') take_plain_text(c, c->used);
    else {
        c->at++;
        take_quoted_text(c);
        skip_blanks(c);
        if (!at_line_end(look(c)) && look(c) != c->separator)
            fail(EXIT_DATA, cell_place(c, c->fields - 1),
                 "expected a separator after the closing \", found byte 0x%02x", (unsigned)look(c));
    }
    keep_byte(c, 0);
}

/* False: the file has no further row. */
static bool take_cells(Cells *c)
{
    for (; look(c) >= 0; pass_line_end(c)) {
        c->fields = 0;
        c->used = 0;
        c->line = c->next_line;
        skip_blanks(c);
        if (at_line_end(look(c))) continue;
        take_cell(c);
        while (look(c) == c->separator) {
            c->at++;
            take_cell(c);
        }
        pass_line_end(c);
        return true;
    }
    return false;
}

/* ------------------------------------------------------------------ JSON lines */

static bool names_json_lines(const char *path)
{
    static const char *const ends[] = {".jsonl", ".jsonl.gz", ".jsonl.zst", ".ndjson", ".ndjson.gz", ".ndjson.zst"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (has_end(path, ends[i])) return true;
    return false;
}

/* The object of the next line; NULL: there is none. */
static json_t *next_object(Cells *c)
{
    json_error_t why;
    for (skip_blanks(c); at_line_end(look(c)) && look(c) >= 0; skip_blanks(c)) pass_line_end(c);
    if (look(c) < 0) return NULL;
    c->used = 0;
    c->line = c->next_line;
    for (int byte; (byte = look(c)) >= 0 && byte != '\n'; c->at++) keep_byte(c, byte);
    pass_line_end(c);
    json_t *all = json_loadb(c->text, (size_t)c->used, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
    if (!all) fail(EXIT_DATA, row_place(c), "expected a JSON object in this line, found a fault in it: %s", why.text);
    if (!json_is_object(all))
        fail(EXIT_DATA, row_place(c), "expected a JSON object, {\"column\": value, …}, found another value");
    return all;
}

static void add_column(Cells *c, char *name)
{
    const int64_t n = (int64_t)strlen(name);
    if (c->columns == c->name_room)
        c->name = must_grow(c->name, sizeof *c->name * (size_t)(c->name_room = c->name_room * 2 + 16));
    add_string(&c->places, name, n, find_string(&c->places, name, n) < 0);
    c->name[c->columns++] = name;
}

static void keep_text(Cells *c, const char *text)
{
    while (*text) keep_byte(c, (unsigned char)*text++);
    keep_byte(c, 0);
}

/* The fewest digits that are read as the same number. */
static void keep_real(Cells *c, double x)
{
    char text[32];
    int digits = 14;
    do snprintf(text, sizeof text, "%.*g", ++digits, x);
    while (digits < 17 && strtod(text, NULL) != x);
    keep_text(c, text);
}

static void take_json_cell(Cells *c, const json_t *value)
{
    char text[32] = "";
    begin_field(c);
    if (json_is_string(value)) keep_text(c, json_string_value(value));
    else if (json_is_array(value) && c->lists) keep_text(c, "");
    else if (json_is_real(value)) keep_real(c, json_real_value(value));
    else if (json_is_object(value) || json_is_array(value))
        fail(EXIT_DATA, cell_place(c, c->fields - 1),
             "expected a text, a number, true, false or null, found %s; give each of its values a column",
             json_is_array(value) ? "a list" : "an object");
    else {
        if (json_is_integer(value)) snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        if (json_is_boolean(value)) snprintf(text, sizeof text, "%s", json_is_true(value) ? "true" : "false");
        keep_text(c, text);
    }
}

static bool take_json_cells(Cells *c)
{
    json_t *row = next_object(c);
    if (!row) return false;
    c->used = c->fields = 0;
    for (int k = 0; k < c->columns; k++) take_json_cell(c, json_object_get(row, c->name[k]));
    json_decref(c->row);
    c->row = row;
    return true;
}

/* Reads the file for the names of the columns. */
static void take_keys(Cells *c)
{
    json_t *keys = json_object(), *value, *row;
    const char *key;
    while ((row = next_object(c))) {
        json_object_foreach(row, key, value) if (!json_object_get(keys, key))
            json_object_set_new(keys, key, json_true());
        if (json_object_size(keys) > MOST_COLUMNS)
            fail(EXIT_DATA, row_place(c), "expected at most %d different keys; is this a table?", MOST_COLUMNS);
        json_decref(row);
    }
    if (!json_object_size(keys))
        fail(EXIT_DATA, c->path,
             "expected a table, found no rows; each line should be an object: {\"column\": value, …}");
    json_object_foreach(keys, key, value) add_column(c, text_of("%s", key));
    json_decref(keys);
}

/* ------------------------------------------------------------------ the names */

static void skip_byte_order_mark(Cells *c)
{
    look(c);
    if (c->end - c->at >= 3 && memcmp(c->chunk + c->at, "\xef\xbb\xbf", 3) == 0) c->at += 3;
}

static char separator_of(const Cells *c)
{
    static const char known[] = ",\t;";
    int64_t most = 0;
    char best = ',';
    int64_t begin = c->at;
    while (begin < c->end && at_line_end((unsigned char)c->chunk[begin])) begin++;
    for (const char *k = known; *k; k++) {
        int64_t n = 0;
        bool quoted = false;
        for (int64_t i = begin; i < c->end && (quoted || !at_line_end((unsigned char)c->chunk[i])); i++) {
            quoted ^= c->chunk[i] == '"';
            n += !quoted && c->chunk[i] == *k;
        }
        if (n > most) best = *k, most = n;
    }
    return best;
}

static void take_column_names(Cells *c)
{
    if (!take_cells(c))
        fail(EXIT_DATA, c->path, "expected a table, found an empty file; its first line should name the columns");
    for (int k = 0; k < c->fields; k++) {
        const char *word = cell(c, k);
        if (*word && column_named(c, word) >= 0)
            fail(EXIT_DATA, row_place(c), "two columns are called \"%.60s\"; each needs a name of its own", word);
        add_column(c, *word ? text_of("%s", word) : text_of("column %d", k + 1));
    }
}

static void start_cells(Cells *c)
{
    c->in = open_input(c->path, -1);
    c->at = c->end = 0;
    c->ended = false;
    c->line = c->next_line = 1;
    skip_byte_order_mark(c);
}

static void open_json_cells(Cells *c)
{
    if (input_is_stream(c->in))
        fail(EXIT_DATA, c->path,
             "a table of JSON lines is read twice, and a pipe can be read only once; write it into a file");
    take_keys(c);
    close_input(c->in);
    start_cells(c);
}

_Noreturn void refuse_folder(const char *path)
{
    fail(EXIT_DATA, path, "expected a CSV file, found a folder; name its files: --data %s/*.csv%s", path,
         data_file_hint(path));
}

static Cells *opened(const char *path, bool lists)
{
    struct stat about;
    Cells *c = must_alloc(sizeof *c);
    c->path = text_of("%s", path);
    c->lists = lists;
    if (stat(path, &about) == 0 && S_ISDIR(about.st_mode)) refuse_folder(path);
    c->chunk = must_alloc(CHUNK);
    start_cells(c);
    if (names_json_lines(path)) {
        open_json_cells(c);
        return c;
    }
    c->separator = separator_of(c);
    take_column_names(c);
    return c;
}

Cells *open_cells(const char *path) { return opened(path, false); }
Cells *open_cells_and_lists(const char *path) { return opened(path, true); }

void close_cells(Cells *c)
{
    close_input(c->in);
    json_decref(c->row);
    for (int k = 0; k < c->columns; k++) free(c->name[k]);
    free(c->name);
    free_strings(&c->places);
    free(c->chunk);
    free(c->text);
    free(c->field);
    free(c->path);
    free(c);
}

/* ------------------------------------------------------------------ rows */

bool next_cells(Cells *c)
{
    if (!c->separator) return take_json_cells(c);
    if (!take_cells(c)) return false;
    if (c->fields != c->columns)
        fail(EXIT_DATA, row_place(c), "expected %d fields, as the first line has, found %d", c->columns, c->fields);
    return true;
}

int cell_count(const Cells *c) { return c->columns; }
const char *column_name(const Cells *c, int k) { return c->name[k]; }
const char *cell(const Cells *c, int k) { return c->text + c->field[k]; }

const json_t *cell_list(const Cells *c, int k)
{
    const json_t *value = c->row ? json_object_get(c->row, c->name[k]) : NULL;
    return json_is_array(value) ? value : NULL;
}

int column_named(const Cells *c, const char *name) { return find_string(&c->places, name, (int64_t)strlen(name)); }

char *among_columns(const Cells *c, const char *wanted)
{
    const char *close = nearest_word(wanted, (const char *const *)c->name, c->columns);
    char *all = text_of("among the %d", c->columns);
    for (int k = 0; k < c->columns && k < SHOWN; k++) {
        char *longer = text_of("%s%s\"%.60s\"", all, k ? ", " : ": ", c->name[k]);
        free(all);
        all = longer;
    }
    return text_of("%s%s%s%s%s", all, c->columns > SHOWN ? ", …" : "", close ? "; did you mean \"" : "",
                   close ? close : "", close ? "\"?" : "");
}

int wanted_column(Cells *c, const char *name)
{
    int at = column_named(c, name);
    if (at >= 0 || c->separator) return at;
    note("%s: no line has the key \"%.60s\": its values count as missing", c->path, name);
    add_column(c, text_of("%s", name));
    return c->columns - 1;
}

char *cell_place(const Cells *c, int k)
{
    if (k >= c->columns) return row_place(c);
    return text_of("%s:%lld, column \"%.60s\"", c->path, (long long)c->line, c->name[k]);
}

int64_t cell_line(const Cells *c) { return c->line; }

void number_of_cell(const Cells *c, int k, double *to)
{
    if (!parse_real(cell(c, k), to))
        fail(EXIT_DATA, cell_place(c, k), "expected a number, found \"%.60s\"", cell(c, k));
}
