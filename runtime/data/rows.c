/* rows.c: rows of the inputs that a description declares, from arrays in files.
 *
 * All values are read once when the data is opened, to check them and for the hash of the data; batches read their rows
 * from the files, so no more than the compressed files is kept in memory. */
#include "base/words.h"
#include "data/array.h"
#include "data/pictures.h"
#include "data/row_pictures.h"
#include "data/rows.h"
#include "model/tables.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct Row_field { /* an input */
    const Lathe_tensor *input;
    int64_t width, rows; /* width: numbers of a row */
    Array_list parts;    /* one after another */
} Row_field;

struct Row_data {
    const Reading *reading;
    const Lathe_model *model;
    Row_field *field;
    int fields;
    const char *group; /* name of the array of groups; NULL: none */
    Row_field groups;  /* if it is no field */
    Words *unread;     /* names of arrays that no input has */
    int64_t heap;
    uint64_t hash, *row_hash, *row_group; /* [rows] */
};

/* ------------------------------------------------------------------ which inputs */

bool comes_from_data(const Lathe_tensor *t) { return t->role == LATHE_FEATURES || t->role == LATHE_TARGETS; }

static Row_field *field_of(const Row_data *d, const char *name)
{
    for (int i = 0; i < d->fields; i++)
        if (strcmp(d->field[i].input->name, name) == 0) return &d->field[i];
    return NULL;
}

static void want_inputs(Row_data *d, const Lathe_entry *e, uint64_t inputs)
{
    for (int i = 0; i < e->inputs; i++) {
        const Lathe_tensor *t = &e->input[i];
        bool wanted = inputs >> (i < 63 ? i : 63) & 1;
        if (!wanted || !comes_from_data(t) || field_of(d, t->name)) continue;
        if (is_made_by_mixing(&d->model->recipe, e, t)) continue;
        d->field = must_grow(d->field, sizeof *d->field * (size_t)(d->fields + 1));
        d->field[d->fields++] = (Row_field){.input = t, .width = tensor_size(t) / e->rows};
    }
}

/* "image [28, 28, 1], label [] below 10": the axes of a row */
static char *field_text(const Row_field *f)
{
    const Lathe_tensor *t = f->input;
    int first = t->rank;
    for (int64_t left = f->width; first > 0 && left > 1; first--) left /= t->dim[first - 1];
    while (first > 2 && t->dim[first - 1] == 1) first--; /* axes of one number, which are not the batch */
    return text_of("%s %s %s%s", t->name, t->dtype == LATHE_I32 ? "i32" : "f32",
                   dims_text(t->rank - first, t->dim + first),
                   t->below ? text_of(" below %lld", (long long)t->below) : "");
}

static char *inputs_text(const Row_data *d)
{
    char *s = text_of("%s", "");
    for (int i = 0; i < d->fields; i++) s = text_of("%s%s%s", s, i ? ", " : "", field_text(&d->field[i]));
    return s;
}

/* ------------------------------------------------------------------ which files */

/* NAME=FILE; a file of that whole name is taken as such. */
static char *name_before(const char *path, const char **file)
{
    struct stat about;
    const char *equals = path;
    while (isalnum((unsigned char)*equals) || *equals == '_') equals++;
    if (*equals != '=' || equals == path || stat(path, &about) == 0) return NULL;
    *file = equals + 1;
    return text_of("%.*s", (int)(equals - path), path);
}

/* "x" of "data/x.npy" */
static char *stem_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    return text_of("%.*s", (int)strcspn(base, "."), base);
}

static _Noreturn void refuse_name(const Row_data *d, const char *path, const char *name)
{
    fail(EXIT_DATA, path, "there is no input \"%s\"; the inputs are %s; --data INPUT=%s says which one it is", name,
         inputs_text(d), path);
}

/* Also an input that only other entries read. */
static bool is_input(const Lathe_model *m, const char *name)
{
    for (int i = 0; i < m->entries; i++)
        for (int k = 0; k < m->entry[i].inputs; k++)
            if (strcmp(m->entry[i].input[k].name, name) == 0) return true;
    return false;
}

static bool is_group(const Row_data *d, const char *name) { return d->group && strcmp(name, d->group) == 0; }

