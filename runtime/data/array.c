/* array.c: finds the arrays of a file or folder, and reads their rows as numbers. */
#define _GNU_SOURCE /* memfd_create */
#include "base/file.h"
#include "base/words.h"
#include "data/array.h"
#include "data/files.h"
#include "model/safetensors.h"
#include "source/source.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------------------ files */

int open_array_file(const char *path, int64_t *bytes)
{
    struct stat about;
    int fd = open_to_read(path);
    if (fd < 0 || fstat(fd, &about) != 0)
        fail(EXIT_DATA, path, "cannot be read: %s; check the path", error_text(errno));
    if (!S_ISREG(about.st_mode))
        fail(EXIT_DATA, path, "expected a regular file, because rows of arrays are read in any order");
    *bytes = about.st_size;
    return fd;
}

int memory_file(const char *path)
{
    int fd = memfd_create("unpacked", MFD_CLOEXEC);
    if (fd < 0) fail(EXIT_ERROR, path, "cannot be unpacked into memory: %s", error_text(errno));
    return fd;
}

int open_unpacked(const char *path, int64_t *bytes, int64_t *heap)
{
    char room[1 << 12];
    *heap = *bytes = 0;
    int fd = open_array_file(path, bytes);
    Input *in = open_input(path, -1);
    if (input_packed(in) != NOT_PACKED) {
        close(fd);
        fd = memory_file(path);
        *bytes = 0;
        for (int64_t n; (n = read_input(in, room, sizeof room)) > 0; *bytes += n)
            if (write(fd, room, (size_t)n) != n)
                fail(EXIT_ERROR, path, "cannot be unpacked into memory: %s", error_text(errno));
        *heap = *bytes;
    }
    close_input(in);
    return fd;
}

/* ------------------------------------------------------------------ arrays */

Array *new_array(const char *place, int fd)
{
    Array *a = must_alloc(sizeof *a);
    a->place = text_of("%s", place);
    a->fd = fd;
    a->dim = must_alloc(sizeof *a->dim * MOST_DIMS);
    return a;
}

void close_array(Array *a)
{
    if (a->set) close_set(a->set);
    else close(a->fd);
    free(a->place);
    free(a->name);
    free(a->dim);
    free(a);
}

void add_array(Array_list *all, Array *a, const char *name)
{
    a->name = name ? text_of("%s", name) : NULL;
    all->at = must_grow(all->at, sizeof *all->at * (size_t)(all->n + 1));
    all->at[all->n++] = a;
}

void check_array_length(Array *a, int64_t bytes)
{
    int64_t all = a->size;
    bool beyond = false;
    a->width = 1;
    for (int i = 0; i < a->rank; i++) {
        beyond |= __builtin_mul_overflow(all, a->dim[i], &all);
        if (i > 0) beyond |= __builtin_mul_overflow(a->width, a->dim[i], &a->width);
    }
    if (beyond || all != bytes)
        fail(EXIT_DATA, a->place,
             "its header says %s bytes of elements, but %lld follow it: the file is incomplete; get it again",
             beyond ? "more than 2^63" : text_of("%lld", (long long)all), (long long)bytes);
}

void read_bytes_at(const Array *a, void *to, int64_t n, int64_t offset)
{
    for (char *at = to; n > 0;) {
        ssize_t got = pread(a->fd, at, (size_t)n, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0)
            fail(EXIT_DATA, a->place, "cannot be read at byte %lld: %s", (long long)offset,
                 got < 0 ? error_text(errno) : "the file ends too early");
        at += got, offset += got, n -= got;
    }
}

/* ------------------------------------------------------------------ files of several, and folders */

static void take_stored_type(Array *a, const Stored *s)
{
    static const struct {
        const char *dtype;
        char kind;
        int size;
    } known[] = {{"BOOL", 'b', 1}, {"I8", 'i', 1},  {"U8", 'u', 1},  {"I16", 'i', 2}, {"U16", 'u', 2},
                 {"I32", 'i', 4},  {"U32", 'u', 4}, {"I64", 'i', 8}, {"U64", 'u', 8}, {"F16", 'f', 2},
                 {"BF16", 'B', 2}, {"F32", 'f', 4}, {"F64", 'f', 8}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].dtype, s->dtype) == 0) {
            a->kind = known[i].kind;
            a->size = known[i].size;
            return;
        }
    fail(EXIT_DATA, a->place, "expected booleans, integers or floats, found %s", s->dtype);
}

static void open_stored(Array_list *all, const char *path, Wanted *wanted, const void *with)
{
    Store s;
    read_store(&s, path);
    for (int i = 0; i < s.n; i++) {
        const Stored *t = &s.tensor[i];
        int64_t bytes;
        if (wanted && !wanted(with, t->name)) continue;
        char *place = text_of("%s: %s", path, t->name);
        Array *a = new_array(place, open_array_file(path, &bytes));
        free(place);
        take_stored_type(a, t);
        a->rank = t->rank;
        memcpy(a->dim, t->dim, sizeof *a->dim * (size_t)a->rank);
        a->data = t->at - (const char *)s.map;
        check_array_length(a, t->bytes);
        add_array(all, a, t->name);
    }
    close_store(&s);
}

