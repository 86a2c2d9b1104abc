/* test_npy.c: arrays of every type and shape hold what numpy.save wrote (NumPy 1.24). */
#include "data/array.h"
#include "sources.h"

static void check_arrays(void)
{
    static const struct {
        const char *descr, *shape;
        const char *bytes;
        int n;
        double value[6];
    } known[] = {
        {"<f4",
         "(2, 3)",
         "\0\0\x80\x3f\0\0\0\xc0\0\0\0\0\xdb\x0f\x49\x40\0\0\x80\x7f\xcd\xcc\xcc\x3d",
         24,
         {1, -2, 0, 0x1.921fb6p+1, __builtin_inf(), 0x1.99999ap-4}},
        {"<i8",
         "(3,)",
         "\xff\xff\xff\xff\xff\xff\xff\xff\x05\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0",
         24,
         {-1, 5, 4294967296.0}},
        {"|u1", "(2, 1, 3)", "\0\1\2\xff\x80\x7f", 6, {0, 1, 2, 255, 128, 127}},
        {"|i1", "(6,)", "\0\1\2\xff\x80\x7f", 6, {0, 1, 2, -1, -128, 127}},
        {"|b1", "(2,)", "\0\1", 2, {0, 1}},
        {"<f2", "(3,)", "\0\x3c\1\0\xff\xfb", 6, {1, 0x1p-24, -65504}},
        {"<f8", "()", "\0\0\0\0\0\0\xe0\x3f", 8, {0.5}},
    };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        Bytes b = {0};
        char *header =
            text_of("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", known[k].descr, known[k].shape);
        put(&b, "\x93NUMPY\1\0\x76\0", 10);
        put(&b, text_of("%-117s\n", header), 118);
        put(&b, known[k].bytes, known[k].n);
        write_bytes(in_folder("a.npy"), b.at, b.n);
        Array *a = open_npy(in_folder("a.npy"));
        double out[6];
        int64_t rows = array_rows(a);
        read_array(a, 0, rows, out);
        for (int64_t i = 0; i < rows * a->width; i++)
            expect(out[i] == known[k].value[i], "%s element %d", known[k].descr, (int)i);
        read_array(a, rows - 1, 1, out);
        expect(out[0] == known[k].value[(rows - 1) * a->width], "%s last row", known[k].descr);
        close_array(a);
    }
}

int main(void)
{
    make_test_folder();
    check_arrays();
    return finish();
}
