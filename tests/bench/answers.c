/* answers.c: how long a call of a library takes, for answers.py: with MLP defined mlp_predict at batch 1, else char_rnn_next.
 *
 *     answers WEIGHTS CALLS      prints nanoseconds a call, then the numbers of the last answer */
#ifdef MLP
#include "mlp.h"
#define OF(x) mlp_##x
typedef mlp Model;
#else
#include "char_rnn.h"
#define OF(x) char_rnn_##x
typedef char_rnn Model;
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int load(Model *m, const char *path)
{
    FILE *f = fopen(path, "rb");
    static char file[1 << 22];
    const size_t n = f ? fread(file, 1, sizeof file, f) : 0;
    return !n || fclose(f) || OF(load)(m, file, n);
}

enum { MOST = 256 };
static float scores[MOST];

/* Returns how many numbers it has. */
static int answer(Model *m, int k)
{
#ifdef MLP
    static float features[1][4];
    for (int i = 0; i < 4; i++) features[0][i] = (float)((k + i) % 7) * 0.25f - 0.5f;
    const mlp_predict_in in = {.features = features};
    const mlp_predict_out out = {.logits = (float(*)[3])scores};
    return mlp_predict(m, &in, &out) ? -1 : 3;
#else
    return char_rnn_next(m, k % CHAR_RNN_TOKENS, scores) ? -1 : CHAR_RNN_TOKENS;
#endif
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    const char *wrong;
    const size_t bytes = OF(bytes)(NULL);
    Model *m = OF(open)(aligned_alloc(64, (bytes + 63) / 64 * 64), bytes, NULL, &wrong);
    if (argc != 3 || !m || load(m, argv[1])) {
        fprintf(stderr, "answers: %s\n", m ? OF(words)(m, 2) : wrong);
        return 1;
    }
    const int calls = atoi(argv[2]);
    int numbers = 0;
    for (int k = 0; k < calls / 10; k++) numbers = answer(m, k);
#ifndef MLP
    char_rnn_forget(m);
#endif
    const double began = now();
    for (int k = 0; k < calls; k++) numbers = answer(m, k);
    printf("%.1f\n", (now() - began) / calls);
    for (int i = 0; i < numbers; i++) printf("%.8g ", scores[i]);
    return numbers <= 0;
}
