/* kept.c: keeps the parts of a file's documents, with their ids, in the cache folder.  A later run reads them instead
 * of the text, in any order and from any place; parts and places are the same with the cache as without.
 *
 * The key of an entry is a hash of the file's bytes, of the tokenizer, and of all settings that affect documents and
 * parts.  Hashing reads the file once more, in a hundredth of the time of encoding it; a file that was changed is never
 * mistaken for the old one.  An entry consists of frames of parts, each with a checksum; the last is empty.  At a frame
 * that is damaged, the reader continues with the file itself.
 *
 *     head         "LathePart", version · bytes of an id · key
 *     frame        parts, bytes · checksum of what follows · parts
 *     part         flags · offset, record, line, inside, ids (7 bits a byte) · hash of the document · ids */
#include "base/cache.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/words.h"
#include "data/kept.h"
#include "data/stream.h"
#include "interface/lathe_model.h"
#include "source/source.h"
#include "token/tokenizer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    VERSION = 1,
    LEAST = 1 << 18,
    FRAME = 1 << 16,
    PART_HEAD = 64
}; /* LEAST: bytes of a file; VERSION: of entries,
raise it when documents, parts or ids change */
enum { FRAME_ROOM = FRAME + PART_HEAD + 4 * PART_BYTES };
_Static_assert(2 * FRAME_ROOM + 4 * PART_BYTES + 2 * (1 << 16) <= LATHE_KEPT_BYTES, "planned");

typedef struct Head {
    char magic[12];
    uint32_t id_size;
    uint64_t key, sum; /* sum: of the members before it */
} Head;

typedef struct Frame {
    uint32_t parts, bytes;
    uint64_t number, sum; /* sum: of the members before it, and of the parts */
} Frame;

typedef struct Known {   /* of a file */
    uint64_t stamp, key; /* stamp: hash of what stat() says; key 0: not known */
} Known;

struct Kept {
    const Sources *from;
    char *folder;
    uint64_t settings;
    int id_size;
    int64_t ids;  /* all are below this */
    Known *known; /* [files] */
    struct {      /* the entry being read */
        int fd;   /* -1: nothing */
        char *path;
        uint64_t frames;
        unsigned char *at; /* [FRAME_ROOM] a frame's parts, begin … end */
        int64_t begin, end;
        uint32_t parts; /* left in it */
        int32_t file, *id;
        bool ended;
        Document_part first; /* already read */
        bool has_first;
    } in;
    struct {      /* the entry being written */
        Out *out; /* NULL: nothing */
        Fault fault;
        char *aside, *path;
        int lock;
        uint64_t key, frames;
        int64_t limit;     /* most bytes of an entry */
        unsigned char *at; /* [FRAME_ROOM] */
        int64_t n;
        uint32_t parts;
        bool off; /* after a fault: nothing more is written */
    } out;
};

/* ------------------------------------------------------------------ keys */

/* The hash of a tokenizer's saved text, which takes a while to make; only one thread opens streams. */
static uint64_t known_hash(const Tokenizer *t)
{
    static const Tokenizer *last;
    static uint64_t hash;
    if (t != last) hash = tokenizer_hash(t);
    last = t;
    return hash;
}

static uint64_t settings_of(const Sources *from, const Tokenizer *t)
{
    const Source_options *o = &from->options;
    char *text =
        text_of("%d %d %d %d %d %d %d %s %s %s %d %016llx", VERSION, PART_BYTES, (int)o->targets, o->both,
                (int)o->split, (int)o->bad_utf8, o->text != NULL, o->text ? o->text : "", o->target ? o->target : "",
                o->join ? o->join : "", o->join != NULL, (unsigned long long)known_hash(t));
    uint64_t hash = hash_of(text, strlen(text));
    free(text);
    return hash;
}

static uint64_t stamp_of(const char *path)
{
    struct stat s;
    if (stat(path, &s) != 0) return 0;
    int64_t all[] = {(int64_t)s.st_dev, (int64_t)s.st_ino, s.st_size,        s.st_mtim.tv_sec,
                     s.st_mtim.tv_nsec, s.st_ctim.tv_sec,  s.st_ctim.tv_nsec};
    return hash_of(all, sizeof all);
}

static bool hash_content(const char *path, Hash *h)
{
    char some[1 << 13];
    ssize_t n = -1;
    int fd = open_to_read(path);
    while (fd >= 0 && (n = read(fd, some, sizeof some)) > 0) hash_add(h, some, (size_t)n);
    if (fd >= 0) close(fd);
    return n == 0;
}

static bool is_worth_it(const Source_file *f)
{
    return f->format != FORMAT_SHARD && f->format != FORMAT_NPY && f->bytes >= LEAST;
}

uint64_t kept_key(Kept *k, int file)
{
    const Source_file *f = &k->from->file[file];
    Known *known = &k->known[file];
    Hash h;
    if (!is_worth_it(f)) return 0;
    uint64_t stamp = stamp_of(f->path);
    if (stamp && stamp == known->stamp) return known->key;
    int64_t of[] = {(int64_t)k->settings, (int64_t)f->format, f->bytes};
    hash_start(&h);
    hash_add(&h, of, sizeof of);
    *known = (Known){stamp, 0};
    if (!hash_content(f->path, &h) || (int64_t)h.bytes != f->bytes + (int64_t)sizeof of) return 0;
    known->key = hash_end(&h);
    return known->key;
}

