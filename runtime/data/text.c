/* text.c: text files as tokens.  Bytes and characters are converted when they are read, from mapped files; tokens of
 * BPE and words are stored (token/cache.c).  Token shards already have ids.
 *
 * Tokens are numbered across all files.  A byte's number is its offset.  To find a character fast, the offset of every
 * MARK-th one is stored, unless the file is plain ASCII. */
#include "base/file.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "base/words.h"
#include "data/data.h"
#include "source/source.h"
#include "token/token.h"
#include "token/tokenizer.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MARK = 1024 };

typedef struct File {
    const char *path;
    const unsigned char *at;
    int64_t bytes, first, tokens; /* first: number of its first token */
    int64_t *mark;                /* byte offset of token MARK · k; NULL: tokens are bytes */
    int fd;                       /* of a shard */
} File;

struct Text_data {
    int n;
    File *file;
    int64_t tokens, heap;
    const Tokenizer *tokenizer;
    Token_list list; /* BPE, words: all tokens */
    const Sources *shards;
};

/* ------------------------------------------------------------------ opening */

static void map_file(File *f, const char *path)
{
    struct stat about;
    f->path = path;
    int fd = open_to_read(path);
    if (fd < 0 || fstat(fd, &about) != 0)
        fail(EXIT_DATA, path, "expected a text file, but it cannot be read: %s; check the path given to --data",
             error_text(errno));
    if (S_ISDIR(about.st_mode))
        fail(EXIT_DATA, path, "expected a text file, found a folder; name its files: --data %s/*", path);
    if (!S_ISREG(about.st_mode)) fail(EXIT_DATA, path, "expected a regular file; write the data into one first");
    if (about.st_size == 0) fail(EXIT_DATA, path, "expected text, found an empty file; give one with something in it");
    f->bytes = about.st_size;
    f->at = mmap(NULL, (size_t)f->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (f->at == MAP_FAILED) fail(EXIT_DATA, path, "cannot be mapped into memory: %s", error_text(errno));
    close(fd);
}

/* "FILE:LINE" of a byte in the file. */
static char *place_of_byte(const File *f, int64_t byte)
{
    int64_t line = 1;
    for (int64_t i = 0; i < byte; i++) line += f->at[i] == '\n';
    return text_of("%s:%lld", f->path, (long long)line);
}

static void check_bytes(File *f, int64_t limit)
{
    f->tokens = f->bytes;
    for (int64_t i = 0; limit < 256 && i < f->bytes; i++)
        if (f->at[i] >= limit)
            fail(EXIT_DATA, place_of_byte(f, i),
                 "byte 0x%02x is token %d, beyond the model's vocabulary of %lld; rebuild with "
                 "--set vocab=256, or use --tokenizer chars",
                 f->at[i], f->at[i], (long long)limit);
}

/* ------------------------------------------------------------------ characters */

/* Results of the scan of all files. */
typedef struct Scan {
    Tokenizer *v;
    bool known; /* the vocabulary is fixed: no new characters may occur */
    int distinct;
    int64_t limit;
    const File *beyond; /* the first character beyond the vocabulary */
    int64_t beyond_byte;
    uint32_t beyond_code;
} Scan;

static void meet_character(Scan *s, const File *f, int64_t byte, uint32_t code)
{
    if (s->v->id[code]) return;
    if (s->known)
        fail(EXIT_DATA, place_of_byte(f, byte),
             "%s is not one of the %d characters that the model was trained with; remove it from the text, or train a "
             "new model on this text",
             character_text(code), s->v->n);
    s->v->id[code] = 1;
    if (++s->distinct == s->limit + 1) {
        s->beyond = f;
        s->beyond_byte = byte;
        s->beyond_code = code;
    }
}

static int64_t *new_marks(Text_data *t, const File *f)
{
    size_t bytes = sizeof(int64_t) * (size_t)(f->bytes / MARK + 1);
    t->heap += (int64_t)bytes;
    return must_alloc(bytes);
}

static bool plain_ascii(const File *f)
{
    unsigned char all = 0;
    for (int64_t i = 0; i < f->bytes; i++) all |= f->at[i];
    return all < 0x80;
}

static void scan_characters(Text_data *t, File *f, Scan *s)
{
    if (!plain_ascii(f)) f->mark = new_marks(t, f);
    for (int64_t i = 0; i < f->bytes; f->tokens++) {
        uint32_t code;
        int length = decode_utf8(f->at + i, f->bytes - i, &code);
        if (length == 0)
            fail(EXIT_DATA, place_of_byte(f, i),
                 "expected UTF-8, found byte 0x%02x at offset %lld; convert the file (iconv), or use "
                 "--tokenizer bytes",
                 f->at[i], (long long)i);
        if (f->mark && f->tokens % MARK == 0) f->mark[f->tokens / MARK] = i;
        meet_character(s, f, i, code);
        i += length;
    }
}

static void refuse_beyond(const Scan *s)
{
    if (!s->beyond) return;
    fail(EXIT_DATA, place_of_byte(s->beyond, s->beyond_byte),
         "%s is the first character beyond the model's vocabulary of %lld: the "
         "text has %d distinct characters; rebuild with --set vocab=%d, or use --tokenizer bytes with vocab=256",
         character_text(s->beyond_code), (long long)s->limit, s->distinct, s->distinct);
}

/* ------------------------------------------------------------------ what others call */

static void scan_all_characters(Text_data *t, Tokenizer *v, int64_t limit)
{
    Scan scan = {.v = v, .known = v->n > 0, .limit = limit};
    if (!scan.known) v->id = must_alloc(sizeof *v->id * CODE_POINTS);
    for (int i = 0; i < t->n; i++) scan_characters(t, &t->file[i], &scan);
    refuse_beyond(&scan);
    if (!scan.known) number_characters(v);
    t->heap += (int64_t)sizeof *v->id * CODE_POINTS;
}

static void list_all_tokens(Text_data *t, const Tokenizer *v)
{
    Stretch *s = must_alloc(sizeof *s * (size_t)t->n);
    for (int i = 0; i < t->n; i++) s[i] = (Stretch){(const char *)t->file[i].at, t->file[i].path, t->file[i].bytes};
    t->list = list_tokens(v, s, t->n, text_hash(t));
    t->tokens = t->list.n;
    t->heap += t->list.heap;
    free(s);
}

Text_data *open_text(const Words *paths, Tokenizer *v, int64_t limit)
{
    Text_data *t = must_alloc(sizeof *t);
    t->n = paths->n;
    t->file = must_alloc(sizeof *t->file * (size_t)t->n);
    t->tokenizer = v;
    for (int i = 0; i < t->n; i++) map_file(&t->file[i], paths->at[i]);
    for (int i = 0; i < t->n && v->kind != TOKEN_CHARS; i++) /* whose tokens are all looked up */
        check_is_text(paths->at[i], t->file[i].at, t->file[i].bytes, v->kind == TOKEN_BYTES, true);
    if (v->kind != TOKEN_BYTES && v->kind != TOKEN_CHARS) {
        list_all_tokens(t, v);
        return t;
    }
    if (v->kind == TOKEN_CHARS) {
        scan_all_characters(t, v, limit);
    } else {
        limit_bytes(v, limit);
        for (int i = 0; i < t->n; i++) check_bytes(&t->file[i], limit);
    }
    for (int i = 0; i < t->n; i++) {
        t->file[i].first = t->tokens;
        t->tokens += t->file[i].tokens;
    }
    return t;
}

Text_data *open_token_shards(const Sources *s)
{
    Text_data *t = must_alloc(sizeof *t);
    *t = (Text_data){.n = s->n, .file = must_alloc(sizeof *t->file * (size_t)s->n), .shards = s};
    for (int i = 0; i < s->n; i++) {
        t->file[i] =
            (File){.path = s->file[i].path, .first = t->tokens, .tokens = s->file[i].ids, .fd = open_shard(s, i)};
        t->tokens += s->file[i].ids;
    }
    return t;
}

int64_t text_tokens(const Text_data *t) { return t->tokens; }

uint64_t text_hash(const Text_data *t)
{
    if (t->shards) return sources_hash(t->shards);
    Hash h;
    hash_start(&h);
    for (int i = 0; i < t->n; i++) hash_add(&h, t->file[i].at, (size_t)t->file[i].bytes);
    return hash_end(&h);
}

int64_t text_heap(const Text_data *t) { return t->heap; }

/* Byte offset of a character of the file. */
static int64_t find_character(const File *f, int64_t token)
{
    if (!f->mark) return token;
    int64_t at = f->mark[token / MARK];
    for (int64_t k = token % MARK; k > 0; k--)
        for (at++; at < f->bytes && (f->at[at] & 0xc0) == 0x80;) at++;
    return at;
}

static void read_from(const File *f, const Tokenizer *v, int64_t token, int64_t n, int32_t *out)
{
    int64_t at = v->kind == TOKEN_CHARS ? find_character(f, token) : token;
    if (v->kind == TOKEN_BYTES) {
        for (int64_t i = 0; i < n; i++) out[i] = f->at[at + i];
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        uint32_t code = f->at[at];
        int length = code < 0x80 ? 1 : decode_utf8(f->at + at, f->bytes - at, &code);
        if (length == 0 || !v->id[code])
            fail(EXIT_DATA, f->path,
                 "the file has changed since it was checked; start again, and do not modify it during the run");
        out[i] = v->id[code] - 1;
        at += length;
    }
}

void read_tokens(const Text_data *t, int64_t first, int64_t n, int32_t *out)
{
    bug_if(first < 0 || first + n > t->tokens);
    for (int64_t i = 0; t->list.at && i < n; i++) out[i] = list_id(&t->list, first + i);
    if (t->list.at) return;
    for (int i = 0; i < t->n && n > 0; i++) {
        const File *f = &t->file[i];
        if (first >= f->first + f->tokens) continue;
        int64_t here = f->first + f->tokens - first, take = here < n ? here : n;
        if (t->shards) read_shard(t->shards, i, f->fd, first - f->first, take, out);
        else read_from(f, t->tokenizer, first - f->first, take, out);
        first += take, out += take, n -= take;
    }
}
