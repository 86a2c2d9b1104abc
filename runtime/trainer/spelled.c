/* spelled.c: the text that the outputs of CTC spell, by the likeliest class of each time, and how far it is from
 * another one: the error rates of characters and words are edit distances over all texts, divided by their lengths. */
#include "base/printable.h"
#include "base/words.h"
#include "data/files.h"
#include "model/tables.h"
#include "trainer/spelled.h"

#include <stdlib.h>
#include <string.h>

bool are_spellings(const Lathe_model *m, const Lathe_tensor *t)
{
    return m->recipe.texts && strcmp(t->name, "logits") == 0 && t->rank == 3 && t->dim[2] > 1 &&
           t->dtype != LATHE_I32 && t->dtype != LATHE_BOOL;
}

const Lathe_tensor *length_of_spellings(const Lathe_entry *e)
{
    const Lathe_tensor *t = output_named(e, "lengths");
    return t && t->rank == 1 && t->dtype == LATHE_I32 ? t : NULL;
}

/* The first of equal ones; not a number counts as the least. */
static int64_t likeliest(const double *x, int64_t n)
{
    int64_t best = 0;
    for (int64_t k = 1; k < n; k++)
        if (x[k] > x[best] || (x[best] != x[best] && x[k] == x[k])) best = k;
    return best;
}

char *spelled_text(const Predictions *p, const Lathe_tensor *t, const char *out, int64_t row, const double *x)
{
    const Words *letters = &index_of_files(p->data->files)->classes;
    const Lathe_tensor *lengths = length_of_spellings(p->entry);
    int64_t time = t->dim[1], n = t->dim[2], before = 0;
    if (lengths) time = (int64_t)read_element(LATHE_I32, out + lengths->offset, row);
    if (time > t->dim[1]) time = t->dim[1];
    char *text = must_alloc((size_t)(4 * t->dim[1]) + 1); /* a character has up to 4 bytes */
    char *end = text;
    for (int64_t at = 0; at < time; at++) {
        int64_t class = likeliest(x + at * n, n);
        if (class != before && class > 0 && class < letters->n) end = stpcpy(end, letters->at[class]);
        before = class;
    }
    return text;
}

/* ------------------------------------------------------------------ errors */

/* Takes a text apart: into words, or into characters. */
static Passage *cut_text(const char *text, bool words, int64_t *n)
{
    Passage *all = must_alloc(sizeof *all * (strlen(text) + 1));
    uint32_t code;
    *n = 0;
    for (int64_t k; *text; text += k) {
        if (words && *text == ' ') {
            k = 1;
            continue;
        }
        k = words ? (int64_t)strcspn(text, " ")
                  : utf8_character((const unsigned char *)text, (int64_t)strlen(text), &code);
        if (k < 1) k = 1;
        all[(*n)++] = (Passage){text, k};
    }
    return all;
}

static bool same_part(const Passage *a, const Passage *b)
{
    return a->bytes == b->bytes && memcmp(a->at, b->at, (size_t)a->bytes) == 0;
}

/* The fewest parts to put in, leave out or replace (Levenshtein). */
static int64_t edits(const Passage *a, int64_t n, const Passage *b, int64_t m)
{
    int64_t *cost = must_alloc(sizeof *cost * (size_t)(m + 1)); /* of a's first parts to b's first k */
    for (int64_t k = 0; k <= m; k++) cost[k] = k;
    for (int64_t i = 0; i < n; i++) {
        int64_t left_above = cost[0];
        cost[0] = i + 1;
        for (int64_t k = 1; k <= m; k++) {
            int64_t replaced = left_above + !same_part(&a[i], &b[k - 1]), least = replaced;
            left_above = cost[k];
            if (cost[k] + 1 < least) least = cost[k] + 1;
            if (cost[k - 1] + 1 < least) least = cost[k - 1] + 1;
            cost[k] = least;
        }
    }
    int64_t all = cost[m];
    free(cost);
    return all;
}

static int64_t edits_of(const char *spelled, const char *text, bool words, int64_t *parts)
{
    int64_t n;
    Passage *a = cut_text(spelled, words, &n), *b = cut_text(text, words, parts);
    int64_t all = edits(a, n, b, *parts);
    free(a);
    free(b);
    return all;
}

void add_spelling(Spelling_errors *e, const char *spelled, const char *text)
{
    int64_t letters, words;
    e->wrong_letters += edits_of(spelled, text, false, &letters);
    e->wrong_words += edits_of(spelled, text, true, &words);
    e->letters += letters;
    e->words += words;
    e->rows++;
}