bool has_not_changed(Kept *k, int file) { return stamp_of(k->from->file[file].path) == k->known[file].stamp; }

static char *entry_path(const Kept *k, uint64_t key)
{
    return text_of("%s/parts-%016llx-%016llx.bin", k->folder, (unsigned long long)k->settings, (unsigned long long)key);
}

static Head head_of(const Kept *k, uint64_t key)
{
    Head h = {"LatheParts1", (uint32_t)k->id_size, key, 0};
    h.sum = hash_of(&h, offsetof(Head, sum));
    return h;
}

static uint64_t frame_sum(uint64_t key, const Frame *f, const void *parts)
{
    Hash h;
    hash_start(&h);
    hash_add(&h, &key, sizeof key);
    hash_add(&h, f, offsetof(Frame, sum));
    hash_add(&h, parts, f->bytes);
    return hash_end(&h);
}

/* ------------------------------------------------------------------ reading */

static void stop_reading(Kept *k)
{
    if (k->in.fd >= 0) close(k->in.fd);
    free(k->in.path);
    k->in.path = NULL;
    k->in.fd = -1;
}

static bool read_frame(int fd, void *to, size_t bytes)
{
    for (char *at = to; bytes;) {
        ssize_t n = read(fd, at, bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}

/* False: it is damaged. */
static bool next_frame(Kept *k)
{
    Frame f;
    uint64_t key = k->known[k->in.file].key;
    if (!read_frame(k->in.fd, &f, sizeof f) || f.bytes > FRAME_ROOM || f.number != k->in.frames++) return false;
    if (!read_frame(k->in.fd, k->in.at, f.bytes) || frame_sum(key, &f, k->in.at) != f.sum) return false;
    k->in.begin = 0;
    k->in.end = f.bytes;
    k->in.parts = f.parts;
    k->in.ended = f.parts == 0;
    return true;
}

static int64_t get_number(Kept *k)
{
    uint64_t n = 0;
    for (int shift = 0; shift < 63 && k->in.begin < k->in.end; shift += 7) {
        unsigned char c = k->in.at[k->in.begin++];
        n |= (uint64_t)(c & 127) << shift;
        if (c < 128) break;
    }
    return (int64_t)n;
}

/* False if the bytes are no part although the checksum is right. */
static bool get_part(Kept *k, Document_part *p)
{
    int flags = (int)get_number(k);
    *p = (Document_part){
        .at.file = k->in.file, .first = flags & 1, .last = flags >> 1 & 1, .counts = true, .id = k->in.id};
    p->at.offset = get_number(k);
    p->at.record = get_number(k);
    p->at.line = get_number(k);
    p->at.inside = get_number(k);
    p->n = get_number(k);
    int64_t bytes = p->n * k->id_size;
    if (p->n < 0 || p->n > PART_BYTES || k->in.end - k->in.begin < bytes + (int64_t)sizeof p->hash) return false;
    memcpy(&p->hash, k->in.at + k->in.begin, sizeof p->hash);
    k->in.begin += (int64_t)sizeof p->hash;
    p->at.hash = p->at.inside ? p->hash : 0;
    const unsigned char *from = k->in.at + k->in.begin;
    if (k->id_size == 4) memcpy(k->in.id, from, (size_t)bytes);
    else
        for (int64_t i = 0; i < p->n; i++) k->in.id[i] = from[2 * i] | from[2 * i + 1] << 8;
    k->in.begin += bytes;
    k->in.parts--;
    for (int64_t i = 0; i < p->n; i++)
        if (k->in.id[i] < 0 || k->in.id[i] >= k->ids) return false;
    return true;
}

/* Unlinks the entry; it is made again when the whole file is read. */
static Got_kept give_up(Kept *k)
{
    note("%s is damaged: the rest of %s is encoded again", k->in.path, k->from->file[k->in.file].path);
    (void)unlink(k->in.path);
    stop_reading(k);
    return KEPT_DAMAGED;
}

Got_kept next_kept(Kept *k, Document_part *part)
{
    if (k->in.has_first) {
        *part = k->in.first;
        k->in.has_first = false;
        return KEPT_PART;
    }
    while (k->in.parts == 0 && !k->in.ended)
        if (!next_frame(k)) return give_up(k);
    if (k->in.ended) {
        stop_reading(k);
        return KEPT_END;
    }
    return get_part(k, part) ? KEPT_PART : give_up(k);
}

static bool is_same_place(const Place *a, const Place *b)
{
    return a->offset == b->offset && a->record == b->record && a->inside == b->inside;
}

bool find_kept(Kept *k, int file, uint64_t key, const Place *from)
{
    Head h, wanted = head_of(k, key);
    k->in.path = entry_path(k, key);
    k->in.fd = open_cached(k->in.path);
    k->in.file = file;
    k->in.frames = k->in.parts = 0;
    k->in.ended = k->in.has_first = false;
    bool there = k->in.fd >= 0, ok = there && read_frame(k->in.fd, &h, sizeof h) && memcmp(&h, &wanted, sizeof h) == 0;
    if (there && !ok) return (void)give_up(k), false;
    Got_kept got = there ? KEPT_PART : KEPT_END;
    while (from && got == KEPT_PART && !(k->in.has_first && is_same_place(&k->in.first.at, from))) {
        k->in.has_first = false;
        got = next_kept(k, &k->in.first);
        k->in.has_first = got == KEPT_PART;
    }
    if (got != KEPT_PART) stop_reading(k);
    return got == KEPT_PART;
}

/* ------------------------------------------------------------------ writing */

static void put_number(Kept *k, int64_t number)
{
    uint64_t n = (uint64_t)number;
    for (; n > 127; n >>= 7) k->out.at[k->out.n++] = (unsigned char)(n | 128);
    k->out.at[k->out.n++] = (unsigned char)n;
}

static void end_frame(Kept *k)
{
    Frame f = {k->out.parts, (uint32_t)k->out.n, k->out.frames++, 0};
    f.sum = frame_sum(k->out.key, &f, k->out.at);
    put_out(k->out.out, &f, sizeof f);
    put_out(k->out.out, k->out.at, (size_t)k->out.n);
    k->out.n = k->out.parts = 0;
}

static void start_entry(Kept *k, uint64_t key)
{
    Head h = head_of(k, key);
    k->out.path = entry_path(k, key);
    k->out.aside =
        text_of("%.*s.%d-%p.part", (int)(strlen(k->out.path) - strlen(".bin")), k->out.path, (int)getpid(), (void *)k);
    k->out.key = key;
    k->out.n = k->out.parts = 0;
    k->out.frames = 0;
    k->out.limit = cache_limit(k->folder);
    k->out.out = open_out(k->out.aside, &k->out.fault);
    k->out.lock = open_cached(k->out.aside);
    put_out(k->out.out, &h, sizeof h);
}

/* A fault is reported once, and the run continues without the cache. */
static void end_entry(Kept *k, bool whole)
{
    if (whole) {
        if (k->out.parts) end_frame(k);
        end_frame(k);
    }
    close_out(k->out.out);
    bool kept = whole && !k->out.fault.path && keep_in_cache(k->out.aside, k->out.path, &k->out.fault);
    if (!kept) (void)unlink(k->out.aside);
    if (k->out.fault.path) note("%s %s; no more ids are cached", k->out.fault.path, k->out.fault.text);
    else if (whole && !kept) note("the cache is full (LATHE_CACHE_LIMIT); no more ids are cached");
    k->out.off = whole && !kept;
    if (k->out.lock >= 0) close(k->out.lock);
    clear_fault(&k->out.fault);
    free(k->out.aside);
    free(k->out.path);
    k->out.out = NULL;
}

void keep_part(Kept *k, const Document_part *p)
{
    if (k->out.off) return;
    if (!k->out.out) start_entry(k, p->keep);
    if (p->ends_file) {
        end_entry(k, p->last);
        return;
    }
    put_number(k, p->first | p->last << 1);
    put_number(k, p->at.offset);
    put_number(k, p->at.record);
    put_number(k, p->at.line);
    put_number(k, p->at.inside);
    put_number(k, p->n);
    memcpy(k->out.at + k->out.n, &p->hash, sizeof p->hash);
    k->out.n += (int64_t)sizeof p->hash;
    for (int64_t i = 0; i < p->n; i++, k->out.n += k->id_size)
        for (int b = 0; b < k->id_size; b++) k->out.at[k->out.n + b] = (unsigned char)((uint32_t)p->id[i] >> 8 * b);
    k->out.parts++;
    if (k->out.n <= FRAME) return;
    end_frame(k);
    if ((int64_t)k->out.out->hash.bytes > k->out.limit) end_entry(k, true);
}

/* ------------------------------------------------------------------ opening and closing */

Kept *open_kept(const Sources *from, const Tokenizer *t)
{
    bool any = false, plain = tokenizer_kind(t) == TOKEN_BYTES || tokenizer_kind(t) == TOKEN_CHARS;
    for (int i = 0; i < from->n && !plain; i++) any |= is_worth_it(&from->file[i]);
    char *folder = any ? cache_folder() : NULL;
    if (!folder) return NULL;
    Kept *k = must_alloc(sizeof *k);
    *k = (Kept){.from = from,
                .folder = folder,
                .settings = settings_of(from, t),
                .id_size = shard_id_size(t),
                .ids = tokenizer_size(t)};
    k->known = must_alloc(sizeof *k->known * (size_t)from->n);
    k->in.fd = -1;
    k->in.at = must_alloc(FRAME_ROOM);
    k->in.id = must_alloc(4 * PART_BYTES);
    k->out.at = must_alloc(FRAME_ROOM);
    return k;
}

void close_kept(Kept *k)
{
    if (!k) return;
    stop_reading(k);
    if (k->out.out) end_entry(k, false);
    void *const all[] = {k->folder, k->known, k->in.at, k->in.id, k->out.at, k};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}
