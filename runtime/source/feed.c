/* feed.c: text from a file for the readers of formats, checked to be UTF-8, a window at a time. */
#include "base/words.h"
#include "source/reader.h"
#include "source/source.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 18, LONGEST = 4 }; /* LONGEST: bytes of a character */
static const char replacement[] = "\xef\xbf\xbd";

/* ------------------------------------------------------------------ UTF-8 */

/* The length of the character at `at`, of n bytes, if it is well-formed; otherwise minus the length of a maximal part
 * of one (Unicode 15, table 3-7 and section 3.9); *open: the text ends in the middle of it. */
static int character_at(const unsigned char *at, int64_t n, bool *open)
{
    unsigned char first = at[0];
    if (first < 0x80) return 1;
    if (first < 0xc2 || first > 0xf4) return -1;
    int length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    unsigned char low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    for (int i = 1; i < length; i++) {
        if (i == n) return *open = true, -i;
        if (at[i] < low || at[i] > high) return -i;
        low = 0x80, high = 0xbf;
    }
    return length;
}

static bool ascii_block(const unsigned char *at)
{
    unsigned char all = 0;
    for (int i = 0; i < 64; i++) all |= at[i];
    return all < 0x80;
}

/* The number of bytes from the start that are UTF-8; *bad: bytes after them that are not, or are incomplete. */
static int64_t good_prefix(const char *text, int64_t n, int *bad, bool *open)
{
    const unsigned char *at = (const unsigned char *)text;
    int64_t i = 0;
    *bad = 0;
    while (i < n) {
        while (i + 64 <= n && ascii_block(at + i)) i += 64;
        for (int64_t stop = i + 64; i < n && i < stop;) {
            int length = at[i] < 0x80 ? 1 : character_at(at + i, n - i, open);
            if (length < 0) return *bad = -length, i;
            i += length;
        }
    }
    return i;
}

/* ------------------------------------------------------------------ the window */

void open_feed(Feed *f, const Source_options *o, Counts *counts, int64_t most)
{
    int64_t chunk = o->read_bytes ? o->read_bytes : CHUNK;
    *f = (Feed){.bad_utf8 = o->bad_utf8, .counts = counts, .chunk = chunk < LONGEST ? LONGEST : chunk};
    f->room = 2 * most + f->chunk + 16;
    f->raw = must_alloc((size_t)f->chunk);
    f->at = must_alloc((size_t)f->room);
}

void close_feed(Feed *f)
{
    free(f->raw);
    free(f->at);
    free(f->change);
}

void start_feed(Feed *f, Input *in, int64_t line)
{
    f->in = in;
    f->raw_begin = f->raw_end = f->begin = f->end = f->before = f->counted = f->changes = f->next_change = 0;
    f->raw_ended = f->ended = false;
    f->base = input_offset(in);
    f->line = line;
}

int64_t feed_heap(const Feed *f) { return f->chunk + f->room + f->change_room * (int64_t)sizeof *f->change; }

int64_t feed_line(Feed *f)
{
    int64_t lines = 0;
    for (int64_t i = f->counted; i < f->begin; i++) lines += f->at[i] == '\n';
    f->counted = f->begin;
    return f->line += lines;
}

int64_t feed_offset(Feed *f)
{
    int64_t here = f->before + f->begin;
    for (; f->next_change < f->changes && f->change[f->next_change].at <= here; f->next_change++)
        f->base += f->change[f->next_change].bytes - (int64_t)sizeof replacement + 1;
    return f->base + here;
}

static void add_change(Feed *f, int bytes)
{
    if (f->changes == f->change_room) {
        f->change_room = f->change_room * 2 + 64;
        f->change = must_grow(f->change, sizeof *f->change * (size_t)f->change_room);
    }
    f->change[f->changes++] = (Change){.at = f->before + f->end, .bytes = bytes};
}

static _Noreturn void stop_at_bad(Feed *f)
{
    unsigned char byte = (unsigned char)f->raw[f->raw_begin];
    f->begin = f->end;
    fail(EXIT_DATA, text_of("%s:%lld", input_path(f->in), (long long)feed_line(f)),
         "expected UTF-8, found byte 0x%02x at offset %lld; convert the file (iconv), or let such bytes be replaced",
         byte, (long long)feed_offset(f));
}

static void replace(Feed *f, int bytes)
{
    if (f->bad_utf8 == UTF8_STOP) stop_at_bad(f);
    memcpy(f->at + f->end, replacement, sizeof replacement - 1);
    f->end += (int64_t)sizeof replacement - 1;
    f->raw_begin += bytes;
    add_change(f, bytes);
    f->counts->replaced++;
}

static void read_more(Feed *f)
{
    int64_t rest = f->raw_end - f->raw_begin;
    memmove(f->raw, f->raw + f->raw_begin, (size_t)rest);
    f->raw_begin = 0;
    f->raw_end = rest + read_input(f->in, f->raw + rest, f->chunk - rest);
    f->raw_ended = f->raw_end < f->chunk;
}

/* Copies checked bytes from raw into the window, as many as fit. */
static void copy_good(Feed *f, int64_t n)
{
    const char *from = f->raw + f->raw_begin;
    char *to = f->at + f->end;
    int64_t zeros = 0;
    memcpy(to, from, (size_t)n);
    for (int64_t i = 0; i < n; i++) zeros += to[i] == 0;
    f->counts->zero_bytes += zeros;
    f->raw_begin += n;
    f->end += n;
}

/* One step: reads, or checks what was read. */
static void check_some(Feed *f)
{
    int bad = 0;
    bool open = false;
    int64_t n = f->raw_end - f->raw_begin, space = f->room - f->end - LONGEST;
    if (n == 0 && f->raw_ended) {
        f->ended = true;
        return;
    }
    if (n == 0) {
        read_more(f);
        return;
    }
    int64_t good = n < space ? n : space;
    bool all = good == n;
    if (f->bad_utf8 != UTF8_KEEP) good = good_prefix(f->raw + f->raw_begin, good, &bad, &open);
    copy_good(f, good);
    if (!bad) return;
    if (open && !all) return; /* the window is full: only the bytes that fit were checked */
    if (open && !f->raw_ended) read_more(f);
    else replace(f, bad);
}

/* Moves the unused text to the window's beginning. */
static void move_down(Feed *f)
{
    feed_line(f);
    feed_offset(f);
    f->changes -= f->next_change;
    if (f->changes) memmove(f->change, f->change + f->next_change, sizeof *f->change * (size_t)f->changes);
    f->next_change = 0;
    memmove(f->at, f->at + f->begin, (size_t)(f->end - f->begin));
    f->before += f->begin;
    f->end -= f->begin;
    f->begin = f->counted = 0;
}

int64_t want_feed(Feed *f, int64_t n)
{
    if (f->end - f->begin >= n || f->ended) return f->end - f->begin;
    if (f->begin + n + f->chunk + LONGEST > f->room) move_down(f);
    while (f->end - f->begin < n && !f->ended) check_some(f);
    return f->end - f->begin;
}
