/* freestanding_driver.c: char_rnn --config tiny trains on the alphabet, or takes what such a program has saved, and
 * writes it on; for the machine of freestanding.sh and, with HOSTED, for this one.  It prints the text, and hashes of
 * scores and weights. */
#include "char_rnn.h"
#ifdef ANSWERS
#include "weights.h" /* const unsigned char weights[] */
#endif
#ifdef HOSTED
#include <stdio.h>
static void print(const char *text) { fputs(text, stdout); }
#else
void print(const char *text); /* freestanding_start.c */
#endif

enum { LETTERS = CHAR_RNN_TOKENS, SEQ = 5, BATCH = 2, STEPS = 150, WRITTEN = 30 };

static _Alignas(64) unsigned char memory[1 << 19];

static uint32_t hash_of(const void *bytes, size_t n, uint32_t before)
{
    for (size_t i = 0; i < n; i++) before = (before ^ ((const unsigned char *)bytes)[i]) * 16777619u;
    return before;
}

static void print_hash(const char *what, uint32_t hash)
{
    char digits[9] = {0};
    for (int i = 0; i < 8; i++) digits[i] = "0123456789abcdef"[hash >> (28 - 4 * i) & 15];
    print(what), print(" "), print(digits), print("\n");
}

static int complain(const char_rnn *m, int code)
{
    print("failed: "), print(char_rnn_words(m, code)), print("\n");
    return 1;
}

static int learn(char_rnn *m)
{
#ifdef ANSWERS
    return char_rnn_load(m, weights, sizeof weights);
#else
    for (int step = 0; step < STEPS; step++) {
        int32_t tokens[BATCH][SEQ], targets[BATCH][SEQ];
        for (int b = 0; b < BATCH; b++)
            for (int t = 0; t < SEQ; t++) {
                tokens[b][t] = (step * 7 + b * 4 + t) % LETTERS;
                targets[b][t] = (tokens[b][t] + 1) % LETTERS;
            }
        const int code = char_rnn_step(m, &(char_rnn_step_in){.tokens = tokens, .targets = targets}, NULL);
        if (code) return code;
    }
    return 0;
#endif
}

static int write_on(char_rnn *m)
{
    char text[WRITTEN + 2] = {0};
    uint32_t hash = 2166136261u;
    for (int i = 0, token = 0; i < WRITTEN; i++) {
        float scores[LETTERS];
        const int code = char_rnn_next(m, token, scores);
        if (code) return code;
        hash = hash_of(scores, sizeof scores, hash);
        for (int k = token = 0; k < LETTERS; k++)
            if (scores[k] > scores[token]) token = k;
        text[i] = (char)('a' + token);
    }
    text[WRITTEN] = '\n';
    print(text);
    print_hash("scores", hash);
    return 0;
}

int main(void)
{
    static unsigned char saved[1 << 14];
    const char *wrong;
    size_t used = 0;
    char_rnn *m = char_rnn_open(memory, sizeof memory, NULL, &wrong);
    if (!m) {
        print(wrong);
        return 1;
    }
    int code = learn(m);
    if (!code) code = write_on(m);
    if (!code) code = char_rnn_save_weights(m, saved, sizeof saved, &used);
    if (code) return complain(m, code);
    print_hash("weights", hash_of(saved, used, 2166136261u));
    if (char_rnn_next(m, LETTERS, NULL) != CHAR_RNN_DATA) return complain(m, 0);
    print(char_rnn_words(m, CHAR_RNN_DATA)), print("\n");
#ifdef HOSTED
    FILE *f = fopen("saved", "wb");
    return !f || fwrite(saved, 1, used, f) != used || fclose(f) != 0;
#else
    return 0;
#endif
}
