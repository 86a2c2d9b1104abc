/* machine_driver.c: for machines.sh: trains a library of mlp for some steps and writes the weights, wherever C runs.
 *
 *     machine_driver WEIGHTS THREADS */
#include "mlp.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 4, COLUMNS = 4, STEPS = 50 };
static float features[ROWS][COLUMNS] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {1, 1, 0, 0}};
static int32_t targets[ROWS] = {0, 1, 2, 1};
static _Alignas(64) char memory[16 << 20];
static char saved[1 << 20];

int main(int argc, char **argv)
{
    const char *wrong = "wrong usage";
    const mlp_options o = {.threads = argc > 2 ? atoi(argv[2]) : 1, .seed = 7};
    const size_t bytes = mlp_bytes(&o);
    size_t used = 0;
    mlp *m = argc == 3 && bytes <= sizeof memory ? mlp_open(memory, bytes, &o, &wrong) : NULL;
    if (!m) return puts(wrong), 2;
    for (int k = 0; k < STEPS; k++) {
        features[k % ROWS][k % COLUMNS] += 0.125f;
        const int code = mlp_step(m, &(mlp_step_in){features, targets}, NULL);
        if (code) return puts(mlp_words(m, code)), code;
    }
    if (mlp_save_weights(m, saved, sizeof saved, &used)) return puts("not saved"), 3;
    FILE *f = fopen(argv[1], "wb");
    const int done = f && fwrite(saved, 1, used, f) == used && fclose(f) == 0;
    mlp_close(m);
    return done ? 0 : (puts("not written"), 3);
}
