/* npy.c: arrays of NumPy: .npy (versions 1 to 3), and archives of them, .npz.
 *
 * The format is that of numpy/lib/format.py: magic, version, length of the header, a Python dictionary with descr,
 * fortran_order and shape, then the elements.  An archive is a zip file (PKWARE's APPNOTE.TXT), whose members are read
 * in place if numpy.savez wrote it, and unpacked into memory if numpy.savez_compressed did. */
#include "base/words.h"
#include "data/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef LATHE_WITH_ZLIB
#include <zlib.h>
#endif

enum { MOST_HEADER = 1 << 16 };

/* ------------------------------------------------------------------ header */

/* The text after 'key': in the dictionary. */
static const char *value_of(const Array *a, const char *header, const char *key)
{
    char quoted[32];
    snprintf(quoted, sizeof quoted, "'%s'", key);
    const char *at = strstr(header, quoted);
    if (at) at += strlen(quoted), at += strspn(at, " ");
    if (!at || *at != ':')
        fail(EXIT_DATA, a->place,
             "expected '%s' in the header of a NumPy array, found none; write it again with numpy.save", key);
    return at + 1 + strspn(at + 1, " ");
}

static void take_descr(Array *a, const char *at)
{
    static const char *const known[] = {"|b1", "|i1", "|u1", "<i2", "<u2", "<i4",
                                        "<u4", "<i8", "<u8", "<f2", "<f4", "<f8"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (at[0] == '\'' && strncmp(at + 1, known[i], 3) == 0 && at[4] == '\'') {
            a->kind = known[i][1];
            a->size = known[i][2] - '0';
            return;
        }
    fail(EXIT_DATA, a->place,
         "expected little-endian booleans, integers or floats, found %.*s; convert the array (astype)",
         (int)strcspn(at, ","), at);
}

static void take_npy_shape(Array *a, const char *at)
{
    if (*at++ != '(')
        fail(EXIT_DATA, a->place, "expected a shape in the header, found none; write it again with numpy.save");
    for (at += strspn(at, " "); *at && *at != ')'; at += strspn(at, ", ")) {
        char *end;
        errno = 0;
        long long n = strtoll(at, &end, 10);
        if (end == at || errno || n < 0 || a->rank == MOST_DIMS)
            fail(EXIT_DATA, a->place, "expected at most %d dimensions of 0 or more in the header, found %.*s",
                 MOST_DIMS, (int)strcspn(at, "}"), at);
        a->dim[a->rank++] = n;
        at = end;
    }
    if (*at != ')')
        fail(EXIT_DATA, a->place,
             "expected the end of the shape in the header, found none; write it again with numpy.save");
}

/* Bytes before the header's text; its length in *n. */
static int64_t prefix(const Array *a, int64_t first, int64_t bytes, int64_t *n)
{
    unsigned char head[12] = {0};
    if (bytes < 10) fail(EXIT_DATA, a->place, "expected a NumPy array, found %lld bytes", (long long)bytes);
    read_bytes_at(a, head, bytes < 12 ? bytes : 12, first);
    if (memcmp(head, "\x93NUMPY", 6) != 0 || head[6] < 1 || head[6] > 3)
        fail(EXIT_DATA, a->place,
             "expected a NumPy array (.npy, version 1 to 3, not compressed), found something else");
    *n = head[8] | head[9] << 8;
    if (head[6] > 1) *n |= (int64_t)head[10] << 16 | (int64_t)head[11] << 24;
    return head[6] > 1 ? 12 : 10;
}

Array *npy_at(const char *place, int fd, int64_t first, int64_t bytes)
{
    Array *a = new_array(place, fd);
    int64_t n, before = prefix(a, first, bytes, &n);
    if (n > MOST_HEADER || before + n > bytes)
        fail(EXIT_DATA, a->place, "its header should have %lld bytes, but the file has %lld; get it again",
             (long long)n, (long long)bytes);
    char *header = must_alloc((size_t)n + 1);
    read_bytes_at(a, header, n, first + before);
    a->data = first + before + n;
    if (strncmp(value_of(a, header, "fortran_order"), "False", 5) != 0)
        fail(EXIT_DATA, a->place,
             "expected row-major order, found Fortran's order; write it again with numpy.ascontiguousarray");
    take_descr(a, value_of(a, header, "descr"));
    take_npy_shape(a, value_of(a, header, "shape"));
    free(header);
    check_array_length(a, bytes - before - n);
    return a;
}

Array *open_npy(const char *path)
{
    int64_t bytes;
    int fd = open_array_file(path, &bytes);
    return npy_at(path, fd, 0, bytes);
}

/* ------------------------------------------------------------------ archives */

enum { END_BYTES = 22, ENTRY_BYTES = 46, LOCAL_BYTES = 30, MOST_COMMENT = 65535, STORED = 0, DEFLATED = 8 };

static int64_t little(const unsigned char *at, int bytes)
{
    uint64_t x = 0;
    while (bytes-- > 0) x = x << 8 | at[bytes];
    return (int64_t)x;
}

typedef struct Zip {
    const Array *file; /* for reading bytes */
    int64_t bytes;
    unsigned char *directory;
    int64_t directory_bytes, entries;
} Zip;

static _Noreturn void bad_zip(const Zip *z, const char *what)
{
    fail(EXIT_DATA, z->file->place,
         "expected an archive of numpy.savez, found %s; get the file again, or write it again", what);
}

/* The end record is the last one, before a comment.  Archives above 4 GB have a second one, ahead of it. */
static void find_directory(Zip *z)
{
    int64_t tail = z->bytes < END_BYTES + MOST_COMMENT ? z->bytes : END_BYTES + MOST_COMMENT, at = tail - END_BYTES;
    unsigned char *text = must_alloc((size_t)tail + 1), wide[56], locator[20];
    if (at < 0) bad_zip(z, "too few bytes");
    read_bytes_at(z->file, text, tail, z->bytes - tail);
    while (at >= 0 && (memcmp(text + at, "PK\5\6", 4) != 0 || at + END_BYTES + little(text + at + 20, 2) != tail)) at--;
    if (at < 0) bad_zip(z, "no directory at its end: it is cut off, or no zip file");
    int64_t here = z->bytes - tail + at, first = little(text + at + 16, 4);
    z->entries = little(text + at + 10, 2);
    z->directory_bytes = little(text + at + 12, 4);
    free(text);
    if (here >= 20 && (read_bytes_at(z->file, locator, 20, here - 20), memcmp(locator, "PK\6\7", 4) == 0)) {
        int64_t place = little(locator + 8, 8);
        if (place < 0 || place > z->bytes - 56) bad_zip(z, "a damaged directory");
        read_bytes_at(z->file, wide, 56, place);
        z->entries = little(wide + 32, 8), z->directory_bytes = little(wide + 40, 8), first = little(wide + 48, 8);
    }
    if (first < 0 || z->directory_bytes < 0 || first > z->bytes || z->directory_bytes > z->bytes - first)
        bad_zip(z, "a directory beyond its end");
    z->directory = must_alloc((size_t)z->directory_bytes + 1);
    read_bytes_at(z->file, z->directory, z->directory_bytes, first);
}

typedef struct Member {
    char *name, *place;
    int64_t method, packed, bytes, first; /* bytes packed and unpacked; first: of its data */
} Member;

/* Sizes beyond 32 bits are in an extra field of kind 1, in this order, those that are -1 in 32 bits. */
static void take_wide_sizes(Member *m, const unsigned char *extra, int64_t n)
{
    while (n >= 4) {
        int64_t kind = little(extra, 2), size = little(extra + 2, 2);
        if (size > n - 4) return;
        const unsigned char *at = extra + 4, *end = at + size;
        int64_t *const wide[] = {&m->bytes, &m->packed, &m->first};
        for (int i = 0; kind == 1 && i < 3; i++)
            if (*wide[i] == UINT32_MAX && end - at >= 8) *wide[i] = little(at, 8), at += 8;
        extra += 4 + size, n -= 4 + size;
    }
}

/* Takes the directory's entry at *at, and moves *at behind it. */
static Member next_in_archive(const Zip *z, int64_t *at)
{
    const unsigned char *e = z->directory + *at;
    int64_t left = z->directory_bytes - *at;
    if (left < ENTRY_BYTES || memcmp(e, "PK\1\2", 4) != 0) bad_zip(z, "a damaged directory");
    int64_t name = little(e + 28, 2), extra = little(e + 30, 2), comment = little(e + 32, 2);
    if (left < ENTRY_BYTES + name + extra + comment) bad_zip(z, "a damaged directory");
    Member m = {.method = little(e + 10, 2),
                .packed = little(e + 20, 4),
                .bytes = little(e + 24, 4),
                .first = little(e + 42, 4)};
    take_wide_sizes(&m, e + ENTRY_BYTES + name, extra);
    m.name = text_of("%.*s", (int)name, (const char *)e + ENTRY_BYTES);
    m.place = text_of("%s: %s", z->file->place, m.name);
    *at += ENTRY_BYTES + name + extra + comment;
    unsigned char local[LOCAL_BYTES];
    if (m.first < 0 || m.first > z->bytes - LOCAL_BYTES) bad_zip(z, "a member beyond its end");
    read_bytes_at(z->file, local, LOCAL_BYTES, m.first);
    if (memcmp(local, "PK\3\4", 4) != 0) bad_zip(z, "a damaged member");
    m.first += LOCAL_BYTES + little(local + 26, 2) + little(local + 28, 2);
    if (m.packed < 0 || m.bytes < 0 || m.first > z->bytes || m.packed > z->bytes - m.first)
        bad_zip(z, "a member beyond its end");
    return m;
}

#ifdef LATHE_WITH_ZLIB
enum { ROOM = 1 << 12 };

static void write_unpacked(const Member *m, int fd, const unsigned char *at, int64_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, at, (size_t)n);
        if (done < 0) fail(EXIT_ERROR, m->place, "cannot be unpacked into memory: %s", error_text(errno));
        at += done, n -= done;
    }
}

