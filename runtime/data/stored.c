/* stored.c: rows of equal size: the first in memory and, when they are many, the others in a file without a name.
 *
 * The file is read with pread, since pages of a mapped file would count as the program's own memory.  A row that comes
 * soon after the last one is taken as the next of a scan, and twice as many bytes are read ahead as for the one before.
 */
#define _GNU_SOURCE /* O_TMPFILE, mkostemp */
#include "base/words.h"
#include "data/stored.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { IN_MEMORY = 64 << 20, AHEAD = 1 << 20, NEAR = 64 };

struct Stored {
    int64_t row_bytes, rows;
    int64_t most; /* rows in memory */
    char *memory; /* [memory_room][row_bytes] the first rows */
    int64_t memory_room;
    int fd;       /* the others; -1: there are none */
    char *window; /* [window_rows][row_bytes] first … first + held - 1 of them */
    int64_t window_rows, first, held;
    int64_t ahead; /* rows that were read last */
    bool writing;  /* those in the window are not yet in the file */
    const char *folder;
};

static int64_t memory_limit(void)
{
    const char *said = getenv("LATHE_TABLE_MEMORY");
    int64_t bytes = IN_MEMORY;
    if (said && !parse_size(said, &bytes))
        fail(EXIT_USAGE, NULL, "LATHE_TABLE_MEMORY=%s: expected a number of bytes, such as 64M", said);
    return bytes;
}

Stored *open_stored(int64_t row_bytes)
{
    Stored *s = must_alloc(sizeof *s);
    bug_if(row_bytes % 8);
    s->row_bytes = row_bytes ? row_bytes : 8;
    s->most = memory_limit() / s->row_bytes;
    s->fd = -1;
    return s;
}

int64_t stored_rows(const Stored *s) { return s->rows; }
int64_t stored_heap(const Stored *s) { return (s->memory_room + s->window_rows) * s->row_bytes; }

/* ------------------------------------------------------------------ the file */

static _Noreturn void refuse_file(const Stored *s, const char *doing, int number)
{
    fail(EXIT_DATA, s->folder,
         "the rows of the table, %s so far, need a temporary file here, which cannot be %s: %s; name a folder with "
         "room in TMPDIR, or give LATHE_TABLE_MEMORY=N for more of them in memory",
         bytes_text(s->rows * s->row_bytes), doing, error_text(number));
}

static void open_file_of_rows(Stored *s)
{
    s->folder = getenv("TMPDIR");
    if (!s->folder || !*s->folder) s->folder = "/var/tmp";
    s->fd = open(s->folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (s->fd >= 0) return;
    char *path = text_of("%s/lathe-rows-XXXXXX", s->folder); /* where file systems have no files without names */
    s->fd = mkostemp(path, O_CLOEXEC);
    if (s->fd < 0 || unlink(path) != 0) refuse_file(s, "made", errno);
    free(path);
}

/* Appends the window. */
static void write_rows(Stored *s)
{
    const char *at = s->window;
    for (int64_t left = s->held * s->row_bytes; left > 0;) {
        ssize_t n = write(s->fd, at, (size_t)left);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) refuse_file(s, "written", n < 0 ? errno : ENOSPC);
        at += n;
        left -= n;
    }
    s->first += s->held;
    s->held = 0;
}

static void read_rows(Stored *s, int64_t first, int64_t rows)
{
    char *to = s->window;
    int64_t at = first * s->row_bytes;
    for (int64_t left = rows * s->row_bytes; left > 0;) {
        ssize_t n = pread(s->fd, to, (size_t)left, at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) refuse_file(s, "read", n < 0 ? errno : EIO);
        to += n, at += n, left -= n;
    }
    s->first = first;
    s->held = rows;
}

/* ------------------------------------------------------------------ rows */

static void *add_to_memory(Stored *s)
{
    int64_t more = s->memory_room * 2 + 1024;
    if (s->rows == s->memory_room) {
        s->memory_room = more < s->most ? more : s->most;
        s->memory = must_grow(s->memory, (size_t)(s->memory_room * s->row_bytes));
    }
    return s->memory + s->rows * s->row_bytes;
}

static void *add_to_file(Stored *s)
{
    if (s->fd < 0) {
        open_file_of_rows(s);
        s->window_rows = s->row_bytes < AHEAD ? AHEAD / s->row_bytes : 1;
        s->window = must_alloc((size_t)(s->window_rows * s->row_bytes));
        s->writing = true;
    }
    bug_if(!s->writing);
    if (s->held == s->window_rows) write_rows(s);
    return s->window + s->held++ * s->row_bytes;
}

void *add_stored(Stored *s)
{
    void *row = s->rows < s->most ? add_to_memory(s) : add_to_file(s);
    s->rows++;
    return memset(row, 0, (size_t)s->row_bytes);
}

static const char *row_in_file(Stored *s, int64_t row)
{
    const int64_t end = s->first + s->held, rows = s->rows - s->most;
    if (row < s->first || row >= end) {
        bool scan = s->held && row >= end && row < end + NEAR;
        s->ahead = !scan ? 1 : 2 * s->ahead < s->window_rows ? 2 * s->ahead : s->window_rows;
        read_rows(s, row, s->ahead < rows - row ? s->ahead : rows - row);
    }
    return s->window + (row - s->first) * s->row_bytes;
}

const void *stored_row(Stored *s, int64_t row)
{
    bug_if(row < 0 || row >= s->rows);
    if (row < s->most) return s->memory + row * s->row_bytes;
    if (s->writing) write_rows(s);
    s->writing = false;
    return row_in_file(s, row - s->most);
}

void hash_stored(Hash *h, Stored *s, int64_t first, int64_t bytes)
{
    for (int64_t row = 0; row < s->rows && bytes; row++)
        hash_add(h, (const char *)stored_row(s, row) + first, (size_t)bytes);
}
