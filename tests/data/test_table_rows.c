/* test_table_rows.c: rows of a table in memory and in a file (data/stored.c), in any order, against an array; and CSV
 * files whose last line has no end, of sizes around those in which they are read. */
#include "data/data.h"
#include "data/stored.h"
#include "sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the first and last eight bytes of a row hold. */
static double held_by(int64_t row) { return (double)(row * 7919 % 100003); }

static void expect_row(Stored *s, int64_t row, int64_t bytes)
{
    const double *got = stored_row(s, row);
    expect(got[0] == held_by(row) && got[bytes / 8 - 1] == held_by(row), "row %lld of %lld bytes", (long long)row,
           (long long)bytes);
}

static void check_rows(int64_t bytes, int64_t rows, const char *limit)
{
    setenv("LATHE_TABLE_MEMORY", limit, 1);
    Stored *s = open_stored(bytes);
    for (int64_t i = 0; i < rows; i++) {
        double *row = add_stored(s);
        row[0] = row[bytes / 8 - 1] = held_by(i);
    }
    expect(stored_rows(s) == rows, "%lld rows", (long long)rows);
    for (int64_t i = 0; i < rows; i++) expect_row(s, i, bytes);
    for (int64_t i = rows; i-- > 0;) expect_row(s, i, bytes);
    for (int64_t i = 0; i < 2 * rows; i++) expect_row(s, below(rows), bytes);
    for (int64_t i = 0; i < rows; i += 1 + below(90)) expect_row(s, i, bytes); /* nearly a scan */
}

/* A CSV of so many bytes whose last line has no end: "1,0" and lines like it. */
static void check_csv(int64_t bytes)
{
    enum { HEAD = 8, LINE = 4 };
    char *path = text_of("%s/%lld.csv", getenv("TMP") ? getenv("TMP") : "/tmp", (long long)bytes);
    FILE *f = fopen(path, "w");
    if (!expect(f != NULL, "%s can be written", path)) return;
    int64_t rows = (bytes - HEAD + 1) / LINE, zeros = bytes - HEAD + 1 - rows * LINE; /* the last number is longer */
    fprintf(f, "x,class\n");
    for (int64_t i = 0; i + 1 < rows; i++) fprintf(f, "1,0\n");
    fprintf(f, "%.*s1,0", (int)zeros, "000");
    expect(fclose(f) == 0, "%s is written", path);
    Words paths = {0};
    add_word(&paths, path);
    Csv_data *c = open_csv(&paths, &(Csv_form){.target = "class", .features = 1});
    expect(csv_rows(c) == rows, "%lld rows of %lld bytes, not %lld", (long long)rows, (long long)bytes,
           (long long)csv_rows(c));
    expect(csv_row(c, rows - 1)[0] == 1 && csv_class(c, rows - 1) == 0, "the last row of %lld bytes", (long long)bytes);
    unlink(path);
}

int main(void)
{
    static const char *const limits[] = {"0", "100", "64K", "64M"};
    for (int i = 0; i < 4; i++) {
        check_rows(8, 20000, limits[i]);
        check_rows(168, 9000, limits[i]);
        check_rows((3 << 19) + 8, 9, limits[i]); /* larger than what is read at once */
    }
    for (int64_t chunk = 1 << 17, k = -3; k <= 3; k++)
        check_csv(chunk + k), check_csv(2 * chunk + k), check_csv(40 + k);
    return finish();
}
