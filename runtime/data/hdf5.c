/* hdf5.c: arrays of HDF5 files, each a dataset in the file or in one of its groups.
 *
 * The library is loaded when the first such file is opened, so a trainer needs it for nothing else.  It reads and
 * unpacks rows when they are asked for, through a cache of some chunks, so a dataset is never in memory as a whole.
 * Where chunks have many rows, all of them are unpacked into a file first. */
#define _GNU_SOURCE /* mkostemp */
#include "base/file.h"
#include "base/words.h"
#include "data/array.h"
#include "data/hdf5_api.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MOST_NAME = 256,
    MOST_CHUNK = 64 << 20,
    MOST_CACHE = 16 << 20,
    CACHE_SLOTS = 12289,
    MOST_PACKED = 1100,
    SHOWN = 20
};
enum { MOST_BAND = 1 << 20, MOST_PARTS = 64 }; /* bytes of the chunks that share a row; parts of a chunk */

#define DECLARE(result, name, parameters) result(*name) parameters;
static struct Hdf5_library {
    HDF5_FUNCTIONS(DECLARE)
    Hdf5_id real, access; /* the types double and H5P_DATASET_ACCESS */
    void *link_info;      /* H5Lget_info: its struct begins with the kind of the link */
    bool loaded;
} h5;

/* ------------------------------------------------------------------ the library */

