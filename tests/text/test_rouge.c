/* test_rouge.c: ROUGE scores and stems that rouge_score gave (tests/reference/rouge.py); common subsequences against a
 * table, and of a long text. */
#include "harness.h"
#include "base/words.h"
#include "text/rouge.h"

#include <math.h>
#include <string.h>

static Passage passage_of(const json_t *text)
{
    return (Passage){json_string_value(text), (int64_t)json_string_length(text)};
}

static bool same_scores(const Rouge *found, const json_t *want)
{
    for (size_t k = 0; k < ROUGES; k++) {
        const json_t *one = json_array_get(want, k);
        if (json_number_value(json_array_get(one, 0)) != found[k].precision ||
            json_number_value(json_array_get(one, 1)) != found[k].recall ||
            json_number_value(json_array_get(one, 2)) != found[k].f1)
            return false;
    }
    return true;
}

static void check_case(const json_t *one)
{
    const json_t *references = json_object_get(one, "references");
    Passage text = passage_of(json_object_get(one, "text")), reference[8];
    int64_t n = (int64_t)json_array_size(references);
    Rouge found[ROUGES];
    for (int64_t i = 0; i < n; i++) reference[i] = passage_of(json_array_get(references, (size_t)i));
    for (int stem = 0; stem < 2; stem++) {
        best_rouge(reference, n, text, stem, found);
        expect(same_scores(found, json_object_get(one, stem ? "stemmed" : "plain")), "other scores, stem %d: %.60s",
               stem, text.at);
    }
}

static void check_recording(void)
{
    json_t *all = json_load_file("tests/reference/rouge.json", JSON_ALLOW_NUL, NULL), *one;
    json_t *stems = json_object_get(all, "stems"), *cases = json_object_get(all, "cases");
    size_t i;
    expect(json_array_size(stems) > 2500 && json_array_size(cases) > 150, "a whole recording");
    json_array_foreach(stems, i, one)
    {
        const char *word = json_string_value(json_array_get(one, 0)), *want = json_string_value(json_array_get(one, 1));
        char stem[64];
        int64_t n = stem_word(strcpy(stem, word), (int64_t)strlen(word));
        expect(n == (int64_t)strlen(want) && memcmp(stem, want, (size_t)n) == 0, "the stem of %s is %s, found %.*s",
               word, want, (int)n, stem);
    }
    json_array_foreach(cases, i, one) check_case(one);
    json_decref(all);
}

/* ------------------------------------------------------------------ ROUGE-L */

enum { MOST = 300 };

static int table_length(const char *a, int n, const char *b, int m)
{
    static int length[MOST + 1][MOST + 1];
    for (int i = 1; i <= n; i++)
        for (int k = 1; k <= m; k++) {
            int longer = length[i - 1][k] > length[i][k - 1] ? length[i - 1][k] : length[i][k - 1];
            length[i][k] = a[2 * i - 2] == b[2 * k - 2] ? length[i - 1][k - 1] + 1 : longer;
        }
    return length[n][m];
}

/* Words of one letter, a blank behind each. */
static Passage letters(char *to, int n, int kinds, Rng *r)
{
    for (int i = 0; i < n; i++) to[2 * i] = (char)('a' + below(r, kinds)), to[2 * i + 1] = ' ';
    return (Passage){to, 2 * n};
}

static void check_subsequences(void)
{
    Rng r = rng_of(3);
    char a[2 * MOST], b[2 * MOST];
    for (int round = 0; round < 400; round++) {
        int kinds = 1 + (int)below(&r, 26), n = (int)below(&r, MOST + 1), m = (int)below(&r, MOST + 1);
        Passage x = letters(a, n, kinds, &r), y = letters(b, m, kinds, &r);
        Rouge found[ROUGES];
        best_rouge(&x, 1, y, false, found);
        double want = m ? (double)table_length(a, n, b, m) / m : 0;
        if (!expect(found[ROUGE_L].precision == want, "%d and %d words of %d kinds", n, m, kinds)) return;
    }
}

/* A table of all words by all words would take 64 GB. */
static void check_long(void)
{
    enum { WORDS = 130000 };
    Rng r = rng_of(4);
    char *text = malloc(8 * WORDS);
    int64_t n = 0;
    for (int i = 0; i < WORDS; i++) n += sprintf(text + n, "%lld ", (long long)below(&r, 9000));
    Passage all = {text, n}, most = {text, n - 6};
    Rouge found[ROUGES];
    best_rouge(&all, 1, all, true, found);
    expect(found[ROUGE_1].f1 == 1 && found[ROUGE_2].f1 == 1 && found[ROUGE_L].f1 == 1, "a long text and itself");
    best_rouge(&all, 1, most, true, found);
    expect(found[ROUGE_L].recall > 0.9999 && found[ROUGE_L].recall < 1, "all but its end");
    char word[] = "yyyyyyyyyyyyed";
    expect(stem_word(word, 14) == 12, "y behind y");
    memset(text, 'y', 8 * WORDS);
    best_rouge(&(Passage){text, 8 * WORDS}, 1, (Passage){text, 8 * WORDS - 1}, true, found);
    expect(found[ROUGE_1].f1 == 0, "words of a million letters");
    free(text);
}

int main(void)
{
    check_recording();
    check_subsequences();
    check_long();
    return finish();
}
