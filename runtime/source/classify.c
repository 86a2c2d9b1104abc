/* classify.c: the format of a file, by its first bytes if they identify it, otherwise by its name. */
#include "base/words.h"
#include "source/classify.h"
#include "source/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { HEAD = 4096, SHARD_HEAD = 1024 };
enum { GPT2_MAGIC = 20240520, GPT2_VERSION = 1, LLAMA3_MAGIC = 20240801, LLAMA3_VERSION = 7 };

/* ------------------------------------------------------------------ names */

static const struct {
    const char *word, *name;
} formats[FORMATS] = {
    [FORMAT_FOUND] = {"auto", "any format"},
    [FORMAT_TEXT] = {"text", "text"},
    [FORMAT_JSONL] = {"jsonl", "JSON lines"},
    [FORMAT_CSV] = {"csv", "CSV"},
    [FORMAT_TSV] = {"tsv", "TSV"},
    [FORMAT_SHARD] = {"shard", "token shard"},
    [FORMAT_NPY] = {"npy", "NumPy array"},
};

const char *format_name(Format f) { return formats[f].name; }

bool parse_format(const char *word, Format *f)
{
    for (int i = 0; i < FORMATS; i++)
        if (strcmp(word, formats[i].word) == 0) return *f = (Format)i, true;
    return false;
}

/* Whether the name ends in .ending, also followed by .gz or .zst. */
static bool has_ending(const char *path, const char *ending)
{
    size_t n = strlen(path), e = strlen(ending);
    if (n > 3 && strcasecmp(path + n - 3, ".gz") == 0) n -= 3;
    else if (n > 4 && strcasecmp(path + n - 4, ".zst") == 0) n -= 4;
    return n > e && path[n - e - 1] == '.' && strncasecmp(path + n - e, ending, e) == 0;
}

