/* steps.c: why two runs are not the same: the first step at which each number of metrics.jsonl has other bits, what
 * they came to, how long they took.
 *
 * Both files are read side by side, once for each kind of line, so memory does not depend on their length.  Lines that
 * are no JSON, or go back in steps, are left out; a last line without an end is being written, or was cut off. */
#include "diff/diff.h"
#include "runtime/base/file.h"
#include "runtime/interface/scores.h"
#include "runtime/look/lines.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ------------------------------------------------------------------ lines of one kind */

typedef struct Walk { /* through the lines of one run that have this split */
    const char *split;
    FILE *f;
    char *line;
    size_t room;
    off_t left; /* bytes: a run may go on writing */
    json_t *at; /* the line; NULL: there are no more */
    double step;
} Walk;

static void next_in_walk(Walk *w)
{
    ssize_t n;
    json_decref(w->at);
    w->at = NULL;
    while (w->f && w->left > 0 && (n = getline(&w->line, &w->room, w->f)) > 0) {
        w->left -= n;
        if (w->line[n - 1] != '\n' || !strstr(w->line, w->split)) continue;
        json_t *all = line_json(w->line, (size_t)n), *step = json_object_get(all, "step");
        bool wanted = same(json_string_value(json_object_get(all, "split")), w->split) && json_is_number(step) &&
                      json_number_value(step) > w->step;
        if (wanted) {
            w->at = all;
            w->step = json_number_value(step);
            return;
        }
        json_decref(all);
    }
}

static void begin_lines(Walk *w, const char *folder, const char *split)
{
    struct stat about;
    *w = (Walk){.split = split, .step = -INFINITY, .f = open_stream_to_read(format("%s/metrics.jsonl", folder))};
    if (!w->f && errno != ENOENT) note("%s/metrics.jsonl: cannot be read: %s", folder, error_text(errno));
    if (w->f && fstat(fileno(w->f), &about) == 0) w->left = about.st_size;
    next_in_walk(w);
}

static void end_walk(Walk *w)
{
    if (w->f) fclose(w->f);
    json_decref(w->at);
    free(w->line);
}

/* ------------------------------------------------------------------ numbers */

typedef struct Number { /* of one kind of line */
    const char *name;   /* "val loss" */
    bool parted;
    double step, a, b;                                     /* where its bits differ first */
    double last[2];                                        /* at the last step that both have */
    double final[2], final_step[2], best[2], best_step[2]; /* of each run by itself */
} Number;

typedef struct Comparison {
    VEC(Number) numbers;
    Strings places;
    const char *split;
    int side; /* whose line is taken */
    double step, value[2];
    double compared, last_step, time[2], steps[2];
} Comparison;

static Number *number_named(Comparison *c, const char *name)
{
    char room[256]; /* a million lines need no memory */
    bool fits = snprintf(room, sizeof room, "%s %s", c->split, name) < (int)sizeof room;
    int known = fits ? strings_get(&c->places, room) : 0;
    if (known) return &c->numbers.at[known - 1];
    const char *whole = format("%s %s", c->split, name);
    int *place = strings_at(&c->places, whole);
    if (!*place) {
        Number n = {.name = whole, .best = {NAN, NAN}, .final = {NAN, NAN}, .last = {NAN, NAN}};
        push(&c->numbers, n);
        *place = c->numbers.n;
    }
    return &c->numbers.at[*place - 1];
}

static bool is_measured(const char *name)
{
    static const char *const names[] = {"time", "tok_s", "rows_s", "sequences_s", "data_wait", "queue"};
    for (int i = 0; i < COUNT_OF(names); i++)
        if (same(name, names[i])) return true;
    return false;
}

static void take_result(void *to, const char *name, const json_t *value)
{
    Comparison *c = to;
    double x;
    if (!number_of_value(value, &x)) return;
    if (same(name, "time") && same(c->split, "train")) c->time[c->side] = x, c->steps[c->side] = c->step;
    if (is_measured(name)) return;
    Number *n = number_named(c, name);
    int less = lathe_less_is_better(name);
    n->final[c->side] = x;
    n->final_step[c->side] = c->step;
    if (isfinite(x) && (isnan(n->best[c->side]) || (less == 0 ? x > n->best[c->side] : x < n->best[c->side])))
        n->best[c->side] = x, n->best_step[c->side] = c->step;
}

/* Of a line that both have: this value of a; the other line is in `from`. */
typedef struct Both {
    Comparison *c;
    const json_t *other;
} Both;

static void compare_value(void *to, const char *name, const json_t *value)
{
    const Both *both = to;
    Comparison *c = both->c;
    const char *dot = strchr(name, '.');
    const json_t *own = json_object_get(both->other, name);
    double x, y;
    if (!own && dot)
        own = json_object_get(json_object_get(both->other, format("%.*s", (int)(dot - name), name)), dot + 1);
    if (is_measured(name) || !number_of_value(value, &x) || !own || !number_of_value(own, &y)) return;
    Number *n = number_named(c, name);
    n->last[0] = x;
    n->last[1] = y;
    if (n->parted || x == y || (isnan(x) && isnan(y))) return;
    n->parted = true;
    n->step = c->step;
    n->a = x;
    n->b = y;
}

