/* test_series.c: windows of time series against loops written for it: which there are in each part, what is in them,
 * scales of the training part, filled values and their flags, with series one after another and mixed, at odd sizes;
 * tables cut off at any byte, or with any byte changed, are refused or read within their bounds. */
#include "data/series.h"
#include "sources.h"

#include <math.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SERIES = 4, MOST = 97, COLUMNS = 4, CHANNELS = 3, TARGETS = 2, KNOWN = 1 };

/* ------------------------------------------------------------------ the series, and a file of them */

typedef struct Trial {
    int64_t past, ahead, stride;
    double fraction;
    Lathe_split by;
    bool mixed, missing; /* rows of all series by time; some cells are empty */
    int64_t more;        /* rows at the end with the known column alone */
} Trial;

static const int64_t rows_of[SERIES] = {40, MOST, 9, 63};

/* Column 0 tells the series and the row. */
static double value_at(int series, int64_t t, int column)
{
    if (column == 0) return series * 1000 + (double)t;
    return sin((double)(t * (column + 2) + series)) * 10 * column + (column == 3 ? (double)(t % 7) : 0);
}

static bool is_empty(const Trial *f, int series, int64_t t, int column)
{
    if (column < CHANNELS && t >= rows_of[series]) return true;
    if (t == rows_of[series] - 1) return false; /* the end of what is known */
    return f->missing && column > 0 && (t * 5 + series + column * 3) % 11 < 2;
}

static double filled_value(const Trial *f, int series, int64_t t, int column)
{
    while (t >= 0 && is_empty(f, series, t, column)) t--;
    return t < 0 ? NAN : value_at(series, t, column);
}

static void write_row(FILE *out, const Trial *f, int series, int64_t t)
{
    char cell[COLUMNS][40] = {"", "", "", ""};
    for (int k = 0; k < COLUMNS; k++)
        if (!is_empty(f, series, t, k)) snprintf(cell[k], sizeof *cell, "%.17g", value_at(series, t, k));
    fprintf(out, "%s,%s,\"s,%d\",%lld,%s,%s\n", cell[3], cell[1], series, (long long)(2 * t), cell[2], cell[0]);
}

/* Its columns are in another order than those of a window. */
static void write_series(const char *path, const Trial *f)
{
    FILE *out = fopen(path, "w");
    fprintf(out, "known,b,id,time,past,a\n");
    for (int64_t t = 0; t < MOST + f->more && f->mixed; t++)
        for (int s = 0; s < SERIES; s++)
            if (t < rows_of[s] + f->more) write_row(out, f, s, t);
    for (int s = 0; s < SERIES && !f->mixed; s++)
        for (int64_t t = 0; t < rows_of[s] + f->more; t++) write_row(out, f, s, t);
    fclose(out);
}

/* Of the file: columns to forecast are b and a, in its order. */
static const int column_of[COLUMNS] = {1, 0, 2, 3};

/* ------------------------------------------------------------------ a model of windows alone */

enum { INPUTS = 5, ROWS = 3 };

typedef struct Probe {
    Lathe_tensor tensor[INPUTS];
    Lathe_entry entry;
    Lathe_model model;
    Lathe_recipe recipe;
    Reading reading;
    Series *series;
    int32_t *row;
    int64_t n, train;
    float *in;
    Split_rule rule;
} Probe;

static void declare(Probe *p, int i, const char *name, int64_t rows, int64_t columns, int64_t *offset)
{
    p->tensor[i] = (Lathe_tensor){.name = name,
                                  .role = strncmp(name, "future", 6) == 0 ? LATHE_TARGETS : LATHE_FEATURES,
                                  .dtype = LATHE_F32,
                                  .rank = 3,
                                  .dim = {ROWS, rows, columns},
                                  .offset = *offset};
    *offset += 4 * ROWS * rows * columns;
}

static void open_probe(Probe *p, const Trial *f, const char *path)
{
    int64_t bytes = 0;
    *p = (Probe){0};
    declare(p, 0, "past", f->past, CHANNELS, &bytes);
    declare(p, 1, "future", f->ahead, TARGETS, &bytes);
    declare(p, 2, "known", f->past + f->ahead, KNOWN, &bytes);
    declare(p, 3, "past_observed", f->past, CHANNELS, &bytes);
    declare(p, 4, "future_observed", f->ahead, TARGETS, &bytes);
    p->entry = (Lathe_entry){.name = "train", .rows = ROWS, .inputs = INPUTS, .input = p->tensor};
    p->model = (Lathe_model){.name = "probe", .entries = 1, .entry = &p->entry};
    p->recipe = (Lathe_recipe){.series = true,
                               .csv_target = "a,b",
                               .past_columns = "past",
                               .known_columns = "known",
                               .time_column = "time",
                               .series_column = "id",
                               .stride = f->stride,
                               .val_fraction = f->fraction,
                               .split = f->by,
                               .missing = f->missing ? LATHE_FILL_MISSING : LATHE_REFUSE_MISSING};
    p->reading = (Reading){.model = &p->model, .recipe = &p->recipe, .gpus = 1, .training = true};
    add_word(&p->reading.paths, path);
    p->rule = split_rule(&p->recipe);
    p->series = open_series(&p->reading, NULL);
    p->n = divide_series(p->series, &p->rule, &p->row, &p->train);
    learn_series(p->series, &p->rule, p->row, p->train);
    fill_missing(p->series);
    p->in = must_alloc((size_t)bytes);
}