static Format format_by_name(const char *path)
{
    static const struct {
        const char *ending;
        Format format;
    } known[] = {{"jsonl", FORMAT_JSONL}, {"ndjson", FORMAT_JSONL}, {"json", FORMAT_JSONL}, {"csv", FORMAT_CSV},
                 {"tsv", FORMAT_TSV},     {"tab", FORMAT_TSV},      {"bin", FORMAT_SHARD},  {"npy", FORMAT_NPY}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (has_ending(path, known[i].ending)) return known[i].format;
    return FORMAT_TEXT;
}

/* ------------------------------------------------------------------ shards */

static int32_t header_word(const char *head, int k)
{
    int32_t x;
    memcpy(&x, head + 4 * k, 4);
    return x;
}

/* The size of a shard's ids by its header; 0: no header. */
static int id_size_by(const char *head, int64_t n)
{
    if (n < 12) return 0;
    if (header_word(head, 0) == GPT2_MAGIC && header_word(head, 1) == GPT2_VERSION) return 2;
    if (header_word(head, 0) == LLAMA3_MAGIC && header_word(head, 1) == LLAMA3_VERSION) return 4;
    return 0;
}

static void check_shard_size(const Source_file *f, int64_t bytes)
{
    int64_t held = (bytes - f->head) / f->id_size;
    if (held == f->ids && (bytes - f->head) % f->id_size == 0) return;
    fail(EXIT_DATA, f->path,
         "its header says %lld tokens of %d bytes, and there are %lld bytes after it (%lld tokens%s): the file is %s; "
         "get it again",
         (long long)f->ids, f->id_size, (long long)(bytes - f->head), (long long)held,
         (bytes - f->head) % f->id_size ? " and a part of one" : "",
         held < f->ids ? "cut short" : "not what its header says");
}

static void take_shard(Source_file *f, const Source_options *o, const char *head, int64_t n, int64_t bytes)
{
    f->id_size = id_size_by(head, n);
    if (f->id_size) {
        if (n < SHARD_HEAD)
            fail(EXIT_DATA, f->path, "ends within the header of a token shard, which has 1024 bytes; get it again");
        f->head = SHARD_HEAD;
        f->ids = header_word(head, 2);
        if (f->ids < 0) fail(EXIT_DATA, f->path, "its header says %lld tokens: it is damaged", (long long)f->ids);
        if (bytes >= 0) check_shard_size(f, bytes);
        return;
    }
    f->id_size = o->raw_id_size;
    if (!f->id_size)
        fail(EXIT_DATA, f->path,
             "expected a token shard (llm.c's header 20240520 version 1, or 20240801 version 7), found none of them; "
             "if it has raw token ids, give their size: u16 or u32");
    f->ids = bytes < 0 ? -1 : bytes / f->id_size;
    if (bytes >= 0 && bytes % f->id_size)
        fail(EXIT_DATA, f->path,
             "has %lld bytes, which is no whole number of ids of %d bytes: it was cut short, or its ids are of another "
             "size",
             (long long)bytes, f->id_size);
}

/* ------------------------------------------------------------------ first bytes */

static bool starts_with(const char *head, int64_t n, const char *magic)
{
    int64_t m = (int64_t)strlen(magic);
    return n >= m && memcmp(head, magic, (size_t)m) == 0;
}

static void refuse_known(const char *path, const char *head, int64_t n)
{
    static const struct {
        const char *magic, *what;
    } known[] = {{"PAR1", "a Parquet file: convert it to JSON lines (with duckdb or pyarrow)"},
                 {"ARROW1", "an Arrow file: convert it to JSON lines (with duckdb or pyarrow)"},
                 {"PK\3\4", "a zip archive: unpack it"},
                 {"\xfd"
                  "7zXZ",
                  "packed by xz: unpack it, or pack it by zstd"},
                 {"BZh", "packed by bzip2: unpack it, or pack it by zstd"},
                 {"\xff\xfe", "UTF-16 text: convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)"},
                 {"\xfe\xff", "UTF-16 text: convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)"},
                 {"%PDF", "a PDF: take its text out (pdftotext)"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (starts_with(head, n, known[i].magic)) fail(EXIT_DATA, path, "is %s", known[i].what);
    if (n > 262 && memcmp(head + 257, "ustar", 5) == 0) fail(EXIT_DATA, path, "is a tar archive: unpack it");
}

/* The format of a pipe, which has no name: a line that begins an object is JSON. */
static Format format_of_stream(const char *head, int64_t n)
{
    int64_t i = 0;
    while (i < n && strchr(" \t\r\n", head[i]) && head[i]) i++;
    return i < n && head[i] == '{' ? FORMAT_JSONL : FORMAT_TEXT;
}

static Format format_by(const Source_file *f, const Source_options *o, const char *head, int64_t n)
{
    if (o->format != FORMAT_FOUND) return o->format;
    if (id_size_by(head, n)) return FORMAT_SHARD;
    if (starts_with(head, n, "\x93NUMPY")) return FORMAT_NPY;
    Format f_named = format_by_name(f->path);
    return f_named == FORMAT_TEXT && f->stream ? format_of_stream(head, n) : f_named;
}

/* Text rarely has zero bytes near its beginning. */
static bool looks_binary(Format format, const char *head, int64_t n)
{
    return format != FORMAT_SHARD && format != FORMAT_NPY && n && memchr(head, 0, (size_t)n);
}

bool classify_file(Source_file *f, const Source_options *o, bool named)
{
    const char *head;
    Input *in = open_input(f->path, -1);
    int64_t n = peek_input(in, &head, HEAD), bytes = input_bytes(in);
    struct stat about;
    f->packed = input_packed(in);
    f->stream = input_is_stream(in) ? in : NULL;
    f->bytes = f->stream || stat(f->path, &about) != 0 ? -1 : about.st_size;
    f->format = format_by(f, o, head, n);
    bool readable = named || !looks_binary(f->format, head, n);
    if (readable && f->format != FORMAT_SHARD && f->format != FORMAT_NPY && o->bad_utf8 != UTF8_KEEP)
        refuse_known(f->path, head, n);
    if (readable && f->format == FORMAT_SHARD && n > 0) take_shard(f, o, head, n, bytes);
    if (!f->stream) close_input(in);
    return readable;
}