/* Into a file in memory, of as many bytes as the directory says, not one more. */
static int unpack_member(const Zip *z, const Member *m)
{
    unsigned char in[ROOM], out[ROOM];
    int fd = memory_file(m->place), code = Z_OK;
    int64_t taken = 0, given = 0;
    z_stream s = {0};
    if (inflateInit2(&s, -MAX_WBITS) != Z_OK) fail(EXIT_ERROR, NULL, "out of memory for zlib");
    while (code == Z_OK) {
        if (!s.avail_in) {
            int64_t n = m->packed - taken < ROOM ? m->packed - taken : ROOM;
            read_bytes_at(z->file, in, n, m->first + taken);
            s.next_in = in, s.avail_in = (uInt)n, taken += n;
        }
        s.next_out = out, s.avail_out = ROOM;
        code = inflate(&s, Z_NO_FLUSH);
        given += ROOM - s.avail_out;
        if (given > m->bytes || (code != Z_OK && code != Z_STREAM_END)) break;
        write_unpacked(m, fd, out, ROOM - s.avail_out);
    }
    inflateEnd(&s);
    if (code != Z_STREAM_END || given != m->bytes)
        fail(EXIT_DATA, m->place,
             "does not unpack to the %lld bytes that its archive says: it is damaged; get it again",
             (long long)m->bytes);
    return fd;
}
#endif

