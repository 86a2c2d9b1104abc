/* data_info_arrays.c: `lathe data info` of arrays: rows, types, shapes, ranges, and what is not finite, of each. */
#include "base/json_text.h"
#include "data/array.h"
#include "data/scale.h"
#include "tools/data_command.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CHUNK = 1 << 14, MOST_IDS = 1000, SHOWN_IDS = 12 };

typedef struct Numbers { /* all of an array */
    Scale range;         /* of those that are finite */
    int64_t missing, infinite;
    int64_t first_bad; /* row of the first that is not finite; -1: none */
    int64_t *id;       /* [MOST_IDS] rows with each id; NULL: they are no ids */
} Numbers;

/* ------------------------------------------------------------------ which they are */

/* The FILE of NAME=FILE; a file of that whole name is taken as such. */
static const char *file_of_word(const char *word)
{
    struct stat about;
    const char *equals = word;
    while (isalnum((unsigned char)*equals) || *equals == '_') equals++;
    return *equals == '=' && equals > word && stat(word, &about) != 0 ? equals + 1 : word;
}

bool are_arrays_of_rows(const Words *paths)
{
    for (int i = 0; i < paths->n; i++)
        if (!holds_arrays(file_of_word(paths->at[i]))) return false;
    return paths->n > 0;
}

/* What lies before the = of NAME=FILE, or the file's name without folder and ending. */
static char *name_of_word(const char *word)
{
    const char *file = file_of_word(word), *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;
    if (file > word) return text_of("%.*s", (int)(file - word - 1), word);
    return text_of("%.*s", (int)strcspn(base, "."), base);
}

static Array_list arrays_of(const Words *paths)
{
    Array_list all = {0};
    for (int i = 0; i < paths->n; i++)
        list_arrays(&all, file_of_word(paths->at[i]), name_of_word(paths->at[i]), NULL, NULL);
    return all;
}

/* ------------------------------------------------------------------ reading */

static void count_number(Numbers *x, int64_t row, double value)
{
    x->missing += isnan(value) != 0;
    x->infinite += isinf(value) != 0;
    if (!isfinite(value)) {
        if (x->first_bad < 0) x->first_bad = row;
        return;
    }
    see_number(&x->range, value);
    bool is_id = value == floor(value) && value >= 0 && value < MOST_IDS;
    if (is_id && x->id) x->id[(int)value]++;
    if (!is_id) free(x->id), x->id = NULL;
}

static Numbers numbers_in_array(const Array *a)
{
    Numbers x = {.first_bad = -1};
    int64_t most = a->width < CHUNK ? CHUNK / (a->width ? a->width : 1) : 1;
    double *room = must_alloc(sizeof *room * (size_t)(most * a->width + 1));
    start_scale(&x.range);
    if (a->width == 1 && strchr("biu", a->kind)) x.id = must_alloc(sizeof *x.id * MOST_IDS);
    for (int64_t row = 0, rows = array_rows(a); row < rows; row += most) {
        int64_t n = rows - row < most ? rows - row : most;
        read_array(a, row, n, room);
        for (int64_t i = 0; i < n * a->width; i++) count_number(&x, row + i / a->width, room[i]);
    }
    free(room);
    return x;
}

static int different_ids(const Numbers *x)
{
    int n = 0;
    for (int k = 0; x->id && k < MOST_IDS; k++) n += x->id[k] > 0;
    return n;
}

/* ------------------------------------------------------------------ told */

static char *type_of_array(const Array *a)
{
    if (a->kind == 'b') return text_of("bool");
    return text_of("%s%d",
                   a->kind == 'B'   ? "bfloat"
                   : a->kind == 'f' ? "float"
                   : a->kind == 'u' ? "uint"
                                    : "int",
                   8 * a->size);
}

/* "[28, 28]": of a row */
static char *row_text(const Array *a)
{
    char *all = text_of("[");
    for (int i = 1; i < a->rank; i++) all = text_of("%s%s%lld", all, i > 1 ? ", " : "", (long long)a->dim[i]);
    return text_of("%s]", all);
}

/* "; 0 in 21 rows, 1 in 20": of few ids */
static char *ids_text(const Numbers *x)
{
    int n = different_ids(x);
    char *all = text_of("%s", "");
    if (!n) return all;
    if (n > SHOWN_IDS) return text_of("; %d different", n);
    for (int k = 0; k < MOST_IDS; k++)
        if (x->id[k]) all = text_of("%s%s%d in %s", all, *all ? ", " : "; ", k, grouped_text(x->id[k]));
    return text_of("%s rows", all);
}

static void print_array(const Array *a)
{
    Numbers x = numbers_in_array(a);
    print_padded(stdout, a->name, 11);
    show(stdout, " %s rows of %s %s", grouped_text(array_rows(a)), type_of_array(a), row_text(a));
    if (x.range.count) show(stdout, "; %.6g to %.6g, mean %.6g", x.range.low, x.range.high, mean_of_scale(&x.range));
    show(stdout, "%s", ids_text(&x));
    if (x.missing + x.infinite)
        show(stdout, "; %s NaN and %s infinite, the first in row %lld", grouped_text(x.missing),
             grouped_text(x.infinite), (long long)x.first_bad);
    show(stdout, "\n");
    free(x.id);
}

static json_t *array_json(const Array *a)
{
    Numbers x = numbers_in_array(a);
    json_t *shape = json_array(), *ids = json_object();
    for (int i = 0; i < a->rank; i++) add_json(shape, json_integer(a->dim[i]));
    for (int k = 0; x.id && k < MOST_IDS; k++)
        if (x.id[k]) put_json(ids, text_of("%d", k), json_integer(x.id[k]));
    json_t *all = json_pack("{s:s,s:o,s:I,s:o,s:o,s:o,s:I,s:I}", "name", a->name, "shape", shape, "rows",
                            (json_int_t)array_rows(a), "min", real_json(x.range.count ? x.range.low : NAN), "max",
                            real_json(x.range.count ? x.range.high : NAN), "mean", real_json(mean_of_scale(&x.range)),
                            "nan", (json_int_t)x.missing, "infinite", (json_int_t)x.infinite);
    put_json(all, "type", json_string(type_of_array(a)));
    if (x.id) put_json(all, "ids", ids);
    free(x.id);
    return all;
}

void tell_arrays(const Words *paths, bool json)
{
    Array_list all = arrays_of(paths);
    json_t *list = json_array();
    if (!json) show(stdout, "arrays      %d\n", all.n);
    for (int i = 0; i < all.n; i++)
        if (json) add_json(list, array_json(all.at[i]));
        else print_array(all.at[i]);
    if (json) print_json(json_pack("{s:o}", "arrays", list));
}