static void *open_hdf5_library(void)
{
    static const char *const names[] = {"libhdf5_serial.so.103", "libhdf5.so.103", "libhdf5.so.200",
                                        "libhdf5_serial.so.310", "libhdf5.so.310", "libhdf5.so"};
    void *library = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

static void *symbol_of(void *library, const char *path, const char *name)
{
    void *found = dlsym(library, name);
    if (!found) fail(EXIT_ERROR, path, "the library HDF5 of this machine has no %s; install libhdf5-103-1", name);
    return found;
}

/* path: the file that needs it. */
static void load_hdf5(const char *path)
{
    unsigned major, minor, release;
    if (h5.loaded) return;
    void *library = open_hdf5_library();
    if (!library)
        fail(EXIT_ERROR, path,
             "reading HDF5 files needs its library, which is not installed: apt install libhdf5-103-1");
#define LOAD(result, name, parameters) *(void **)&h5.name = symbol_of(library, path, #name);
    HDF5_FUNCTIONS(LOAD)
    h5.H5dont_atexit(); /* before all others: what is left of a file at the end is not worth tidying up */
    h5.H5get_libversion(&major, &minor, &release);
    if (h5.H5open() < 0 || major != 1 || minor < 10)
        fail(EXIT_ERROR, path, "expected HDF5 1.10 or later 1.x, found %u.%u.%u", major, minor, release);
    h5.H5Eset_auto2(HDF5_DEFAULT, NULL, NULL);
    h5.real = *(Hdf5_id *)symbol_of(library, path, "H5T_NATIVE_DOUBLE_g");
    h5.access = *(Hdf5_id *)symbol_of(library, path, "H5P_CLS_DATASET_ACCESS_ID_g");
    h5.link_info = dlsym(library, "H5Lget_info1");
    if (!h5.link_info) h5.link_info = symbol_of(library, path, "H5Lget_info");
    h5.loaded = true;
}

static int take_reason(unsigned n, const Hdf5_error *e, void *with)
{
    if (n == 0 && e->text) *(char **)with = text_of("%s", e->text);
    return 0;
}

static char *hdf5_reason(void)
{
    char *text = NULL;
    h5.H5Ewalk2(HDF5_DEFAULT, HDF5_INNERMOST_FIRST, take_reason, &text);
    return text ? text : text_of("it does not say why");
}

static _Noreturn void refuse_hdf5(const char *place)
{
    fail(EXIT_DATA, place, "HDF5 cannot read it: %s; get the file again, or write it again", hdf5_reason());
}

/* id, which is no error. */
static Hdf5_id must_be(Hdf5_id id, const char *place)
{
    if (id < 0) refuse_hdf5(place);
    return id;
}

/* ------------------------------------------------------------------ a dataset */

struct Hdf5_set {
    Hdf5_id set, space;
    Hdf5_id own;               /* of booleans: the type in the file; else 0 */
    int64_t chunk, chunk_rows; /* bytes, rows; 0: the elements lie in one piece */
};

static void take_hdf5_type(Array *a, struct Hdf5_set *s)
{
    Hdf5_id type = must_be(h5.H5Dget_type(s->set), a->place);
    int class = h5.H5Tget_class(type);
    a->size = (int)h5.H5Tget_size(type);
    if (class == HDF5_ENUM && a->size == 1) { /* as h5py writes booleans */
        a->kind = 'b';
        s->own = type;
        return;
    }
    if ((class != HDF5_INTEGER && class != HDF5_FLOAT) || a->size > 8)
        fail(EXIT_DATA, a->place, "expected booleans, integers or floats of up to 64 bits, found another type");
    a->kind = class == HDF5_FLOAT ? 'f' : h5.H5Tget_sign(type) == HDF5_UNSIGNED ? 'u' : 'i';
    h5.H5Tclose(type);
}

/* The axes; bytes of all elements. */
static int64_t take_hdf5_shape(Array *a, const struct Hdf5_set *s)
{
    Hdf5_size dim[MOST_DIMS];
    int64_t bytes = a->size;
    a->rank = h5.H5Sget_simple_extent_ndims(s->space);
    if (a->rank < 0 || a->rank > MOST_DIMS || h5.H5Sget_simple_extent_dims(s->space, dim, NULL) < 0)
        fail(EXIT_DATA, a->place, "expected a dataset of at most %d axes, found none or more", MOST_DIMS);
    for (int i = 0; i < a->rank; i++) {
        a->dim[i] = (int64_t)dim[i];
        if (dim[i] > INT64_MAX || __builtin_mul_overflow(bytes, a->dim[i], &bytes))
            fail(EXIT_DATA, a->place, "expected elements of at most 2^63 bytes, found more; write the file again");
    }
    check_array_length(a, bytes);
    return bytes;
}

/* Finds the size of chunks; 0: the elements lie in one piece. */
static void check_storage(const Array *a, struct Hdf5_set *s, int64_t bytes)
{
    Hdf5_id made = must_be(h5.H5Dget_create_plist(s->set), a->place);
    Hdf5_size dim[MOST_DIMS], stored = h5.H5Dget_storage_size(s->set);
    int layout = h5.H5Pget_layout(made), packed = layout == HDF5_CHUNKED ? h5.H5Pget_nfilters(made) : 0;
    int64_t chunk = layout == HDF5_CHUNKED ? a->size : 0;
    if (layout == HDF5_VIRTUAL || h5.H5Pget_external_count(made) > 0)
        fail(EXIT_DATA, a->place, "its elements lie in other files; write them into this one");
    if (chunk && h5.H5Pget_chunk(made, MOST_DIMS, dim) != a->rank) refuse_hdf5(a->place);
    for (int i = 0; chunk && i < a->rank; i++)
        if (dim[i] > MOST_CHUNK || (chunk *= (int64_t)dim[i]) > MOST_CHUNK)
            fail(EXIT_DATA, a->place,
                 "expected chunks of at most %d MB, found larger ones; write it with smaller chunks", MOST_CHUNK >> 20);
    if ((int64_t)(stored * (packed > 0 ? MOST_PACKED : 1)) < bytes)
        fail(EXIT_DATA, a->place, "expected %lld bytes of elements, found %llu stored%s: some were never written",
             (long long)bytes, stored, packed > 0 ? " after packing" : "");
    h5.H5Pclose(made);
    s->chunk = chunk;
    s->chunk_rows = chunk ? (int64_t)dim[0] : 0;
}

/* Opens it again, with a cache for some of its chunks. */
static void widen_cache(Array *a, struct Hdf5_set *s, const char *name, Hdf5_id at, int64_t bytes)
{
    int64_t cache = (bytes < MOST_CACHE ? bytes : MOST_CACHE) + s->chunk;
    Hdf5_id access = must_be(h5.H5Pcreate(h5.access), a->place);
    h5.H5Pset_chunk_cache(access, CACHE_SLOTS, (size_t)cache, 0.75); /* with 1 it grows without end */
    h5.H5Oclose(s->set);
    s->set = must_be(h5.H5Dopen2(at, name, access), a->place);
    h5.H5Pclose(access);
    a->heap = cache;
}

/* The room has the axes of the rows: of other axes the library would make a list of all pieces, in memory. */
static void read_set_part(const Array *a, int64_t row, int64_t n, Hdf5_id type, void *out)
{
    const struct Hdf5_set *s = a->set;
    Hdf5_size start[MOST_DIMS] = {0}, count[MOST_DIMS];
    for (int i = 0; i < a->rank; i++) count[i] = (Hdf5_size)a->dim[i];
    start[0] = (Hdf5_size)row;
    count[0] = (Hdf5_size)n;
    Hdf5_id room = must_be(h5.H5Screate_simple(a->rank ? a->rank : 1, count, NULL), a->place);
    if (a->rank && h5.H5Sselect_hyperslab(s->space, HDF5_SELECT_SET, start, NULL, count, NULL) < 0)
        refuse_hdf5(a->place);
    if (h5.H5Dread(s->set, type, room, s->space, HDF5_DEFAULT, out) < 0) refuse_hdf5(a->place);
    h5.H5Sclose(room);
}

/* A file on the disk, which goes with the process. */
static int unnamed_file(const char *place)
{
    const char *folder = getenv("TMPDIR");
    char *path = text_of("%s/lathe-XXXXXX", folder && *folder ? folder : "/tmp");
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0 || unlink(path) != 0)
        fail(EXIT_ERROR, place, "cannot be unpacked into %s: %s; TMPDIR names another folder", path, error_text(errno));
    free(path);
    return fd;
}

