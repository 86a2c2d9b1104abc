/* test_arrays.c: two arrays of NumPy are the table that a CSV of the same numbers is, packed or not; what does not fit
 * is told. */
#include "data/data.h"
#include "sources.h"

enum { ROWS = 3000, FEATURES = 5 };

static double feature[ROWS][FEATURES];
static int64_t class[ROWS];

static char *write_npy(const char *name, const char *descr, const char *shape, const void *at, int64_t n)
{
    Bytes b = {0};
    put(&b, "\x93NUMPY\1\0\x76\0", 10);
    put(&b, text_of("%-117s\n", text_of("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape)), 118);
    put(&b, at, n);
    char *path = in_folder(name);
    write_bytes(path, b.at, b.n);
    free(b.at);
    return path;
}

static const Csv_form form = {.target = "class", .classes = 7, .single = true};

static void write_csv(Bytes *b)
{
    puts_to(b, "a,b,class,c,d,e\n");
    for (int r = 0; r < ROWS; r++) {
        const double *x = feature[r];
        puts_to(b, text_of("%.17g,%.17g,%lld,%.17g,%.17g,%.17g\n", x[0], x[1], (long long)class[r], x[2], x[3], x[4]));
    }
}

static void check_same(void)
{
    Bytes csv = {0}, packed = {0};
    write_csv(&csv);
    Words arrays = {0}, files = {0};
    add_word(&arrays, write_npy("x.npy", "<f8", "(3000, 1, 5)", feature, sizeof feature));
    add_word(&arrays, write_npy("y.npy", "<i8", "(3000,)", class, sizeof class));
    uint64_t hash = csv_hash(open_csv(&arrays, &form));
    for (int how = NOT_PACKED; how <= PACKED_ZST; how++) {
        if (!pack_bytes((Packed)how, csv.at, csv.n, &packed)) continue;
        write_bytes(in_folder("x.csv"), packed.at, packed.n);
        files.n = 0;
        add_word(&files, in_folder("x.csv"));
        Csv_data *c = open_csv(&files, &form);
        expect(csv_rows(c) == ROWS && csv_features(c) == FEATURES && csv_hash(c) == hash, "the same table, packing %d",
               how);
    }
}

static void open_both(void *paths) { open_csv(paths, &form); }

static void refuses(const char *x, const char *y, const char *message)
{
    Words paths = {0};
    add_word(&paths, x);
    if (y) add_word(&paths, y);
    Ended e = run_apart(open_both, &paths);
    expect(e.code == EXIT_DATA && strstr(e.text, message), "expected \"%s\", exit code %d and: %s", message, e.code,
           e.text);
}

static void check_refused(void)
{
    char *x = in_folder("x.npy"), *y = in_folder("y.npy");
    refuses(x, NULL, "x.npy: error: expected two arrays, features [rows][…] and classes [rows], found 1");
    refuses(x, write_npy("short.npy", "<i8", "(2999,)", class, sizeof class - 8),
            "short.npy: error: expected a class for each of the 3000 rows of");
    refuses(x, x, "found 3000 rows of 5");
    class[2000] = 7;
    refuses(x, write_npy("y.npy", "<i8", "(3000,)", class, sizeof class),
            "y.npy: row 2000: error: expected a class, 0 to 6, found 7");
    class[2000] = 0;
    write_npy("y.npy", "<i8", "(3000,)", class, sizeof class);
    feature[17][3] = __builtin_nan("");
    refuses(write_npy("x.npy", "<f8", "(3000, 5)", feature, sizeof feature), y,
            "x.npy: row 17: error: expected finite numbers, found nan");
    refuses(write_npy("one.npy", "<f8", "()", feature, 8), y,
            "one.npy: error: expected an array of rows, found a single number");
}

int main(void)
{
    make_test_folder();
    for (int r = 0; r < ROWS; r++) {
        class[r] = below(7);
        for (int k = 0; k < FEATURES; k++) feature[r][k] = (double)(below(2000001) - 1000000) / 3e4;
    }
    check_same();
    check_refused();
    return finish();
}
