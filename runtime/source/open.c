/* open.c: the bytes of a file or pipe, in order, decompressed if necessary.
 *
 * Of a file that has grown since it was found, only the old length is read; a file that became shorter ends the
 * program. */
#include "base/words.h"
#include "source/open.h"
#include "source/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RAW = 1 << 17, FIRST = 1 << 12 }; /* FIRST: bytes of the first read, in case only the head is wanted */

struct Input {
    char *path;
    int fd;
    bool stream, ended; /* ended: fd is at its end */
    Packed packed;
    int64_t listed;   /* bytes of the file that are read; -1: a pipe */
    int64_t taken;    /* bytes read from fd */
    int64_t offset;   /* of the next byte, unpacked */
    int64_t unpacked; /* bytes from the decompressor */
    char *raw;        /* [RAW] bytes of the file, begin … end */
    int64_t begin, end;
    Unpacker *unpacker;
    char *ahead; /* [PEEK] peeked unpacked bytes, ahead_begin … ahead_end; NULL: none yet */
    int64_t ahead_begin, ahead_end;
};

/* ------------------------------------------------------------------ bytes of the file */

static _Noreturn void cut_while_read(const Input *in)
{
    fail(EXIT_DATA, in->path,
         "ends at byte %lld, and had %lld when it was found: it was cut short while it was read; start again when "
         "nothing writes to it any more",
         (long long)in->taken, (long long)in->listed);
}

/* Reads n bytes, fewer only at the end. */
static int64_t read_raw(Input *in, char *to, int64_t n)
{
    int64_t got = 0;
    if (in->listed >= 0 && n > in->listed - in->taken) n = in->listed - in->taken;
    while (got < n) {
        ssize_t more = read(in->fd, to + got, (size_t)(n - got));
        if (more < 0 && errno == EINTR) continue;
        if (more < 0)
            fail(EXIT_DATA, in->path, "cannot be read at byte %lld: %s", (long long)in->taken, error_text(errno));
        if (more == 0) break;
        got += more;
        in->taken += more;
    }
    if (got < n && in->listed >= 0) cut_while_read(in);
    if (got < n || in->taken == in->listed) in->ended = true;
    return got;
}

static void fill_raw(Input *in)
{
    if (in->begin < in->end || in->ended) return;
    in->begin = 0;
    in->end = read_raw(in, in->raw, RAW);
}

/* ------------------------------------------------------------------ opening */

static Packed packed_by(const unsigned char *at, int64_t n)
{
    if (n >= 3 && at[0] == 0x1f && at[1] == 0x8b && at[2] == 8) return PACKED_GZ;
    if (n < 4) return NOT_PACKED;
    if (memcmp(at, "\x28\xb5\x2f\xfd", 4) == 0) return PACKED_ZST;
    bool skippable = at[0] >= 0x50 && at[0] <= 0x5f && memcmp(at + 1, "\x2a\x4d\x18", 3) == 0;
    return skippable ? PACKED_ZST : NOT_PACKED;
}

static void begin_file(Input *in)
{
    in->taken = in->offset = in->unpacked = in->begin = in->end = in->ahead_begin = in->ahead_end = 0;
    in->ended = false;
    in->end = read_raw(in, in->raw, FIRST);
    in->packed = packed_by((unsigned char *)in->raw, in->end);
    close_unpacker(in->unpacker);
    in->unpacker = in->packed == NOT_PACKED ? NULL : open_unpacker(in->packed, in->path);
}

static void compare_size(Input *in, int64_t listed, int64_t bytes)
{
    in->listed = bytes;
    if (listed < 0 || listed == bytes) return;
    if (bytes < listed)
        fail(EXIT_DATA, in->path,
             "shrank from %lld to %lld bytes while it was in use; do not change data files during a run",
             (long long)listed, (long long)bytes);
    note("%s has grown from %lld to %lld bytes; only the first part, as long as it was, is read", in->path,
         (long long)listed, (long long)bytes);
    in->listed = listed;
}

/* Opening a named pipe waits for its writer. */
static void note_pipe(const char *path)
{
    struct stat about;
    if (lstat(path, &about) == 0 && S_ISFIFO(about.st_mode))
        note("%s is a pipe: it is read as soon as another program writes to it", path);
}

Input *open_input(const char *path, int64_t listed)
{
    struct stat about;
    Input *in = must_alloc(sizeof *in);
    bool standard = strcmp(path, "-") == 0;
    in->path = text_of("%s", standard ? "standard input" : path);
    if (!standard) note_pipe(path);
    in->fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (in->fd < 0 || fstat(in->fd, &about) != 0)
        fail(EXIT_DATA, in->path,
             listed < 0 ? "cannot be read: %s; check the path"
                        : "was there when it was found, and cannot be read any more: %s",
             error_text(errno));
    if (S_ISDIR(about.st_mode)) fail(EXIT_DATA, in->path, "is a folder; a file was expected");
    in->stream = standard || !S_ISREG(about.st_mode);
    in->listed = -1;
    if (!in->stream) compare_size(in, listed, about.st_size);
    in->raw = must_alloc(RAW);
    begin_file(in);
    return in;
}