typedef enum Ending { NO_ENDING, NPY, NPZ, SAFETENSORS, IDX } Ending;

static Ending ending_of(const char *path)
{
    static const struct {
        const char *end;
        Ending ending;
    } known[] = {{".npy", NPY},  {".npz", NPZ},    {".safetensors", SAFETENSORS}, {".idx", IDX}, {".idx.gz", IDX},
                 {"ubyte", IDX}, {"ubyte.gz", IDX}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (has_end(path, known[i].end)) return known[i].ending;
    return NO_ENDING;
}

static int by_word(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* The folder's arrays, in the order of their names: NAME.npy is NAME. */
static void open_folder(Array_list *all, const char *path, Wanted *wanted, const void *with)
{
    Words names = {0};
    DIR *folder = opendir(path);
    if (!folder) fail(EXIT_DATA, path, "cannot be read: %s; check the path", error_text(errno));
    for (struct dirent *e; (e = readdir(folder));)
        if (ending_of(e->d_name) == NPY || ending_of(e->d_name) == IDX) add_word(&names, text_of("%s", e->d_name));
    closedir(folder);
    if (!names.n)
        fail(EXIT_DATA, path, "expected arrays in the folder, NAME.npy for each input, found none%s",
             data_file_hint(path));
    qsort(names.at, (size_t)names.n, sizeof *names.at, by_word);
    for (int i = 0; i < names.n; i++) {
        char *file = text_of("%s/%s", path, names.at[i]), *name = text_of("%s", names.at[i]);
        name[strcspn(name, ".")] = 0;
        if (!wanted || wanted(with, name)) list_arrays(all, file, name, NULL, NULL);
        free(file);
        free(name);
    }
    free(names.at);
}

void list_arrays(Array_list *all, const char *path, const char *name, Wanted *wanted, const void *with)
{
    struct stat about;
    if (stat(path, &about) == 0 && S_ISDIR(about.st_mode)) return open_folder(all, path, wanted, with);
    switch (ending_of(path)) {
    case NPY: return add_array(all, open_npy(path), name);
    case IDX: return add_array(all, open_idx(path), name);
    case NPZ: return open_npz(all, path, wanted, with);
    case SAFETENSORS: return open_stored(all, path, wanted, with);
    case NO_ENDING: break;
    }
    if (is_hdf5(path)) return open_hdf5(all, path, name, wanted, with);
    fail(EXIT_DATA, path,
         "expected arrays: .npz, .h5, .safetensors, a folder of NAME.npy, or NAME=FILE with .npy, .idx or MNIST's "
         "…-ubyte; "
         "its name has none of these endings%s",
         data_file_hint(path));
}

bool holds_arrays(const char *path)
{
    DIR *folder = opendir(path);
    bool some = !folder && (ending_of(path) != NO_ENDING || is_hdf5(path));
    for (struct dirent *e; folder && !some && (e = readdir(folder));)
        some = ending_of(e->d_name) == NPY || ending_of(e->d_name) == IDX;
    if (folder) closedir(folder);
    return some;
}

/* ------------------------------------------------------------------ elements */

static double half(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double x = exponent == 31 ? (fraction ? NAN : INFINITY)
               : exponent     ? ldexp(1024 + fraction, exponent - 25)
                              : ldexp(fraction, -24);
    return bits & 0x8000 ? -x : x;
}

/* The element's bits, as an unsigned number. */
static uint64_t bits_at(const Array *a, const char *at)
{
    uint64_t bits = 0;
    if (!a->big) return memcpy(&bits, at, (size_t)a->size), bits;
    for (int i = 0; i < a->size; i++) bits = bits << 8 | (unsigned char)at[i];
    return bits;
}

static double float_of(const Array *a, uint64_t bits)
{
    uint32_t half_bits = (uint32_t)bits << (a->kind == 'B' ? 16 : 0);
    float x;
    double y;
    if (a->kind == 'f' && a->size == 2) return half((uint16_t)bits);
    if (a->size == 8) return memcpy(&y, &bits, 8), y;
    return memcpy(&x, &half_bits, 4), (double)x;
}

static double element_at(const Array *a, const char *at)
{
    uint64_t bits = bits_at(a, at);
    if (a->kind == 'f' || a->kind == 'B') return float_of(a, bits);
    if (a->kind == 'b') return bits != 0;
    int unused = 64 - 8 * a->size;
    return a->kind == 'i' ? (double)((int64_t)(bits << unused) >> unused) : (double)bits;
}

int64_t array_rows(const Array *a) { return a->rank ? a->dim[0] : 1; }

void read_array(const Array *a, int64_t row, int64_t n, double *out)
{
    char room[1 << 13];
    int64_t first = row * a->width, left = n * a->width, most = (int64_t)sizeof room / a->size;
    bug_if(row < 0 || n < 0 || row + n > array_rows(a));
    if (a->set) return read_set(a, row, n, out);
    while (left > 0) {
        int64_t here = left < most ? left : most;
        read_bytes_at(a, room, here * a->size, a->data + first * a->size);
        for (int64_t i = 0; i < here; i++) *out++ = element_at(a, room + i * a->size);
        first += here, left -= here;
    }
}
