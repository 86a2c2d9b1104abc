/* gguf.c: reads GGUF, the file format of llama.cpp (ggml/docs/gguf.md), versions 2 and 3.  Files are not trusted: every
 * number is checked before it is used.
 *
 *     "GGUF", u32 version, u64 tensors, u64 keys | keys and values | names, shapes, types and places of tensors | data
 *
 * Little endian.  A text is a u64 length and its bytes; the first axis of a shape is the one whose elements are
 * neighbours. */
#include "base/file.h"
#include "base/json_text.h"
#include "base/words.h"
#include "model/blocks.h"
#include "model/gguf.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MOST_KEYS = 1 << 16,
    MOST_TENSORS = 1 << 20,
    MOST_ITEMS = 1 << 22,
    MOST_AXES = 4,
    LONGEST_NAME = 512,
    MOST_TEXT = 256 << 20
};

typedef struct Cursor { /* what is being read */
    Store *s;
    const unsigned char *at, *end;
    int64_t items, text; /* of all arrays; bytes of all texts */
} Cursor;

/* ------------------------------------------------------------------ numbers and texts */

static const unsigned char *take(Cursor *c, uint64_t bytes, const char *what)
{
    const unsigned char *at = c->at;
    if (bytes > (uint64_t)(c->end - c->at))
        fail(EXIT_DATA, c->s->path,
             "expected %s of %llu bytes at byte %lld, found the file's end; it is cut off or damaged", what,
             (unsigned long long)bytes, (long long)(c->at - (const unsigned char *)c->s->map));
    c->at += bytes;
    return at;
}

static uint64_t gguf_number(Cursor *c, int bytes, const char *what)
{
    const unsigned char *at = take(c, (uint64_t)bytes, what);
    uint64_t x = 0;
    for (int i = bytes - 1; i >= 0; i--) x = x << 8 | at[i];
    return x;
}

static Passage take_text(Cursor *c, const char *what)
{
    uint64_t bytes = gguf_number(c, 8, what);
    const char *at = (const char *)take(c, bytes, what);
    c->text += (int64_t)bytes;
    if (c->text > MOST_TEXT || memchr(at, 0, (size_t)bytes))
        fail(EXIT_DATA, c->s->path, "%s has a byte 0, or all texts together more than %s; the file is damaged", what,
             bytes_text(MOST_TEXT));
    return (Passage){at, (int64_t)bytes};
}

/* A number of things that take at least a byte each, and are few enough. */
static int64_t take_count(Cursor *c, int64_t most, const char *what)
{
    uint64_t n = gguf_number(c, 8, what);
    if (n > (uint64_t)most || n > (uint64_t)(c->end - c->at))
        fail(EXIT_DATA, c->s->path, "expected at most %lld %s, found %llu; the file is damaged", (long long)most, what,
             (unsigned long long)n);
    return (int64_t)n;
}

/* ------------------------------------------------------------------ values */

/* bytes of u8, i8, u16, i16, u32, i32, f32, bool, text, array, u64, i64, f64; 0: not always as many */
static const int value_bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
enum { VALUE_TYPES = sizeof value_bytes / sizeof *value_bytes };

/* The shortest decimal that is this float: 1e-05, where its exact value has 20 digits. */
static json_t *float_json(float x)
{
    char text[40];
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)x);
        if (strtof(text, NULL) == x) break;
    }
    return json_real(strtod(text, NULL));
}

static json_t *number_json(Cursor *c, int type)
{
    int bytes = value_bytes[type];
    uint64_t bits = gguf_number(c, bytes, "a value");
    if (type == GGUF_F32) {
        float x;
        uint32_t low = (uint32_t)bits;
        memcpy(&x, &low, sizeof x);
        return float_json(x);
    }
    if (type == GGUF_F64) {
        double x;
        memcpy(&x, &bits, sizeof x);
        return x > -1e300 && x < 1e300 ? json_real(x) : NULL;
    }
    if (type == GGUF_BOOL) return json_boolean(bits != 0);
    bool is_signed = type == 1 || type == 3 || type == 5 || type == 11;
    if (!is_signed) return bits > INT64_MAX ? NULL : json_integer((json_int_t)bits);
    int unused = 64 - 8 * bytes;
    return json_integer((json_int_t)((int64_t)(bits << unused) >> unused));
}

