/* data_plot.c: `lathe plot`: curves of runs in the terminal. */
#include "base/json_text.h"
#include "base/words.h"
#include "look/draw.h"
#include "look/past.h"
#include "tools/data_command.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static struct Asked {
    const char *of, *over, *split;
    bool log, whole;
} asked;

static const Flag flags[] = {
    {"--of", FLAG_TEXT, &asked.of, "NAME", "the number to draw, as metrics.jsonl names it (loss)"},
    {"--over", FLAG_TEXT, &asked.over, "AXIS", "steps, tokens (or rows), time (steps)"},
    {"--split", FLAG_TEXT, &asked.split, "NAME", "train, val, epoch alone (all that have it)"},
    {"--log", FLAG_ON, &asked.log, "", "values on a logarithmic scale"},
    {"--whole", FLAG_ON, &asked.whole, "",
     "also what lies far above or below the other curves, and is cut off otherwise"},
};

static const Command_line line = {
    "plot", "RUN… [options]",
    "Draws a number of runs in the terminal: dots of braille, or letters where it is not UTF-8.", flags,
    sizeof flags / sizeof *flags};

static double step_of_point(const Point *p) { return p->step; }
static double units_of_point(const Point *p) { return p->units; }
static double seconds_of_point(const Point *p) { return p->seconds; }

static void choose_axis(Canvas *c)
{
    const char *over = asked.over ? asked.over : "steps";
    if (strcmp(over, "steps") == 0) c->over = step_of_point, c->axis = "steps";
    else if (strcmp(over, "tokens") == 0 || strcmp(over, "rows") == 0) c->over = units_of_point, c->axis = over;
    else if (strcmp(over, "time") == 0) c->over = seconds_of_point, c->axis = "s";
    else fail(EXIT_USAGE, NULL, "--over %s: expected steps, tokens, rows or time", over);
}

int columns_there(int otherwise)
{
    struct winsize size;
    int64_t wide;
    const char *columns = getenv("COLUMNS");
    if (ioctl(1, TIOCGWINSZ, &size) == 0 && size.ws_col) return size.ws_col;
    return columns && parse_count(columns, &wide) && wide > 0 && wide < 10000 ? (int)wide : otherwise;
}

static Canvas canvas_of_terminal(void)
{
    Canvas c = {.rows = 20, .utf8 = terminal_is_utf8(), .log = asked.log, .whole = asked.whole};
    c.columns = columns_there(80);
    c.colour = isatty(1) && !getenv("NO_COLOR");
    choose_axis(&c);
    return c;
}

static bool is_wanted(const Series *s, const char *name)
{
    return strcmp(s->name, name) == 0 && (!asked.split || strcmp(s->split, asked.split) == 0);
}

static _Noreturn void refuse_name(Past_run *const *runs, const Words *folders, const char *name)
{
    Words names = {0};
    char *list = text_of("%s", "");
    for (int i = 0; i < folders->n; i++)
        for (int k = 0; k < runs[i]->n; k++) {
            bool there = false;
            for (int j = 0; j < names.n; j++) there |= strcmp(names.at[j], runs[i]->series[k]->name) == 0;
            if (!there) add_word(&names, runs[i]->series[k]->name);
        }
    for (int j = 0; j < names.n; j++) list = text_of("%s%s%s", list, j ? ", " : "", names.at[j]);
    fail(EXIT_USAGE, NULL, "there is no number %s%s%s in %s; there are: %s", name, asked.split ? " of split " : "",
         asked.split ? asked.split : "", folders->n > 1 ? "these runs" : folders->at[0], *list ? list : "none yet");
}

typedef struct Curves {
    Curve at[MOST_CURVES];
    int n;
} Curves;

static void add_curves(Curves *all, const Past_run *r, const char *name)
{
    for (int j = 0; j < r->n; j++) {
        const Series *s = r->series[j];
        if (!is_wanted(s, name)) continue;
        if (all->n == MOST_CURVES)
            fail(EXIT_USAGE, NULL, "plot draws at most %d curves; give fewer runs, or --split", MOST_CURVES);
        Point *p = must_alloc(sizeof *p * (2 * BUCKETS + 2));
        all->at[all->n++] = (Curve){text_of("%s %s", r->name, s->split), p, points_of_series(s, p)};
    }
}

static Past_run *read_run(const char *folder)
{
    Past_run *r = read_past(folder);
    const json_t *fault;
    size_t k;
    json_array_foreach(r->faults, k, fault) note("%s", json_string_value(fault));
    return r;
}

int plot_command(int argc, char **argv)
{
    Words folders = {0};
    Curves all = {.n = 0};
    take_command_line(&line, argc, argv, 1, &folders);
    folders = runs_named(&folders);
    const char *name = asked.of ? asked.of : "loss";
    Canvas canvas = canvas_of_terminal();
    if (!folders.n) fail(EXIT_USAGE, NULL, "plot needs a run's folder: lathe plot RUN…; `lathe runs` lists runs");
    Past_run **runs = must_alloc(sizeof(Past_run *) * (size_t)folders.n);
    for (int i = 0; i < folders.n; i++) runs[i] = read_run(folders.at[i]);
    call_trials(runs, folders.n);
    for (int i = 0; i < folders.n; i++) add_curves(&all, runs[i], name);
    if (!all.n) refuse_name(runs, &folders, name);
    draw_curves(stdout, all.at, all.n, &canvas);
    return 0;
}