/* Of several arrays in a file those that the entries read. */
static bool is_wanted(const void *with, const char *name)
{
    const Row_data *d = with;
    if (is_group(d, name)) return true;
    if (!is_input(d->model, name)) {
        note("array \"%s\" is not read: there is no such input", name);
        add_word(d->unread, text_of("%s", name));
    }
    return field_of(d, name);
}

static bool is_known(const Row_data *d, const char *name) { return is_input(d->model, name) || is_group(d, name); }

static void take_array(Row_data *d, Array *a)
{
    Row_field *f = field_of(d, a->name);
    if (!f && is_group(d, a->name)) f = &d->groups;
    if (!f) return close_array(a); /* an input that other entries read */
    d->heap += a->heap;
    f->rows += array_rows(a);
    add_array(&f->parts, a, a->name);
}

/* unpacked: of the file at hand. */
static void check_unpacked(const void *with, int64_t unpacked)
{
    const Row_data *d = with;
    if (d->reading->check_memory) d->reading->check_memory(d->reading->with, d->heap + unpacked, false);
}

static char *names_of_arrays(const Array_list *all)
{
    Words names = {0};
    for (int i = 0; i < all->n; i++) add_word(&names, all->at[i]->name);
    return all->n ? text_of(": %s", shown_words(&names)) : "";
}

static void take_path(Row_data *d, const char *path)
{
    const char *file = path;
    char *said = name_before(path, &file), *name = said ? said : stem_of(file);
    Array_list all = {.before = check_unpacked, .with = d};
    list_arrays(&all, file, name, said ? NULL : is_wanted, d);
    bool alone = all.n == 1 && strcmp(all.at[0]->name, name) == 0;
    if (said && !is_known(d, said)) refuse_name(d, file, said);
    if (said && all.n != 1)
        fail(EXIT_DATA, file,
             "expected one array, for input \"%s\", found %d%s; give --data %s, whose arrays have names%s", said, all.n,
             names_of_arrays(&all), file,
             is_hdf5(file) && all.n ? text_of(", or --data %s=%s/%s", said, file, all.at[0]->name) : "");
    if (said) all.at[0]->name = text_of("%s", said);
    if (alone && !is_known(d, name)) {
        if (d->fields != 1) refuse_name(d, file, name);
        all.at[0]->name = text_of("%s", d->field[0].input->name); /* there is no other that it could be */
    }
    for (int i = 0; i < all.n; i++) take_array(d, all.at[i]);
    free(all.at);
    free(name);
}

/* ------------------------------------------------------------------ checks */

/* [rows, C, H, W] where the input is [H, W, C], as PyTorch has pictures. */
static char *order_hint(const Row_field *f, const Array *a)
{
    const Lathe_tensor *t = f->input;
    const int n = a->rank - 1;
    if (n < 2 || t->rank < n || a->width != f->width || a->dim[1] != t->dim[t->rank - 1]) return "";
    char *axes = text_of("%s", "0");
    for (int k = 2; k <= n; k++) {
        if (a->dim[k] != t->dim[t->rank - n + k - 2]) return "";
        axes = text_of("%s, %d", axes, k);
    }
    return text_of("; channels come last here: in NumPy, a.transpose(%s, 1)", axes);
}

/* [rows, classes] where the input is one id of each row. */
static const char *one_hot_hint(const Row_field *f, const Array *a)
{
    int64_t last = a->rank > 1 ? a->dim[a->rank - 1] : 0;
    bool one_hot = f->input->dtype == LATHE_I32 && last > 1 && a->width == f->width * last;
    return one_hot ? "; if its last axis is a one-hot of each id, NumPy's a.argmax(-1) makes ids" : "";
}

/* The axes must be the input's, but for axes of one number: [60000, 28, 28] is an f32 { 28, 28, 1 }. */
static void check_shape(const Row_field *f, const Array *a)
{
    const Lathe_tensor *t = f->input;
    int64_t left = f->width;
    int k = t->rank, i = a->rank;
    bool fits = a->rank > 0 && a->width == f->width;
    while (fits && left > 1) {
        int64_t want = t->dim[--k], have = 1;
        while (have == 1 && i > 1) have = a->dim[--i];
        if (want == 1) i += have != 1;
        else fits = have == want;
        left /= want;
    }
    if (fits) return;
    fail(EXIT_DATA, a->place, "expected rows of %s, an array [rows, …], found %s%s%s", field_text(f),
         dims_text(a->rank, a->dim), order_hint(f, a), one_hot_hint(f, a));
}

