/* test_source_memory.c: lines, texts, fields and files of a gigabyte are read in memory that does not grow with them.
 */
#include "sources.h"

#include <fcntl.h>
#include <signal.h>

#ifdef LATHE_SANITIZE
enum { MOST = 200 << 20 }; /* the sanitizer's own */
#else
enum { MOST = 64 << 20 };
#endif
enum { PART = 1 << 20 };
static const int64_t MB = 1 << 20;

typedef struct Stream {
    const char *what, *head, *body, *tail; /* body: again and again */
    int64_t bytes;                         /* of the bodies */
    Source_options o;
    int64_t documents, wanted; /* bytes */
    const char *path;          /* NULL: through a pipe */
} Stream;

/* ------------------------------------------------------------------ making it */

static void send(int fd, const char *at, int64_t n)
{
    while (n > 0) {
        ssize_t put = write(fd, at, (size_t)n);
        if (put <= 0) _exit(1);
        at += put, n -= put;
    }
}

/* A process that writes it into the pipe. */
static void start_writer(const Stream *s, int fd)
{
    static char block[1 << 16];
    if (fork() != 0) return;
    int64_t n = (int64_t)strlen(s->body), size = (int64_t)sizeof block / n * n;
    for (int64_t i = 0; i < size; i += n) memcpy(block + i, s->body, (size_t)n);
    send(fd, s->head, (int64_t)strlen(s->head));
    for (int64_t left = s->bytes; left > 0; left -= size) send(fd, block, left < size ? left : size);
    send(fd, s->tail, (int64_t)strlen(s->tail));
    _exit(0);
}

static void connect_pipe(const Stream *s)
{
    int ends[2];
    if (pipe(ends) != 0) perror("pipe"), exit(1);
    start_writer(s, ends[1]);
    close(ends[1]);
    dup2(ends[0], 0);
    close(ends[0]);
}

/* ------------------------------------------------------------------ reading it */

static void read_stream(void *arg)
{
    const Stream *s = arg;
    Document d;
    int64_t most = 0;
    if (!s->path) connect_pipe(s);
    Words paths = one_path(s->path ? s->path : "-");
    Sources *all = open_sources(&paths, &s->o);
    Reader *r = open_reader(all, PART, NULL, NULL);
    double begin = seconds_now();
    for (reader_file(r, 0, NULL); next_document(r, &d);) most = d.bytes > most ? d.bytes : most;
    const Counts *c = reader_counts(r);
    expect(c->documents == s->documents && c->bytes == s->wanted && most <= PART,
           "%s: %lld documents, %lld bytes, parts of %lld at most", s->what, (long long)c->documents,
           (long long)c->bytes, (long long)most);
    expect(reader_heap(r) < 32 * MB, "the reader says that it takes %lld bytes", (long long)reader_heap(r));
    printf("note: %s: %.0f MB/s, ", s->what,
           (double)(s->wanted > s->bytes ? s->wanted : s->bytes) / (seconds_now() - begin) / 1e6);
    fflush(stdout);
    if (failures) exit(1);
}

static void check_stream(Stream s)
{
    Ended e = run_apart(read_stream, &s);
    printf("peak %.1f MB\n", (double)e.peak / 1e6);
    expect(e.code == 0, "%s: exit code %d: %s", s.what, e.code, e.text);
    expect(e.peak < MOST, "%s: peak of %lld bytes", s.what, (long long)e.peak);
}

static void check_sparse(int64_t bytes)
{
    char *path = in_folder("sparse.txt");
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, bytes) != 0) perror(path), exit(1);
    close(fd);
    check_stream((Stream){.what = "a line of 1 GB of zero bytes",
                          .bytes = bytes,
                          .o = {.split = SPLIT_LINE},
                          .documents = 1,
                          .wanted = bytes,
                          .path = path});
    unlink(path);
}

/* So many bytes of 'x', packed. */
static void check_packed(Packed how, const char *name, int64_t bytes)
{
    Bytes block = {0}, packed = {0}, file = {0};
    for (int64_t i = 0; i < 16 * MB; i++) put(&block, "x", 1);
    rng = 3;
    if (!pack_bytes(how, block.at, block.n, &packed)) return;
    for (int64_t i = 0; i < bytes; i += block.n) put(&file, packed.at, packed.n); /* members, frames */
    char *path = in_folder(name);
    write_bytes(path, file.at, file.n);
    free(block.at);
    free(packed.at);
    check_stream((Stream){.what = name, .bytes = file.n, .documents = 1, .wanted = bytes, .path = path});
    free(file.at);
}

int main(void)
{
    int64_t GB = 1024 * MB, some = getenv("LATHE_LONG") ? 5 * GB : 64 * MB;
    make_test_folder();
    check_sparse(GB);
    check_stream((Stream){"a line through a pipe",
                          "",
                          "word after word ",
                          "\nlast",
                          4 * some,
                          {.split = SPLIT_LINE},
                          2,
                          4 * some + 4,
                          NULL});
    check_stream((Stream){"a JSON text",
                          "{\"text\": \"",
                          "\\u00e9 \\\"quoted\\\" ",
                          "\"}\n",
                          18 * (4 * some / 18),
                          {0},
                          1,
                          4 * some / 18 * 12,
                          NULL});
    check_stream((Stream){"a JSON field that nobody wants",
                          "{\"other\": [\"",
                          "0123456789abcde\", \"",
                          "\"], \"text\": \"a\"}\n",
                          19 * (some / 19),
                          {0},
                          1,
                          1,
                          NULL});
    check_stream((Stream){"a malformed JSON line",
                          "{\"text\": }",
                          "0123456789abcdef",
                          "\n{\"text\": \"a\"}\n",
                          some,
                          {.bad_records = 1},
                          1,
                          1,
                          NULL});
    check_stream((Stream){"a quoted field of CSV",
                          "a,text\n1,\"",
                          "lines\n, and \"\"quotes\"\"",
                          "\"\n",
                          22 * (some / 22),
                          {.format = FORMAT_CSV},
                          1,
                          some / 22 * 20,
                          NULL});
    check_stream((Stream){"empty lines", "a\n", "\n\r\n\n", "b", some, {.split = SPLIT_BLANK}, 2, 2, NULL});
    check_stream((Stream){"paragraphs",
                          "",
                          "two lines\nof text\n\n",
                          "",
                          19 * (some / 19),
                          {.split = SPLIT_BLANK},
                          some / 19,
                          some / 19 * 17,
                          NULL});
    check_stream((Stream){"bytes that are not UTF-8", "", "\xff", "", some / 4, {0}, 1, some / 4 * 3, NULL});
    check_packed(PACKED_GZ, "x.txt.gz", some);
    check_packed(PACKED_ZST, "x.txt.zst", some);
    return finish();
}
