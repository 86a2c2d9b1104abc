/* test_hdf5.c: datasets that h5py wrote, packed, in groups, in either order of bytes, hold what they should, and are
 * read in little memory; what is no array of numbers is told; cut off at any byte, or with bytes changed, files are
 * refused or read. */
#include "data/array.h"
#include "sources.h"

#include <math.h>
#include <stdio.h>

static char *file_of(const char *name) { return text_of("tests/reference/arrays/%s", name); }

static void list_all(void *path)
{
    Array_list all = {0};
    list_arrays(&all, path, "given", NULL, NULL);
    for (int i = 0; i < all.n; i++) {
        double x[64];
        for (int64_t row = 0; row < array_rows(all.at[i]) && all.at[i]->width <= 64; row++)
            read_array(all.at[i], row, 1, x);
        close_array(all.at[i]);
    }
}

static bool has_library(void)
{
    Ended e = run_apart(list_all, file_of("packed.h5"));
    if (!strstr(e.text, "not installed")) return true;
    printf("the library of HDF5 is not installed: libhdf5-103-1\n");
    return false;
}

/* ------------------------------------------------------------------ contents */

static void check_x(const char *file, const Array *a)
{
    double out[30];
    if (!expect(array_rows(a) == 5 && a->width == 6 && a->rank == 3, "%s has x [5][2][3]", file)) return;
    read_array(a, 0, 5, out);
    for (int i = 0; i < 30; i++) expect(out[i] == i / 4.0 - 3, "%s: x %d is %g", file, i, out[i]);
    for (int row = 4; row >= 0; row--) {
        read_array(a, row, 1, out);
        expect(out[5] == (6 * row + 5) / 4.0 - 3, "%s: the last number of row %d", file, row);
    }
}

static void check_ids(const char *file, const Array *a, bool truth)
{
    double out[5];
    if (!expect(array_rows(a) == 5 && a->width == 1, "%s has ids [5]", file)) return;
    read_array(a, 0, 5, out);
    for (int i = 0; i < 5; i++)
        expect(out[i] == (truth ? 3 * i % 5 > 2 : 3 * i % 5), "%s: ids %d is %g", file, i, out[i]);
}

static void check_contents(const char *path, int arrays)
{
    Array_list all = {0};
    list_arrays(&all, file_of(path), "x", NULL, NULL);
    expect(all.n == arrays, "%s has %d arrays, found %d", path, arrays, all.n);
    for (int i = 0; i < all.n; i++) {
        if (strcmp(all.at[i]->name, "x") == 0) check_x(path, all.at[i]);
        else check_ids(path, all.at[i], strcmp(all.at[i]->name, "truth") == 0);
        close_array(all.at[i]);
    }
}

/* ------------------------------------------------------------------ memory */

static void read_zeros(void *path)
{
    Array_list all = {0};
    static double x[1 << 12];
    double sum = 0;
    list_arrays(&all, path, "x", NULL, NULL);
    for (int k = 0; k < 3000; k++) {
        read_array(all.at[0], k < 1500 ? k * 10 : below(1 << 14), 1, x);
        for (int i = 0; i < 1 << 12; i++) sum += fabs(x[i]);
    }
    fprintf(stderr, "sum %g, cache %lld", sum, (long long)all.at[0]->heap >> 20);
}

static void check_memory(void)
{
    Ended e = run_apart(read_zeros, file_of("zeros.h5"));
    expect(strcmp(e.text, "sum 0, cache 16") == 0, "64 MB of zeros: %s", e.text);
    int64_t small = run_apart(list_all, file_of("packed.h5")).peak;
    expect(e.peak - small < 32 << 20, "64 MB of zeros take %lld bytes, little takes %lld", (long long)e.peak,
           (long long)small);
}

