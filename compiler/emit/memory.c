/* memory.c: the arena of an entry: its buffers as a table for people, and as one that the trainer reads. */
#include "emit/emit.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 99 };

/* Buffers that are first used in the same step keep the order in which they were made. */
static int by_birth(const void *a, const void *b)
{
    const Buffer *x = *(const Buffer *const *)a, *y = *(const Buffer *const *)b;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return x->number - y->number;
}

Buffers buffers_of_arena(const Program *p)
{
    Buffers all = {0};
    for (int i = 0; i < p->buffers.n; i++) {
        const Buffer *b = p->buffers.at[i];
        if (b->home == WORK && b->first >= 0) push(&all, b);
    }
    if (all.n) qsort(all.at, (size_t)all.n, sizeof *all.at, by_birth);
    return all;
}

/* ------------------------------------------------------------------ for people */

/* The steps from first to last, drawn in `columns` columns. */
static char *drawing(const Buffer *b, int steps, int columns)
{
    Text t = {0};
    int last = steps > 1 ? steps - 1 : 1;
    int from = (int)((int64_t)b->first * (columns - 1) / last), to = (int)((int64_t)b->last * (columns - 1) / last);
    for (int i = 0; i <= to; i++) say(&t, "%s", i < from ? " " : i == from || i == to ? "|" : "-");
    return t.at ? t.at : "";
}

static const char *shortened(const char *s, int width)
{
    int n = (int)strlen(s);
    return n <= width ? s : format("..%s", s + n - width + 2);
}

/* Replaces the longest names of extents by numbers until the shape fits. */
static const char *shape_within(Page *page, Shape s, int width)
{
    for (int named = 0; named < s.rank && (int)strlen(array_text(page, s, 0)) > width; named++) {
        int longest = 0;
        for (int k = 1; k < s.rank; k++)
            if (strlen(extent_in(page, s, k)) > strlen(extent_in(page, s, longest))) longest = k;
        s.axis[longest] = 0;
    }
    return shortened(array_text(page, s, 0), width);
}

/* For each buffer by number: the last step in which its bytes are used, under any name. */
static const int *last_of_bytes(const Program *p)
{
    int *last = NEW_ARRAY(int, p->buffers.n + 1);
    for (int i = 0; i < p->buffers.n; i++) {
        int of = bytes_of(p->buffers.at[i])->number;
        last[of] = (int)max64(last[of], p->buffers.at[i]->last);
    }
    return last;
}

/* A row of the table is a range of bytes: buffers that are made in place of others share it, and the pointers in the
 * entry show which ones do. drawn: print these rows, not the totals alone. */
void say_memory(Page *page, Text *t, const Program *p, const char *margin, bool drawn)
{
    enum { NAME = 24, SHAPE = 26, DRAWING = 8 };
    int name = 6, shape = 5, digits = (int)max64(9, (int64_t)strlen(format("%lld", (long long)p->work_bytes)));
    Buffers all = buffers_of_arena(p);
    for (int i = 0; i < all.n; i++) {
        name = (int)min64(NAME, max64(name, (int64_t)strlen(buffer_name(page, all.at[i]))));
        shape = (int)max64(shape, (int64_t)strlen(shape_within(page, all.at[i]->shape, SHAPE)));
    }
    say(t, "%smemory: %s bytes (%s without sharing) for %d buffers", margin, grouped(p->work_bytes),
        grouped(p->unshared_bytes), all.n);
    if (p->taken_over) say(t, ", %d of them over another", p->taken_over);
    say(t, "\n");
    if (p->lower_bound != p->work_bytes)
        say(t, "%s        at the fullest moment %s bytes are needed\n", margin, grouped(p->lower_bound));
    if (!all.n || !drawn) return;
    const int *last = last_of_bytes(p);
    int room = COLUMNS - (int)strlen(margin) - name - shape - 12 - 2 * digits;
    say(t, "%s%-*s %-*s %*s %*s steps\n", margin, name, "buffer", shape, "shape", digits, "bytes", digits, "offset");
    for (int i = 0; i < all.n; i++) {
        Buffer b = *all.at[i];
        if (b.in_place_of) continue;
        b.last = last[b.number];
        say(t, "%s%-*s %-*s %*lld %*lld %3d-%-3d %s\n", margin, name, shortened(buffer_name(page, all.at[i]), name),
            shape, shape_within(page, b.shape, shape), digits, (long long)b.bytes, digits, (long long)b.offset, b.first,
            b.last, drawing(&b, p->steps, (int)max64(DRAWING, min64(room, 40))));
    }
}

/* ------------------------------------------------------------------ for the trainer */

static bool has_buffer_table(const Program *p) { return entry_of(p->graph)->step && buffers_of_arena(p).n; }

static int ranges(const Program *p)
{
    Buffers all = buffers_of_arena(p);
    int n = 0;
    for (int i = 0; i < all.n; i++) n += !all.at[i]->in_place_of;
    return n;
}

static char *buffer_table(Page *page, const Program *p)
{
    return format("%s_buffers", identifier(page, p->graph->name));
}

char *buffers_member(Page *page, const Program *p)
{
    return has_buffer_table(p) ? format(", .buffers = %d, .buffer = %s", ranges(p), buffer_table(page, p)) : "";
}

static const char *line_of_value(const Node *value)
{
    return value && value->where.file ? format("%s:%d", file_name(value->where.file), value->where.line) : "";
}

static void say_buffer_table(Page *page, Text *t, const Program *p)
{
    enum { LONG_SHAPE = 60 };
    Buffers all = buffers_of_arena(p);
    const int *last = last_of_bytes(p);
    say(t, "\nstatic const Lathe_buffer %s[] = {\n    /* name, shape, line, bytes, offset, first and last lap */\n",
        buffer_table(page, p));
    for (int i = 0; i < all.n; i++) {
        const Buffer *b = all.at[i];
        if (b->in_place_of) continue;
        say_wrapped(t, format("    {\"%s\", \"%s\", %s, %lld, %lld, %d, %d},", buffer_name(page, b),
                              shape_within(page, b->shape, LONG_SHAPE), quoted(line_of_value(b->value)),
                              (long long)b->bytes, (long long)b->offset, b->first, last[b->number]));
    }
    say(t, "};\n");
}

/* A file beside model.c: nobody reads it there, and plan.txt draws the same. */
void put_buffer_tables(Page *page, const char *dir)
{
    Text t = {0};
    const Module *m = page->module;
    say(&t, "/* model.plan.h: buffers of the arena, for reports of runs; made by lathe, as plan.txt is. */\n");
    for (int i = 0; i < m->programs.n; i++) {
        enter_scope(page, m->programs.at[i]);
        if (has_buffer_table(m->programs.at[i])) say_buffer_table(page, &t, m->programs.at[i]);
    }
    put_file(dir, "model.plan.h", t.at, t.n);
}
