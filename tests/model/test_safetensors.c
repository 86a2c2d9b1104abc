/* test_safetensors.c: safetensors files are read back as written, and no change of bytes or length makes reading crash. */
#include "base/words.h"
#include "interface/lathe_model.h"
#include "model/safetensors.h"
#include "damage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failures;

static void expect(bool ok, const char *what)
{
    if (!ok) printf("FAILED: %s\n", what), failures++;
}

static const char *path;
static double values[6] = {1, -2, 3.5, 1e-300, 5e200, 0};

static void write_file(void)
{
    const int64_t dims[] = {2, 3};
    const int32_t id = 77;
    Store_writer *w = start_store(path);
    declare_tensor(w, "h.0.weight \"quoted\" é", LATHE_F64, 2, dims);
    declare_tensor(w, "id", LATHE_I32, 0, NULL);
    declare_tensor(w, "none", LATHE_F32, 1, (const int64_t[]){0});
    put_elements(w, values, 4, LATHE_F64);
    put_elements(w, values + 4, 2, LATHE_F64);
    put_elements(w, &id, 1, LATHE_I32);
    finish_store(w);
}

static void read_back(void)
{
    Store s;
    read_store(&s, path);
    const Stored *weight = find_stored(&s, "h.0.weight \"quoted\" é"), *id = find_stored(&s, "id");
    expect(s.n == 3 && weight && id && !find_stored(&s, "missing"), "the three tensors are there");
    expect(weight->rank == 2 && weight->dim[0] == 2 && weight->dim[1] == 3, "shape");
    for (int i = 0; i < 6; i++) expect(stored_element(weight, i) == values[i], "values");
    expect(stored_element(id, 0) == 77, "the id");
    expect(stored_is(id, "I32 I64") && !stored_is(id, "F32 F64") && stored_is(weight, "F32 F64"), "dtypes");
    expect((size_t)(weight->at - (const char *)s.map) % 8 == 0, "data starts at a multiple of 8");
    close_store(&s);
}

/* Sixteen bits as IEEE 754 and bfloat16 have them. */
static void read_short(void)
{
    static const struct {
        const char *dtype;
        uint16_t bits;
        double value;
    } known[] = {{"F16", 0x3c00, 1},
                 {"F16", 0xc000, -2},
                 {"F16", 0x0001, 5.9604644775390625e-8},
                 {"F16", 0x83ff, -6.09755516052246094e-5},
                 {"F16", 0x0400, 6.103515625e-5},
                 {"F16", 0x7bff, 65504},
                 {"F16", 0x3555, 0.333251953125},
                 {"F16", 0xfc00, -INFINITY},
                 {"BF16", 0x3f80, 1},
                 {"BF16", 0xc049, -3.140625},
                 {"BF16", 0x7f80, INFINITY},
                 {"BF16", 0x0001, 0x1p-133}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        Stored s = {.dtype = known[i].dtype, .at = (const char *)&known[i].bits};
        expect(stored_element(&s, 0) == known[i].value, known[i].dtype);
    }
    Stored nan = {.dtype = "F16", .at = "\x01\x7c"};
    expect(isnan(stored_element(&nan, 0)), "NaN in 16 bits");
}

/* Reads the file and all that it claims to hold. */
static void read_all(void)
{
    Store s;
    volatile double sum = 0;
    read_store(&s, path);
    for (int i = 0; i < s.n; i++) {
        int64_t n = 1;
        for (int k = 0; k < s.tensor[i].rank; k++) n *= s.tensor[i].dim[k];
        for (int64_t e = 0; stored_is(&s.tensor[i], "F32 F64 F16 BF16 I32 I64") && e < n; e++)
            sum += stored_element(&s.tensor[i], e);
    }
    exit(0);
}

int main(void)
{
    char good[4096];
    path = text_of("%s/store-%d.safetensors", getenv("TMP") ? getenv("TMP") : "/tmp", (int)getpid());
    write_file();
    read_back();
    read_short();
    FILE *f = fopen(path, "rb");
    size_t n = fread(good, 1, sizeof good, f);
    fclose(f);
    if (!survives_damage(path, good, n, "0123456789-[]{},:\"\0e.", getenv("LATHE_LONG") ? 20000 : 1000, read_all))
        expect(false, "a damaged file ended the reader by a signal");
    unlink(path);
    printf("%d failures\n", failures);
    return failures != 0;
}
