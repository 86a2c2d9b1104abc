/* table.c: CSV and TSV: reads the wanted columns of each row, without ever storing the row.
 *
 * CSV follows RFC 4180: fields may be in double quotes, and then contain separators, newlines and doubled quotes.  TSV
 * follows IANA's registration: no quoting.  The first row names the columns. */
#include "base/words.h"
#include "source/reader.h"
#include "source/source.h"

#include <stdlib.h>
#include <string.h>

enum { FIELD, PLAIN, QUOTED, AFTER };
enum { NAME_BYTES = 1024, MOST_COLUMNS = 10000 };

/* ------------------------------------------------------------------ fields */

static bool at_row_end(Feed *f)
{
    int64_t n = want_feed(f, 2);
    const char *at = f->at + f->begin;
    return n == 0 || at[0] == '\n' || (at[0] == '\r' && (n == 1 || at[1] == '\n'));
}

/* Consumes n bytes, and adds them to `to` if it is not NULL. */
static void pass(Feed *f, Draft *to, int64_t n)
{
    if (to) add_draft(to, f->at + f->begin, n);
    f->begin += n;
}

static Got take_unquoted(Reader *r, Draft *to)
{
    Feed *f = &r->feed;
    char separator = r->table.separator;
    for (;;) {
        int64_t n = want_feed(f, 1), space = to ? draft_space(to) : n, run = 0;
        const char *at = f->at + f->begin;
        if (n == 0 || at[0] == separator || at_row_end(f)) return GOT_END;
        if (space <= 0) return GOT_PART;
        at = f->at + f->begin;
        if (space > n) space = n;
        while (run < space && at[run] != separator && at[run] != '\n' && at[run] != '\r') run++;
        pass(f, to, run ? run : 1); /* 1: a \r within a line */
    }
}

/* Reads up to and including the closing quote. */
static Got take_quoted(Reader *r, Draft *to)
{
    Feed *f = &r->feed;
    for (;;) {
        int64_t n = want_feed(f, 2), space = to ? draft_space(to) : n;
        const char *at = f->at + f->begin;
        if (n == 0)
            return stop_record(r, "expected a closing \" of a quoted field, found the end of the file"), GOT_BAD;
        if (space <= 0) return GOT_PART;
        if (space > n) space = n;
        const char *quote = memchr(at, '"', (size_t)space);
        int64_t run = quote ? quote - at : space;
        pass(f, to, run);
        if (run) continue;
        f->begin++;
        if (n < 2 || at[1] != '"') return GOT_END;
        pass(f, to, 1);
    }
}

static Got take_field(Reader *r, Draft *to)
{
    struct Table *t = &r->table;
    if (t->state == FIELD) {
        t->state = t->quoting && next_byte(&r->feed) == '"' ? QUOTED : PLAIN;
        r->feed.begin += t->state == QUOTED;
    }
    Got got = t->state == QUOTED ? take_quoted(r, to) : take_unquoted(r, to);
    if (got == GOT_END) t->state = AFTER;
    return got;
}

/* After a field: goes to the next (END), or to the row's end (NOTHING). */
static Got pass_separator(Reader *r)
{
    if (at_row_end(&r->feed)) return GOT_NOTHING;
    int c = next_byte(&r->feed);
    if (c != r->table.separator) {
        stop_record(r, "expected a separator behind the closing \" of a field, found byte 0x%02x", c);
        return GOT_BAD;
    }
    r->feed.begin++;
    r->table.column++;
    r->table.state = FIELD;
    return GOT_END;
}

/* ------------------------------------------------------------------ the header */

static _Noreturn void refuse_header(const Reader *r, const char *what)
{
    fail(EXIT_DATA, text_of("%s:1", r->file->path), "%s; the first line should name the columns", what);
}

static void add_name(struct Table *t, const Draft *d)
{
    t->name = must_grow(t->name, sizeof *t->name * (size_t)(t->columns + 1));
    t->name[t->columns++] = text_of("%.*s", (int)d->n, d->at);
}

