/* arrays.c: a table of numbers from two arrays of NumPy: features [rows][…], classes [rows]. */
#include "base/words.h"
#include "data/array.h"
#include "data/data.h"
#include "source/source.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t rows_of(const Array *a, const char *path)
{
    if (a->rank == 0) fail(EXIT_DATA, path, "expected an array of rows, found a single number");
    return a->dim[0];
}

static int32_t class_in(double x, const Csv_form *form, const char *path, int64_t row)
{
    if (is_class(form, x)) return (int32_t)x;
    fail(EXIT_DATA, text_of("%s: row %lld", path, (long long)row), "%s", no_class(form, x));
}

/* Features must be finite, in fp32 too; the first integer that fp32 rounds is reported. */
static void check_feature(double x, int64_t row, int64_t k, const Csv_form *form, const char *path, bool *told)
{
    char *place = NULL;
    if (isfinite(x) && (fits_single(form, x) || (*told && fabs(x) <= FLT_MAX))) return;
    place = text_of("%s: row %lld", path, (long long)row);
    if (!isfinite(x)) fail(EXIT_DATA, place, "expected finite numbers, found %g", x);
    tell_feature(x, place, text_of("number %lld", (long long)k));
    *told = true;
}

static void take_rows(Csv_data *c, const Array *x, const Array *y, const Words *paths, const Csv_form *form)
{
    enum { MANY = 1 << 14 };
    const int64_t width = x->width, rows = array_rows(x), most = 1 + MANY / (width + 1);
    double *feature = must_alloc(sizeof *feature * (size_t)(most * width + 1));
    double *class = must_alloc(sizeof *class * (size_t)most);
    bool told = false;
    for (int64_t first = 0; first < rows; first += most) {
        const int64_t n = rows - first < most ? rows - first : most;
        read_array(x, first, n, feature);
        if (y) read_array(y, first, n, class);
        for (int64_t i = 0; i < n * width; i++)
            check_feature(feature[i], first + i / width, i % width, form, paths->at[0], &told);
        for (int64_t r = 0; r < n; r++)
            add_csv_row(c, feature + r * width, y ? class_in(class[r], form, paths -> at[1], first + r) : 0);
    }
    free(feature);
    free(class);
}

Csv_data *open_arrays(const Words *paths, const Csv_form *form)
{
    if (form->weight)
        fail(EXIT_DATA, paths->at[0],
             "expected a CSV with a column \"%s\", the weights of rows, found arrays; data.arrays takes weights as an "
             "input",
             form->weight);
    const bool classes = paths->n == 2 && !form->optional;
    if (paths->n != 2 && !(paths->n == 1 && form->optional))
        fail(EXIT_DATA, paths->at[0],
             "expected two arrays, features [rows][…] and classes [rows], found %d: --data FEATURES.npy CLASSES.npy",
             paths->n);
    Array *x = open_npy(paths->at[0]), *y = classes ? open_npy(paths->at[1]) : NULL;
    int64_t rows = rows_of(x, paths->at[0]), labels = y ? rows_of(y, paths->at[1]) : rows;
    if (rows != labels || (y && y->width != 1))
        fail(EXIT_DATA, paths->at[1], "expected a class for each of the %lld rows of %s, found %lld rows of %lld",
             (long long)rows, paths->at[0], (long long)labels, (long long)y->width);
    if (x->width >= INT32_MAX)
        fail(EXIT_DATA, paths->at[0], "expected fewer than 2^31 numbers per row, found %lld", (long long)x->width);
    Csv_data *c = new_csv((int)x->width);
    take_rows(c, x, y, paths, form);
    if (y) close_array(y);
    close_array(x);
    return c;
}
