/* rouge.c: ROUGE-1, ROUGE-2 and ROUGE-L of a text against references (Lin, ROUGE: a package for automatic evaluation of
 * summaries, 2004), with the words of google-research's rouge_score: lower-case runs of a-z and 0-9; on request, those
 * of more than three letters are stemmed. */
#include "base/words.h"
#include "interface/lathe_model.h"
#include "text/rouge.h"

#include <stdlib.h>
#include <string.h>

const char *const rouge_names[ROUGES] = {LATHE_ROUGES};

/* ------------------------------------------------------------------ words */

typedef struct Token {
    const char *at;
    int64_t bytes, place; /* place: number among the words of both texts */
} Token;

typedef struct Tokens { /* of two texts, one after the other */
    bool stem;
    char *letters; /* with the bytes of both texts */
    Token *list;   /* [n] */
    int64_t n, room;
} Tokens;

/* The first letter of the text in lower case; 0: none.  Beside A-Z, two characters have an ASCII letter in lower case:
 * the kelvin sign, and the capital i with a dot, whose second byte then ends the word, as the dot does in
 * rouge_score. */
static char letter_at(const char *text, int64_t n, int *bytes)
{
    char c = *text;
    *bytes = 1;
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) return c;
    if (c >= 'A' && c <= 'Z') return (char)(c + 'a' - 'A');
    if (n >= 3 && memcmp(text, "\xe2\x84\xaa", 3) == 0) return *bytes = 3, 'k';
    return n >= 2 && memcmp(text, "\xc4\xb0", 2) == 0 ? 'i' : 0;
}

static void add_token(Tokens *t, char *at, int64_t bytes)
{
    if (bytes == 0) return;
    if (t->stem && bytes > 3) bytes = stem_word(at, bytes);
    if (t->n == t->room) t->list = must_grow(t->list, sizeof *t->list * (size_t)(t->room = 2 * t->room + 64));
    t->list[t->n] = (Token){at, bytes, t->n};
    t->n++;
}

/* Writes letters to `to`, a part of t->letters; returns their end. */
static char *split_words(Tokens *t, Passage text, char *to)
{
    char *from = to;
    int bytes;
    for (int64_t i = 0; i < text.bytes; i += bytes) {
        char c = letter_at(text.at + i, text.bytes - i, &bytes);
        if (c) {
            *to++ = c;
            continue;
        }
        add_token(t, from, to - from);
        from = to;
    }
    add_token(t, from, to - from);
    return to;
}

