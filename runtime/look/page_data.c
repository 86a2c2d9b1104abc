/* page_data.c: what a report draws of runs, as JSON.
 *
 * Places of points are whole numbers, each as its distance from the one before: steps, tokens, milliseconds.  Series
 * whose points lie at the same places share them. */
#include "base/json_text.h"
#include "base/words.h"
#include "interface/scores.h"
#include "look/lines.h"
#include "look/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef enum Axis { STEPS, UNITS, MILLISECONDS, AXES } Axis;

typedef struct Places { /* of one run, those that series share */
    json_t *all;
    Point *of[MOST_SERIES];
    int points[MOST_SERIES], n;
} Places;

static double place_on(const Point *p, Axis axis)
{
    double x = axis == STEPS ? p->step : axis == UNITS ? p->units : p->seconds * 1e3;
    return fabs(x) < 9e15 ? x : 0;
}

static json_t *distances(const Point *p, int n, Axis axis)
{
    json_t *all = json_array();
    int64_t before = 0;
    for (int i = 0; i < n; i++) {
        int64_t at = llround(place_on(&p[i], axis));
        add_json(all, json_integer(at - before));
        before = at;
    }
    return all;
}

static bool same_places(const Point *a, const Point *b, int n)
{
    for (int i = 0; i < n; i++)
        if (a[i].line != b[i].line) return false;
    return true;
}

/* The number of these places; takes p. */
static int number_of_places(Places *all, Point *p, int n)
{
    for (int i = 0; i < all->n; i++)
        if (all->points[i] == n && same_places(all->of[i], p, n)) return free(p), i;
    json_t *axes = json_array();
    for (Axis a = 0; a < AXES; a++) add_json(axes, distances(p, n, a));
    add_json(all->all, axes);
    all->of[all->n] = p;
    all->points[all->n] = n;
    return all->n++;
}

static json_t *finite_json(double x)
{
    if (isnan(x)) return json_string("NaN");
    if (isinf(x)) return json_string(x > 0 ? "Infinity" : "-Infinity");
    return x == floor(x) && fabs(x) < 1e15 ? json_integer((json_int_t)x) : json_real(x);
}

static json_t *point_json(const Point *p)
{
    return json_pack("[o, o, o, o]", finite_json(p->step), finite_json(p->units), finite_json(p->seconds),
                     finite_json(p->value));
}

static json_t *marks_json(const Series *s)
{
    json_t *all = json_array();
    for (int64_t i = 0; i < s->odd && i < MOST_MARKS; i++) add_json(all, point_json(&s->mark[i]));
    return all;
}

static json_t *series_json(const Series *s, int most, Places *places)
{
    Point *p = must_alloc(sizeof *p * (2 * BUCKETS + 2));
    int n = fewer_points(p, points_of_series(s, p), most);
    json_t *all = json_object(), *values = json_array();
    for (int i = 0; i < n; i++) add_json(values, finite_json(p[i].value));
    put_json(all, "split", json_string(s->split));
    put_json(all, "name", json_string(s->name));
    put_json(all, "less", json_integer(lathe_less_is_better(s->name)));
    put_json(all, "n", json_integer(s->finite));
    put_json(all, "odd", json_integer(s->odd));
    put_json(all, "marks", marks_json(s));
    if (s->finite) {
        put_json(all, "least", point_json(&s->least));
        put_json(all, "greatest", point_json(&s->greatest));
        put_json(all, "last", point_json(&s->last));
    }
    put_json(all, "places", json_integer(number_of_places(places, p, n)));
    put_json(all, "values", values);
    return all;
}

/* ------------------------------------------------------------------ samples */

enum { HISTOGRAMS = 250000 }; /* bytes of a page */
enum { MOST_TEXT = 4000, MOST_ARRAYS = 16, MOST_ELEMENTS = 1 << 12 };

static json_t *first_of_text(const json_t *text)
{
    const char *at = json_string_value(text);
    size_t n = json_string_length(text), keep = n < MOST_TEXT ? n : MOST_TEXT;
    while (at && keep < n && keep && ((unsigned char)at[keep] & 0xc0) == 0x80) keep--;
    return at ? text_json(at, keep) : json_null();
}

static double element_of_output(const json_t *values, size_t i)
{
    double x;
    return number_of_value(json_array_get(values, i), &x) && isfinite(x) ? x : 0;
}

/* Halves, as the distance of two numbers may be none. */
static int grey_of(double x, double low, double high)
{
    return high > low ? (int)(255 * ((x / 2 - low / 2) / (high / 2 - low / 2)) + .5) : 0;
}

