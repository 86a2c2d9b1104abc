/* data_runs.c: `lathe runs`: lists runs below folders, sorted. */
#define _GNU_SOURCE /* strverscmp */
#include "base/json_text.h"
#include "base/words.h"
#include "look/draw.h"
#include "look/past.h"
#include "tools/data_command.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct Asked {
    const char *sort;
    bool json, reverse;
} asked;

static const Flag flags[] = {
    {"--sort", FLAG_TEXT, &asked.sort, "BY", "name, model, state, steps, best, loss, rate, time, changed (name)"},
    {"--reverse", FLAG_ON, &asked.reverse, "", "the last first"},
    {"--json", FLAG_ON, &asked.json, "", "the result as JSON"},
};

static const Command_line line = {"runs", "[DIR…] [options]",
                                  "Lists the runs below folders (runs): how they are, how far they came, their best loss.\n"
                                  "In a narrow terminal names are cut, and columns left out.",
                                  flags, sizeof flags / sizeof *flags};

typedef struct Glances {
    Glance *at;
    int n;
} Glances;

/* ------------------------------------------------------------------ finding them */

static void add_glance(Glances *all, const char *folder)
{
    all->at = must_grow(all->at, sizeof *all->at * (size_t)(all->n + 1));
    all->at[all->n++] = glance_at(folder);
}

/* ------------------------------------------------------------------ order */

static int compare_numbers(double a, double b)
{
    return isnan(a) || isnan(b) ? isnan(a) - isnan(b) : (a > b) - (a < b);
}

static int by_run_name(const Glance *a, const Glance *b) { return strverscmp(a->folder, b->folder); }
static int by_model(const Glance *a, const Glance *b) { return strcmp(a->model, b->model); }
static int by_state(const Glance *a, const Glance *b) { return (int)a->state - (int)b->state; }
static int by_steps(const Glance *a, const Glance *b) { return compare_numbers(a->step, b->step); }
static int by_best(const Glance *a, const Glance *b) { return compare_numbers(a->best, b->best); }
static int by_loss(const Glance *a, const Glance *b) { return compare_numbers(a->loss, b->loss); }
static int by_rate(const Glance *a, const Glance *b) { return compare_numbers(a->rate, b->rate); }
static int by_time(const Glance *a, const Glance *b) { return compare_numbers(a->seconds, b->seconds); }
static int by_change(const Glance *a, const Glance *b) { return compare_numbers(a->changed, b->changed); }

static const struct Order_of_runs {
    const char *name;
    int (*compare)(const Glance *a, const Glance *b);
} orders[] = {{"name", by_run_name},  {"model", by_model}, {"state", by_state}, {"steps", by_steps},
              {"best", by_best},      {"loss", by_loss},   {"rate", by_rate},   {"time", by_time},
              {"changed", by_change}, {NULL, NULL}};

static const struct Order_of_runs *order;

static int compare_glances(const void *a, const void *b)
{
    int way = order->compare(a, b);
    if (way == 0) return by_run_name(a, b);
    return asked.reverse ? -way : way;
}

static void choose_order(void)
{
    const char *wanted = asked.sort ? asked.sort : "name";
    for (order = orders; order->name; order++)
        if (strcmp(order->name, wanted) == 0) return;
    fail(EXIT_USAGE, NULL, "--sort %s: expected name, model, state, steps, best, loss, rate, time or changed", wanted);
}

/* ------------------------------------------------------------------ the list */

enum { COLUMNS_OF_RUNS = 8 };

static char *number_cell(double x, const char *form) { return isnan(x) ? text_of("%s", "-") : text_of(form, x); }

static char *time_cell(double seconds)
{
    if (isnan(seconds)) return text_of("%s", "-");
    int64_t s = seconds < 1e9 ? (int64_t)seconds : 0;
    return text_of("%lld:%02lld:%02lld", (long long)(s / 3600), (long long)(s / 60 % 60), (long long)(s % 60));
}

static void fill_cells(const Glance *g, char *cell[COLUMNS_OF_RUNS])
{
    cell[0] = text_of("%s", g->folder);
    cell[1] = text_of("%s", *g->model ? g->model : "-");
    cell[2] = text_of("%s", state_words[g->state]);
    cell[3] = isnan(g->step) ? text_of("%s", "-")
              : g->steps > 0 ? text_of("%.0f/%.0f", g->step, g->steps)
                             : text_of("%.0f", g->step);
    cell[4] = number_cell(g->best, "%.4f");
    cell[5] = number_cell(g->loss, "%.4f");
    cell[6] = number_cell(g->rate, "%g");
    cell[7] = time_cell(g->seconds);
}