/* Copies all rows into a file, chunk after chunk, because a row that is drawn lies in chunks of many rows.  Of chunks
 * whose rows are longer than the room, parts are read, each time from the whole chunk. */
static void unpack_set(Array *a)
{
    struct Hdf5_set *s = a->set;
    Hdf5_id type = must_be(h5.H5Dget_type(s->set), a->place),
            native = must_be(h5.H5Tget_native_type(type, 0), a->place);
    a->size = (int)h5.H5Tget_size(native);
    int64_t row_bytes = a->width * a->size, most = MOST_CHUNK / row_bytes, rows = array_rows(a);
    if (most > s->chunk_rows) most = s->chunk_rows;
    if (most * MOST_PARTS < s->chunk_rows)
        fail(EXIT_DATA, a->place,
             "expected chunks of fewer rows, found %lld in each; write it with chunks of some rows",
             (long long)s->chunk_rows);
    note("%s: each chunk has %lld rows; unpacked into a temporary file of %lld MB", a->place, (long long)s->chunk_rows,
         (long long)(rows * row_bytes >> 20));
    char *room = must_alloc((size_t)(most * row_bytes));
    a->fd = unnamed_file(a->place);
    for (int64_t row = 0, n; row < rows; row += n) {
        int64_t here = s->chunk_rows - row % s->chunk_rows, left = rows - row;
        n = here < most ? here : most;
        if (n > left) n = left;
        read_set_part(a, row, n, native, room);
        if (write(a->fd, room, (size_t)(n * row_bytes)) != n * row_bytes)
            fail(EXIT_ERROR, a->place, "cannot be unpacked: %s; TMPDIR names another folder", error_text(errno));
    }
    free(room);
    h5.H5Tclose(native);
    h5.H5Tclose(type);
    close_set(s);
    a->set = NULL;
}

/* at: the file or group that has it. */
static Array *open_set(const char *place, Hdf5_id at, const char *name)
{
    Array *a = new_array(place, -1);
    struct Hdf5_set *s = a->set = must_alloc(sizeof *s);
    s->set = must_be(h5.H5Dopen2(at, name, HDF5_DEFAULT), a->place);
    s->space = must_be(h5.H5Dget_space(s->set), a->place);
    take_hdf5_type(a, s);
    int64_t bytes = take_hdf5_shape(a, s);
    check_storage(a, s, bytes);
    if (s->chunk_rows > 1 && s->chunk_rows * (bytes / array_rows(a)) > MOST_BAND) unpack_set(a);
    else if (s->chunk) widen_cache(a, s, name, at, bytes);
    return a;
}

void close_set(struct Hdf5_set *s)
{
    if (s->own > 0) h5.H5Tclose(s->own);
    h5.H5Sclose(s->space);
    h5.H5Oclose(s->set);
    free(s);
}

/* ------------------------------------------------------------------ files */

static bool is_link_within(Hdf5_id at, const char *name)
{
    int info[64] = {0}; /* the struct has 40 bytes */
    int (*link_info)(Hdf5_id, const char *, void *, Hdf5_id);
    *(void **)&link_info = h5.link_info;
    return link_info(at, name, info, HDF5_DEFAULT) >= 0 && info[0] <= HDF5_SOFT_LINK;
}

/* HDF5_DATASET, HDF5_GROUP or another kind; 0: it is not in this file. */
static int kind_of(const char *place, Hdf5_id at, const char *name)
{
    if (!is_link_within(at, name)) return 0;
    Hdf5_id object = must_be(h5.H5Oopen(at, name, HDF5_DEFAULT), place);
    int kind = h5.H5Iget_type(object);
    h5.H5Oclose(object);
    return kind;
}

/* The name of the n-th member; false: there is none. */
static bool member_of(const char *path, Hdf5_id group, Hdf5_size n, char name[MOST_NAME + 1])
{
    ssize_t length = h5.H5Lget_name_by_idx(group, ".", HDF5_BY_NAME, HDF5_RISING, n, name, MOST_NAME + 1, HDF5_DEFAULT);
    if (length > MOST_NAME) fail(EXIT_DATA, path, "expected names of at most %d bytes, found %s…", MOST_NAME, name);
    return length >= 0;
}