/* An array as levels from 0 to 255 between its least and its greatest number; NULL: it is none, or too large. */
static json_t *levels_json(const json_t *output)
{
    enum { FIRST = 12 };
    const json_t *values = json_object_get(output, "values"), *shape = json_object_get(output, "shape");
    size_t n = json_array_size(values);
    if (!n || n > MOST_ELEMENTS || !json_is_array(shape)) return NULL;
    double low = element_of_output(values, 0), high = low;
    json_t *levels = json_array(), *first = json_array();
    for (size_t i = 0; i < n; i++)
        low = fmin(low, element_of_output(values, i)), high = fmax(high, element_of_output(values, i));
    for (size_t i = 0; i < n; i++) add_json(levels, json_integer(grey_of(element_of_output(values, i), low, high)));
    for (size_t i = 0; i < n && i < FIRST; i++) add_json(first, json_real(element_of_output(values, i)));
    return json_pack("{s:O, s:f, s:f, s:o, s:o}", "shape", shape, "low", low, "high", high, "levels", levels, "first",
                     first);
}

static json_t *sample_json(const json_t *line, bool arrays)
{
    json_t *all = json_object();
    const json_t *outputs = json_object_get(line, "outputs");
    put_json(all, "step", json_incref(json_object_get(line, "step")));
    put_json(all, "prompt", first_of_text(json_object_get(line, "prompt")));
    put_json(all, "text", first_of_text(json_object_get(line, "text")));
    if (arrays && json_is_object(outputs)) {
        const char *name;
        json_t *output, *kept = json_object();
        json_object_foreach((json_t *)outputs, name, output)
        {
            json_t *levels = levels_json(output);
            if (levels) json_object_set_new(kept, name, levels);
        }
        put_json(all, "outputs", kept);
    }
    return all;
}

/* arrays: of how many of the last the arrays are kept. */
static json_t *samples_json(const json_t *lines, size_t arrays)
{
    json_t *all = json_array();
    size_t n = json_array_size(lines);
    for (size_t i = 0; i < n; i++) add_json(all, sample_json(json_array_get(lines, i), n - i <= arrays));
    return all;
}

/* ------------------------------------------------------------------ a run */

static json_t *or_null(json_t *value) { return value ? json_incref(value) : json_null(); }

static json_t *about_json(const Past_run *r)
{
    if (!r->about) return json_null();
    json_t *all = json_copy(r->about);
    if (json_object_get(all, "plan")) put_json(all, "plan", drawn_plan(json_object_get(all, "plan")));
    return all;
}

static json_t *histograms_of(const Past_run *r, int64_t bytes)
{
    char *path = text_of("%s/histograms.jsonl", r->folder);
    json_t *drawn = drawn_histograms(path, bytes);
    free(path);
    return drawn;
}

static json_t *run_json(const Past_run *r, int most, size_t arrays, int64_t histograms)
{
    Places places = {.all = json_array()};
    json_t *all = json_object(), *series = json_array();
    for (int i = 0; i < r->n; i++) add_json(series, series_json(r->series[i], most, &places));
    put_json(all, "name", word_json(r->name));
    put_json(all, "folder", word_json(r->folder));
    put_json(all, "state", json_string(state_words[state_of_run(r->folder, r->config, r->about, r->step)]));
    put_json(all, "step", finite_json(r->step));
    put_json(all, "seconds", finite_json(r->seconds));
    put_json(all, "units", finite_json(r->units));
    put_json(all, "unit", r->unit ? json_string(r->unit) : json_null());
    put_json(all, "config", or_null(r->config));
    put_json(all, "about", about_json(r));
    put_json(all, "eval", r->eval ? drawn_scores(r->eval) : json_null());
    put_json(all, "profile", r->profile ? drawn_profile(r->profile) : json_null());
    put_json(all, "histograms", histograms_of(r, histograms));
    put_json(all, "data", or_null(r->data));
    put_json(all, "series", series);
    put_json(all, "places", places.all);
    put_json(all, "samples", samples_json(r->samples, arrays));
    put_json(all, "faults", json_incref(r->faults));
    for (int i = 0; i < places.n; i++) free(places.of[i]);
    return all;
}

json_t *page_json(Past_run *const *runs, int n, int64_t points, bool watched)
{
    char made[32];
    time_t now = time(NULL);
    int64_t series = 1;
    json_t *all = json_object(), *list = json_array();
    for (int i = 0; i < n; i++) series += runs[i]->n;
    int most = (int)(points / series);
    most = most < 40 ? 40 : most;
    for (int i = 0; i < n; i++)
        add_json(list, run_json(runs[i], most, (size_t)(MOST_ARRAYS / n > 0 ? MOST_ARRAYS / n : 1), HISTOGRAMS / n));
    strftime(made, sizeof made, "%Y-%m-%d %H:%M UTC", gmtime(&now));
    put_json(all, "made", json_string(made));
    put_json(all, "watched", json_boolean(watched));
    put_json(all, "runs", list);
    return all;
}
