/* reader.c: reads documents, or parts of long ones, in order, from files of any format.
 *
 * A document longer than a part is returned in parts, cut where the cut does not change tokens, as the tokenizer
 * determines.  Parts depend only on the file, the limit and that function; reading can resume at the Place of each. */
#include "base/hash.h"
#include "base/words.h"
#include "source/reader.h"
#include "source/source.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ parts */

static bool inside_character(char c) { return ((unsigned char)c & 0xc0) == 0x80; }

/* The last start of a character up to k; k if there is none near, because the bytes are not text. */
static int64_t character_start(const char *text, int64_t k)
{
    int64_t back = k;
    while (back > 0 && k - back < 3 && inside_character(text[back])) back--;
    return inside_character(text[back]) ? k : back;
}

/* The default cut: before the last space of the last eighth. */
static int64_t place_of_blank(const char *text, int64_t n)
{
    for (int64_t k = n - 1; k > n - n / 8; k--)
        if (text[k] == ' ' || text[k] == '\n') return k;
    return character_start(text, n);
}

/* The text continues at text[n].  Unless bytes are kept unchanged, a cut is never inside a character. */
int64_t place_to_cut(Reader *r, const char *text, int64_t n)
{
    int64_t k = r->cut ? r->cut(r->cut_arg, text, n) : 0;
    bug_if(k < 0 || k > n);
    if (k > 0 && r->s->options.bad_utf8 != UTF8_KEEP) k = character_start(text, k);
    return k > 0 ? k : place_of_blank(text, n);
}

int64_t draft_space(const Draft *d) { return d->limit + 1 - d->n; }

void add_draft(Draft *d, const char *at, int64_t n)
{
    bug_if(d->n + n > d->room);
    memcpy(d->at + d->n, at, (size_t)n);
    d->n += n;
}

static void drop_draft(Draft *d, int64_t n)
{
    memmove(d->at, d->at + n, (size_t)(d->n - n));
    d->n -= n;
}

/* ------------------------------------------------------------------ records: JSON lines and tables */

const char *const pair_names[PAIR_NAMINGS][2] = {{"source", "target"}, {"prompt", "completion"}};

