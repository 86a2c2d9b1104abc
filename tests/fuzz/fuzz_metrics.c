/* fuzz_metrics.c: what reports read of a run.  The first line is its run.json, config.json, eval.json, profile.json and
 * data.json, the others are those of metrics.jsonl; all of them also those of histograms.jsonl.  What comes out is JSON
 * without markup, with no more points than there may be, all finite. */
#include "base/words.h"
#include "fuzz.h"
#include "look/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check(bool holds)
{
    if (!holds) abort();
}

static void check_series(const Series *s)
{
    static Point p[2 * BUCKETS + 2];
    int n = points_of_series(s, p);
    check(n <= 2 * BUCKETS + 2 && (n > 0) == (s->finite > 0));
    bool least = n == 0, greatest = n == 0;
    for (int i = 0; i < n; i++) {
        check(isfinite(p[i].value) && (i == 0 || p[i - 1].line < p[i].line));
        least |= p[i].value == s->least.value;
        greatest |= p[i].value == s->greatest.value;
    }
    check(least && greatest);
    check(fewer_points(p, n, 40) <= 40);
}

static void check_json(json_t *all)
{
    size_t bytes;
    char *text = script_json(all, &bytes);
    check(strlen(text) == bytes && !strpbrk(text, "<>&") && !strstr(text, "\xe2\x80\xa8"));
    json_t *again = json_loads(text, 0, NULL);
    check(again != NULL);
    json_decref(again);
    json_decref(all);
    free(text);
}

/* Each strip has as many cells as its columns and powers are. */
static void check_histograms(const char *path)
{
    json_t *all = drawn_histograms(path, 5000), *row;
    size_t i, powers = (size_t)json_integer_value(json_object_get(all, "powers"));
    size_t columns = json_array_size(json_object_get(all, "steps"));
    json_array_foreach(json_object_get(all, "rows"), i, row)
        check(json_string_length(json_object_get(row, "ratio")) == powers * columns);
    if (!json_is_null(all)) check_json(all);
}

void fuzz_one(const char *path, const char *text, size_t n)
{
    const char *end = memchr(text, '\n', n), *at = end ? end + 1 : text + n;
    Past_run *r = new_past(path);
    json_t *first = json_loadb(text, (size_t)(at - text), 0, NULL);
    if (json_is_object(first))
        r->about = json_incref(first), r->config = json_incref(first), r->eval = json_incref(first),
        r->profile = json_incref(first), r->data = json_incref(first);
    json_decref(first);
    while (at < text + n) {
        const char *next = memchr(at, '\n', (size_t)(text + n - at));
        size_t length = next ? (size_t)(next + 1 - at) : (size_t)(text + n - at);
        take_metrics_line(r, at, length);
        at += length;
    }
    for (int i = 0; i < r->n; i++) check_series(r->series[i]);
    check_json(page_json(&r, 1, 1000, false));
    check_histograms(path);
    free_past(r);
}