static void take_line_of(Comparison *c, Walk *w, int side)
{
    c->side = side;
    c->step = w->step;
    each_value(w->at, take_result, c);
}

/* Steps that only one of them has are no difference: one may have gone on, or noted fewer. */
static void compare_lines(Comparison *c, const char *a, const char *b, const char *split)
{
    Walk w[2];
    c->split = split;
    begin_lines(&w[0], a, split);
    begin_lines(&w[1], b, split);
    while (w[0].at || w[1].at) {
        bool first = w[0].at && (!w[1].at || w[0].step <= w[1].step),
             second = w[1].at && (!w[0].at || w[1].step <= w[0].step);
        if (first) take_line_of(c, &w[0], 0);
        if (second) take_line_of(c, &w[1], 1);
        if (first && second) {
            each_value(w[0].at, compare_value, &(Both){c, w[1].at});
            if (same(split, "train")) c->compared++, c->last_step = c->step;
        }
        if (first) next_in_walk(&w[0]);
        if (second) next_in_walk(&w[1]);
    }
    end_walk(&w[0]);
    end_walk(&w[1]);
}

/* ------------------------------------------------------------------ what is told */

static json_t *told_number(double x)
{
    if (isnan(x)) return json_string("NaN");
    return isfinite(x) ? json_real(x) : json_string(x > 0 ? "Infinity" : "-Infinity");
}

static json_t *told_row(const char *name, double a, double b)
{
    json_t *row = json_object();
    put_json(row, "name", json_string(name));
    put_json(row, "a", told_number(a));
    put_json(row, "b", told_number(b));
    return row;
}

/* The rate comes before what it causes. */
static int by_step(const void *a, const void *b)
{
    const Number *x = a, *y = b;
    if (x->step != y->step) return x->step < y->step ? -1 : 1;
    bool own = has_end(x->name, " lr"), other = has_end(y->name, " lr");
    return other - own;
}

static json_t *parts_json(Comparison *c)
{
    json_t *all = json_array();
    VEC(Number) parted = {0};
    for (int i = 0; i < c->numbers.n; i++)
        if (c->numbers.at[i].parted) push(&parted, c->numbers.at[i]);
    if (parted.n) qsort(parted.at, (size_t)parted.n, sizeof *parted.at, by_step);
    for (int i = 0; i < parted.n; i++) {
        json_t *row = told_row(parted.at[i].name, parted.at[i].a, parted.at[i].b);
        put_json(row, "step", whole_json(parted.at[i].step));
        add_json(all, row);
    }
    return all;
}

static bool differ(double a, double b) { return !(a == b || (isnan(a) && isnan(b))); }

static json_t *values_json(const Comparison *c)
{
    json_t *all = json_array();
    for (int i = 0; i < c->numbers.n; i++) {
        const Number *n = &c->numbers.at[i];
        if (starts_with(n->name, "train ") && differ(n->last[0], n->last[1]))
            add_json(all, told_row(n->name, n->last[0], n->last[1]));
    }
    return all;
}

static void add_result(json_t *all, const char *what, const Number *n, const double *value, const double *step)
{
    if (!differ(value[0], value[1])) return;
    json_t *row = told_row(format("%s, %s", n->name, what), value[0], value[1]);
    for (int side = 0; side < 2; side++) {
        bool none = isnan(value[side]) && step[side] == 0; /* no line of the run has it */
        if (none) put_json(row, side ? "b" : "a", json_null());
        if (!isnan(value[side])) put_json(row, side ? "b_step" : "a_step", whole_json(step[side]));
    }
    add_json(all, row);
}

static json_t *results_json(const Comparison *c)
{
    json_t *all = json_array();
    for (int i = 0; i < c->numbers.n; i++) {
        const Number *n = &c->numbers.at[i];
        const char *name = strchr(n->name, ' ') + 1;
        bool loss = same(n->name, "train loss"),
             score = starts_with(n->name, "val ") && lathe_less_is_better(name) >= 0;
        if (score) add_result(all, "best", n, n->best, n->best_step);
        if (score || loss) add_result(all, "last", n, n->final, n->final_step);
    }
    return all;
}

/* Two times are never the same: they are told where they are a tenth apart. */
static json_t *times_json(const Comparison *c)
{
    json_t *all = json_array();
    double each[2];
    for (int k = 0; k < 2; k++)
        each[k] = c->steps[k] > 0 ? strtod(format("%.4g", 1e3 * c->time[k] / c->steps[k]), NULL) : NAN;
    if (fabs(each[0] - each[1]) > .1 * fmin(each[0], each[1])) add_json(all, told_row("ms a step", each[0], each[1]));
    return all;
}

json_t *step_differences(const char *a, const char *b)
{
    static const char *const splits[] = {"train", "val", "epoch"};
    Comparison c = {.last_step = NAN};
    json_t *all = json_object();
    for (int i = 0; i < COUNT_OF(splits); i++) compare_lines(&c, a, b, splits[i]);
    put_json(all, "compared", whole_json(c.compared));
    put_json(all, "at", whole_json(c.last_step));
    put_json(all, "parts", parts_json(&c));
    put_json(all, "values", values_json(&c));
    put_json(all, "results", results_json(&c));
    put_json(all, "times", times_json(&c));
    return all;
}
