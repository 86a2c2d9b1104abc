/* small_driver.c: trains models/mlp.lua in so many threads on numbers of its own; prints a hash of losses and of what
 * it saves, and to stderr how much memory it needs. */
#include "mlp.h"
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 16, FEATURES = 40, CLASSES = 13, STEPS = 5 };

static uint64_t hash_of(const void *bytes, size_t n, uint64_t hash)
{
    for (size_t i = 0; i < n; i++) hash = (hash ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
    return hash;
}

int main(int argc, char **argv)
{
    static float features[BATCH][FEATURES];
    static int32_t classes[BATCH];
    static char saved[1 << 18];
    const mlp_options options = {.threads = argc > 1 ? atoi(argv[1]) : 1, .seed = 3};
    const size_t bytes = mlp_bytes(&options);
    const char *wrong;
    size_t used;
    uint32_t random = 1;
    uint64_t hash = 14695981039346656037u;
    mlp *m = mlp_open(aligned_alloc(64, bytes), bytes, &options, &wrong);
    if (!m) return puts(wrong), 1;
    for (int step = 0; step < STEPS; step++) {
        for (int b = 0; b < BATCH; b++) {
            for (int i = 0; i < FEATURES; i++) {
                random = random * 1664525u + 1013904223u;
                features[b][i] = (float)(random >> 8) * 0x1p-23f - 1;
            }
            classes[b] = (int32_t)(random >> 9) % CLASSES;
        }
        mlp_step_out out;
        const int code = mlp_step(m, &(mlp_step_in){.features = features, .targets = classes}, &out);
        if (code) return puts(mlp_words(m, code)), 1;
        hash = hash_of(&out.loss, sizeof out.loss, hash);
    }
    if (mlp_save(m, saved, sizeof saved, &used)) return puts(mlp_words(m, 2)), 1;
    printf("%016llx\n", (unsigned long long)hash_of(saved, used, hash));
    fprintf(stderr, "%zu\n", bytes);
    return 0;
}
