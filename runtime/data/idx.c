/* idx.c: arrays in the IDX format of MNIST: two zero bytes, a type, the number of dimensions, each of them in 32 bits,
 * then the elements; all of it with the most significant byte first.  Often compressed. */
#include "data/array.h"

#include <string.h>

static void take_type(Array *a, int type)
{
    static const struct {
        int type, size;
        char kind;
    } known[] = {{8, 1, 'u'}, {9, 1, 'i'}, {11, 2, 'i'}, {12, 4, 'i'}, {13, 4, 'f'}, {14, 8, 'f'}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].type == type) {
            a->kind = known[i].kind;
            a->size = known[i].size;
            return;
        }
    fail(EXIT_DATA, a->place, "expected a type of IDX, 8, 9 or 11 to 14, in the third byte, found %d", type);
}

Array *open_idx(const char *path)
{
    int64_t bytes, heap;
    unsigned char head[4], dim[4];
    int fd = open_unpacked(path, &bytes, &heap);
    Array *a = new_array(path, fd);
    a->heap = heap;
    a->big = true;
    if (bytes < 4) fail(EXIT_DATA, path, "expected an array in the IDX format, found %lld bytes", (long long)bytes);
    read_bytes_at(a, head, 4, 0);
    if (head[0] || head[1]) fail(EXIT_DATA, path, "expected an array in the IDX format, found something else");
    take_type(a, head[2]);
    a->data = 4 + 4 * (int64_t)head[3];
    if (head[3] > MOST_DIMS || a->data > bytes)
        fail(EXIT_DATA, path, "its header says %d dimensions, but the file has %lld bytes; get it again", head[3],
             (long long)bytes);
    for (; a->rank < head[3]; a->rank++) {
        read_bytes_at(a, dim, 4, 4 + 4 * a->rank);
        a->dim[a->rank] = (int64_t)dim[0] << 24 | dim[1] << 16 | dim[2] << 8 | dim[3];
    }
    check_array_length(a, bytes - a->data);
    return a;
}
