/* safetensors.c: reads and writes safetensors files.  Files are not trusted: every number is checked.
 *
 *     u64 length N | N bytes of JSON: {"name": {"dtype": …, "shape": […], "data_offsets": [begin, end]}, …} | data
 *
 * Little endian; offsets count from the end of the JSON; there are no holes and no overlaps. */
#include "base/file.h"
#include "base/json_text.h"
#include "base/words.h"
#include "interface/lathe_model.h"
#include "model/blocks.h"
#include "model/safetensors.h"
#include "model/tables.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LONGEST_HEADER = 100000000 };

/* The format has no numbers in blocks: they are bytes, [rows…, blocks of a row, bytes of a block], and a note says so.
 */
static const char block_note[] = "blocks";

static const struct {
    const char *name;
    int bytes;
} dtypes[] = {
    {"F32", 4}, {"F64", 8}, {"I32", 4}, {"I64", 8}, {"BF16", 2}, {"F16", 2},     {"BOOL", 1},    {"U8", 1},
    {"I8", 1},  {"I16", 2}, {"U16", 2}, {"U32", 4}, {"U64", 8},  {"F8_E4M3", 1}, {"F8_E5M2", 1},
};

/* ------------------------------------------------------------------ reading */

void map_store(Store *s, const char *kind)
{
    struct stat about;
    int fd = open_to_read(s->path);
    if (fd < 0 || fstat(fd, &about) != 0)
        fail(EXIT_DATA, s->path, "expected %s, but it cannot be read: %s; check the path", kind, error_text(errno));
    if (!S_ISREG(about.st_mode)) fail(EXIT_DATA, s->path, "expected %s, found a folder or device", kind);
    if (about.st_size < 10)
        fail(EXIT_DATA, s->path, "expected %s, found only %lld bytes; it is cut off", kind, (long long)about.st_size);
    s->map_bytes = (size_t)about.st_size;
    s->map = mmap(NULL, s->map_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (s->map == MAP_FAILED) fail(EXIT_DATA, s->path, "cannot be mapped into memory: %s", error_text(errno));
    close(fd);
}

/* Returns where the data starts. */
static const char *parse_header(Store *s)
{
    const unsigned char *at = s->map;
    uint64_t length = 0;
    for (int i = 7; i >= 0; i--) length = length << 8 | at[i];
    if (length > LONGEST_HEADER || length < 2 || length > s->map_bytes - 8)
        fail(EXIT_DATA, s->path,
             "expected a safetensors file: its first 8 bytes give the header's length, here %llu, which does not fit a "
             "file of %zu bytes; it is cut off or has another format",
             (unsigned long long)length, s->map_bytes);
    json_error_t error;
    s->header = json_loadb((const char *)at + 8, (size_t)length, JSON_REJECT_DUPLICATES, &error);
    if (!s->header)
        fail(EXIT_DATA, s->path, "the header is not valid JSON (byte %d): %s; the file is damaged", error.position,
             error.text);
    if (!json_is_object(s->header)) fail(EXIT_DATA, s->path, "the header is not a JSON object; the file is damaged");
    return (const char *)at + 8 + length;
}

static int dtype_bytes_of(const Store *s, const char *tensor, const char *dtype)
{
    for (size_t i = 0; dtype && i < sizeof dtypes / sizeof *dtypes; i++)
        if (strcmp(dtypes[i].name, dtype) == 0) return dtypes[i].bytes;
    fail(EXIT_DATA, s->path, "tensor %s: dtype %s is not a dtype of safetensors", tensor, dtype ? dtype : "(none)");
}

static int64_t whole_number(const Store *s, const char *tensor, const char *what, const json_t *value)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        fail(EXIT_DATA, s->path, "tensor %s: expected whole numbers in %s; the file is damaged", tensor, what);
    return json_integer_value(value);
}

