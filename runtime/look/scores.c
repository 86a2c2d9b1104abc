/* scores.c: eval.json made ready to be drawn: of many classes the confusions that are most frequent instead of all. */
#include "base/json_text.h"
#include "base/words.h"
#include "look/page.h"

#include <stdlib.h>

enum { MOST_CLASSES = 40, MOST_NAMED = 1000, MOST_CONFUSED = 15 };

typedef struct Confused {
    int64_t rows;
    int class, taken_for;
} Confused;

/* Keeps those with most rows in order; equal ones as they come. */
static void put_confused(Confused *most, int *n, Confused one)
{
    int at = *n;
    while (at > 0 && most[at - 1].rows < one.rows) at--;
    if (at == MOST_CONFUSED) return;
    if (*n < MOST_CONFUSED) ++*n;
    for (int i = *n - 1; i > at; i--) most[i] = most[i - 1];
    most[at] = one;
}

/* [[rows, class, taken for], …] */
static json_t *confused_json(const json_t *confusion)
{
    Confused most[MOST_CONFUSED];
    int n = 0;
    json_t *all = json_array();
    for (size_t k = 0; k < json_array_size(confusion) && k < MOST_NAMED; k++)
        for (size_t i = 0; i < json_array_size(json_array_get(confusion, k)) && i < MOST_NAMED; i++) {
            int64_t rows = json_integer_value(json_array_get(json_array_get(confusion, k), i));
            if (i != k && rows > 0) put_confused(most, &n, (Confused){rows, (int)k, (int)i});
        }
    for (int i = 0; i < n; i++)
        add_json(all, json_pack("[I, i, i]", (json_int_t)most[i].rows, most[i].class, most[i].taken_for));
    return all;
}

json_t *drawn_scores(const json_t *eval)
{
    const json_t *metrics = json_object_get(eval, "metrics"), *confusion = json_object_get(metrics, "confusion");
    json_t *all = json_copy((json_t *)eval);
    if (json_array_size(confusion) <= MOST_CLASSES) return all;
    json_t *fewer = json_copy((json_t *)metrics);
    put_json(fewer, "confused", confused_json(confusion));
    json_object_del(fewer, "confusion");
    put_json(all, "metrics", fewer);
    if (json_array_size(json_object_get(all, "classes")) > MOST_NAMED) json_object_del(all, "classes");
    return all;
}
