/* log_csv.c: --log csv: RUN/metrics.csv, a row for each line of metrics.jsonl and a column for each name that a line
 * has.
 *
 * When the first line with a new name comes, such as the first evaluation, the file is written anew: its header is
 * complete at any time.  Numbers are those of metrics.jsonl, to the digit; what a line does not have is empty. */
#include "base/words.h"
#include "trainer/logs.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Columns {
    char **name;
    const json_t **value; /* of the row at hand; NULL: none */
    int n;
    bool grown; /* in the row at hand */
} Columns;

/* ------------------------------------------------------------------ columns */

static int log_column(Columns *c, const char *name)
{
    for (int i = 0; i < c->n; i++)
        if (strcmp(c->name[i], name) == 0) return i;
    c->grown = true;
    c->name = must_grow(c->name, sizeof *c->name * (size_t)(c->n + 1));
    c->value = must_grow(c->value, sizeof *c->value * (size_t)(c->n + 1));
    c->name[c->n] = text_of("%s", name);
    c->value[c->n] = NULL;
    return c->n++;
}

static void take_log_cell(void *columns, const char *name, const json_t *value)
{
    Columns *c = columns;
    int k = log_column(c, name);
    c->value[k] = value;
}

static void take_log_row(void *columns, const json_t *line)
{
    Columns *c = columns;
    for (int i = 0; i < c->n; i++) c->value[i] = NULL;
    c->grown = false;
    take_log_cell(c, "step", json_object_get(line, "step"));
    take_log_cell(c, "split", json_object_get(line, "split"));
    each_value(line, take_log_cell, c);
}

/* ------------------------------------------------------------------ rows */

static void put_word(FILE *f, const char *word)
{
    bool plain = !strpbrk(word, "\",\r\n");
    if (!plain) fputc('"', f);
    for (; *word; word++) {
        if (*word == '"') fputc('"', f);
        fputc(*word, f);
    }
    if (!plain) fputc('"', f);
}

/* What jansson reads of at most 15 digits is written as it was. */
static void put_cell(FILE *f, const json_t *value)
{
    if (json_is_string(value)) put_word(f, json_string_value(value));
    if (json_is_integer(value)) fprintf(f, "%lld", (long long)json_integer_value(value));
    if (json_is_real(value)) fprintf(f, "%.15g", json_real_value(value));
    if (json_is_boolean(value)) fputs(json_is_true(value) ? "1" : "0", f);
}

/* The row at hand, or the header. */
static char *log_row_text(const Columns *c, bool header, size_t *bytes)
{
    char *text = NULL;
    FILE *f = print_to(&text, bytes);
    for (int i = 0; i < c->n; i++) {
        if (i) fputc(',', f);
        if (header) put_word(f, c->name[i]);
        else put_cell(f, c->value[i]);
    }
    fputc('\n', f);
    end_print(f);
    return text;
}

typedef struct Rows {
    Columns *columns;
    Out *to;
} Rows;

static void put_row(const Rows *r, bool header)
{
    size_t bytes;
    char *text = log_row_text(r->columns, header, &bytes);
    put_out(r->to, text, bytes);
    free(text);
}

static void copy_row(void *rows, const json_t *line)
{
    Rows *r = rows;
    take_log_row(r->columns, line);
    put_row(r, false);
}

/* ------------------------------------------------------------------ the file */

static void write_anew(Log *l)
{
    char *aside = text_of("%s.part", l->path);
    Fault *f = &l->fault;
    if (l->fd >= 0) close(l->fd);
    each_line(l->metrics, f, take_log_row, l->own);
    Rows rows = {l->own, open_out(aside, f)};
    put_row(&rows, true);
    each_line(l->metrics, f, copy_row, &rows);
    close_out(rows.to);
    replace_file(aside, l->path, f);
    l->fd = open(l->path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (l->fd < 0) set_fault(f, l->path, "written");
    free(aside);
}

static char *csv_path(const char *run) { return text_of("%s/metrics.csv", run); }

static bool has_csv(const char *run)
{
    char *path = csv_path(run);
    bool has = access(path, F_OK) == 0;
    free(path);
    return has;
}

static void open_csv_log(Log *l, const char *run)
{
    Columns *c = must_alloc(sizeof *c);
    static const char *const first[] = {"step", "split"};
    for (int i = 0; i < 2; i++) log_column(c, first[i]);
    l->own = c;
    l->path = csv_path(run);
    write_anew(l);
}

static void add_log_row(void *log, const json_t *line)
{
    Log *l = log;
    Columns *c = l->own;
    size_t bytes;
    take_log_row(c, line);
    if (c->grown) {
        write_anew(l);
        return;
    }
    char *text = log_row_text(c, false, &bytes);
    append_whole(l->fd, text, bytes, l->path, &l->fault);
    free(text);
}

static void free_columns(Log *l)
{
    Columns *c = l->own;
    for (int i = 0; i < c->n; i++) free(c->name[i]);
    free(c->name);
    free(c->value);
    free(c);
}

const Log_form csv_form = {"csv", has_csv, open_csv_log, add_log_row, NULL, free_columns};
