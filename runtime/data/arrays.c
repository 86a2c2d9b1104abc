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

static void take_classes(const Array *a, const char *path, const Csv_form *form, int64_t rows, int32_t *out)
{
    double x[1024];
    for (int64_t r = 0; r < rows; r += 1024) {
        int64_t n = rows - r < 1024 ? rows - r : 1024;
        read_array(a, r, n, x);
        for (int64_t i = 0; i < n; i++) out[r + i] = class_in(x[i], form, path, r + i);
    }
}

/* Features must be finite, in fp32 too; the first integer that fp32 rounds is reported. */
static void check_features(const double *x, int64_t rows, int64_t width, const Csv_form *form, const char *path)
{
    bool told = false;
    for (int64_t i = 0; i < rows * width; i++) {
        if (!isfinite(x[i]))
            fail(EXIT_DATA, text_of("%s: row %lld", path, (long long)(i / width)), "expected finite numbers, found %g",
                 x[i]);
        if (fits_single(form, x[i]) || (told && fabs(x[i]) <= FLT_MAX)) continue;
        tell_feature(x[i], text_of("%s: row %lld", path, (long long)(i / width)),
                     text_of("number %lld", (long long)(i % width)));
        told = true;
    }
}

Csv_data *open_arrays(const Words *paths, const Csv_form *form)
{
    double *feature;
    int32_t *class;
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
    Csv_data *c = new_csv(rows, (int)x->width, &feature, &class);
    read_array(x, 0, rows, feature);
    check_features(feature, rows, x->width, form, paths->at[0]);
    if (y) take_classes(y, paths->at[1], form, rows, class);
    if (y) close_array(y);
    close_array(x);
    return c;
}
