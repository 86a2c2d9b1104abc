/* histograms.c: histograms.jsonl made ready to be drawn: of some of its steps, for each parameter the counts of
 * gradients and of updates by powers of two, each as a letter from 0 to 63 times the largest count, and root mean
 * squares.
 *
 * A first pass over the file finds its steps, a second one reads those that are drawn: so memory does not depend on the
 * length of a run, and a file that is cut off or of another program gives what can be read of it. */
#include "base/file.h"
#include "base/json_text.h"
#include "base/words.h"
#include "look/lines.h"
#include "look/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_STEPS = 1 << 20,
    MOST_COLUMNS = 50,
    MOST_ROWS = 256,
    LOWEST = -64,
    HIGHEST = 64,
    POWERS = HIGHEST - LOWEST
};
static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char *const spreads[] = {"gradient", "ratio"}, *const sizes[] = {"gradient", "update", "weight"};

typedef struct Strip { /* a parameter */
    char *name;
    double size[3][MOST_COLUMNS]; /* root mean squares; NAN: not there */
    char *cells[2];               /* [MOST_COLUMNS][POWERS], 0: none */
} Strip;

typedef struct Strips {
    double step[MOST_COLUMNS];
    int columns, rows;
    Strip row[MOST_ROWS];
    bool used[POWERS]; /* by more than a few of a cell's elements */
} Strips;

/* ------------------------------------------------------------------ which steps */

typedef struct Steps {
    double *at;
    int n;
} Steps;

static double step_of_line(const char *line, size_t n)
{
    char *end;
    const char *at = n > 9 && strncmp(line, "{\"step\":", 8) == 0 && line[n - 1] == '\n' ? line + 8 : NULL;
    double step = at ? strtod(at, &end) : NAN;
    return at && end > at && fabs(step) < 9e15 ? floor(step) : NAN;
}

/* Steps of the file in its order, each once. */
static Steps steps_of(FILE *f, char **line, size_t *room)
{
    Steps s = {NULL, 0};
    for (ssize_t n; s.n < MOST_STEPS && (n = getline(line, room, f)) > 0;) {
        double step = step_of_line(*line, (size_t)n);
        if (isnan(step) || (s.n && s.at[s.n - 1] == step)) continue; /* two turns of a step */
        if ((s.n & (s.n - 1)) == 0) s.at = must_grow(s.at, sizeof *s.at * (size_t)(s.n ? 2 * s.n : 1));
        s.at[s.n++] = step;
    }
    return s;
}

static void choose_columns(Strips *all, const Steps *s, int most)
{
    int n = s->n < most ? s->n : most;
    for (int i = 0; i < n; i++) all->step[i] = s->at[n == 1 ? 0 : (int64_t)i * (s->n - 1) / (n - 1)];
    all->columns = n;
}

static int column_of_step(const Strips *all, double step)
{
    for (int i = 0; i < all->columns; i++)
        if (all->step[i] == step) return i;
    return -1;
}

/* ------------------------------------------------------------------ their lines */

static Strip *strip_called(Strips *all, const char *name)
{
    for (int i = 0; i < all->rows; i++)
        if (strcmp(all->row[i].name, name) == 0) return &all->row[i];
    if (all->rows == MOST_ROWS) return NULL;
    Strip *s = &all->row[all->rows++];
    s->name = text_of("%s", name);
    for (int k = 0; k < 2; k++) s->cells[k] = must_alloc((size_t)MOST_COLUMNS * POWERS);
    for (int i = 0; i < 3 * MOST_COLUMNS; i++) s->size[i / MOST_COLUMNS][i % MOST_COLUMNS] = NAN;
    return s;
}

static double bar_height(const json_t *counts, size_t i)
{
    double x = json_number_value(json_array_get(counts, i));
    return isfinite(x) && x > 0 ? x : 0;
}

/* Square roots of counts, so that few among many are seen. */
static void take_counts(Strips *all, char *cells, const json_t *spread)
{
    const json_t *counts = json_object_get(spread, "counts"), *low = json_object_get(spread, "from");
    size_t n = json_array_size(counts);
    double most = 0, from = json_number_value(low);
    if (!json_is_integer(low) || n > POWERS || from < LOWEST || from + (double)n > HIGHEST) return;
    for (size_t i = 0; i < n; i++) most = fmax(most, bar_height(counts, i));
    for (size_t i = 0; i < n; i++) {
        double x = bar_height(counts, i);
        int power = (int)from + (int)i - LOWEST;
        if (x == 0) continue;
        cells[power] = letters[1 + (int)(62 * sqrt(x / most))];
        all->used[power] |= x >= .02 * most; /* not a few far away */
    }
}