/* Chunks of all rows are unpacked first, and no list of their pieces is made. */
static void check_wide(void)
{
    Array_list all = {0};
    int64_t peak = run_apart(list_all, file_of("wide.h5")).peak, small = run_apart(list_all, file_of("packed.h5")).peak;
    expect(peak - small < 12 << 20, "wide.h5 takes %lld bytes, little takes %lld", (long long)peak, (long long)small);
    double x[64];
    list_arrays(&all, file_of("wide.h5"), "x", NULL, NULL);
    const Array *a = all.at[0];
    expect(array_rows(a) == 11000 && a->width == 64 && a->fd >= 0 && !a->heap, "wide.h5 is unpacked");
    for (int k = 0; k < 400; k++) {
        int64_t row = below(11000), wrong = 0;
        read_array(a, row, 1, x);
        for (int i = 0; i < 64; i++) wrong += x[i] != (double)(row % 50 + i);
        expect(!wrong, "wide.h5: row %lld", (long long)row);
    }
    close_array(all.at[0]);
}

/* ------------------------------------------------------------------ what is refused */

static void check_refused(void)
{
    static const char *const known[][2] = {
        {"odd.h5/text", "expected booleans, integers or floats of up to 64 bits, found another type"},
        {"odd.h5/points", "found another type"},
        {"odd.h5/away", "expected a dataset, found nothing, or a link to another file"},
        {"odd.h5/none", "expected a dataset, found nothing, or a link to another file"},
        {"odd.h5/empty", "some were never written"},
        {"odd.h5/large", "expected chunks of at most 64 MB"},
        {"odd.h5/lzf", "HDF5 cannot read it: "},
        {"odd.h5/virtual", "its elements lie in other files"},
        {"groups.hdf5",
         "found train/; the datasets of group train are --data tests/reference/arrays/groups.hdf5/train"},
        {"groups.hdf5/train/nine", "nothing, or a link to another file; its group train has ids, x"},
        {"groups.hdf5/test/deep/x", "nothing, or a link to another file; the file has train/"},
        {"none.h5", "cannot be read: no such file or directory"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        Ended e = run_apart(list_all, file_of(known[i][0]));
        expect(e.code == EXIT_DATA && strstr(e.text, known[i][1]), "%s: exit code %d, %s", known[i][0], e.code, e.text);
    }
}

static Ended read_damaged(const Bytes *b, int64_t n)
{
    char *path = in_folder("damaged.h5");
    write_bytes(path, b->at, n);
    Ended e = run_apart(list_all, path);
    free(path);
    return e;
}

static void check_damage(void)
{
    Bytes b = {0};
    char room[1 << 12];
    FILE *f = fopen(file_of("packed.h5"), "rb");
    for (size_t n; f && (n = fread(room, 1, sizeof room, f)) > 0;) put(&b, room, (int64_t)n);
    if (f) fclose(f);
    for (int64_t n = 0; n < b.n; n += 1 + n / 3) {
        Ended e = read_damaged(&b, n);
        expect(e.code == EXIT_DATA && strstr(e.text, "HDF5 cannot read it: "), "cut at %lld: exit code %d, %s",
               (long long)n, e.code, e.text);
    }
    for (int k = 0; k < 150; k++) {
        int64_t i = below(b.n);
        const char was = b.at[i];
        b.at[i] ^= (char)(1 << below(8));
        Ended e = read_damaged(&b, b.n);
        expect(e.code == 0 || e.code == EXIT_DATA, "byte %lld: exit code %d, %s", (long long)i, e.code, e.text);
        expect(e.peak < 160 << 20, "byte %lld: %lld bytes", (long long)i, (long long)e.peak);
        b.at[i] = was;
    }
}

int main(void)
{
    make_test_folder();
    if (!has_library()) return 77;
    check_contents("packed.h5", 3);
    check_contents("groups.hdf5/train", 2);
    check_contents("groups.hdf5/train/x", 1);
    check_wide();
    check_memory();
    check_refused();
    check_damage();
    return finish();
}