static json_t *gguf_value(Cursor *c, const char *key, uint64_t type, bool in_array);

static bool is_list_read(const char *key)
{
    static const char layers[] = ".attention.sliding_window_pattern";
    size_t n = strlen(key), end = strlen(layers);
    return strcmp(key, "tokenizer.ggml.token_type") == 0 || strcmp(key, "tokenizer.ggml.scores") == 0 ||
           (n > end && strcmp(key + n - end, layers) == 0);
}

/* Texts, types and scores of tokens, which layers have a window; of other lists, which nothing reads, how long they
 * are. */
static json_t *array_json(Cursor *c, const char *key)
{
    uint64_t of = gguf_number(c, 4, "a type");
    int64_t n = take_count(c, MOST_ITEMS - c->items, "items of arrays");
    c->items += n;
    if (of < VALUE_TYPES && value_bytes[of] && !is_list_read(key)) {
        take(c, (uint64_t)(n * value_bytes[of]), "an array");
        char *text = text_of("a list of %lld numbers", (long long)n);
        json_t *told = json_string(text);
        free(text);
        return told;
    }
    json_t *all = json_array();
    for (int64_t i = 0; i < n; i++) add_json(all, gguf_value(c, key, of, true));
    return all;
}

static json_t *gguf_value(Cursor *c, const char *key, uint64_t type, bool in_array)
{
    json_t *value = NULL;
    if (type >= VALUE_TYPES || (type == GGUF_ARRAY && in_array)) {
        fail(EXIT_DATA, c->s->path,
             "the value of \"%.100s\" is of type %llu, which is none of GGUF; the file is damaged", key,
             (unsigned long long)type);
    } else if (type == GGUF_TEXT) {
        Passage text = take_text(c, "a text");
        value = json_stringn(text.at, (size_t)text.bytes);
    } else if (type == GGUF_ARRAY) {
        value = array_json(c, key);
    } else {
        value = number_json(c, (int)type);
    }
    if (!value)
        fail(EXIT_DATA, c->s->path,
             "the value of \"%.100s\" is not UTF-8, not below 1e300 or not below 2^63; the file is damaged", key);
    return value;
}

static void take_key(Cursor *c)
{
    Passage name = take_text(c, "a key");
    char *key = name.bytes <= LONGEST_NAME ? text_of("%.*s", (int)name.bytes, name.at) : NULL;
    if (!key || (int64_t)strlen(key) != name.bytes || strcmp(utf8_of(key), key) != 0)
        fail(EXIT_DATA, c->s->path, "a key is not a text of at most %d bytes; the file is damaged", LONGEST_NAME);
    if (json_object_get(c->s->header, key))
        fail(EXIT_DATA, c->s->path, "has the key \"%.100s\" twice; the file is damaged", key);
    put_json(c->s->header, key, gguf_value(c, key, gguf_number(c, 4, "a type"), false));
    free(key);
}

/* ------------------------------------------------------------------ tensors */

/* Types of elements by their numbers; those that are not stored in blocks have their bytes here. */
static const struct {
    const char *name;
    int bytes;
} element_types[] = {
    {"F32", 4},   {"F16", 2},   {"Q4_0", 0},    {"Q4_1", 0},   {"Q4_2", 0},    {"Q4_3", 0},  {"Q5_0", 0},
    {"Q5_1", 0},  {"Q8_0", 0},  {"Q8_1", 0},    {"Q2_K", 0},   {"Q3_K", 0},    {"Q4_K", 0},  {"Q5_K", 0},
    {"Q6_K", 0},  {"Q8_K", 0},  {"IQ2_XXS", 0}, {"IQ2_XS", 0}, {"IQ3_XXS", 0}, {"IQ1_S", 0}, {"IQ4_NL", 0},
    {"IQ3_S", 0}, {"IQ2_S", 0}, {"IQ4_XS", 0},  {"I8", 1},     {"I16", 2},     {"I32", 4},   {"I64", 8},
    {"F64", 8},   {"IQ1_M", 0}, {"BF16", 2},
};
enum { ELEMENT_TYPES = sizeof element_types / sizeof *element_types };

