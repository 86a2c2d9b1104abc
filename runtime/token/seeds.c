/* seeds.c: candidates for tokens of a unigram model: strings that occur in several places of a text's words, found by a
 * suffix array (the inner nodes of its tree of common prefixes), and the words themselves.
 *
 * The words are concatenated with a byte 0xff after each, which UTF-8 never has.  Suffixes are sorted by their first
 * bytes by multikey quicksort (Bentley and Sedgewick 1997). */
#include "base/words.h"
#include "token/token.h"

enum { END = 0xff };

typedef struct Suffixes {
    const Corpus *c;
    int32_t *at; /* [n] where characters begin, then in order */
    int64_t n;
    Seed *seed;
    int64_t seeds, room;
} Suffixes;

static int byte_of(const Suffixes *s, int32_t at, int depth) { return (unsigned char)s->c->text[at + depth]; }

static void swap(int32_t *a, int32_t *b)
{
    int32_t c = *a;
    *a = *b;
    *b = c;
}

/* Sorts at[0 … n) by the bytes from depth on; equal ones end up adjacent. */
static void sort_suffixes(const Suffixes *s, int32_t *at, int64_t n, int depth)
{
    while (n > 1 && depth < SEED_BYTES) {
        int pivot = byte_of(s, at[(uint64_t)n * 0x9E3779B9u >> 32], depth);
        int64_t low = 0, high = n;
        for (int64_t i = 0; i < high;) {
            int byte = byte_of(s, at[i], depth);
            if (byte < pivot) swap(&at[low++], &at[i++]);
            else if (byte > pivot) swap(&at[--high], &at[i]);
            else i++;
        }
        sort_suffixes(s, at, low, depth);
        sort_suffixes(s, at + high, n - high, depth);
        if (pivot == END) return;
        at += low;
        n = high - low;
        depth++;
    }
}

static bool begins_character(char c) { return ((unsigned char)c & 0xc0) != 0x80; }

/* The common prefix of two suffixes in whole characters, in bytes. */
static int common(const Suffixes *s, int32_t a, int32_t b)
{
    int n = 0;
    while (n < SEED_BYTES && byte_of(s, a, n) == byte_of(s, b, n) && byte_of(s, a, n) != END) n++;
    while (n > 0 && !begins_character(s->c->text[a + n]) && byte_of(s, a, n) != END) n--;
    return n;
}

static int64_t count_at(const Corpus *c, int32_t at)
{
    int64_t low = 0, high = c->words - 1;
    while (low < high) {
        int64_t middle = (low + high + 1) / 2;
        if (c->begin[middle] <= at) low = middle;
        else high = middle - 1;
    }
    return c->count[low];
}

static void add_seed(Suffixes *s, int32_t at, int bytes, int64_t count)
{
    int characters = 0;
    for (int i = 0; i < bytes; i++) characters += begins_character(s->c->text[at + i]);
    if (characters < 2 || characters > SEED_CHARACTERS || count < 2) return;
    if (s->seeds == s->room) {
        s->room = s->room * 2 + 1024;
        s->seed = must_grow(s->seed, sizeof *s->seed * (size_t)s->room);
    }
    s->seed[s->seeds++] = (Seed){s->c->text + at, bytes, (double)count, (double)count * characters};
}

/* Finds each range of neighbours with a common prefix: the prefix, and its count. */
static void find_repeated(Suffixes *s)
{
    struct Open {
        int bytes;
        int64_t count;
    } open[SEED_BYTES + 2] = {{0, 0}}, *top = open;
    for (int64_t i = 1; i <= s->n; i++) {
        int bytes = i < s->n ? common(s, s->at[i - 1], s->at[i]) : 0;
        int64_t count = count_at(s->c, s->at[i - 1]);
        for (; top->bytes > bytes; top--) {
            count += top->count;
            add_seed(s, s->at[i - 1], top->bytes, count);
        }
        if (top->bytes < bytes) *++top = (struct Open){bytes, count};
        else top->count += count;
    }
}

static void add_corpus(Suffixes *s)
{
    for (int64_t k = 0; k < s->c->words; k++) {
        int64_t end = k + 1 < s->c->words ? s->c->begin[k + 1] : s->c->bytes, bytes = end - 1 - s->c->begin[k];
        if (bytes <= SEED_BYTES) add_seed(s, (int32_t)s->c->begin[k], (int)bytes, s->c->count[k]);
    }
}

/* The most bytes covered first; equal ones by their bytes. */
static int by_cover(const void *a, const void *b)
{
    const Seed *x = a, *y = b;
    if (x->cover != y->cover) return x->cover > y->cover ? -1 : 1;
    int order = memcmp(x->at, y->at, (size_t)(x->bytes < y->bytes ? x->bytes : y->bytes));
    return order ? order : x->bytes - y->bytes;
}

Seed *find_seeds(const Corpus *c, int64_t *n)
{
    Suffixes s = {.c = c, .at = must_alloc(sizeof *s.at * (size_t)(c->bytes + 1))};
    for (int64_t i = 0; i < c->bytes; i++)
        if ((unsigned char)c->text[i] != END && begins_character(c->text[i])) s.at[s.n++] = (int32_t)i;
    sort_suffixes(&s, s.at, s.n, 0);
    find_repeated(&s);
    free(s.at);
    add_corpus(&s);
    if (s.seeds) qsort(s.seed, (size_t)s.seeds, sizeof *s.seed, by_cover);
    *n = s.seeds;
    return s.seed;
}
