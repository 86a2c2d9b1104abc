/* test_next_token.c: how often tokens are drawn under temperature, top-k, top-p and min-p, beside the probabilities
 * that transformers gives them (tests/reference/min_p.py); masks of a grammar; a token that nothing allows. */
#include "harness.h"
#include "math/math.h"
#include "step/sample.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

enum { DRAWS = 40000, MOST_IDS = 16 };

static Candidate list[MOST_IDS];
static uint8_t seen[MOST_IDS];
static const Ends no_ends = {.n = 0};

static Sampler sampler_of(int64_t n, const Lathe_recipe *r)
{
    Sampler s = {.n = n, .ids = n, .ends = &no_ends, .list = list, .seen = seen};
    sampler_init(&s, r, 7, 0);
    return s;
}

static void check_case(const json_t *one)
{
    const json_t *want = json_array_get(one, 5), *pair;
    int64_t n = (int64_t)json_array_size(json_array_get(one, 0));
    float logits[MOST_IDS];
    double count[MOST_IDS] = {0}, p[MOST_IDS] = {0};
    size_t i;
    for (int64_t k = 0; k < n; k++)
        logits[k] = (float)json_number_value(json_array_get(json_array_get(one, 0), (size_t)k));
    json_array_foreach(want, i, pair) p[json_integer_value(json_array_get(pair, 0))] =
        json_number_value(json_array_get(pair, 1));
    const Lathe_recipe r = {.temperature = json_number_value(json_array_get(one, 1)),
                            .top_k = json_integer_value(json_array_get(one, 2)),
                            .top_p = json_number_value(json_array_get(one, 3)),
                            .min_p = json_number_value(json_array_get(one, 4))};
    Sampler s = sampler_of(n, &r);
    for (int64_t k = 0; k < DRAWS; k++) count[sample_token(&s, LATHE_F32, logits, k)]++;
    for (int64_t k = 0; k < n; k++) {
        double off = fabs(count[k] - DRAWS * p[k]), may = 5 * sqrt(DRAWS * p[k] * (1 - p[k]));
        expect(off <= may, "min_p %g top_k %d top_p %g: token %d came %g times, %g expected", r.min_p, (int)r.top_k,
               r.top_p, (int)k, count[k], DRAWS * p[k]);
    }
}

/* Only allowed tokens come, as often as they would among themselves; the filters see no others. */
static void check_mask(void)
{
    const float logits[5] = {3, 1, 2, 0, 1};
    const uint64_t allowed = 1 << 1 | 1 << 3 | 1 << 4, none = 0;
    Lathe_recipe r = {.temperature = 1, .top_k = 2};
    int count[5] = {0};
    Sampler s = sampler_of(5, &r);
    s.allowed = &allowed;
    for (int64_t k = 0; k < 4000; k++) count[sample_token(&s, LATHE_F32, logits, k)]++;
    expect(count[0] == 0 && count[2] == 0 && count[3] == 0 && abs(count[1] - 2000) < 160,
           "the two likeliest that may come: %d %d %d %d %d", count[0], count[1], count[2], count[3], count[4]);
    r.temperature = 0;
    s = sampler_of(5, &r);
    s.allowed = &allowed;
    expect(sample_token(&s, LATHE_F32, logits, 0) == 1, "the likeliest that may come");
    s.allowed = &none;
    expect(sample_token(&s, LATHE_F32, logits, 0) == -1, "no token may come");
}

/* Of equal ones the first ids count as better, as they would after sorting. */
static void check_best(void)
{
    for (int trial = 0; trial < 300; trial++) {
        float logits[MOST_IDS];
        const int n = 1 + trial % MOST_IDS;
        const Lathe_recipe r = {.temperature = 1, .top_k = 1 + trial / MOST_IDS % n};
        for (int k = 0; k < n; k++) logits[k] = (float)(philox_word(trial, k, 0, 0, 0) & 3);
        Sampler s = sampler_of(n, &r);
        for (int64_t at = 0; at < 20; at++) {
            const int32_t id = sample_token(&s, LATHE_F32, logits, at);
            int better = 0;
            for (int k = 0; k < n; k++) better += logits[k] > logits[id] || (logits[k] == logits[id] && k < id);
            expect(better < r.top_k, "trial %d: %d are better than token %d of the best %d", trial, better, id,
                   (int)r.top_k);
        }
    }
}

int main(void)
{
    json_t *all = json_load_file("tests/reference/min_p.json", 0, NULL), *one;
    size_t i;
    expect(json_array_size(all) == 8, "a whole recording");
    json_array_foreach(all, i, one) check_case(one);
    json_decref(all);
    check_mask();
    check_best();
    return finish();
}