static void take_element_type(Cursor *c, Stored *t)
{
    uint64_t type = gguf_number(c, 4, "a type");
    t->dtype = type < ELEMENT_TYPES ? element_types[type].name : NULL;
    if (!t->dtype || (!element_types[type].bytes && !block_form(t->dtype)))
        fail(
            EXIT_DATA, c->s->path,
            "tensor %s is stored as %s, which is not read here; expected F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, "
            "Q4_K, Q5_K or Q6_K: take another file of the model, or llama.cpp's llama-quantize makes one",
            t->name, t->dtype ? t->dtype : text_of("type %llu", (unsigned long long)type));
    const Block_form *form = block_form(t->dtype);
    int64_t elements = form ? form->elements : 1, row = t->rank ? t->dim[t->rank - 1] : 1;
    if (row % elements)
        fail(EXIT_DATA, c->s->path,
             "tensor %s: its rows have %lld elements, but those of %s come in blocks of %lld; the file is "
             "damaged",
             t->name, (long long)row, t->dtype, (long long)elements);
    t->bytes = form ? form->bytes : element_types[type].bytes;
    for (int k = 0; k < t->rank; k++)
        if (__builtin_mul_overflow(t->bytes, k == t->rank - 1 ? t->dim[k] / elements : t->dim[k], &t->bytes))
            fail(EXIT_DATA, c->s->path, "tensor %s: its shape is larger than any file; the file is damaged", t->name);
}

/* From malloc; what is not UTF-8 is escaped. */
static const char *printable_name(Passage name)
{
    char *own = text_of("%.*s", (int)name.bytes, name.at);
    const char *shown = utf8_of(own);
    if (shown == own) return own;
    free(own);
    return shown;
}

/* Its offset is kept in `at` until it is known where the data begins. */
static void take_info(Cursor *c, Stored *t, int64_t *offset)
{
    Passage name = take_text(c, "a name");
    if (name.bytes > LONGEST_NAME || name.bytes == 0)
        fail(EXIT_DATA, c->s->path, "a tensor's name has %lld bytes; the file is damaged", (long long)name.bytes);
    t->name = printable_name(name);
    uint64_t rank = gguf_number(c, 4, "a rank");
    if (rank > MOST_AXES)
        fail(EXIT_DATA, c->s->path, "tensor %s has %llu axes; expected at most %d", t->name, (unsigned long long)rank,
             MOST_AXES);
    t->rank = (int)rank;
    for (int k = t->rank - 1; k >= 0; k--) {
        uint64_t extent = gguf_number(c, 8, "an extent");
        if (extent > INT64_MAX || extent == 0)
            fail(EXIT_DATA, c->s->path, "tensor %s has an axis of %llu elements; the file is damaged", t->name,
                 (unsigned long long)extent);
        t->dim[k] = (int64_t)extent;
    }
    take_element_type(c, t);
    uint64_t place = gguf_number(c, 8, "an offset");
    *offset = place > INT64_MAX ? INT64_MAX : (int64_t)place;
}

static int by_place(const void *a, const void *b)
{
    const Stored *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const Stored *)a)->name, ((const Stored *)b)->name);
}

static void check_places(const Store *s)
{
    qsort(s->tensor, (size_t)s->n, sizeof *s->tensor, by_place);
    for (int i = 1; i < s->n; i++)
        if (s->tensor[i].at < s->tensor[i - 1].at + s->tensor[i - 1].bytes)
            fail(EXIT_DATA, s->path, "tensors %s and %s overlap; the file is damaged", s->tensor[i - 1].name,
                 s->tensor[i].name);
}