/* The number of bytes by the shape; an overflow is refused. */
static int64_t take_shape(const Store *s, Stored *t, const json_t *shape)
{
    int64_t bytes = dtype_bytes_of(s, t->name, t->dtype);
    if (!json_is_array(shape)) fail(EXIT_DATA, s->path, "tensor %s has no shape; the file is damaged", t->name);
    if (json_array_size(shape) > LATHE_MAXRANK)
        fail(EXIT_DATA, s->path, "tensor %s has %zu axes; expected at most %d", t->name, json_array_size(shape),
             LATHE_MAXRANK);
    t->rank = (int)json_array_size(shape);
    for (int k = 0; k < t->rank; k++) {
        t->dim[k] = whole_number(s, t->name, "shape", json_array_get(shape, (size_t)k));
        if (__builtin_mul_overflow(bytes, t->dim[k], &bytes))
            fail(EXIT_DATA, s->path, "tensor %s: its shape is larger than any file; the file is damaged", t->name);
    }
    return bytes;
}

static void take_tensor(Store *s, Stored *t, const char *name, const json_t *info, const char *data)
{
    const json_t *offsets = json_object_get(info, "data_offsets");
    int64_t room = (int64_t)s->map_bytes - (data - (const char *)s->map);
    t->name = name;
    t->dtype = json_string_value(json_object_get(info, "dtype"));
    int64_t bytes = take_shape(s, t, json_object_get(info, "shape"));
    if (!json_is_array(offsets) || json_array_size(offsets) != 2)
        fail(EXIT_DATA, s->path, "tensor %s has no data_offsets; the file is damaged", name);
    int64_t begin = whole_number(s, name, "data_offsets", json_array_get(offsets, 0));
    int64_t end = whole_number(s, name, "data_offsets", json_array_get(offsets, 1));
    if (begin > end || end > room)
        fail(EXIT_DATA, s->path,
             "tensor %s is at bytes %lld to %lld of %lld bytes of data; the file is cut off or damaged", name,
             (long long)begin, (long long)end, (long long)room);
    if (end - begin != bytes)
        fail(EXIT_DATA, s->path,
             "tensor %s: its shape needs %lld bytes, its data_offsets give %lld; the file is damaged", name,
             (long long)bytes, (long long)(end - begin));
    t->at = data + begin;
    t->map = s->map;
    t->bytes = bytes;
}

static int by_place(const void *a, const void *b)
{
    const Stored *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const Stored *)a)->name, ((const Stored *)b)->name);
}

static void check_layout(Store *s, const char *data)
{
    const char *at = data, *end = (const char *)s->map + s->map_bytes;
    qsort(s->tensor, (size_t)s->n, sizeof *s->tensor, by_place);
    for (int i = 0; i < s->n; i++) {
        if (s->tensor[i].at != at)
            fail(EXIT_DATA, s->path, "tensor %s %s; the file is damaged", s->tensor[i].name,
                 s->tensor[i].at < at ? "overlaps another" : "has a hole before it");
        at += s->tensor[i].bytes;
    }
    if (at != end)
        fail(EXIT_DATA, s->path, "%lld bytes at the end belong to no tensor; the file is damaged",
             (long long)(end - at));
    qsort(s->tensor, (size_t)s->n, sizeof *s->tensor, by_name);
}

/* The note lists types, "Q8_0 Q4_0": the bytes of a block tell which one is meant. */
static Lathe_dtype listed_blocks(const char *note, int64_t bytes)
{
    for (Lathe_dtype t = 0; t < LATHE_DTYPES; t++) {
        const char *word = block_word(t), *at = word ? strstr(note, word) : NULL;
        if (at && lathe_bytes_of_block(t) == bytes) return t;
    }
    return LATHE_BOOL;
}

