/* shard.c: token shards: ids of 2 or 4 bytes, with llm.c's headers or none. */
#include "base/file.h"
#include "base/words.h"
#include "source/reader.h"
#include "source/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------ ids */

static uint32_t id_at(const void *ids, int size, int64_t i)
{
    return size == 2 ? ((const uint16_t *)ids)[i] : ((const uint32_t *)ids)[i];
}

static uint32_t greatest_id(const void *ids, int size, int64_t n)
{
    uint16_t most16 = 0;
    uint32_t most32 = 0;
    if (size == 2)
        for (int64_t i = 0; i < n; i++)
            most16 = ((const uint16_t *)ids)[i] > most16 ? ((const uint16_t *)ids)[i] : most16;
    else
        for (int64_t i = 0; i < n; i++)
            most32 = ((const uint32_t *)ids)[i] > most32 ? ((const uint32_t *)ids)[i] : most32;
    return size == 2 ? most16 : most32;
}

static bool any_id(const void *ids, int size, int64_t from, int64_t to, uint32_t id)
{
    bool any = false;
    if (size == 2)
        for (int64_t i = from; i < to; i++) any |= ((const uint16_t *)ids)[i] == id;
    else
        for (int64_t i = from; i < to; i++) any |= ((const uint32_t *)ids)[i] == id;
    return any;
}

/* The first index of an id from `from` on; n: none. */
static int64_t find_id(const void *ids, int size, int64_t from, int64_t n, uint32_t id)
{
    while (from < n) {
        int64_t to = from + 256 < n ? from + 256 : n;
        if (any_id(ids, size, from, to, id)) break;
        from = to;
    }
    while (from < n && id_at(ids, size, from) != id) from++;
    return from;
}

/* first: the number of ids[0] in the file. */
static void check_shard_ids(const Source_file *f, int64_t below, const void *ids, int64_t first, int64_t n)
{
    if (below <= 0 || n == 0 || greatest_id(ids, f->id_size, n) < (uint64_t)below) return;
    int64_t i = 0;
    while (id_at(ids, f->id_size, i) < (uint64_t)below) i++;
    fail(EXIT_DATA, text_of("%s: token %lld", f->path, (long long)(first + i)),
         "expected ids below %lld, the size of the vocabulary, found %u; the shard was made with another tokenizer",
         (long long)below, id_at(ids, f->id_size, i));
}

/* ------------------------------------------------------------------ reading on */

static _Noreturn void refuse_length(const Reader *r, const char *what)
{
    fail(EXIT_DATA, r->file->path, "its header says %lld tokens, and %s%lld tokens; get it again",
         (long long)r->shard.total, what, (long long)r->shard.taken);
}

static void check_end(Reader *r, int64_t odd)
{
    struct Shard *b = &r->shard;
    char more;
    if (odd)
        fail(EXIT_DATA, r->file->path, "ends in the middle of token %lld: it was cut short; get it again",
             (long long)b->taken);
    if (b->total < 0) return;
    if (b->taken < b->total) refuse_length(r, "it ends after ");
    if (read_input(r->in, &more, 1)) refuse_length(r, "it has more after ");
}

static void read_ids(Reader *r)
{
    struct Shard *b = &r->shard;
    int size = r->file->id_size;
    int64_t rest = b->end - b->begin, n = b->room / size - rest;
    memmove(b->at, b->at + b->begin * size, (size_t)(rest * size));
    b->begin = 0;
    if (b->total >= 0 && n > b->total - b->taken) n = b->total - b->taken;
    int64_t got = read_input(r->in, b->at + rest * size, n * size), whole = got / size;
    check_shard_ids(r->file, r->s->options.ids_below, b->at + rest * size, b->taken, whole);
    b->end = rest + whole;
    b->taken += whole;
    b->ended = whole < n || b->taken == b->total;
    if (b->ended) check_end(r, got % size);
}

static int64_t want_ids(Reader *r, int64_t n)
{
    struct Shard *b = &r->shard;
    while (b->end - b->begin < n && !b->ended) read_ids(r);
    return b->end - b->begin;
}

/* ------------------------------------------------------------------ documents */

void start_shard(Reader *r, const Place *from)
{
    struct Shard *b = &r->shard;
    const Source_file *f = r->file;
    if (!b->at) b->at = must_alloc((size_t)(b->room = 2 * r->part + 64));
    b->begin = b->end = b->taken = b->total = 0;
    b->ended = !f->id_size; /* the file is empty */
    r->at.line = 0;
    if (b->ended) r->counts.empty_files++;
    if (b->ended) return;
    r->at.offset = f->head;
    if (from) r->at = *from;
    seek_input(r->in, r->at.offset);
    b->total = f->ids;
    b->taken = (r->at.offset - f->head) / f->id_size;
    r->counts.empty_files += f->ids == 0;
}

bool next_shard(Reader *r, Document *d)
{
    struct Shard *b = &r->shard;
    const Source_options *o = &r->s->options;
    int size = r->file->id_size;
    if (b->ended && b->begin + r->used == b->end) return false;
    int64_t most = r->part / size;
    b->begin += r->used;
    r->used = 0;
    int64_t n = want_ids(r, most + 1);
    if (n == 0) return false;
    int64_t to = n < most + 1 ? n : most + 1;
    d->ids = b->at + b->begin * size;
    d->id_size = size;
    d->n_ids = o->separated ? find_id(d->ids, size, 1, to, (uint32_t)o->separator) : to;
    d->last = d->n_ids <= most;
    if (!d->last) d->n_ids = most;
    r->used = d->n_ids;
    r->at.offset = r->file->head + (b->taken - (b->end - b->begin)) * size;
    return true;
}

/* ------------------------------------------------------------------ by number */

int open_shard(const Sources *s, int file)
{
    const char *path = s->file[file].path;
    int fd = open_to_read(path);
    if (fd < 0)
        fail(EXIT_DATA, path, "was there when it was found, and cannot be read any more: %s", error_text(errno));
    return fd;
}

void read_shard(const Sources *s, int file, int fd, int64_t first, int64_t n, int32_t *out)
{
    const Source_file *f = &s->file[file];
    char room[1 << 13];
    int64_t most = (int64_t)sizeof room / f->id_size;
    while (n > 0) {
        int64_t here = n < most ? n : most;
        ssize_t got = pread(fd, room, (size_t)(here * f->id_size), (off_t)(f->head + first * f->id_size));
        if (got < here * f->id_size)
            fail(EXIT_DATA, text_of("%s: token %lld", f->path, (long long)first), "cannot be read: %s",
                 got < 0 ? error_text(errno) : "the file was cut short since it was found");
        check_shard_ids(f, s->options.ids_below, room, first, here);
        for (int64_t i = 0; i < here; i++) out[i] = (int32_t)id_at(room, f->id_size, i);
        first += here, out += here, n -= here;
    }
}
