/* plain.c: documents of plain text: files, paragraphs, lines. */
#include "source/reader.h"
#include "source/source.h"

#include <string.h>

/* Lines end with \n, \r\n, or the end of the file.  An empty line has only its end. */

/* The length of an empty line at `at`, of n bytes (ended: nothing follows); 0: not an empty line, or the file's end. */
static int empty_line(const char *at, int64_t n, bool ended)
{
    if (n >= 1 && at[0] == '\n') return 1;
    if (n >= 2 && at[0] == '\r' && at[1] == '\n') return 2;
    return n == 1 && at[0] == '\r' && ended;
}

/* False: only empty lines were left. */
static bool skip_empty_lines(Feed *f)
{
    for (;;) {
        int64_t n = want_feed(f, 2);
        int length = empty_line(f->at + f->begin, n, f->ended);
        if (!length) return n > 0;
        f->begin += length;
    }
}

/* Whether the document ends with the newline at at[i] of n: two bytes follow it, or nothing does. */
static bool ends_here(const Feed *f, Split_text split, const char *at, int64_t i, int64_t n)
{
    return split == SPLIT_LINE || i + 1 == n || empty_line(at + i + 1, n - i - 1, f->ended);
}

/* The first newline at which the document ends, from `from` to `to`, of the n bytes that are there; -1: none. */
static int64_t find_end(const Feed *f, Split_text split, int64_t from, int64_t to, int64_t n)
{
    const char *at = f->at + f->begin, *newline;
    if (split != SPLIT_LINE && !f->ended && to > n - 2) to = n - 2; /* the last two cannot be decided yet */
    for (int64_t i = from; i < to && (newline = memchr(at + i, '\n', (size_t)(to - i))); i++) {
        i = newline - at;
        if (ends_here(f, split, at, i, n)) return i;
    }
    return -1;
}

/* The length of the document at the feed's place without the newline at its end; *used: with it.  -1: longer than the
 * reader's limit. */
static int64_t document_bytes(Reader *r, Split_text split, int64_t *used)
{
    Feed *f = &r->feed;
    int64_t most = r->part + 4, looked = 0; /* 4: \r\n\r\n */
    for (;;) {
        int64_t n = want_feed(f, looked + 1 < most ? looked + 1 : most), to = n < most ? n : most;
        int64_t end = find_end(f, split, looked > 2 ? looked - 2 : 0, to, n);
        if (end >= 0 || (f->ended && to == n)) {
            int64_t bytes = end < 0 ? n : end;
            *used = end < 0 ? n : end + 1;
            if (bytes > 0 && f->at[f->begin + bytes - 1] == '\r') bytes--;
            return bytes <= r->part ? bytes : -1;
        }
        if (to == most) return -1;
        looked = n;
    }
}

static int64_t file_bytes(Reader *r, int64_t *used)
{
    int64_t n = want_feed(&r->feed, r->part + 1);
    *used = n;
    return n <= r->part ? n : -1;
}

bool next_plain(Reader *r, Document *d)
{
    Feed *f = &r->feed;
    Split_text split = r->s->options.split;
    bool file = split == SPLIT_FILE || split == SPLIT_WHOLE;
    f->begin += r->used;
    r->used = 0;
    if (!r->at.inside && !(file ? want_feed(f, 1) > 0 : skip_empty_lines(f))) return false;
    if (file && want_feed(f, 1) == 0) return false;
    d->bytes = file ? file_bytes(r, &r->used) : document_bytes(r, split, &r->used);
    d->last = d->bytes >= 0;
    if (!d->last) d->bytes = r->used = place_to_cut(r, f->at + f->begin, r->part);
    d->text = f->at + f->begin;
    r->at.offset = feed_offset(f);
    r->at.line = feed_line(f);
    return true;
}