/* "x, y, train/ and others": a group's name ends in a slash */
static char *members_text(const char *path, Hdf5_id group)
{
    char name[MOST_NAME + 1], *all = text_of("%s", "");
    Hdf5_size n = 0;
    for (; n < SHOWN && member_of(path, group, n, name); n++)
        all = text_of("%s%s%s%s", all, n ? ", " : "", name, kind_of(path, group, name) == HDF5_GROUP ? "/" : "");
    if (n == 0) return text_of("nothing");
    return member_of(path, group, n, name) ? text_of("%s and others", all) : all;
}

/* What is where `inside` was looked for: in the last of its groups that is there. */
static char *beside_missing(const char *path, Hdf5_id file, const char *inside)
{
    char *group = text_of("%s", inside), *slash;
    do {
        slash = strrchr(group, '/');
        group[slash ? slash - group : 0] = 0;
    } while (*group && kind_of(path, file, group) != HDF5_GROUP);
    Hdf5_id at = must_be(h5.H5Oopen(file, *group ? group : "/", HDF5_DEFAULT), path);
    char *all = members_text(path, at);
    h5.H5Oclose(at);
    return *group ? text_of("; its group %s has %s", group, all) : text_of("; the file has %s", all);
}

static void refuse_kind(const char *place, int kind, const char *beside)
{
    if (kind != HDF5_DATASET)
        fail(EXIT_DATA, place, "expected a dataset, found %s%s",
             kind == HDF5_GROUP ? "a group"
             : kind             ? "something else"
                                : "nothing, or a link to another file",
             beside);
}

static void open_group(Array_list *all, const char *path, Hdf5_id group, Wanted *wanted, const void *with)
{
    char name[MOST_NAME + 1], *inner = NULL;
    int sets = 0;
    for (Hdf5_size n = 0; member_of(path, group, n, name); n++) {
        char *place = text_of("%s: %s", path, name);
        int kind = kind_of(place, group, name);
        sets += kind == HDF5_DATASET;
        if (kind == HDF5_GROUP && !inner) inner = text_of("%s", name);
        if (kind != HDF5_GROUP && (!wanted || wanted(with, name))) {
            refuse_kind(place, kind, "");
            add_array(all, open_set(place, group, name), name);
        }
        free(place);
    }
    if (!sets)
        fail(EXIT_DATA, path, "expected datasets by the names of the inputs, found %s%s", members_text(path, group),
             inner ? text_of("; the datasets of group %s are --data %s/%s", inner, path, inner) : "");
    free(inner);
}

static const char *end_of_hdf5(const char *path)
{
    static const char *const ends[] = {".h5", ".hdf5"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        for (const char *at = path; (at = strstr(at, ends[i])); at++) {
            const char *end = at + strlen(ends[i]);
            if (*end == 0 || *end == '/') return end;
        }
    return NULL;
}

bool is_hdf5(const char *path) { return end_of_hdf5(path) != NULL; }

void open_hdf5(Array_list *all, const char *path, const char *name, Wanted *wanted, const void *with)
{
    const char *inside = end_of_hdf5(path);
    char *file = text_of("%.*s", (int)(inside - path), path);
    int64_t bytes;
    load_hdf5(path);
    close(open_array_file(file, &bytes)); /* tells what is no file in our own words */
    Hdf5_id h = must_be(h5.H5Fopen(file, HDF5_READ_ONLY, HDF5_DEFAULT), file);
    inside += strspn(inside, "/");
    int kind = *inside ? kind_of(path, h, inside) : HDF5_GROUP;
    Hdf5_id group = kind == HDF5_GROUP ? must_be(h5.H5Oopen(h, *inside ? inside : "/", HDF5_DEFAULT), path) : 0;
    if (group) {
        open_group(all, path, group, wanted, with);
        h5.H5Oclose(group);
    } else {
        if (!kind) refuse_kind(path, kind, beside_missing(path, h, inside));
        refuse_kind(path, kind, "");
        add_array(all, open_set(path, h, inside), name);
    }
    h5.H5Fclose(h); /* once the datasets are closed */
    free(file);
}

/* ------------------------------------------------------------------ rows */

void read_set(const Array *a, int64_t row, int64_t n, double *out)
{
    int64_t all = n * a->width;
    if (all == 0) return;
    if (a->kind != 'b') return read_set_part(a, row, n, h5.real, out);
    signed char *bytes = must_alloc((size_t)all);
    read_set_part(a, row, n, a->set->own, bytes);
    for (int64_t i = 0; i < all; i++) out[i] = bytes[i] != 0;
    free(bytes);
}