static void check_bytes(const Row_data *d, const Row_field *f, const Array *a)
{
    if (!d->reading->training || !must_be_bytes(d->reading->recipe, f->input) || (a->kind == 'u' && a->size == 1))
        return;
    fail(EXIT_DATA, a->place,
         "input %s: expected pixels as bytes, because pictures vary in training, found elements of another type; in "
         "NumPy, a.astype(\"uint8\") of pixels that are 0 to 255, or train without that:%s",
         f->input->name, settings_as_they_are(d->reading->recipe));
}

static void check_number(const Row_field *f, const Array *a, int64_t row, double x)
{
    const Lathe_tensor *t = f->input;
    const char *place = a->place;
    if (t->dtype != LATHE_I32 && isfinite(x) && (t->dtype == LATHE_F64 || isfinite((float)x))) return;
    if (t->dtype == LATHE_I32 && x == floor(x) && x >= INT32_MIN && x <= INT32_MAX &&
        (!t->below || (x >= 0 && x < (double)t->below)))
        return;
    place = text_of("%s: row %lld", place, (long long)row);
    if (t->dtype != LATHE_I32) fail(EXIT_DATA, place, "input %s: expected finite numbers, found %g", t->name, x);
    fail(EXIT_DATA, place, "input %s: expected %s, found %.17g", t->name,
         t->below ? text_of("ids from 0 to %lld", (long long)t->below - 1) : "32-bit integers", x);
}

/* The hash of n numbers, whose zeros lose their sign; name: what they are. */
static uint64_t hash_of_numbers(const char *name, double *x, int64_t n)
{
    Hash h;
    hash_start(&h);
    hash_add(&h, name, strlen(name));
    for (int64_t k = 0; k < n; k++) x[k] += 0;
    hash_add(&h, x, sizeof *x * (size_t)n);
    return hash_end(&h);
}

/* Whether eval reads it: only such inputs are compared, so that training and evaluation see the same rows. */
static bool is_compared(const Row_data *d, const Row_field *f)
{
    const Lathe_entry *e = find_entry(d->model, ENTRY_eval);
    for (int i = 0; e && i < e->inputs; i++)
        if (strcmp(e->input[i].name, f->input->name) == 0) return true;
    return !e;
}

static void read_whole(const Row_data *d, const Row_field *f, Hash *h)
{
    enum { CHUNK = 1 << 14 };
    int64_t most = f->width < CHUNK ? CHUNK / f->width : 1;
    double *x = must_alloc(sizeof *x * (size_t)(most * f->width));
    uint64_t *to = d->row_hash;
    for (int p = 0; p < f->parts.n; p++) {
        const Array *a = f->parts.at[p];
        check_shape(f, a);
        check_bytes(d, f, a);
        for (int64_t row = 0, rows = array_rows(a); row < rows; row += most) {
            int64_t n = rows - row < most ? rows - row : most;
            read_array(a, row, n, x);
            for (int64_t i = 0; i < n * f->width; i++) check_number(f, a, row + i / f->width, x[i]);
            hash_add(h, x, sizeof *x * (size_t)(n * f->width));
            for (int64_t i = 0; i < n && is_compared(d, f); i++)
                *to++ += hash_of_numbers(f->input->name, x + i * f->width, f->width);
        }
    }
    free(x);
}

static void read_groups(Row_data *d)
{
    const Row_field *f = d->group ? field_of(d, d->group) : NULL;
    const Array_list *parts = f ? &f->parts : &d->groups.parts;
    if (!parts->n) return;
    uint64_t *to = d->row_group = must_alloc(sizeof *to * (size_t)(d->field->rows + 1));
    for (int p = 0; p < parts->n; p++) {
        const Array *a = parts->at[p];
        double x;
        if (a->width != 1 || (!f && d->groups.rows != d->field->rows))
            fail(EXIT_DATA, a->place, "expected a group for each of the %lld rows, found %s%s",
                 (long long)d->field->rows, dims_text(a->rank, a->dim), parts->n > 1 ? " and more" : "");
        for (int64_t row = 0; row < array_rows(a); row++) {
            read_array(a, row, 1, &x);
            *to++ = hash_of_numbers("", &x, 1);
        }
    }
}

