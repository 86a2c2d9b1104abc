/* text_driver.c: for bits.sh: trains a library of char_rnn on one window of a text, in several ways. */
#include "char_rnn.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEQ = 16, BATCH = 4, MICRO = 2, STEPS = 20 };
static int32_t tokens[MICRO][BATCH][SEQ], targets[MICRO][BATCH][SEQ];
static const char_rnn_step_in batch = {tokens, targets};

static void expect(const char_rnn *m, int code)
{
    if (code == 0) return;
    printf("code %d: %s\n", code, char_rnn_words(m, code));
    exit(1);
}

static char_rnn *opened(const char_rnn_options *o)
{
    const char *wrong = "no memory";
    const size_t bytes = char_rnn_bytes(o);
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    char_rnn *m = memory ? char_rnn_open(memory, bytes, o, &wrong) : NULL;
    if (!m) puts(wrong), exit(1);
    return m;
}

static void closed(char_rnn *m)
{
    char_rnn_close(m);
    free(m);
}

static void train(char_rnn *m, int steps)
{
    for (int k = 0; k < steps; k++) expect(m, char_rnn_step(m, &batch, NULL));
}

/* ---- the caller's threads: new ones for each region */

typedef struct Share {
    void (*work)(void *data, int thread);
    void *data;
    int thread;
} Share;

static void *take_share(void *share)
{
    const Share *s = share;
    s->work(s->data, s->thread);
    return NULL;
}

static void run_threads(void *with, int threads, void (*work)(void *data, int thread), void *data)
{
    pthread_t thread[8];
    Share share[8];
    *(int *)with += 1;
    for (int k = 1; k < threads; k++) {
        share[k] = (Share){work, data, k};
        if (pthread_create(&thread[k], NULL, take_share, &share[k]) != 0) abort();
    }
    work(data, 0);
    for (int k = 1; k < threads; k++) pthread_join(thread[k], NULL);
}

/* ---- ways to train */

static void *train_fully(void *m)
{
    train(m, STEPS);
    return NULL;
}

/* Beside another that trains from another seed at the same time. */
static void train_together(char_rnn *m, const char_rnn_options *o)
{
    char_rnn_options other = *o;
    other.seed++;
    char_rnn *n = opened(&other);
    pthread_t thread;
    if (pthread_create(&thread, NULL, train_fully, n) != 0) abort();
    train(m, STEPS);
    pthread_join(thread, NULL);
    closed(n);
}

/* Saved after seven steps, and taken up by an instance of another seed's weights. */
static char_rnn *train_resumed(char_rnn *m, const char_rnn_options *o)
{
    static char room[4 << 20];
    size_t used;
    train(m, 7);
    expect(m, char_rnn_save(m, room, sizeof room, &used));
    closed(m);
    m = opened(&(char_rnn_options){.threads = o->threads, .seed = 77}); /* the saved seed counts */
    train(m, 3);
    expect(m, char_rnn_load(m, room, used));
    if (char_rnn_steps(m) != 7) printf("%d steps, not 7\n", (int)char_rnn_steps(m)), exit(1);
    train(m, STEPS - 7);
    return m;
}

static void write_weights(char_rnn *m, const char *path)
{
    static char room[4 << 20];
    size_t used, wanted;
    expect(m, char_rnn_save_weights(m, NULL, 0, &wanted));
    expect(m, char_rnn_save_weights(m, room, sizeof room, &used));
    FILE *f = fopen(path, "wb");
    if (!f || used != wanted || fwrite(room, 1, used, f) != used || fclose(f) != 0) exit(1);
}

static void read_weights(char_rnn *m, const char *path)
{
    static char room[4 << 20];
    FILE *f = fopen(path, "rb");
    if (!f) exit(1);
    expect(m, char_rnn_load(m, room, fread(room, 1, sizeof room, f)));
    fclose(f);
}

static void write_text(char_rnn *m)
{
    float scores[CHAR_RNN_TOKENS];
    for (const char *c = "To be"; *c; c++) expect(m, char_rnn_next(m, *c, scores));
    printf("To be");
    for (int i = 0; i < 11; i++) {
        int best = 0;
        for (int k = 1; k < CHAR_RNN_TOKENS; k++)
            if (scores[k] > scores[best]) best = k;
        putchar(best);
        expect(m, char_rnn_next(m, best, scores));
    }
}