static Array *open_member(Array_list *all, const Zip *z, const Member *m)
{
    if (m->method == STORED) {
        if (m->packed != m->bytes) bad_zip(z, "a stored member with two sizes");
        return npy_at(m->place, dup(z->file->fd), m->first, m->bytes);
    }
#ifdef LATHE_WITH_ZLIB
    if (m->method == DEFLATED) {
        all->unpacked += m->bytes;
        if (all->before) all->before(all->with, all->unpacked);
        Array *a = npy_at(m->place, unpack_member(z, m), 0, m->bytes);
        a->heap = m->bytes;
        return a;
    }
#endif
    (void)all;
    fail(EXIT_DATA, m->place, "is packed in a way that this trainer cannot read; write it again with numpy.savez");
}

void open_npz(Array_list *all, const char *path, Wanted *wanted, const void *with)
{
    Zip z = {0};
    int fd = open_array_file(path, &z.bytes);
    Array *file = new_array(path, fd);
    z.file = file;
    find_directory(&z);
    for (int64_t i = 0, at = 0; i < z.entries; i++) {
        Member m = next_in_archive(&z, &at);
        size_t n = strlen(m.name);
        if (has_end(m.name, ".npy")) {
            char *name = text_of("%.*s", (int)(n - 4), m.name);
            if (!wanted || wanted(with, name)) add_array(all, open_member(all, &z, &m), name);
            free(name);
        }
        free(m.name);
        free(m.place);
    }
    free(z.directory);
    close_array(file);
}

bool are_arrays(const Words *paths)
{
    for (int i = 0; i < paths->n; i++) {
        size_t n = strlen(paths->at[i]);
        if (n < 4 || strcmp(paths->at[i] + n - 4, ".npy") != 0) return false;
    }
    return paths->n > 0;
}
