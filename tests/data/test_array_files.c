/* test_array_files.c: files of arrays that NumPy, safetensors and IDX's description made hold what they should; cut off
 * at any byte, or with any byte changed, they are refused or read within their bounds. */
#include "data/array.h"
#include "sources.h"

#include <stdio.h>

static char *file_of(const char *name) { return text_of("tests/reference/arrays/%s", name); }

static const Array *array_named(const Array_list *all, const char *name)
{
    for (int i = 0; i < all->n; i++)
        if (strcmp(all->at[i]->name, name) == 0) return all->at[i];
    return NULL;
}

static void check_x(const char *file, const Array *a)
{
    double out[30];
    if (!expect(a && array_rows(a) == 5 && a->width == 6 && a->rank == 3, "%s has x [5][2][3]", file)) return;
    read_array(a, 0, 5, out);
    for (int i = 0; i < 30; i++) expect(out[i] == i / 4.0 - 3, "%s: x %d is %g", file, i, out[i]);
    read_array(a, 3, 1, out);
    expect(out[5] == 23 / 4.0 - 3, "%s: the last number of row 3", file);
}

static void check_ids(const char *file, const Array *a)
{
    double out[5];
    if (!expect(a && array_rows(a) == 5 && a->width == 1, "%s has ids [5]", file)) return;
    read_array(a, 0, 5, out);
    for (int i = 0; i < 5; i++) expect(out[i] == 3 * i % 5, "%s: ids %d is %g", file, i, out[i]);
}

static const char *const several[] = {"stored.npz", "packed.npz", "both.safetensors"};
static const char *const alone[] = {"x.idx", "x-idx3-ubyte.gz", "ids.idx"};

static void check_contents(void)
{
    for (size_t i = 0; i < sizeof several / sizeof *several; i++) {
        Array_list all = {0};
        list_arrays(&all, file_of(several[i]), "unused", NULL, NULL);
        check_x(several[i], array_named(&all, "x"));
        check_ids(several[i], array_named(&all, "ids"));
    }
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++) {
        Array_list all = {0};
        list_arrays(&all, file_of(alone[i]), "given", NULL, NULL);
        if (alone[i][0] == 'x') check_x(alone[i], array_named(&all, "given"));
        else check_ids(alone[i], array_named(&all, "given"));
    }
}

/* What is packed is said before it is unpacked: arrays so far take less. */
static void note_unpacked(const void *with, int64_t unpacked)
{
    const Array_list *all = with;
    int64_t taken = 0;
    for (int i = 0; i < all->n; i++) taken += all->at[i]->heap;
    expect(unpacked > taken, "%lld bytes are said, %lld taken before", (long long)unpacked, (long long)taken);
}

static void check_announced(void)
{
    Array_list all = {.before = note_unpacked, .with = &all};
    int64_t taken = 0;
    list_arrays(&all, file_of("packed.npz"), "unused", NULL, NULL);
    for (int i = 0; i < all.n; i++) taken += all.at[i]->heap;
    expect(taken > 0 && all.unpacked == taken, "%lld bytes were said, %lld are taken", (long long)all.unpacked,
           (long long)taken);
}

/* ------------------------------------------------------------------ damage */

static void read_all(void *path)
{
    Array_list all = {0};
    list_arrays(&all, path, "a", NULL, NULL);
    for (int i = 0; i < all.n; i++) {
        const Array *a = all.at[i];
        if (a->width > 1 << 16) continue;
        double *out = must_alloc(sizeof *out * (size_t)(a->width + 1));
        for (int64_t r = 0; r < array_rows(a) && r < 100; r++) read_array(a, r, 1, out);
        free(out);
    }
}

static void check_damaged(const char *name, const char *at, int64_t n, const char *how, int64_t place)
{
    char *path = in_folder(name);
    write_bytes(path, at, n);
    Ended e = run_apart(read_all, path);
    expect(e.code == 0 || e.code == EXIT_DATA, "%s, %s byte %lld: exit code %d: %s", name, how, (long long)place,
           e.code, e.text);
    expect(e.code == 0 || strstr(e.text, "error: "), "%s, %s byte %lld: a message", name, how, (long long)place);
    free(path);
}

static void check_damage(const char *name)
{
    Bytes b = {0};
    char room[1 << 12];
    FILE *f = fopen(file_of(name), "rb");
    for (size_t n; (n = fread(room, 1, sizeof room, f)) > 0;) put(&b, room, (int64_t)n);
    fclose(f);
    for (int64_t n = 0; n < b.n; n += 1 + n / 97) check_damaged(name, b.at, n, "cut at", n);
    for (int64_t i = 0; i < b.n; i += 1 + i / 97) {
        const char was = b.at[i];
        b.at[i] = (char)(was ^ (1 << below(8)));
        check_damaged(name, b.at, b.n, "changed", i);
        b.at[i] = (char)0xff;
        check_damaged(name, b.at, b.n, "all bits of", i);
        b.at[i] = was;
    }
    free(b.at);
}

int main(void)
{
    make_test_folder();
    check_contents();
    check_announced();
    for (size_t i = 0; i < sizeof several / sizeof *several; i++) check_damage(several[i]);
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++) check_damage(alone[i]);
    return finish();
}