static int shown_width(const char *text)
{
    int n = 0;
    for (; *text; text++) n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

typedef struct Table_of_runs {
    char *(*cell)[COLUMNS_OF_RUNS];
    int rows, width[COLUMNS_OF_RUNS]; /* 0: the column is left out */
} Table_of_runs;

static int width_of_runs(const Table_of_runs *t)
{
    int all = -2;
    for (int k = 0; k < COLUMNS_OF_RUNS; k++) all += t->width[k] ? t->width[k] + 2 : 0;
    return all;
}

/* Narrows column k as far as the table is too wide, but not below `least`; 0: leaves it out. */
static void narrow_column(Table_of_runs *t, int k, int least, int columns)
{
    int over = width_of_runs(t) - columns, rest = t->width[k] - over;
    if (over > 0 && t->width[k] > least) t->width[k] = least && rest > least ? rest : least;
}

/* A pipe has no width, and gets all, unless $COLUMNS says otherwise. */
static void fit_terminal(Table_of_runs *t)
{
    enum { RUN, MODEL, LOSS = 5, RATE, TIME, NO_WIDTH = 1 << 20 };
    static const int narrowed[][2] = {{MODEL, 16}, {RUN, 32}, {RATE, 0}, {MODEL, 0},
                                      {RUN, 20},   {TIME, 0}, {LOSS, 0}, {RUN, 8}};
    const int columns = columns_there(NO_WIDTH), whole = t->width[RUN];
    for (size_t i = 0; i < sizeof narrowed / sizeof *narrowed; i++)
        narrow_column(t, narrowed[i][0], narrowed[i][1], columns);
    int room = columns - width_of_runs(t), missing = whole - t->width[RUN];
    if (room > 0 && missing > 0) t->width[RUN] += room < missing ? room : missing; /* what a column left */
}

static const char *after_characters(const char *text, int n)
{
    for (; *text; text++)
        if (((unsigned char)*text & 0xc0) != 0x80 && n-- == 0) break;
    return text;
}

/* The end of a folder, the beginning of a model. */
static char *cut_cell(const char *text, int width, bool end)
{
    const char *mark = terminal_is_utf8() ? "…" : "~";
    if (end) return text_of("%s%s", mark, after_characters(text, shown_width(text) - width + 1));
    return text_of("%.*s%s", (int)(after_characters(text, width - 1) - text), text, mark);
}

static void print_cells(const Table_of_runs *t, int row)
{
    bool first = true;
    for (int k = 0; k < COLUMNS_OF_RUNS; k++) {
        char *text = t->cell[row][k];
        const int width = t->width[k], room = width - shown_width(text);
        if (!width) continue;
        if (!first) show(stdout, "  ");
        if (room < 0) text = cut_cell(text, width, k == 0);
        if (k > 2) show(stdout, "%*s%s", room > 0 ? room : 0, "", text);
        else print_padded(stdout, text, width);
        first = false;
    }
    show(stdout, "\n");
}

static void print_runs(const Glances *all)
{
    static const char *const heads[] = {"run", "model", "state", "step", "best val", "loss", "rate", "time"};
    Table_of_runs t = {.rows = all->n + 1, .cell = must_alloc(sizeof *t.cell * (size_t)(all->n + 1))};
    for (int k = 0; k < COLUMNS_OF_RUNS; k++) t.cell[0][k] = text_of("%s", heads[k]);
    for (int i = 0; i < all->n; i++) fill_cells(&all->at[i], t.cell[i + 1]);
    for (int i = 0; i < t.rows; i++)
        for (int k = 0; k < COLUMNS_OF_RUNS; k++)
            if (shown_width(t.cell[i][k]) > t.width[k]) t.width[k] = shown_width(t.cell[i][k]);
    fit_terminal(&t);
    for (int i = 0; i < t.rows; i++) print_cells(&t, i);
    free(t.cell);
}

static json_t *glance_json(const Glance *g)
{
    json_t *all = json_object();
    put_json(all, "run", word_json(g->folder));
    put_json(all, "model", word_json(g->model));
    put_json(all, "state", json_string(state_words[g->state]));
    put_json(all, "step", real_json(g->step));
    put_json(all, "steps", real_json(g->steps));
    put_json(all, "best", real_json(g->best));
    put_json(all, "loss", real_json(g->loss));
    put_json(all, "rate", real_json(g->rate));
    put_json(all, "seconds", real_json(g->seconds));
    return all;
}

static void print_runs_json(const Glances *all)
{
    json_t *list = json_array();
    for (int i = 0; i < all->n; i++) add_json(list, glance_json(&all->at[i]));
    print_json(json_pack("{s:o}", "runs", list));
}

int runs_command(int argc, char **argv)
{
    Words folders = {0};
    Glances all = {0};
    take_command_line(&line, argc, argv, 1, &folders);
    choose_order();
    if (!folders.n) add_word(&folders, "runs");
    for (int i = 0; i < folders.n; i++) {
        struct stat about;
        if (stat(folders.at[i], &about) != 0)
            fail(EXIT_DATA, folders.at[i], "cannot be read: %s; name the folder that has runs: lathe runs DIR",
                 error_text(errno));
        Words runs = {0};
        add_runs_below(&runs, folders.at[i]);
        for (int k = 0; k < runs.n; k++) add_glance(&all, runs.at[k]);
    }
    if (!all.n && !asked.json) note("no runs are below %s", folders.at[0]);
    if (all.n) qsort(all.at, (size_t)all.n, sizeof *all.at, compare_glances);
    if (asked.json) print_runs_json(&all);
    else if (all.n) print_runs(&all);
    return 0;
}