/* ------------------------------------------------------------------ which windows there are */

static int64_t cut_of(const Trial *f, int series)
{
    return f->by == LATHE_LAST_PART ? (int64_t)((double)rows_of[series] * (1 - f->fraction)) : rows_of[series];
}

/* Windows of the part, by series and first row. */
static void list_expected(const Trial *f, const bool *held, bool evaluated, bool (*seen)[MOST])
{
    for (int s = 0; s < SERIES; s++) {
        bool whole = f->by != LATHE_LAST_PART;
        if (whole && held[s] != evaluated) continue;
        int64_t cut = cut_of(f, s), begin = !whole && evaluated ? cut - f->past : 0;
        for (int64_t t = begin < 0 ? 0 : begin; t < MOST; t++) {
            int64_t end = t + f->past + f->ahead;
            bool fits = whole || !evaluated ? end <= cut : end <= rows_of[s] && t + f->past >= cut;
            bool stepped = (t - (begin < 0 ? 0 : begin)) % f->stride == 0;
            seen[s][t] = fits && stepped;
        }
    }
}

/* The series and row of an item, by what it holds: column a. */
static void place_of_item(const Probe *p, int64_t item, int *series, int64_t *t)
{
    double code = p->series->number[item * p->series->columns + 1];
    *series = (int)(code / 1000);
    *t = (int64_t)code % 1000;
}

static void check_windows(const Probe *p, const Trial *f)
{
    bool held[SERIES] = {0};
    int series;
    int64_t t;
    for (int64_t i = p->train; i < p->n; i++) place_of_item(p, p->row[i], &series, &t), held[series] = true;
    for (int part = 0; part < 2; part++) {
        bool want[SERIES][MOST] = {0};
        int64_t found = 0, all = 0;
        list_expected(f, held, part, want);
        for (int64_t i = part ? p->train : 0; i < (part ? p->n : p->train); i++, found++) {
            place_of_item(p, p->row[i], &series, &t);
            expect(want[series][t], "part %d: window %lld of series %d", part, (long long)t, series);
            want[series][t] = false;
        }
        for (int s = 0; s < SERIES; s++)
            for (t = 0; t < MOST; t++) all += want[s][t];
        expect(all == 0, "part %d: %lld windows are missing, %lld found", part, (long long)all, (long long)found);
    }
}

/* ------------------------------------------------------------------ what is in them */

typedef struct Moments {
    double mean, deviation;
} Moments;

/* Over the rows to train on, of what is observed. */
static Moments moments_of(const Probe *p, const Trial *f, int column)
{
    bool trained[SERIES] = {0};
    double sum = 0, squares = 0, n = 0;
    int series;
    int64_t t;
    for (int64_t i = 0; i < p->train; i++) place_of_item(p, p->row[i], &series, &t), trained[series] = true;
    for (int pass = 0; pass < 2; pass++)
        for (int s = 0; s < SERIES; s++)
            for (t = 0; t < cut_of(f, s) && (trained[s] || f->by == LATHE_LAST_PART || !f->fraction); t++) {
                if (is_empty(f, s, t, column)) continue;
                double x = value_at(s, t, column);
                if (pass) squares += (x - sum / n) * (x - sum / n);
                else sum += x, n++;
            }
    return (Moments){n ? sum / n : 0, n ? sqrt(squares / n) : 0};
}

static void check_value(float found, const Trial *f, int series, int64_t t, int column, const Moments *m)
{
    double x = filled_value(f, series, t, column);
    double want = isnan(x) || !(m->deviation > 0) ? 0 : (x - m->mean) / m->deviation;
    expect(fabs(found - want) < 1e-5 * (1 + fabs(want)), "series %d, row %lld, column %d: %g, expected %g", series,
           (long long)t, column, (double)found, want);
}

static void check_batch(const Probe *p, const Trial *f, const int64_t *item, const Moments *m)
{
    const float *in[INPUTS];
    for (int i = 0; i < INPUTS; i++) in[i] = p->in + p->tensor[i].offset / 4;
    fill_series(p->series, &p->entry, (char *)p->in, item);
    for (int r = 0; r < ROWS; r++) {
        int s;
        int64_t first;
        place_of_item(p, item[r], &s, &first);
        for (int64_t i = 0; i < f->past + f->ahead; i++) {
            const int64_t t = first + i, row = i < f->past ? r * f->past + i : r * f->ahead + i - f->past;
            const int wide = i < f->past ? CHANNELS : TARGETS, at = i < f->past ? 0 : 1;
            for (int k = 0; k < wide; k++) {
                int column = column_of[k];
                check_value(in[at][row * wide + k], f, s, t, column, &m[column]);
                expect(in[at + 3][row * wide + k] == !is_empty(f, s, t, column), "a flag");
                double own = at ? series_target(p->series, item[r], i - f->past, k) : 0;
                expect(!at || (isnan(own) ? is_empty(f, s, t, column) : own == value_at(s, t, column)), "a target");
            }
            check_value(in[2][r * (f->past + f->ahead) + i], f, s, t, 3, &m[3]);
        }
    }
}

