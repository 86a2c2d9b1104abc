/* npy.c: arrays of NumPy (.npy, versions 1 to 3) for numeric inputs; rows are read from the file when they are needed.
 *
 * The format is that of numpy/lib/format.py: magic, version, length of the header, a Python dictionary with descr,
 * fortran_order and shape, then the elements. */
#include "base/file.h"
#include "base/words.h"
#include "source/source.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_DIMS = 32, MOST_HEADER = 1 << 16 };

struct Npy {
    char *path;
    int fd, rank, size; /* size: bytes of an element */
    char kind;          /* b boolean, i, u, f */
    int64_t dim[MOST_DIMS], width, data;
};

/* ------------------------------------------------------------------ header */

/* The text after 'key': in the dictionary. */
static const char *value_of(const Npy *a, const char *header, const char *key)
{
    char quoted[32];
    snprintf(quoted, sizeof quoted, "'%s'", key);
    const char *at = strstr(header, quoted);
    if (at) at += strlen(quoted), at += strspn(at, " ");
    if (!at || *at != ':')
        fail(EXIT_DATA, a->path,
             "expected '%s' in the header of a NumPy array, found none; write it again with numpy.save", key);
    return at + 1 + strspn(at + 1, " ");
}

static void take_descr(Npy *a, const char *at)
{
    static const char *const known[] = {"|b1", "|i1", "|u1", "<i2", "<u2", "<i4",
                                        "<u4", "<i8", "<u8", "<f2", "<f4", "<f8"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (at[0] == '\'' && strncmp(at + 1, known[i], 3) == 0 && at[4] == '\'') {
            a->kind = known[i][1];
            a->size = known[i][2] - '0';
            return;
        }
    fail(EXIT_DATA, a->path,
         "expected little-endian booleans, integers or floats, found %.*s; convert the array (astype)",
         (int)strcspn(at, ","), at);
}

static void take_npy_shape(Npy *a, const char *at)
{
    if (*at++ != '(')
        fail(EXIT_DATA, a->path, "expected a shape in the header, found none; write it again with numpy.save");
    for (at += strspn(at, " "); *at && *at != ')'; at += strspn(at, ", ")) {
        char *end;
        errno = 0;
        long long n = strtoll(at, &end, 10);
        if (end == at || errno || n < 0 || a->rank == MOST_DIMS)
            fail(EXIT_DATA, a->path, "expected at most %d dimensions of 0 or more in the header, found %.*s", MOST_DIMS,
                 (int)strcspn(at, "}"), at);
        a->dim[a->rank++] = n;
        at = end;
    }
    if (*at != ')')
        fail(EXIT_DATA, a->path,
             "expected the end of the shape in the header, found none; write it again with numpy.save");
}

static void check_length(Npy *a, int64_t bytes)
{
    int64_t all = a->size;
    bool beyond = false;
    a->width = 1;
    for (int i = 0; i < a->rank; i++) {
        beyond |= __builtin_mul_overflow(all, a->dim[i], &all);
        if (i > 0) beyond |= __builtin_mul_overflow(a->width, a->dim[i], &a->width);
    }
    if (beyond || all != bytes - a->data)
        fail(EXIT_DATA, a->path,
             "its header says %s bytes of elements, but %lld follow it: the file is incomplete; get it again",
             beyond ? "more than 2^63" : text_of("%lld", (long long)all), (long long)(bytes - a->data));
}

static void read_at(const Npy *a, void *to, int64_t n, int64_t offset)
{
    ssize_t got = pread(a->fd, to, (size_t)n, (off_t)offset);
    if (got < n)
        fail(EXIT_DATA, a->path, "cannot be read at byte %lld: %s", (long long)offset,
             got < 0 ? error_text(errno) : "the file ends too early");
}

/* Bytes before the header's text; its length in *n. */
static int64_t prefix(const Npy *a, int64_t bytes, int64_t *n)
{
    unsigned char head[12] = {0};
    if (bytes < 10) fail(EXIT_DATA, a->path, "expected a NumPy array, found %lld bytes", (long long)bytes);
    read_at(a, head, bytes < 12 ? bytes : 12, 0);
    if (memcmp(head, "\x93NUMPY", 6) != 0 || head[6] < 1 || head[6] > 3)
        fail(EXIT_DATA, a->path, "expected a NumPy array (.npy, version 1 to 3, not compressed), found something else");
    *n = head[8] | head[9] << 8;
    if (head[6] > 1) *n |= (int64_t)head[10] << 16 | (int64_t)head[11] << 24;
    return head[6] > 1 ? 12 : 10;
}

static void read_npy_header(Npy *a, int64_t bytes)
{
    int64_t n, before = prefix(a, bytes, &n);
    if (n > MOST_HEADER || before + n > bytes)
        fail(EXIT_DATA, a->path, "its header should have %lld bytes, but the file has %lld; get it again", (long long)n,
             (long long)bytes);
    char *header = must_alloc((size_t)n + 1);
    read_at(a, header, n, before);
    a->data = before + n;
    if (strncmp(value_of(a, header, "fortran_order"), "False", 5) != 0)
        fail(EXIT_DATA, a->path,
             "expected row-major order, found Fortran's order; write it again with numpy.ascontiguousarray");
    take_descr(a, value_of(a, header, "descr"));
    take_npy_shape(a, value_of(a, header, "shape"));
    free(header);
    check_length(a, bytes);
}

Npy *open_npy(const char *path)
{
    struct stat about;
    Npy *a = must_alloc(sizeof *a);
    a->path = text_of("%s", path);
    a->fd = open_to_read(path);
    if (a->fd < 0 || fstat(a->fd, &about) != 0)
        fail(EXIT_DATA, path, "cannot be read: %s; check the path", error_text(errno));
    if (!S_ISREG(about.st_mode))
        fail(EXIT_DATA, path, "expected a regular file, because rows of arrays are read in any order");
    read_npy_header(a, about.st_size);
    return a;
}

void close_npy(Npy *a)
{
    close(a->fd);
    free(a->path);
    free(a);
}

int npy_rank(const Npy *a) { return a->rank; }
const int64_t *npy_dim(const Npy *a) { return a->dim; }
int64_t npy_width(const Npy *a) { return a->width; }

/* ------------------------------------------------------------------ elements */

static double half(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double x = exponent == 31 ? (fraction ? NAN : INFINITY)
               : exponent     ? ldexp(1024 + fraction, exponent - 25)
                              : ldexp(fraction, -24);
    return bits & 0x8000 ? -x : x;
}

static double integer_at(const Npy *a, const char *at)
{
    uint64_t bits = 0;
    memcpy(&bits, at, (size_t)a->size);
    if (a->kind == 'b') return bits != 0;
    int unused = 64 - 8 * a->size;
    return a->kind == 'i' ? (double)((int64_t)(bits << unused) >> unused) : (double)bits;
}

static double element_at(const Npy *a, const char *at)
{
    uint16_t bits;
    float x;
    double y;
    if (a->kind != 'f') return integer_at(a, at);
    if (a->size == 2) return memcpy(&bits, at, 2), half(bits);
    if (a->size == 4) return memcpy(&x, at, 4), (double)x;
    return memcpy(&y, at, 8), y;
}

void read_npy(const Npy *a, int64_t row, int64_t n, double *out)
{
    char room[1 << 13];
    int64_t first = row * a->width, left = n * a->width, most = (int64_t)sizeof room / a->size;
    bug_if(row < 0 || n < 0 || (a->rank ? row + n > a->dim[0] : row + n > 1));
    while (left > 0) {
        int64_t here = left < most ? left : most;
        read_at(a, room, here * a->size, a->data + first * a->size);
        for (int64_t i = 0; i < here; i++) *out++ = element_at(a, room + i * a->size);
        first += here, left -= here;
    }
}