void close_input(Input *in)
{
    if (!in) return;
    close_unpacker(in->unpacker);
    if (in->fd != STDIN_FILENO) close(in->fd);
    free(in->ahead);
    free(in->raw);
    free(in->path);
    free(in);
}

/* ------------------------------------------------------------------ reading */

static int64_t read_plain(Input *in, char *to, int64_t n)
{
    int64_t here = in->end - in->begin < n ? in->end - in->begin : n;
    memcpy(to, in->raw + in->begin, (size_t)here);
    in->begin += here;
    return here < n && !in->ended ? here + read_raw(in, to + here, n - here) : here;
}

static _Noreturn void broken(const Input *in, const char *wrong)
{
    fail(EXIT_DATA, in->path, "byte %lld (byte %lld of what it unpacks to): the %s data %s",
         (long long)(in->taken - (in->end - in->begin)), (long long)in->unpacked,
         in->packed == PACKED_GZ ? "gzip" : "zstd",
         strncmp(wrong, "ends", 4) == 0 || strncmp(wrong, "is ", 3) == 0 ? wrong : text_of("is damaged: %s", wrong));
}

static int64_t read_packed(Input *in, char *to, int64_t n)
{
    Flow flow = {.out = to, .out_bytes = n};
    while (flow.out_bytes > 0) {
        fill_raw(in);
        flow.in = in->raw + in->begin;
        flow.in_bytes = in->end - in->begin;
        flow.in_ended = in->ended;
        int64_t before = flow.out_bytes;
        const char *wrong = unpack(in->unpacker, &flow);
        in->begin = in->end - flow.in_bytes;
        in->unpacked += before - flow.out_bytes;
        if (wrong) broken(in, wrong);
        if (in->ended && in->begin == in->end && flow.out_bytes == before) break;
    }
    return n - flow.out_bytes;
}

static int64_t read_unpacked(Input *in, char *to, int64_t n)
{
    return in->unpacker ? read_packed(in, to, n) : read_plain(in, to, n);
}

int64_t read_input(Input *in, void *to, int64_t bytes)
{
    int64_t here = in->ahead_end - in->ahead_begin < bytes ? in->ahead_end - in->ahead_begin : bytes;
    if (here) memcpy(to, in->ahead + in->ahead_begin, (size_t)here);
    in->ahead_begin += here;
    in->offset += here;
    if (here < bytes) {
        int64_t more = read_unpacked(in, (char *)to + here, bytes - here);
        in->offset += more;
        here += more;
    }
    return here;
}

int64_t peek_input(Input *in, const char **at, int64_t bytes)
{
    if (!in->ahead) in->ahead = must_alloc(PEEK);
    if (bytes > PEEK) bytes = PEEK;
    if (in->ahead_end - in->ahead_begin < bytes) {
        in->ahead_end -= in->ahead_begin;
        memmove(in->ahead, in->ahead + in->ahead_begin, (size_t)in->ahead_end);
        in->ahead_begin = 0;
        in->ahead_end += read_unpacked(in, in->ahead + in->ahead_end, bytes - in->ahead_end);
    }
    *at = in->ahead + in->ahead_begin;
    int64_t there = in->ahead_end - in->ahead_begin;
    return there < bytes ? there : bytes;
}

/* ------------------------------------------------------------------ places */

static void skip_to(Input *in, int64_t offset)
{
    char waste[1 << 13];
    while (in->offset < offset) {
        int64_t n = offset - in->offset < (int64_t)sizeof waste ? offset - in->offset : (int64_t)sizeof waste;
        if (read_input(in, waste, n) < n)
            fail(EXIT_DATA, in->path,
                 "unpacks to %lld bytes, and was to be read from byte %lld on: it is not the file that it was",
                 (long long)in->offset, (long long)offset);
    }
}

void seek_input(Input *in, int64_t offset)
{
    if (offset == in->offset) return;
    if (in->stream && offset < in->offset)
        fail(EXIT_DATA, in->path, "is a pipe, which can be read only once; write what it yields into a file first");
    if (in->stream || in->unpacker) {
        if (offset < in->offset) {
            if (lseek(in->fd, 0, SEEK_SET) < 0)
                fail(EXIT_DATA, in->path, "cannot be read again: %s", error_text(errno));
            begin_file(in);
        }
        skip_to(in, offset);
        return;
    }
    if (offset > in->listed)
        fail(EXIT_DATA, in->path,
             "has %lld bytes, and was to be read from byte %lld on: it is not the file that it was",
             (long long)in->listed, (long long)offset);
    if (lseek(in->fd, offset, SEEK_SET) < 0)
        fail(EXIT_DATA, in->path, "cannot be read at byte %lld: %s", (long long)offset, error_text(errno));
    in->begin = in->end = in->ahead_begin = in->ahead_end = 0;
    in->taken = in->offset = offset;
    in->ended = offset == in->listed;
}

int64_t input_offset(const Input *in) { return in->offset; }
int64_t input_bytes(const Input *in) { return in->unpacker ? -1 : in->listed; }
Packed input_packed(const Input *in) { return in->packed; }
bool input_is_stream(const Input *in) { return in->stream; }
const char *input_path(const Input *in) { return in->path; }
int64_t input_heap(const Input *in) { return RAW + (in->ahead ? PEEK : 0) + unpacker_heap(in->unpacker); }