void sort_tensors(Store *s)
{
    qsort(s->tensor, (size_t)s->n, sizeof *s->tensor, by_name);
    for (int i = 1; i < s->n; i++)
        if (strcmp(s->tensor[i - 1].name, s->tensor[i].name) == 0)
            fail(EXIT_DATA, s->path, "has tensor %s twice; the file is damaged", s->tensor[i].name);
}

static int64_t alignment_of(const Store *s)
{
    const json_t *value = json_object_get(s->header, "general.alignment");
    json_int_t n = value ? json_integer_value(value) : 32;
    if (n < 1 || n > 1 << 20 || n & (n - 1))
        fail(EXIT_DATA, s->path, "\"general.alignment\": expected a power of two, found %lld; the file is damaged",
             (long long)n);
    return n;
}

static void take_tensors(Cursor *c, int64_t n)
{
    Store *s = c->s;
    int64_t *offset = must_alloc(sizeof *offset * (size_t)(n + 1)), alignment = alignment_of(s);
    s->tensor = must_alloc(sizeof *s->tensor * (size_t)(n + 1));
    for (; s->n < n; s->n++) take_info(c, &s->tensor[s->n], &offset[s->n]);
    const char *map = s->map;
    int64_t header = (const char *)c->at - map, begin = (header + alignment - 1) / alignment * alignment;
    for (int i = 0; i < s->n; i++) {
        Stored *t = &s->tensor[i];
        int64_t room = (int64_t)s->map_bytes - begin;
        if (offset[i] % alignment || t->bytes > room || offset[i] > room - t->bytes)
            fail(EXIT_DATA, s->path,
                 "tensor %s is at byte %lld of %lld bytes of data and has %lld; the file is cut off or damaged",
                 t->name, (long long)offset[i], (long long)(room < 0 ? 0 : room), (long long)t->bytes);
        t->at = map + begin + offset[i];
        t->map = map;
    }
    free(offset);
    check_places(s);
    sort_tensors(s);
}

/* ------------------------------------------------------------------ files */

bool is_gguf(const char *path)
{
    struct stat about;
    char first[4] = {0};
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode)) return false;
    FILE *f = open_stream_to_read(path);
    bool is = f && fread(first, 1, 4, f) == 4 && memcmp(first, "GGUF", 4) == 0;
    if (f) fclose(f);
    return is;
}

void refuse_folder_of_gguf(const char *folder)
{
    DIR *d = opendir(folder);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
        if (has_end(e->d_name, ".gguf"))
            fail(EXIT_DATA, folder,
                 "expected weights or a Hugging Face folder, found a folder of GGUF files; give a "
                 "file: %s/%s",
                 folder, e->d_name);
    if (d) closedir(d);
}

void read_gguf(Store *s, const char *path)
{
    *s = (Store){.path = path, .header = json_object(), .own_names = true};
    map_store(s, "a GGUF file");
    Cursor c = {s, s->map, (const unsigned char *)s->map + s->map_bytes, 0, 0};
    if (memcmp(take(&c, 4, "a mark"), "GGUF", 4) != 0)
        fail(EXIT_DATA, path, "expected a GGUF file, found one that does not begin with GGUF");
    uint64_t version = gguf_number(&c, 4, "a version");
    if (version != 2 && version != 3)
        fail(EXIT_DATA, path, "expected version 2 or 3 of GGUF, found %llu%s", (unsigned long long)version,
             version & 0xffff ? "; convert the model again with a newer llama.cpp"
                              : ": numbers of a machine of big endian");
    int64_t tensors = take_count(&c, MOST_TENSORS, "tensors"), keys = take_count(&c, MOST_KEYS, "keys");
    for (int64_t i = 0; i < keys; i++) take_key(&c);
    take_tensors(&c, tensors);
}