static void expect_refusal(const char_rnn *m, int code, int expected, const char *words)
{
    if (code == expected && strstr(char_rnn_words(m, code), words)) return;
    printf("expected code %d and \"%s\", found %d: %s\n", expected, words, code, char_rnn_words(m, code));
    exit(1);
}

static void refuse_drawing(char_rnn *m)
{
    float scores[CHAR_RNN_TOKENS] = {0};
    int32_t text[9] = {'T', 256}, token;
    const char_rnn_sampling cold = {.temperature = -1}, no_ends = {.ends = 2};
    expect_refusal(m, char_rnn_draw(m, NULL, NULL, &token), CHAR_RNN_USAGE, "scores or token is NULL");
    expect_refusal(m, char_rnn_draw(m, &cold, scores, &token), CHAR_RNN_USAGE, "a temperature from 0");
    expect_refusal(m, char_rnn_draw(m, &no_ends, scores, &token), CHAR_RNN_USAGE, "ends that are not NULL");
    expect_refusal(m, char_rnn_generate(m, NULL, NULL, 1, 9, NULL), CHAR_RNN_USAGE, "tokens is NULL");
    expect_refusal(m, char_rnn_generate(m, NULL, text, 0, 9, NULL), CHAR_RNN_USAGE, "1 to 9 given tokens, found 0");
    expect_refusal(m, char_rnn_generate(m, NULL, text, 2, 9, NULL), CHAR_RNN_DATA, "a token 0 to 255, found 256");
    scores[7] = NAN;
    expect_refusal(m, char_rnn_draw(m, NULL, scores, &token), CHAR_RNN_DIVERGED, "the score of token 7 is nan");
}

/* Drawn: as a whole, and token by token after another text. */
static void draw_text(char_rnn *m)
{
    const char_rnn_sampling how = {.temperature = 0.8,
                                   .top_p = 0.95,
                                   .min_p = 0.001,
                                   .repetition_penalty = 1.2,
                                   .top_k = 9,
                                   .seed = 3,
                                   .end = (const int32_t[]){'z'},
                                   .ends = 1};
    float scores[CHAR_RNN_TOKENS];
    int32_t text[45] = {'T', 'o', ' ', 'b', 'e'}, again = 0;
    int64_t made;
    expect(m, char_rnn_generate(m, &how, text, 5, 45, &made));
    expect(m, char_rnn_generate(m, NULL, (int32_t[9]){'x'}, 1, 9, NULL));
    expect(m, char_rnn_forget(m));
    for (int i = 0; i < made; i++) {
        if (i >= 5) expect(m, char_rnn_draw(m, &how, scores, &again));
        if (i >= 5 && again != text[i]) printf("token %d is %d, and %d token by token\n", i, text[i], again), exit(1);
        expect(m, char_rnn_next(m, text[i], scores));
        putchar(text[i]);
    }
}

int main(int argc, char **argv)
{
    char text[SEQ + 1];
    int regions = 0;
    if (argc != 6) return 2;
    const char *way = argv[1];
    char_rnn_options o = {.threads = atoi(argv[2]), .seed = 5};
    FILE *f = fopen(argv[3], "rb");
    if (!f || fread(text, 1, sizeof text, f) != sizeof text) return 2;
    for (int i = 0; i < MICRO * BATCH * SEQ; i++) {
        (&tokens[0][0][0])[i] = (unsigned char)text[i % SEQ];
        (&targets[0][0][0])[i] = (unsigned char)text[i % SEQ + 1];
    }
    if (strcmp(way, "callers") == 0) o.run = run_threads, o.with = &regions;
    char_rnn *m = opened(&o);
    if (strcmp(way, "text") == 0) {
        read_weights(m, argv[5]);
        write_text(m);
    } else if (strcmp(way, "drawn") == 0) {
        read_weights(m, argv[5]);
        refuse_drawing(m);
        draw_text(m);
    } else if (strcmp(way, "evaluate") == 0) {
        char_rnn_evaluate_out out;
        read_weights(m, argv[5]);
        expect(m, char_rnn_evaluate(m, &(char_rnn_evaluate_in){tokens[0], targets[0]}, &out));
        printf("%.15g\n", out.loss);
    } else {
        if (strcmp(way, "together") == 0) train_together(m, &o);
        else if (strcmp(way, "resumed") == 0) m = train_resumed(m, &o);
        else train(m, STEPS);
        write_weights(m, argv[4]);
    }
    if (o.run && regions == 0) puts("the caller's threads were not asked"), exit(1);
    closed(m);
    return 0;
}
