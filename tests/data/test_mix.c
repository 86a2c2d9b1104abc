/* test_mix.c: sources mixed by weights: whose turn it is against the rule as it is published, worked out the long way,
 * and against its bound; rows are those of the sources' own streams, for any number of readers and from any place on.
 */
#include "base/words.h"
#include "data/data.h"
#include "data/stream.h"
#include "interface/lathe_model.h"
#include "source/source.h"
#include "token/tokenizer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SEQ = 24, DOCUMENTS = 50 };

#define CHECK(condition)                                                                                               \
    ((condition) ? (void)0 : (printf("FAILED: %s:%d: %s\n", __FILE__, __LINE__, #condition), exit(1)))

static uint32_t draw(uint32_t *state, uint32_t below)
{
    *state = *state * 1103515245u + 12345u;
    return (*state >> 8) % below;
}

/* ------------------------------------------------------------------ turns */

/* Tijdeman's rule from counts alone, all terms times (2n - 2) Σ weight.  had: rows before this one, the k-th from 1. */
static int turn_by_rule(const int64_t *weight, int n, const int64_t *had, int64_t k)
{
    __int128 parts = 2 * n - 2, all = 0;
    int chosen = -1;
    int64_t chosen_end = 0;
    for (int i = 0; i < n; i++) all += weight[i];
    for (int i = 0; i < n; i++) {
        int64_t end = 0;
        if (parts * (k * weight[i] - had[i] * all) < all) continue; /* not 1 / (2n - 2) behind */
        while (parts * (end * weight[i] - had[i] * all) < (parts - 1) * all) end++;
        if (chosen >= 0 && end >= chosen_end) continue;
        chosen = i;
        chosen_end = end;
    }
    return chosen;
}

/* Σ of what all are off their shares is 0 and none may be off by more than 1 - 1 / (2n - 2). */
static void check_shares(const int64_t *weight, int n, const int64_t *had, int64_t k)
{
    __int128 parts = 2 * n - 2, all = 0;
    for (int i = 0; i < n; i++) all += weight[i];
    for (int i = 0; i < n; i++) {
        __int128 off = parts * (k * weight[i] - had[i] * all);
        CHECK(off <= (parts - 1) * all && -off <= (parts - 1) * all);
    }
}

static void turns_of(const int64_t *weight, int n, int rows)
{
    Turns t, again;
    int64_t had[LATHE_SOURCES] = {0};
    start_turns(&t, weight, had, n);
    for (int64_t k = 1; k <= rows; k++) {
        start_turns(&again, weight, had, n);
        int i = next_turn(&t);
        CHECK(i == next_turn(&again)); /* gone on with from any row */
        if (k <= 300 && n > 1) CHECK(i == turn_by_rule(weight, n, had, k));
        had[i]++;
        if (n > 1) check_shares(weight, n, had, k);
    }
}

static void turns_are_the_rule(void)
{
    uint32_t state = 5;
    for (int trial = 0; trial < 60; trial++) {
        int64_t weight[LATHE_SOURCES];
        int n = 1 + (int)draw(&state, trial < 50 ? 6 : LATHE_SOURCES);
        for (int i = 0; i < n; i++) weight[i] = 1 + (int64_t)draw(&state, trial % 2 ? 20 : 1000000);
        turns_of(weight, n, 2000);
    }
    turns_of((int64_t[]){1, 999999}, 2, 2000);
}

static void turns_by_hand(void)
{
    Turns t;
    int64_t weight[LATHE_SOURCES], none[2] = {0};
    CHECK(lathe_mix("7,3", weight) == 2 && weight[0] == 7000000 && weight[1] == 3000000);
    start_turns(&t, weight, none, 2);
    for (const char *c = "ABAAABAABAABAAABAABA"; *c; c++) CHECK(next_turn(&t) == *c - 'A');
    static const char *const wrong[] = {"", "7,", ",7", "7;3", "0,1", "-1,2", "nan,1", "inf,1", "1e9,1", "x", "1,2 "};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) CHECK(lathe_mix(wrong[i], weight) == -1);
    CHECK(lathe_mix(NULL, weight) == 0 && lathe_mix("none", weight) == 0);
}

/* ------------------------------------------------------------------ rows */

typedef struct Row {
    int32_t tokens[SEQ], targets[SEQ], segments[SEQ], positions[SEQ];
} Row;

static Tokenizer *bytes;
static Sources *source[3]; /* the last is the first again */
static const int64_t weights[3] = {50, 20, 30};

static Sources *make_source(const char *folder, char letter)
{
    uint32_t state = (uint32_t)letter;
    char *path = text_of("%s/%c.txt", folder, letter);
    FILE *f = fopen(path, "w");
    CHECK(f);
    for (int k = 0; k < DOCUMENTS; k++) {
        fprintf(f, "%c%d", letter, k);
        for (int words = (int)draw(&state, 20); words > 0; words--) fprintf(f, " %c%u", letter, draw(&state, 1000));
        fprintf(f, "\n\n");
    }
    fclose(f);
    Words paths = {0};
    add_word(&paths, path);
    return open_sources(&paths, &(Source_options){.split = SPLIT_BLANK});
}

static Order order_of(int i, bool pack)
{
    return (Order){.seq = SEQ,
                   .stride = SEQ,
                   .block_tokens = 800,
                   .pack = pack,
                   .shuffle = true,
                   .seed = 40 + i,
                   .bos = -1,
                   .begin = -1,
                   .eos = '\n',
                   .end = '\n',
                   .ids = 256};
}

static Mixture *mix(bool pack, int readers, const Mix_part *from)
{
    Mix_part part[3];
    for (int i = 0; i < 3; i++) {
        Order o = order_of(i, pack);
        part[i] = (Mix_part){.weight = weights[i], .mixed = from ? from[i].mixed : 0};
        part[i].stream = open_stream(source[i], bytes, &o, readers, from ? &from[i].at : NULL);
    }
    return open_mixture(part, 3);
}

enum { BATCH = 7, BATCHES = 150, ROWS = BATCH * BATCHES };

static void take_batch(Mixture *m, Row *to)
{
    static int32_t all[4][BATCH * SEQ];
    CHECK(mixture_rows(
        m, &(Rows){.n = BATCH, .tokens = all[0], .targets = all[1], .segments = all[2], .positions = all[3]}, BATCH,
        0));
    for (int r = 0; r < BATCH; r++) {
        memcpy(to[r].tokens, all[0] + r * SEQ, sizeof to->tokens);
        memcpy(to[r].targets, all[1] + r * SEQ, sizeof to->targets);
        memcpy(to[r].segments, all[2] + r * SEQ, sizeof to->segments);
        memcpy(to[r].positions, all[3] + r * SEQ, sizeof to->positions);
    }
}

/* Row k is the next of the stream, by itself, of the source whose turn it is by the rule. */
static void make_expected(bool pack, Row *row, int *whose)
{
    Row_stream *s[3];
    int64_t had[3] = {0};
    for (int i = 0; i < 3; i++) {
        Order o = order_of(i, pack);
        s[i] = open_stream(source[i], bytes, &o, 1, NULL);
    }
    for (int k = 0; k < ROWS; k++) {
        int i = whose[k] = turn_by_rule(weights, 3, had, k + 1);
        Row *r = &row[k];
        CHECK(stream_rows(s[i], &(Rows){.n = 1,
                                        .tokens = r->tokens,
                                        .targets = r->targets,
                                        .segments = r->segments,
                                        .positions = r->positions}));
        had[i]++;
    }
    for (int i = 0; i < 3; i++) close_stream(s[i]);
}

static int rows_of(const int *whose, int number)
{
    int n = 0;
    for (int k = 0; k < ROWS; k++) n += whose[k] == number;
    return n;
}

static void rows_are_the_streams(bool pack)
{
    static Row expected[ROWS], got[ROWS];
    static int whose[ROWS];
    uint32_t state = 3;
    make_expected(pack, expected, whose);
    for (int readers = 1; readers <= 8; readers *= readers == 2 ? 4 : 2) {
        Mixture *m = mix(pack, readers, NULL);
        int ended[3] = {0}, i;
        Stream_sum sum;
        for (int b = 0; b < BATCHES; b++) {
            take_batch(m, got + b * BATCH);
            for (; mixture_epoch(m, &i, &sum); ended[i]++) CHECK(sum.epoch == ended[i] && sum.documents == DOCUMENTS);
        }
        CHECK(memcmp(got, expected, sizeof got) == 0);
        CHECK(mixture_taken(m) == ROWS && ended[0] > 1 && ended[1] > 0);
        for (i = 0; i < 3; i++) CHECK(mixture_part(m, i).mixed == rows_of(whose, i));
        close_mixture(m);
    }
    for (int trial = 0; trial < 8; trial++) {
        int at = (int)draw(&state, BATCHES - 3);
        Mix_part part[3];
        Mixture *m = mix(pack, 1 + trial % 2, NULL);
        CHECK(skip_mixture(m, at * BATCH));
        for (int i = 0; i < 3; i++) part[i] = mixture_part(m, i);
        close_mixture(m);
        m = mix(pack, 2 - trial % 2, part);
        CHECK(mixture_taken(m) == at * BATCH);
        for (int b = at; b < at + 3; b++) take_batch(m, got + b * BATCH);
        CHECK(memcmp(got + at * BATCH, expected + at * BATCH, sizeof(Row) * 3 * BATCH) == 0);
        close_mixture(m);
    }
}

int main(void)
{
    char *folder = text_of("%s/mix-XXXXXX", getenv("TMP") ? getenv("TMP") : "/tmp");
    CHECK(mkdtemp(folder));
    turns_by_hand();
    turns_are_the_rule();
    bytes = open_tokenizer(TOKEN_BYTES);
    limit_bytes(bytes, 256);
    source[0] = source[2] = make_source(folder, 'a');
    source[1] = make_source(folder, 'k');
    for (int pack = 0; pack < 2; pack++) rows_are_the_streams(pack);
    return 0;
}
