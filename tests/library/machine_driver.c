/* machine_driver.c: for machines.sh: trains a library of mlp for some steps and writes the weights, wherever C runs;
 * half-way from a file into another instance.
 *
 *     machine_driver WEIGHTS THREADS */
#include "mlp.h"

#include <stdio.h>
#include <stdlib.h>

enum { COLUMNS = 4, STEPS = 50 };
static float features[MLP_STEP_ROWS][COLUMNS] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {1, 1, 0, 0}};
static int32_t targets[MLP_STEP_ROWS] = {0, 1, 2, 1};
static _Alignas(64) char memory[2][8 << 20];

static void need(mlp *m, int code)
{
    if (code) puts(mlp_words(m, code)), exit(code);
}

static mlp *opened(int k, const mlp_options *o)
{
    const char *wrong = "too little memory";
    const size_t bytes = mlp_bytes(o);
    mlp *m = bytes <= sizeof memory[k] ? mlp_open(memory[k], bytes, o, &wrong) : NULL;
    if (!m) puts(wrong), exit(2);
    return m;
}

static void train(mlp *m, int from, int to)
{
    for (int k = from; k < to; k++) {
        features[k % MLP_STEP_ROWS][k % COLUMNS] += 0.125f;
        need(m, mlp_step(m, &(mlp_step_in){features, targets}, NULL));
    }
}

int main(int argc, char **argv)
{
    if (argc != 3) return puts("wrong usage"), 2;
    const mlp_options o = {.threads = atoi(argv[2]), .seed = 7}, other = {.threads = 1};
    mlp *first = opened(0, &o), *second = opened(1, &other);
    train(first, 0, STEPS / 2);
    need(first, mlp_save_file(first, argv[1]));
    need(second, mlp_load_file(second, argv[1]));
    if (mlp_load_file(second, "none") != MLP_NO_FILE) return puts("a file that is not there is loaded"), 3;
    train(second, STEPS / 2, STEPS);
    need(second, mlp_save_weights_file(second, argv[1])); /* over the other */
    mlp_close(first), mlp_close(second);
    return 0;
}