static void check_trial(const Trial *f)
{
    const char *path = in_folder("series.csv");
    Probe p;
    Moments m[COLUMNS];
    write_series(path, f);
    open_probe(&p, f, path);
    check_windows(&p, f);
    for (int k = 0; k < COLUMNS; k++) m[column_of[k]] = moments_of(&p, f, column_of[k]);
    for (int k = 0; k < COLUMNS; k++) {
        const Column *c = value_column(p.series->schema, k);
        const Moments *want = &m[column_of[k]];
        expect(fabs(*c->mean - want->mean) < 1e-9 && fabs(*c->deviation - want->deviation) < 1e-9,
               "column %s: mean %g, deviation %g; expected %g, %g", c->name, *c->mean, *c->deviation, want->mean,
               want->deviation);
    }
    for (int64_t i = 0; i + ROWS <= p.n; i++) {
        int64_t item[ROWS];
        for (int r = 0; r < ROWS; r++) item[r] = p.row[i + r];
        check_batch(&p, f, item, m);
    }
}

/* ------------------------------------------------------------------ equal windows */

static void check_hashes(void)
{
    const Trial f = {5, 2, 1, 0.2, LATHE_LAST_PART, false, false, 0};
    const char *path = in_folder("series.csv");
    Probe p;
    write_series(path, &f);
    open_probe(&p, &f, path);
    const int64_t wide = p.series->columns, length = f.past + f.ahead;
    double *x = p.series->number;
    memcpy(x + 60 * wide, x + 10 * wide, sizeof *x * (size_t)(length * wide)); /* in another series */
    free(p.series->trail);
    fill_missing(p.series);
    for (int64_t a = 0; a + length <= p.series->rows; a++)
        for (int64_t b = 0; b < a; b++) {
            bool equal = memcmp(x + a * wide, x + b * wide, sizeof *x * (size_t)(length * wide)) == 0;
            expect(equal == (window_hash(p.series, a) == window_hash(p.series, b)), "windows %lld and %lld",
                   (long long)a, (long long)b);
        }
}

/* ------------------------------------------------------------------ damaged files */

/* In a process of its own: it may end with a message. */
static void read_damaged(const char *path, const Trial *f)
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        Probe p;
        keep_quiet();
        if (!freopen("/dev/null", "w", stderr)) _exit(9);
        open_probe(&p, f, path);
        int64_t item[ROWS];
        for (int64_t i = 0; i + ROWS <= p.n; i += 7) {
            for (int r = 0; r < ROWS; r++) item[r] = p.row[i + r];
            fill_series(p.series, &p.entry, (char *)p.in, item);
        }
        _exit(0);
    }
    waitpid(child, &status, 0);
    bool refused = WIFEXITED(status) && (WEXITSTATUS(status) == EXIT_DATA || WEXITSTATUS(status) == EXIT_USAGE);
    expect(refused || (WIFEXITED(status) && WEXITSTATUS(status) == 0), "a damaged file: status %x", (unsigned)status);
}

static void check_damage(void)
{
    const Trial f = {5, 2, 1, 0.2, LATHE_LAST_PART, true, true, 3};
    const char *path = in_folder("series.csv");
    char text[1 << 14];
    write_series(path, &f);
    FILE *in = fopen(path, "r");
    int64_t n = (int64_t)fread(text, 1, sizeof text, in);
    fclose(in);
    for (int i = 0; i < 300; i++) {
        int64_t bytes = i % 3 ? n : below((uint32_t)n), at = below((uint32_t)(i % 2 ? 60 : n));
        char was = text[at];
        text[at] = "\n\",;-e0\0x\r"[below(10)];
        FILE *out = fopen(path, "w");
        fwrite(text, 1, (size_t)bytes, out);
        fclose(out);
        text[at] = was;
        read_damaged(path, &f);
    }
}

int main(void)
{
    static const Lathe_split rules[] = {LATHE_LAST_PART, LATHE_BY_HASH, LATHE_BY_GROUP};
    static const double fractions[] = {0, 0.1, 0.3, 0.5};
    make_test_folder();
    keep_quiet();
    for (int i = 0; i < 3 * 4 * 2 * 2; i++)
        for (int64_t stride = 1; stride < 6; stride += 2) {
            const Trial f = {.past = 2 + i % 5 * 3,
                             .ahead = 1 + i % 3 * 2,
                             .stride = stride,
                             .fraction = fractions[i / 3 % 4],
                             .by = rules[i % 3],
                             .mixed = i / 12 % 2,
                             .missing = i / 24,
                             .more = i % 4};
            check_trial(&f);
        }
    check_hashes();
    check_damage();
    return finish();
}
