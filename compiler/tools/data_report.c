/* data_report.c: `lathe report`: runs as one page of HTML, written or served. */
#include "base/file.h"
#include "base/json_text.h"
#include "base/words.h"
#include "look/page.h"
#include "serve/pages.h"
#include "tools/data_command.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct Asked {
    const char *out, *port;
    bool watch;
} asked;

static const Flag flags[] = {
    {"-o", FLAG_TEXT, &asked.out, "FILE", "the page (RUN/report.html; of several runs report.html)"},
    {"--watch", FLAG_ON, &asked.watch, "", "serve it on 127.0.0.1, renewed as runs go on, until Ctrl-C"},
    {"--port", FLAG_TEXT, &asked.port, "N", "with --watch: where (8081); 0: any that is free"},
};

static const Command_line line = {
    "report", "RUN… [-o FILE | --watch]",
    "Draws runs as one page of HTML that needs no network: losses, metrics, samples, layers, memory, settings.\n"
    "Several runs are drawn into the same charts, with what differs between them on top.",
    flags, sizeof flags / sizeof *flags};

static char *page_of_folders(const Words *folders, const Charts *charts, bool watched, size_t *bytes)
{
    Past_run *runs[MOST_RUNS];
    for (int i = 0; i < folders->n; i++) runs[i] = read_past(folders->at[i]);
    call_trials(runs, folders->n);
    char *page = page_of_runs(runs, folders->n, charts, watched, bytes);
    for (int i = 0; i < folders->n; i++) {
        const json_t *fault;
        size_t k;
        json_array_foreach(runs[i]->faults, k, fault) if (!watched) note("%s", json_string_value(fault));
        free_past(runs[i]);
    }
    return page;
}

static void write_page(const Words *folders, const Charts *charts)
{
    size_t bytes;
    Fault f = {0};
    const char *path = asked.out        ? asked.out
                       : folders->n > 1 ? "report.html"
                                        : text_of("%s/report.html", folders->at[0]);
    char *page = page_of_folders(folders, charts, false, &bytes);
    if (!replace_text(path, page, &f))
        fail(EXIT_DATA, path, "%s; %s or choose another file with -o", f.text, room_remedy(f.number));
    free(page);
    show(stdout, "%s\n", path);
}

/* ------------------------------------------------------------------ --watch */

typedef struct Watched {
    const Words *folders;
    const Charts *charts;
    char *page; /* the last */
    size_t bytes;
} Watched;

/* Not while a run starts anew in its folder, or the folder is away. */
static bool all_are_there(const Words *folders)
{
    bool all = true;
    for (int i = 0; i < folders->n; i++) {
        char *path = text_of("%s/metrics.jsonl", folders->at[i]);
        all = all && access(path, R_OK) == 0;
        free(path);
    }
    return all;
}

/* The last page again where there is no newer one. */
static char *make_watched(void *watched, size_t *bytes)
{
    Watched *w = watched;
    if (all_are_there(w->folders)) {
        free(w->page);
        w->page = page_of_folders(w->folders, w->charts, true, &w->bytes);
    }
    *bytes = w->bytes;
    char *copy = must_alloc(w->bytes + 1);
    memcpy(copy, w->page, w->bytes);
    return copy;
}

static void tell_port(int port)
{
    show(stdout, "http://127.0.0.1:%d/\n", port);
    fflush(stdout);
}

static void serve_page(const Words *folders, const Charts *charts)
{
    int64_t port = 8081;
    if (asked.port && (!parse_count(asked.port, &port) || port > 65535))
        fail(EXIT_USAGE, NULL, "--port %s: expected a number up to 65535", asked.port);
    Watched w = {.folders = folders, .charts = charts};
    w.page = page_of_folders(folders, charts, true, &w.bytes);
    serve_pages(&(Pages){make_watched, &w, tell_port}, (int)port);
}

int report_command(int argc, char **argv)
{
    Words folders = {0};
    Charts charts;
    take_command_line(&line, argc, argv, 1, &folders);
    folders = runs_named(&folders);
    if (!folders.n) fail(EXIT_USAGE, NULL, "report needs a run's folder: lathe report RUN…; `lathe runs` lists runs");
    if (folders.n > MOST_RUNS)
        fail(EXIT_USAGE, NULL, "report draws at most %d runs at once, %d were given; choose among them by `lathe runs`",
             MOST_RUNS, folders.n);
    if (asked.port && !asked.watch) fail(EXIT_USAGE, NULL, "--port is for --watch");
    if (asked.out && asked.watch) fail(EXIT_USAGE, NULL, "-o writes a file, --watch serves; give one");
    if (!find_charts(&charts)) fail(EXIT_ERROR, NULL, "%s", charts_remedy());
    if (asked.watch) serve_page(&folders, &charts);
    else write_page(&folders, &charts);
    free_charts(&charts);
    return 0;
}
