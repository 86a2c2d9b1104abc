/* keyboard.c: a keyboard that learns its owner's words: TEXT SAVED WORD…
 *
 * Learns from TEXT, goes on from SAVED if that is there and writes it again, then completes words. */
#include "keyboard.h"

#include <stdio.h>
#include <stdlib.h>

enum { SEQ = 32, STEPS = 400 };
static char text[8 << 20];

static size_t read_text(const char *path)
{
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(text, 1, sizeof text, f) : 0;
    if (f) fclose(f);
    return n;
}

static void need(keyboard *m, int code)
{
    if (code) fprintf(stderr, "%s\n", keyboard_words(m, code)), exit(code);
}

/* Steps on pieces of the text. */
static void learn(keyboard *m, size_t n)
{
    static int32_t tokens[KEYBOARD_STEP_ROWS][SEQ], targets[KEYBOARD_STEP_ROWS][SEQ];
    keyboard_step_out out = {0};
    for (int step = 0; step < STEPS; step++) {
        for (int b = 0; b < KEYBOARD_STEP_ROWS; b++) {
            const size_t from = (size_t)rand() % (n - SEQ);
            for (int i = 0; i < SEQ; i++) {
                tokens[b][i] = (unsigned char)text[from + i];
                targets[b][i] = (unsigned char)text[from + i + 1];
            }
        }
        need(m, keyboard_step(m, &(keyboard_step_in){tokens, targets}, &out));
    }
    printf("step %lld, loss %.2f\n", (long long)keyboard_steps(m), out.loss);
}

/* Adds the likeliest letters to the beginning of a word. */
static void complete(keyboard *m, const char *word)
{
    float scores[KEYBOARD_TOKENS];
    need(m, keyboard_forget(m));
    need(m, keyboard_next(m, ' ', scores));
    printf("%s|", word);
    while (*word) need(m, keyboard_next(m, (unsigned char)*word++, scores));
    for (int i = 0; i < 16; i++) {
        int best = 0;
        for (int k = 1; k < KEYBOARD_TOKENS; k++)
            if (scores[k] > scores[best]) best = k;
        if (best <= ' ') break;
        putchar(best);
        need(m, keyboard_next(m, best, scores));
    }
    puts("");
}

int main(int argc, char **argv)
{
    const char *wrong = "no memory";
    const size_t bytes = keyboard_bytes(NULL), n = argc > 2 ? read_text(argv[1]) : 0;
    void *memory = aligned_alloc(64, bytes);
    keyboard *m = memory && n > SEQ ? keyboard_open(memory, bytes, NULL, &wrong) : NULL;
    if (!m) return fprintf(stderr, "%s\n", n > SEQ ? wrong : "usage: keyboard TEXT SAVED WORD..."), 2;
    const int code = keyboard_load_file(m, argv[2]);
    if (code != KEYBOARD_NO_FILE) need(m, code);
    learn(m, n);
    need(m, keyboard_save_file(m, argv[2]));
    for (int i = 3; i < argc; i++) complete(m, argv[i]);
    keyboard_close(m);
    free(memory);
    return 0;
}
