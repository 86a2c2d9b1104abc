/* test_gguf.c: elements of GGUF files are those that the Python package gguf reads (tests/reference/gguf_files.py); damaged files
 * are refused. */
#include "base/words.h"
#include "model/blocks.h"
#include "model/gguf.h"
#include "model/place.h"
#include "model/tables.h"
#include "damage.h"

#include <math.h>
#include <string.h>

static int failures;
static char *path;

static int64_t elements_of(const Stored *t)
{
    int64_t n = 1;
    for (int k = 0; k < t->rank; k++) n *= t->dim[k];
    return n;
}

/* The package computes in floats: scale * q and the sum of that and the least value are rounded, each by half a unit of the
 * largest in the block. */
static bool near_known(double own, double known, double largest) { return fabs(own - known) <= ldexp(largest, -23); }

static void compare(const Stored *own, const Stored *known)
{
    int64_t n = elements_of(own), wrong = 0;
    double *values = must_alloc(sizeof *values * (size_t)n), largest = 0;
    read_stored(own, 0, n, values);
    for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(values[i]));
    for (int64_t i = 0; i < n; i++)
        wrong += !near_known(values[i], stored_element(known, i), largest) || stored_element(own, i) != values[i];
    read_stored(own, 3, n - 3, values); /* from within a block */
    for (int64_t i = 3; i < n; i++) wrong += values[i - 3] != stored_element(own, i);
    if (wrong || n != elements_of(known)) {
        printf("FAILED: %s: %lld of %lld elements differ\n", own->name, (long long)wrong, (long long)n);
        failures++;
    }
    free(values);
}

static void compare_all(void)
{
    Store own, known;
    read_gguf(&own, "tests/reference/gguf/blocks.gguf");
    read_store(&known, "tests/reference/gguf/blocks.safetensors");
    for (int i = 0; i < known.n; i++) {
        const Stored *t = find_stored(&own, known.tensor[i].name);
        if (t) compare(t, &known.tensor[i]);
        else printf("FAILED: no tensor %s\n", known.tensor[i].name), failures++;
    }
    if (own.n != known.n || known.n != 11) printf("FAILED: %d tensors of %d\n", own.n, known.n), failures++;
    close_store(&own);
    close_store(&known);
}

/* Floats become the blocks that the package makes of them. */
static void compare_rounded(void)
{
    Store s;
    read_gguf(&s, "tests/reference/gguf/rounded.gguf");
    const Stored *x = find_stored(&s, "x");
    for (Lathe_dtype t = LATHE_Q8_0; block_word(t); t++) {
        const Stored *known = find_stored(&s, block_word(t));
        int64_t n = elements_of(x), bytes = lathe_bytes_of_block(t), wrong = 0;
        for (int64_t i = 0; i < n; i += LATHE_BLOCK) {
            double values[LATHE_BLOCK];
            char own[sizeof(Lathe_q8_0)];
            read_stored(x, i, LATHE_BLOCK, values);
            write_reals(t, own, LATHE_BLOCK, values);
            wrong += memcmp(own, known->at + i / LATHE_BLOCK * bytes, (size_t)bytes) != 0;
        }
        if (wrong || n != 2048) printf("FAILED: %lld blocks of %s differ\n", (long long)wrong, known->name), failures++;
    }
    close_store(&s);
}

static void read_all(void)
{
    Store s;
    volatile double sum = 0;
    static const char *const names[] = {"config.json", "generation_config.json", "tokenizer_config.json", "tokenizer.json"};
    for (int i = 0; i < 4; i++) {
        char *made = gguf_file(path, names[i]);
        bug_if(!json_loads(made, 0, NULL));
        free(made);
    }
    read_gguf_model(&s, path);
    for (int i = 0; i < s.n; i++)
        for (int64_t e = 0; is_stored_real(&s.tensor[i]) && e < elements_of(&s.tensor[i]); e++)
            sum += stored_element(&s.tensor[i], unturned_place(&s.tensor[i], e));
    close_store(&s);
}

/* Of a file the first bytes, where all keys and shapes are. */
static void damage(const char *name, size_t header)
{
    size_t n = 0;
    char *good = must_alloc(1 << 20);
    FILE *f = fopen(name, "rb");
    n = fread(good, 1, 1 << 20, f);
    fclose(f);
    path = text_of("%s/damaged-%d.gguf", getenv("TMP") ? getenv("TMP") : "/tmp", (int)getpid());
    put_file(path, good, n);
    if (!survives(read_all)) printf("FAILED: %s itself\n", name), failures++;
    if (!survives_damage(path, good, n < header ? n : header, "\1\2\6\7\10\11\377", getenv("LATHE_LONG") ? 20000 : 500, read_all))
        printf("FAILED: a damaged file ended the reader by a signal: %s\n", path), failures++;
    else unlink(path);
    free(good);
}

int main(void)
{
    compare_all();
    compare_rounded();
    damage("tests/reference/gguf/llama.gguf", 14000);
    damage("tests/reference/gguf/llama3.gguf", 4500); /* a table of stretched positions */
    damage("tests/reference/gguf/spm.gguf", 16000);   /* scores */
    damage("tests/reference/gguf/gpt2.gguf", 4500);   /* transposed matrices */
    printf("%d failures\n", failures);
    return failures != 0;
}
