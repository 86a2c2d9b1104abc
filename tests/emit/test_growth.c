/* test_growth.c: what compiling takes grows with the description, not with its square: bytes of the arena are counted,
 * from the front end to the text, for loops of Lua that are unrolled n, 2n and 4n times. */
#include "emit/emit.h"
#include "../graph/apart.h"

#include <string.h>

typedef struct Point {
    const char *kind;
    int n;
} Point;

static void compile_it(const void *which)
{
    const Point *p = which;
    const char *folder = format("%s/%s", temp_folder(), p->kind);
    must(run_command(NULL, "mkdir -p '%s'", folder) == 0);
    emit_c(new_page(compile_model(format("tests/models/unrolled.lua --set kind=%s --set n=%d", p->kind, p->n))), folder);
    fprintf(stderr, "bytes %zu", allocated_bytes());
}

static double bytes_for(const char *kind, int n)
{
    char *said;
    Point p = {kind, n};
    int code = apart(compile_it, &p, &said);
    const char *bytes = strstr(said, "bytes ");
    expect(code == 0 && bytes, "%s, %d times: exit code %d, \"%.300s\"", kind, n, code, said);
    return bytes ? atof(bytes + strlen("bytes ")) : 0;
}

/* Twice as much more for twice as many more; a square would be four times. */
static void grows_with(const char *kind, int n)
{
    double once = bytes_for(kind, n), twice = bytes_for(kind, 2 * n), four = bytes_for(kind, 4 * n);
    double growth = (four - twice) / (twice - once);
    printf("%-8s %4d: %6.1f MB, %4d: %6.1f MB, %4d: %6.1f MB, growth %.2f\n", kind, n, once / 1e6, 2 * n, twice / 1e6,
           4 * n, four / 1e6, growth);
    expect(growth < 2.7, "%s: from %d to %d steps %.0f bytes, from %d to %d %.0f: %.2f times as much", kind, n, 2 * n,
           twice - once, 2 * n, 4 * n, four - twice, growth);
}

int main(void)
{
    static const Point points[] = {{"chain", 100}, {"fan", 100},   {"outputs", 40},  {"sums", 40},   {"phases", 40},
                                   {"lstm", 20},   {"cfunc", 100}, {"shared", 100},  {"layers", 15}, {"ids", 100},
                                   {"loops", 30},  {"stack", 15},  {"averages", 100}};
    for (int i = 0; i < COUNT_OF(points); i++) grows_with(points[i].kind, points[i].n);
    return finish();
}
