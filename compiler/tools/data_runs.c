/* data_runs.c: `lathe runs`: lists runs below folders, sorted. */
#define _GNU_SOURCE /* strverscmp */
#include "base/json_text.h"
#include "base/words.h"
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

static const Command_line line = {
    "runs", "[DIR…] [options]",
    "Lists the runs below folders (runs): how they are, how far they came, their best loss.", flags,
    sizeof flags / sizeof *flags};

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

static void print_cells(char *const cell[COLUMNS_OF_RUNS], const int *width)
{
    for (int k = 0; k < COLUMNS_OF_RUNS; k++) {
        bool right = k > 2, last = k == COLUMNS_OF_RUNS - 1;
        if (right) show(stdout, "%*s", width[k] - shown_width(cell[k]), "");
        if (right || last) show(stdout, "%s", cell[k]);
        else print_padded(stdout, cell[k], width[k]);
        show(stdout, last ? "\n" : "  ");
    }
}

static void print_runs(const Glances *all)
{
    static const char *const heads[] = {"run", "model", "state", "step", "best val", "loss", "rate", "time"};
    char *(*cell)[COLUMNS_OF_RUNS] = must_alloc(sizeof *cell * (size_t)(all->n + 1));
    int width[COLUMNS_OF_RUNS] = {0};
    for (int k = 0; k < COLUMNS_OF_RUNS; k++) cell[0][k] = text_of("%s", heads[k]);
    for (int i = 0; i < all->n; i++) fill_cells(&all->at[i], cell[i + 1]);
    for (int i = 0; i <= all->n; i++)
        for (int k = 0; k < COLUMNS_OF_RUNS; k++)
            if (shown_width(cell[i][k]) > width[k]) width[k] = shown_width(cell[i][k]);
    for (int i = 0; i <= all->n; i++) print_cells(cell[i], width);
    free(cell);
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