static int by_letters(const void *a, const void *b)
{
    const Token *x = a, *y = b;
    int order = memcmp(x->at, y->at, (size_t)(x->bytes < y->bytes ? x->bytes : y->bytes));
    return order ? order : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

typedef struct Words_of { /* both texts as numbers: equal words have equal numbers */
    int32_t *id;          /* [n + m] */
    int64_t n, m;         /* words of the first, of the second; ids are below n + m */
} Words_of;

static Words_of number_words(Passage a, Passage b, bool stem)
{
    Tokens t = {.stem = stem, .letters = must_alloc((size_t)(a.bytes + b.bytes) + 1)};
    char *to = split_words(&t, a, t.letters);
    Words_of w = {.n = t.n};
    split_words(&t, b, to);
    w.m = t.n - w.n;
    w.id = must_alloc(sizeof *w.id * (size_t)(t.n + 1));
    if (t.n) qsort(t.list, (size_t)t.n, sizeof *t.list, by_letters);
    int32_t id = 0;
    for (int64_t k = 0; k < t.n; k++) {
        id += k > 0 && by_letters(&t.list[k - 1], &t.list[k]) != 0;
        w.id[t.list[k].place] = id;
    }
    free(t.letters);
    free(t.list);
    return w;
}

/* ------------------------------------------------------------------ n-grams */

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The sorted n-grams of a length of 1 or 2; returns their number. */
static int64_t sorted_grams(const int32_t *id, int64_t n, int length, uint64_t *out)
{
    int64_t grams = 0;
    for (int64_t i = length - 1; i < n; i++)
        out[grams++] = (uint64_t)(length == 2 ? (uint32_t)id[i - 1] : 0) << 32 | (uint32_t)id[i];
    if (grams) qsort(out, (size_t)grams, sizeof *out, by_size);
    return grams;
}

/* The size of the intersection of two sorted lists, with repeats. */
static int64_t in_common(const uint64_t *a, int64_t n, const uint64_t *b, int64_t m)
{
    int64_t common = 0, i = 0, k = 0;
    while (i < n && k < m) {
        bool one = a[i] <= b[k], other = b[k] <= a[i];
        common += one && other;
        i += one;
        k += other;
    }
    return common;
}

/* ------------------------------------------------------------------ longest common subsequence */

/* Lists the positions of each id k in id[n]: list[start[k]] … list[start[k + 1] - 1]; start: [ids + 1]. */
static void sort_places(const int32_t *id, int64_t n, int64_t ids, int64_t *start, int64_t *list)
{
    memset(start, 0, sizeof *start * (size_t)(ids + 1));
    for (int64_t i = 0; i < n; i++) start[id[i] + 1]++;
    for (int64_t k = 0; k < ids; k++) start[k + 1] += start[k];
    for (int64_t i = n; i-- > 0;) list[--start[id[i] + 1]] = i;
    memmove(start, start + 1, sizeof *start * (size_t)ids);
    start[ids] = n;
}

/* The length of the longest common subsequence, 64 words of a at a time, with memory linear in both: a bit of row[] is
 * 0 if the length grows with that word of a (Crochemore, Iliopoulos, Pinzon, Reid, A fast and practical bit-vector
 * algorithm for the longest common subsequence problem, 2001).  ids: all ids are below this. */
static int64_t common_subsequence(const int32_t *a, int64_t n, const int32_t *b, int64_t m, int64_t ids)
{
    int64_t blocks = n / 64 + 1, zeros = 0;
    int64_t *start = must_alloc(sizeof *start * (size_t)(ids + 2)), *list = must_alloc(sizeof *list * (size_t)(n + 1));
    uint64_t *row = must_alloc(sizeof *row * (size_t)blocks), *match = must_alloc(sizeof *match * (size_t)blocks);
    sort_places(a, n, ids, start, list);
    memset(row, 0xff, sizeof *row * (size_t)blocks);
    for (int64_t j = 0; j < m; j++) {
        uint64_t carry = 0;
        int64_t from = start[b[j]], to = start[b[j] + 1];
        for (int64_t k = from; k < to; k++) match[list[k] / 64] |= UINT64_C(1) << list[k] % 64;
        for (int64_t k = 0; k < blocks && from < to; k++) {
            uint64_t both = row[k] & match[k], sum = row[k] + both, next = sum + carry;
            carry = (sum < both) | (next < carry);
            row[k] = next | (row[k] & ~match[k]);
        }
        for (int64_t k = from; k < to; k++) match[list[k] / 64] = 0;
    }
    for (int64_t i = 0; i < n; i++) zeros += !(row[i / 64] >> i % 64 & 1);
    free(start);
    free(list);
    free(row);
    free(match);
    return zeros;
}

/* ------------------------------------------------------------------ scores */

static Rouge rouge_of(int64_t common, int64_t reference, int64_t text)
{
    Rouge r = {.precision = (double)common / (double)(text > 0 ? text : 1),
               .recall = (double)common / (double)(reference > 0 ? reference : 1)};
    if (common) r.f1 = 2 * r.precision * r.recall / (r.precision + r.recall);
    return r;
}

static Rouge gram_rouge(const Words_of *w, int length, uint64_t *room)
{
    int64_t n = sorted_grams(w->id, w->n, length, room), m = sorted_grams(w->id + w->n, w->m, length, room + n);
    return rouge_of(in_common(room, n, room + n, m), n, m);
}

static void rouge_scores(Passage reference, Passage text, bool stem, Rouge *to)
{
    Words_of w = number_words(reference, text, stem);
    uint64_t *room = must_alloc(sizeof *room * (size_t)(w.n + w.m + 1));
    to[ROUGE_1] = gram_rouge(&w, 1, room);
    to[ROUGE_2] = gram_rouge(&w, 2, room);
    bool less = w.n < w.m;
    const int32_t *b = w.id + w.n;
    int64_t common =
        less ? common_subsequence(w.id, w.n, b, w.m, w.n + w.m) : common_subsequence(b, w.m, w.id, w.n, w.n + w.m);
    to[ROUGE_L] = rouge_of(common, w.n, w.m);
    free(room);
    free(w.id);
}

void best_rouge(const Passage *reference, int64_t n, Passage text, bool stem, Rouge *to)
{
    for (int64_t i = 0; i < n; i++) {
        Rouge one[ROUGES];
        rouge_scores(reference[i], text, stem, one);
        for (int k = 0; k < ROUGES; k++)
            if (i == 0 || one[k].f1 > to[k].f1) to[k] = one[k];
    }
}