static void take_parameter(Strips *all, int column, const json_t *parameter)
{
    const char *name = json_string_value(json_object_get(parameter, "name"));
    const json_t *rms = json_object_get(parameter, "rms");
    Strip *s = name ? strip_called(all, name) : NULL;
    if (!s) return;
    for (int k = 0; k < 3; k++) {
        double x;
        if (number_of_value(json_object_get(rms, sizes[k]), &x)) s->size[k][column] = x;
    }
    for (int k = 0; k < 2; k++)
        take_counts(all, s->cells[k] + (size_t)column * POWERS, json_object_get(parameter, spreads[k]));
}

static void take_strip_line(Strips *all, const char *line, size_t n)
{
    int column = column_of_step(all, step_of_line(line, n));
    json_t *one = column < 0 ? NULL : line_json(line, n);
    const json_t *parameters = json_object_get(one, "parameters");
    for (size_t i = 0; i < json_array_size(parameters); i++) take_parameter(all, column, json_array_get(parameters, i));
    json_decref(one);
}

/* ------------------------------------------------------------------ as JSON */

/* Three digits are enough to draw. */
static json_t *size_json(double x)
{
    char text[32];
    snprintf(text, sizeof text, "%.3g", x);
    return isfinite(x) ? json_real(strtod(text, NULL)) : json_null();
}

static json_t *cells_json(const Strip *s, int k, int columns, int low, int high)
{
    size_t wide = (size_t)(high - low + 1);
    char *text = must_alloc(wide * (size_t)columns + 1);
    for (int c = 0; c < columns; c++)
        for (size_t i = 0; i < wide; i++) {
            char cell = s->cells[k][c * POWERS + low + (int)i];
            text[(size_t)c * wide + i] = cell ? cell : letters[0];
        }
    json_t *all = json_string(text);
    free(text);
    return all;
}

static json_t *strip_json(const Strip *s, int columns, int low, int high)
{
    json_t *all = json_object(), *rms = json_object();
    for (int k = 0; k < 3; k++) {
        json_t *values = json_array();
        for (int c = 0; c < columns; c++) add_json(values, size_json(s->size[k][c]));
        put_json(rms, sizes[k], values);
    }
    put_json(all, "name", word_json(s->name));
    put_json(all, "rms", rms);
    for (int k = 0; k < 2; k++) put_json(all, spreads[k], cells_json(s, k, columns, low, high));
    return all;
}

static json_t *strips_json(const Strips *all)
{
    int low = 0, high = POWERS - 1;
    while (low < high && !all->used[low]) low++;
    while (high > low && !all->used[high]) high--;
    json_t *drawn = json_object(), *steps = json_array(), *rows = json_array();
    for (int c = 0; c < all->columns; c++) add_json(steps, json_integer((json_int_t)all->step[c]));
    for (int i = 0; i < all->rows; i++) add_json(rows, strip_json(&all->row[i], all->columns, low, high));
    put_json(drawn, "steps", steps);
    put_json(drawn, "from", json_integer(low + LOWEST));
    put_json(drawn, "powers", json_integer(high - low + 1));
    put_json(drawn, "rows", rows);
    return drawn;
}

/* Columns for which there is room, by the rows of the last step. */
static int columns_for(const Strips *one, int64_t bytes)
{
    int powers = 0;
    for (int i = 0; i < POWERS; i++) powers += one->used[i];
    int64_t each = (int64_t)one->rows * (2 * (powers + 4) + 27);
    return each && bytes / each < MOST_COLUMNS ? (int)(bytes / each) : MOST_COLUMNS;
}

static void read_strips(Strips *all, FILE *f, char **line, size_t *room)
{
    rewind(f);
    for (ssize_t n; (n = getline(line, room, f)) > 0;) take_strip_line(all, *line, (size_t)n);
}

static void free_strips(Strips *all)
{
    for (int i = 0; i < all->rows; i++) {
        free(all->row[i].name);
        for (int k = 0; k < 2; k++) free(all->row[i].cells[k]);
    }
    free(all);
}

json_t *drawn_histograms(const char *path, int64_t bytes)
{
    char *line = NULL;
    size_t room = 0;
    FILE *f = is_regular_file(path) ? open_stream_to_read(path) : NULL;
    json_t *drawn = NULL;
    if (!f) return json_null();
    Steps steps = steps_of(f, &line, &room);
    Strips *last = must_alloc(sizeof *last), *all = must_alloc(sizeof *all);
    if (steps.n) choose_columns(last, &(Steps){steps.at + steps.n - 1, 1}, 1);
    read_strips(last, f, &line, &room);
    int columns = columns_for(last, bytes);
    choose_columns(all, &steps, columns);
    if (columns > 1 || steps.n == 1) read_strips(all, f, &line, &room);
    if (all->rows) drawn = strips_json(all);
    fclose(f);
    free_strips(last);
    free_strips(all);
    free(steps.at);
    free(line);
    return drawn ? drawn : json_null();
}