void stop_record(Reader *r, const char *fmt, ...)
{
    static _Thread_local char why[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    r->wrong = why;
}

static void skip_line(Feed *f)
{
    while (want_feed(f, 1) > 0) {
        char *newline = memchr(f->at + f->begin, '\n', (size_t)(f->end - f->begin));
        f->begin = newline ? newline - f->at : f->end;
        if (newline) return;
    }
}

static void count_bad(Reader *r)
{
    char *place = source_place(r->s, &r->at);
    if (++r->counts.bad_records == 1) r->counts.first_bad = r->first_bad = text_of("%s: %s", place, r->wrong);
    if (r->counts.bad_records > r->s->options.bad_records)
        fail(EXIT_DATA, place, "%s; repair it, or let malformed records be skipped: bad_records=N (%lld %s; this is one more)",
             r->wrong, (long long)r->s->options.bad_records,
             r->s->options.bad_records == 1 ? "was allowed" : "were allowed");
    free(place);
}

/* Skips the rest of a malformed record.  If parts of the document were returned already, its present text becomes the
 * last part. */
static bool end_bad_record(Reader *r)
{
    count_bad(r);
    skip_line(&r->feed);
    if (r->at.inside) return true;
    r->text.n = r->target.n = 0;
    r->at.record++;
    r->fresh = true;
    return false;
}

static bool is_table(const Reader *r) { return r->file->format == FORMAT_CSV || r->file->format == FORMAT_TSV; }

static bool is_pair(const Reader *r)
{
    return is_table(r) ? r->table.target >= 0 : !r->spans && r->json.seen > 1; /* not only a text */
}

/* The beginning of the k-th target of a record. */
static int64_t target_begin(const Reader *r, int k) { return k ? r->target_end[k - 1] : 0; }

static int64_t target_bytes(const Reader *r, int k)
{
    return (r->targets ? r->target_end[k] : r->target.n) - target_begin(r, k);
}

static bool is_whole_pair(Reader *r)
{
    bool half = r->text.n == 0;
    for (int k = 0; k < r->targets || k == 0; k++) half |= target_bytes(r, k) == 0;
    if (half) stop_record(r, "the %s of a pair is empty", r->text.n ? "target" : "source");
    else if (r->text.n + r->target.n > r->part)
        stop_record(r, "source and target of a pair have more than %lld bytes together", (long long)r->part);
    else return true;
    return false;
}

/* Reads to the end of a non-empty record, or until the draft is full; false: the file's end. */
static bool read_record(Reader *r)
{
    while (!r->whole && r->text.n <= r->text.limit) {
        Got got = is_table(r) ? read_table(r) : read_json(r);
        if (got == GOT_NOTHING) return false;
        if (got == GOT_END && r->s->options.both && is_pair(r) && !is_whole_pair(r)) got = GOT_BAD;
        if (got == GOT_PART || (got == GOT_BAD && !end_bad_record(r))) continue;
        r->whole = r->text.n || r->target.n;
        r->at.record += !r->whole;
        r->fresh = true;
    }
    return true;
}

/* Returns one pair per target; `inside` of its place counts them. */
static void hand_pair(Reader *r, Document *d)
{
    int k = (int)r->at.inside;
    bug_if(k && k >= r->targets);
    d->target = r->target.at + target_begin(r, k);
    d->target_bytes = target_bytes(r, k);
    d->bytes = r->text.n;
    d->last = k + 1 >= r->targets;
    r->used = d->last ? r->text.n : 0;
    r->whole = !d->last;
}

static bool next_record(Reader *r, Document *d)
{
    drop_draft(&r->text, r->used);
    r->used = 0;
    if (!r->at.inside) r->target.n = 0;
    if (!read_record(r)) return false;
    d->text = r->text.at;
    if (r->text.n <= r->text.limit && is_pair(r)) {
        hand_pair(r, d);
        return true;
    }
    d->last = r->text.n <= r->text.limit;
    r->whole &= !d->last;
    d->bytes = r->used = d->last ? r->text.n : place_to_cut(r, r->text.at, r->text.limit);
    d->span = r->spans ? r->span : NULL;
    d->spans = r->spans;
    return true;
}

/* ------------------------------------------------------------------ opening */

static Draft new_draft(int64_t limit, int64_t more)
{
    Draft d = {.limit = limit, .room = limit + more};
    d.at = must_alloc((size_t)d.room);
    return d;
}

Reader *open_reader(const Sources *s, int64_t part_bytes, int64_t (*cut)(void *, const char *, int64_t), void *cut_arg)
{
    Reader *r = must_alloc(sizeof *r);
    bug_if(part_bytes < 16);
    r->s = s;
    r->part = part_bytes;
    r->cut = cut;
    r->cut_arg = cut_arg;
    int64_t more = 16 + (s->options.join ? (int64_t)strlen(s->options.join) : 1);
    r->text = new_draft(part_bytes, more);
    r->target = new_draft(part_bytes, more);
    open_feed(&r->feed, &s->options, &r->counts, part_bytes + 16);
    return r;
}

static void close_file(Reader *r)
{
    if (r->file && r->in != r->file->stream) close_input(r->in);
    for (int i = 0; i < r->table.columns; i++) free(r->table.name[i]);
    free(r->table.name);
    r->table = (struct Table){0};
    r->in = NULL;
}

void close_reader(Reader *r)
{
    close_file(r);
    close_feed(&r->feed);
    free(r->shard.at);
    free(r->text.at);
    free(r->target.at);
    free(r->span);
    free(r->first_bad);
    free(r);
}

/* Skips a byte order mark. */
static void skip_mark(Reader *r)
{
    Feed *f = &r->feed;
    if (r->s->options.bad_utf8 == UTF8_KEEP) return;
    if (want_feed(f, 3) >= 3 && memcmp(f->at + f->begin, "\xef\xbb\xbf", 3) == 0) f->begin += 3;
}

static void find_part(Reader *r, const Place *from)
{
    Document d;
    while (r->at.inside < from->inside)
        if (!next_document(r, &d) || r->at.inside == 0)
            fail(EXIT_DATA, r->file->path,
                 "line %lld: expected a record of more than %lld bytes: it is not the file that it was",
                 (long long)from->line, (long long)from->inside);
}

static void go_to(Reader *r, const Place *from)
{
    seek_input(r->in, from->offset);
    start_feed(&r->feed, r->in, from->line);
    r->at = *from;
    if (r->file->format == FORMAT_TEXT || !from->inside) return;
    r->at.inside = 0;
    find_part(r, from);
}

static void start_text(Reader *r)
{
    seek_input(r->in, 0);
    start_feed(&r->feed, r->in, 1);
    skip_mark(r);
    if (want_feed(&r->feed, 1) == 0) r->counts.empty_files++;
    else if (is_table(r)) start_table(r);
}

void reader_file(Reader *r, int file, const Place *from)
{
    close_file(r);
    r->file = &r->s->file[file];
    r->in = r->file->stream ? r->file->stream : open_input(r->file->path, r->file->bytes);
    r->at = (Place){.file = file, .line = 1};
    r->used = r->text.n = r->target.n = 0;
    r->targets = r->spans = 0;
    r->fresh = true;
    r->whole = false;
    if (r->file->format == FORMAT_NPY)
        fail(EXIT_DATA, r->file->path, "is a NumPy array: numbers, not documents; give text, records or token shards");
    if (r->file->format == FORMAT_SHARD) {
        start_shard(r, from);
        return;
    }
    if (!from || is_table(r)) start_text(r);
    if (from) go_to(r, from);
}

/* ------------------------------------------------------------------ documents */

static uint64_t hash_document(const Document *d)
{
    Hash h;
    hash_start(&h);
    int64_t most = d->text ? HASHED : HASHED / d->id_size, n = d->text ? d->bytes : d->n_ids;
    hash_add(&h, d->text ? (const void *)d->text : d->ids,
             (size_t)((n < most ? n : most) * (d->text ? 1 : d->id_size)));
    return hash_end(&h);
}

/* Sets the part's place in its document, and advances to the next.  Each target of a record is a document. */
static void number_part(Reader *r, Document *d)
{
    d->first = r->at.inside == 0 || d->target;
    d->hash = d->first ? hash_document(d) : r->at.hash;
    d->at = r->at;
    r->counts.parts++;
    r->counts.bytes += d->bytes + d->target_bytes;
    r->counts.ids += d->n_ids;
    r->at.inside = d->last ? 0 : r->at.inside + (d->target ? 1 : d->text ? d->bytes : d->n_ids);
    r->at.hash = d->last ? 0 : d->hash;
    r->at.record += d->last;
    d->last |= d->target != NULL;
    r->counts.documents += d->first;
    r->counts.split += d->first && !d->last;
}

bool next_document(Reader *r, Document *d)
{
    *d = (Document){0};
    bool got = r->file->format == FORMAT_SHARD  ? next_shard(r, d)
               : r->file->format == FORMAT_TEXT ? next_plain(r, d)
                                                : next_record(r, d);
    if (got) number_part(r, d);
    else if (r->at.inside)
        fail(EXIT_DATA, r->file->path, "ends within a document that went on: it is not the file that it was");
    return got;
}

const Counts *reader_counts(const Reader *r) { return &r->counts; }

void count_again(Reader *r)
{
    free(r->first_bad);
    r->first_bad = NULL;
    r->counts = (Counts){0};
}

int64_t reader_heap(const Reader *r)
{
    return (int64_t)sizeof *r + r->text.room + r->target.room + feed_heap(&r->feed) + r->shard.room +
           (r->in ? input_heap(r->in) : 0);
}

char *source_place(const Sources *s, const Place *p)
{
    const Source_file *f = &s->file[p->file];
    const char *path = strcmp(f->path, "-") == 0 ? "standard input" : f->path;
    if (f->format == FORMAT_SHARD)
        return text_of("%s: token %lld", path, (long long)((p->offset - f->head) / f->id_size));
    return text_of("%s:%lld", path, (long long)p->line);
}