static void see_blocks(const Store *s, Stored *t)
{
    const char *note = store_note(s, block_note);
    bool bytes = note && t->rank > 1 && stored_is(t, "U8");
    Lathe_dtype type = bytes ? listed_blocks(note, t->dim[t->rank - 1]) : LATHE_BOOL;
    int64_t numbers; /* of a tensor without elements an axis may be of any length */
    if (!type || __builtin_mul_overflow(t->dim[t->rank - 2], LATHE_BLOCK, &numbers)) return;
    t->dtype = block_word(type);
    t->rank--;
    t->dim[t->rank - 1] = numbers;
}

void read_store(Store *s, const char *path)
{
    const char *name;
    json_t *info;
    *s = (Store){.path = path};
    map_store(s, "a safetensors file");
    const char *data = parse_header(s);
    s->tensor = must_alloc(sizeof *s->tensor * json_object_size(s->header));
    json_object_foreach(s->header, name, info)
    {
        if (strcmp(name, "__metadata__") == 0) continue;
        if (!json_is_object(info))
            fail(EXIT_DATA, path, "tensor %s is not described by an object; the file is damaged", name);
        take_tensor(s, &s->tensor[s->n++], name, info, data);
    }
    check_layout(s, data);
    for (int i = 0; i < s->n; i++) see_blocks(s, &s->tensor[i]);
}

void close_store(Store *s)
{
    munmap(s->map, s->map_bytes);
    json_decref(s->header);
    for (int i = 0; s->own_names && i < s->n; i++) free((char *)s->tensor[i].name);
    free(s->tensor);
    *s = (Store){0};
}

const char *store_note(const Store *s, const char *key)
{
    return json_string_value(json_object_get(json_object_get(s->header, "__metadata__"), key));
}

const Stored *find_stored(const Store *s, const char *name)
{
    Stored key = {.name = name};
    return s->n ? bsearch(&key, s->tensor, (size_t)s->n, sizeof key, by_name) : NULL;
}

bool stored_is(const Stored *s, const char *wanted)
{
    size_t n = strlen(s->dtype);
    for (const char *at = wanted; (at = strstr(at, s->dtype)); at += n)
        if ((at == wanted || at[-1] == ' ') && (at[n] == ' ' || at[n] == 0)) return true;
    return false;
}

/* A BF16 is the upper half of an F32. */
static double short_element(const Stored *s, int64_t i)
{
    uint16_t bits;
    memcpy(&bits, s->at + i * 2, sizeof bits);
    if (s->dtype[0] == 'F') return half_value(bits);
    uint32_t whole = (uint32_t)bits << 16;
    float x;
    memcpy(&x, &whole, sizeof x);
    return (double)x;
}

static double block_element(const Stored *s, int64_t i)
{
    const Block_form *form = block_form(s->dtype);
    double values[LARGEST_BLOCK];
    form->values((const unsigned char *)s->at + i / form->elements * form->bytes, values);
    return values[i % form->elements];
}

double stored_element(const Stored *s, int64_t i)
{
    union {
        float f;
        double d;
        int32_t i;
        int64_t l;
    } x;
    if (stored_is(s, "F16 BF16")) return short_element(s, i);
    if (block_form(s->dtype)) return block_element(s, i);
    int bytes = s->dtype[1] == '6' ? 8 : 4;
    memcpy(&x, s->at + i * bytes, (size_t)bytes);
    if (s->dtype[0] == 'F') return bytes == 8 ? x.d : (double)x.f;
    return bytes == 8 ? (double)x.l : x.i;
}

bool is_stored_real(const Stored *s) { return stored_is(s, "F32 F64 F16 BF16") || block_form(s->dtype); }

int64_t stored_elements(const Stored *s)
{
    int64_t n = 1;
    for (int k = 0; k < s->rank; k++) n *= s->dim[k];
    return n;
}