static void read_columns(Reader *r)
{
    char room[NAME_BYTES + 8];
    Got more = GOT_END;
    while (more == GOT_END) {
        Draft d = {.at = room, .limit = NAME_BYTES, .room = sizeof room};
        Got got = take_field(r, &d);
        if (got == GOT_PART) refuse_header(r, "a column's name has more than 1,024 bytes");
        if (got == GOT_END) add_name(&r->table, &d);
        more = got == GOT_BAD ? GOT_BAD : pass_separator(r);
        if (r->table.columns > MOST_COLUMNS) refuse_header(r, "there are more than 10,000 columns");
    }
    if (more == GOT_BAD) refuse_header(r, r->wrong);
}

static int column_of(const struct Table *t, const char *name)
{
    for (int i = 0; i < t->columns; i++)
        if (strcmp(t->name[i], name) == 0) return i;
    return -1;
}

static char *names_text(const struct Table *t)
{
    char *all = text_of("%s", "");
    for (int i = 0; i < t->columns && i < 20; i++) {
        char *longer = text_of("%s%s\"%s\"", all, i ? ", " : "", t->name[i]);
        free(all);
        all = longer;
    }
    return all;
}

static int need_column(const Reader *r, const char *name)
{
    const struct Table *t = &r->table;
    int k = column_of(t, name);
    if (k >= 0) return k;
    const char *close = nearest_word(name, (const char *const *)t->name, t->columns);
    fail(EXIT_DATA, text_of("%s:1", r->file->path), "there is no column \"%s\"%s; the first line names %s", name,
         close ? text_of(" (did you mean \"%s\"?)", close) : "", names_text(t));
}

/* Finds columns by their default names. */
static void find_columns(Reader *r)
{
    struct Table *t = &r->table;
    t->text = column_of(t, "text");
    t->target = -1;
    if (t->text >= 0) return;
    for (int i = 0; i < PAIR_NAMINGS && (t->text < 0 || t->target < 0); i++) {
        t->text = column_of(t, pair_names[i][0]);
        t->target = column_of(t, pair_names[i][1]);
    }
    if (t->text < 0 || t->target < 0)
        fail(EXIT_DATA, text_of("%s:1", r->file->path),
             "there is no column \"text\", nor \"source\" and \"target\"; say which is meant of %s", names_text(t));
}

void start_table(Reader *r)
{
    const Source_options *o = &r->s->options;
    struct Table *t = &r->table;
    t->quoting = r->file->format == FORMAT_CSV;
    t->separator = t->quoting ? ',' : '\t';
    read_columns(r);
    if (!o->text && !o->target) {
        find_columns(r);
        return;
    }
    t->text = need_column(r, o->text ? o->text : "source");
    t->target = o->target ? need_column(r, o->target) : -1;
}

/* ------------------------------------------------------------------ rows */

static bool find_row(Reader *r)
{
    Feed *f = &r->feed;
    while (at_row_end(f)) {
        if (want_feed(f, 1) == 0) return false;
        f->begin++;
    }
    r->at.offset = feed_offset(f);
    r->at.line = feed_line(f);
    r->table.state = FIELD;
    r->table.column = 0;
    r->fresh = false;
    return true;
}

static Got field_step(Reader *r)
{
    struct Table *t = &r->table;
    Draft *to = t->column == t->text ? &r->text : t->column == t->target ? &r->target : NULL;
    Got got = take_field(r, to);
    if (got == GOT_BAD || !to || t->target < 0 || draft_space(to) > 0) return got;
    stop_record(r, "column \"%s\" of a pair has more than %lld bytes", t->name[t->column], (long long)r->part);
    return GOT_BAD;
}

static Got end_row(Reader *r)
{
    if (r->table.column + 1 == r->table.columns) return GOT_END;
    stop_record(r, "expected %d fields, as the first line has, found %d", r->table.columns, r->table.column + 1);
    return GOT_BAD;
}

Got read_table(Reader *r)
{
    if (r->fresh && !find_row(r)) return GOT_NOTHING;
    for (;;) {
        if (r->table.state != AFTER) {
            Got got = field_step(r);
            if (got != GOT_END) return got;
        }
        Got more = pass_separator(r);
        if (more == GOT_BAD) return more;
        if (more == GOT_NOTHING) return end_row(r);
    }
}
