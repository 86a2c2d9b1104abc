/* corpus.c: the data for learning a unigram model: characters that become tokens, and words of these characters
 * alone. */
#include "base/utf8.h"
#include "base/words.h"
#include "token/token.h"
#include "token/tokenizer.h"

#define COVERED 0.9995 /* of all characters of a text, as in SentencePiece; the others are spelt by bytes */

typedef struct Letter {
    uint32_t code;
    int64_t count;
} Letter;

static int by_count(const void *a, const void *b)
{
    const Letter *x = a, *y = b;
    return x->count != y->count ? (x->count > y->count ? -1 : 1) : x->code < y->code ? -1 : x->code > y->code;
}

/* [CODE_POINTS] the count of each character; *all: their sum. */
static int64_t *count_letters(const Strings *piece, const int64_t *count, int64_t *all)
{
    int64_t *times = must_alloc(sizeof *times * CODE_POINTS);
    for (int32_t k = 0; k < piece->n; k++) {
        int64_t n;
        const char *at = string_at(piece, k, &n);
        for (int64_t i = 0; i < n;) {
            uint32_t code;
            int length = decode_utf8((const unsigned char *)at + i, n - i, &code);
            if (length && code) times[code] += count[k], *all += count[k];
            i += length ? length : 1;
        }
    }
    return times;
}

/* Chooses the most frequent until nearly all of the text is covered; at most half of the tokens. */
static void choose_letters(const Strings *piece, const int64_t *count, int64_t most, Strings *single, double **weight)
{
    int64_t all = 0, n = 0, *times = count_letters(piece, count, &all);
    double covered = 0;
    Letter *letter = must_alloc(sizeof *letter * CODE_POINTS);
    for (uint32_t c = 0; c < CODE_POINTS; c++)
        if (times[c]) letter[n++] = (Letter){c, times[c]};
    if (n) qsort(letter, (size_t)n, sizeof *letter, by_count);
    *weight = must_alloc(sizeof **weight * (size_t)(n + 1));
    for (int64_t k = 0; k < n && k < most && covered < COVERED * (double)all; k++) {
        char utf8[4];
        covered += (double)letter[k].count;
        (*weight)[k] = (double)letter[k].count;
        add_string(single, utf8, encode_utf8(letter[k].code, utf8), true);
    }
    free(times);
    free(letter);
}

typedef struct Draft_corpus {
    Draft_text text;
    int64_t *begin, *count, words, room;
} Draft_corpus;

static void put_bytes(Draft_text *d, const char *at, int64_t n)
{
    if (d->n + n > d->room) {
        d->room = (d->n + n) * 2 + 4096;
        d->at = must_grow(d->at, (size_t)d->room);
    }
    memcpy(d->at + d->n, at, (size_t)n);
    d->n += n;
}

static void end_word(Draft_corpus *c, int64_t begin, int64_t count)
{
    if (c->text.n == begin) return;
    put_bytes(&c->text, "\xff", 1);
    if (c->words == c->room) {
        c->room = c->room * 2 + 1024;
        c->begin = must_grow(c->begin, sizeof *c->begin * (size_t)c->room);
        c->count = must_grow(c->count, sizeof *c->count * (size_t)c->room);
    }
    c->begin[c->words] = begin;
    c->count[c->words++] = count;
}

/* Adds a piece, cut at characters that are not tokens. */
static void put_piece(Draft_corpus *c, const Strings *single, const char *at, int64_t n, int64_t count)
{
    int64_t begin = c->text.n;
    for (int64_t i = 0; i < n;) {
        uint32_t code;
        int length = decode_utf8((const unsigned char *)at + i, n - i, &code);
        if (length && find_string(single, at + i, length) >= 0) {
            put_bytes(&c->text, at + i, length);
        } else {
            end_word(c, begin, count);
            begin = c->text.n;
        }
        i += length ? length : 1;
    }
    end_word(c, begin, count);
}

void learn_corpus(Tokenizer *t, const Strings *piece, const int64_t *count, int64_t size)
{
    Draft_corpus c = {0};
    Strings single = {0};
    double *weight;
    choose_letters(piece, count, size / 2, &single, &weight);
    for (int32_t k = 0; k < piece->n; k++) {
        int64_t n;
        const char *at = string_at(piece, k, &n);
        put_piece(&c, &single, at, n, count[k]);
    }
    if (c.text.n > INT32_MAX - SEED_BYTES)
        fail(EXIT_DATA, NULL,
             "the text has %lld bytes of distinct words, and a unigram model is learned from at most 2 GB",
             (long long)c.text.n);
    put_bytes(&c.text, (char[SEED_BYTES]){0}, SEED_BYTES);
    Corpus corpus = {c.text.at, c.text.n - SEED_BYTES, c.words, c.begin, c.count};
    learn_unigram(t, &corpus, &single, weight, size);
    free(c.text.at);
    free(c.begin);
    free(c.count);
    free(weight);
    free_strings(&single);
}