static void read_values(const Stored *s, int64_t first, int64_t n, double *to)
{
    const Block_form *form = block_form(s->dtype);
    double values[LARGEST_BLOCK];
    if (stored_is(s, "F32")) {
        float x;
        for (int64_t i = 0; i < n; i++) memcpy(&x, s->at + (first + i) * 4, 4), to[i] = (double)x;
        return;
    }
    if (!form) {
        for (int64_t i = 0; i < n; i++) to[i] = stored_element(s, first + i);
        return;
    }
    for (int64_t i = first; i < first + n; i++) {
        if (i == first || i % form->elements == 0)
            form->values((const unsigned char *)s->at + i / form->elements * form->bytes, values);
        to[i - first] = values[i % form->elements];
    }
}

void leave_stored(const Stored *s)
{
    if (s->map) drop_pages(s->map, s->at - s->map, s->at - s->map + s->bytes);
}

/* Of every MB that ends there; what is about to be read of it by another thread is read again. */
void leave_behind(const Stored *s, int64_t first, int64_t n)
{
    enum { AT_ONCE = 1 << 20 };
    if (!s->map || n == 0) return;
    double each = (double)s->bytes / (double)stored_elements(s);
    int64_t at = s->at - s->map, from = (at + (int64_t)((double)first * each)) / AT_ONCE,
            to = (at + (int64_t)((double)(first + n) * each)) / AT_ONCE;
    if (from < to) drop_pages(s->map, from * AT_ONCE, to * AT_ONCE);
}

void read_stored(const Stored *s, int64_t first, int64_t n, double *to)
{
    read_values(s, first, n, to);
    for (int64_t i = 0; s->raised && i < n; i++) to[i] -= 1;
    leave_behind(s, first, n);
}

/* Row 2 i + k of a turned head is row i + k D/2 of the tensor.  Where q, k and v of all heads lie apart, the tensor has
 * those of a head side by side. */
static int64_t unturned_row(const Stored *s, int64_t row)
{
    int64_t part = s->dim[0] / 3, in = s->apart ? row % part : row % s->turned;
    if (s->apart) return (in / s->apart * 3 + row / part) * s->apart + in % s->apart;
    return row - in + in / 2 + in % 2 * (s->turned / 2);
}

int64_t unturned_place(const Stored *s, int64_t i)
{
    if (s->lead) return i + s->lead * s->dim[s->rank - 1];
    if (s->transposed) return i % s->dim[0] * s->dim[1] + i / s->dim[0];
    if (!s->turned && !s->apart) return i;
    int64_t width = 1;
    for (int k = 1; k < s->rank; k++) width *= s->dim[k];
    return unturned_row(s, i / width) * width + i % width;
}

/* ------------------------------------------------------------------ writing */

struct Store_writer {
    char *path, *aside; /* of start_store: PATH.part, until it is complete */
    Out *out;
    Fault own, *fault; /* own: of start_store */
    json_t *header;
    int64_t declared, given; /* bytes of data */
    bool started;            /* the header is written: declarations are over */
    bool lays;               /* elements are not written, but told to lay */
    Lay *lay;                /* or NULL */
    void *with;
};

static Store_writer *new_writer(const char *path)
{
    Store_writer *w = must_alloc(sizeof *w);
    w->path = text_of("%s", path);
    w->header = json_object();
    put_json(w->header, "__metadata__", json_pack("{s:s}", "format", "pt"));
    return w;
}

void put_note(Store_writer *w, const char *key, const char *text)
{
    bug_if(w->started);
    put_json(json_object_get(w->header, "__metadata__"), key, json_string(text));
}

Store_writer *start_store_at(const char *path, Fault *f)
{
    Store_writer *w = new_writer(path);
    w->fault = f;
    w->out = open_out(path, f);
    return w;
}

Store_writer *start_layout(Lay *lay, void *with)
{
    Store_writer *w = new_writer("");
    w->lays = true;
    w->lay = lay;
    w->with = with;
    return w;
}

Store_writer *start_header(const char *path, Fault *f)
{
    Store_writer *w = start_store_at(path, f);
    w->lays = true;
    return w;
}

bool lays_out(const Store_writer *w) { return w->lays; }