/* ", found arr_0; numpy.savez(FILE, image=…) gives an array its name" */
static const char *unread_text(const Row_data *d)
{
    if (!d->unread->n) return "";
    bool nameless = strncmp(d->unread->at[0], "arr_", 4) == 0;
    return text_of(", found %s%s%s%s", shown_words(d->unread), nameless ? "; numpy.savez(FILE, " : "",
                   nameless ? d->field[0].input->name : "", nameless ? "=array, …) gives arrays their names" : "");
}

static void check_rows(const Row_data *d, const char *path)
{
    const Row_field *first = &d->field[0];
    for (int i = 0; i < d->fields; i++) {
        const Row_field *f = &d->field[i];
        if (!f->parts.n)
            fail(EXIT_DATA, path, "there is no array for input %s; expected %s%s", field_text(f), inputs_text(d),
                 unread_text(d));
        if (f->rows != first->rows)
            fail(EXIT_DATA, f->parts.at[0]->place, "expected as many rows as input %s has, %lld, found %lld",
                 first->input->name, (long long)first->rows, (long long)f->rows);
    }
}

Row_data *rows_of_arrays(const Reading *reading, const Lathe_entry *const *entries)
{
    const Words *paths = &reading->paths;
    Row_data *d = must_alloc(sizeof *d);
    Hash h;
    d->unread = must_alloc(sizeof *d->unread);
    uint64_t inputs = reading->predicting ? reading->inputs : ~0ull;
    d->reading = reading;
    d->model = reading->model;
    d->group = reading->recipe->group;
    for (; *entries; entries++, inputs = ~0ull) want_inputs(d, *entries, inputs);
    for (int i = 0; i < paths->n; i++) take_path(d, paths->at[i]);
    check_rows(d, paths->at[0]);
    hash_start(&h);
    d->row_hash = must_alloc(sizeof *d->row_hash * (size_t)(rows_in_data(d) + 1));
    for (int i = 0; i < d->fields; i++) read_whole(d, &d->field[i], &h);
    d->hash = hash_end(&h);
    read_groups(d);
    return d;
}

/* ------------------------------------------------------------------ batches */

int64_t rows_in_data(const Row_data *d) { return d->fields ? d->field[0].rows : 0; }
int64_t rows_heap(const Row_data *d) { return d->heap + 8 * rows_in_data(d) * (d->row_group ? 2 : 1); }
uint64_t rows_hash(const Row_data *d) { return d->hash; }
const uint64_t *row_hashes(const Row_data *d) { return d->row_hash; }
const uint64_t *row_groups(const Row_data *d) { return d->row_group; }

static void read_row(const Row_field *f, int64_t row, double *out)
{
    int p = 0;
    while (row >= array_rows(f->parts.at[p])) row -= array_rows(f->parts.at[p++]);
    read_array(f->parts.at[p], row, 1, out);
}

void fill_from_rows(const Row_data *d, const Lathe_entry *e, char *in, const int64_t *row)
{
    for (int i = 0; i < e->inputs; i++) {
        const Lathe_tensor *t = &e->input[i];
        const Row_field *f = comes_from_data(t) ? field_of(d, t->name) : NULL;
        char *at = in + t->offset;
        if (comes_from_data(t) && !f) memset(at, 0, (size_t)(tensor_size(t) * dtype_size(t->dtype))); /* no one asks */
        if (!f) continue;
        double *x = must_alloc(sizeof *x * (size_t)f->width);
        for (int64_t r = 0; r < e->rows; r++) {
            read_row(f, row[r], x);
            for (int64_t k = 0; k < f->width; k++)
                if (t->dtype == LATHE_I32) ((int32_t *)(void *)at)[r * f->width + k] = (int32_t)x[k];
                else write_real(t->dtype, at, r * f->width + k, x[k]);
        }
        free(x);
    }
}

bool class_of_row(const Row_data *d, int64_t row, double *class)
{
    const Row_field *target = NULL;
    for (int i = 0; i < d->fields; i++) {
        const Row_field *f = &d->field[i];
        if (f->input->role != LATHE_TARGETS || f->input->dtype != LATHE_I32) continue;
        if (target) return false;
        target = f;
    }
    if (!target || target->width != 1 || row >= target->rows) return false;
    read_row(target, row, class);
    return true;
}