Store_writer *start_store(const char *path)
{
    Store_writer *w = new_writer(path);
    w->fault = &w->own;
    w->aside = text_of("%s.part", path);
    begin_unfinished(w->aside);
    w->out = open_out(w->aside, w->fault);
    return w;
}

/* Adds the type to those of the note. */
static void list_blocks(Store_writer *w, const char *word)
{
    const char *said = json_string_value(json_object_get(json_object_get(w->header, "__metadata__"), block_note));
    if (said && strstr(said, word)) return;
    char *all = said ? text_of("%s %s", said, word) : text_of("%s", word);
    put_note(w, block_note, all);
    free(all);
}

void declare_tensor(Store_writer *w, const char *name, Lathe_dtype dtype, int rank, const int64_t *dim)
{
    static const char *const word[] = {"U8", "I32", "F32", "F64", "BF16", "F16"};
    const bool blocks = lathe_bytes_of_block(dtype);
    int64_t n = 1;
    json_t *shape = json_array();
    bug_if(w->started || json_object_get(w->header, name));
    for (int k = 0; k < rank; k++) {
        add_json(shape, json_integer(blocks && k == rank - 1 ? dim[k] / LATHE_BLOCK : dim[k]));
        n *= dim[k];
    }
    if (blocks) {
        add_json(shape, json_integer(lathe_bytes_of_block(dtype)));
        list_blocks(w, block_word(dtype));
    }
    int64_t bytes = bytes_of_numbers(dtype, n);
    json_t *info = json_pack("{s:s, s:o, s:[I, I]}", "dtype", word[blocks ? LATHE_BOOL : dtype], "shape", shape,
                             "data_offsets", (json_int_t)w->declared, (json_int_t)(w->declared + bytes));
    bug_if(!info || json_object_set_new(w->header, name, info) != 0);
    w->declared += bytes;
}

/* The header is padded with spaces so that the data starts at a multiple of 8. */
static void write_header(Store_writer *w)
{
    w->started = true;
    if (!w->out) return; /* of a layout */
    char *text = json_written(w->header, JSON_COMPACT);
    size_t length = strlen(text), padded = (length + 7) & ~(size_t)7;
    unsigned char first[8];
    for (int i = 0; i < 8; i++) first[i] = (unsigned char)((uint64_t)padded >> (8 * i));
    put_out(w->out, first, 8);
    put_out(w->out, text, length);
    put_out(w->out, "       ", padded - length);
    free(text);
}

void put_elements(Store_writer *w, const void *at, int64_t n, Lathe_dtype dtype)
{
    size_t bytes = (size_t)bytes_of_numbers(dtype, n);
    if (!w->started) write_header(w);
    if (w->lay) w->lay(w->with, at, (int64_t)bytes, w->given);
    else if (!w->lays) put_out(w->out, at, bytes);
    w->given += (int64_t)bytes;
}

void flush_store(Store_writer *w)
{
    if (!w->started) write_header(w);
    flush_out(w->out);
}

static void free_writer(Store_writer *w)
{
    json_decref(w->header);
    free(w->aside);
    free(w->path);
    free(w);
}

static Mark close_writer(Store_writer *w)
{
    flush_store(w);
    bug_if(w->given != w->declared);
    return close_out(w->out);
}

Mark end_store(Store_writer *w)
{
    Mark mark = close_writer(w);
    free_writer(w);
    return mark;
}

int64_t end_layout(Store_writer *w)
{
    if (!w->started) write_header(w);
    bug_if(w->given != w->declared);
    const int64_t header = w->out ? grow_out(w->out, w->declared) : 0;
    free_writer(w);
    return header;
}

void finish_store(Store_writer *w)
{
    close_writer(w);
    if (!replace_file(w->aside, w->path, w->fault))
        fail(EXIT_DATA, w->path, "%s; its old contents are still there: %s or choose another place with --out",
             w->own.text, room_remedy(w->own.number));
    end_unfinished();
    free_writer(w);
}
