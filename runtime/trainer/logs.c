/* logs.c: each line of metrics.jsonl goes to the logs of --log, too, and to those that a resumed run has.  That file
 * remains the truth: at its start a program writes the logs anew from it, so that after a kill they have what the
 * resumed run has. */
#include "base/words.h"
#include "serve/gauges.h"
#include "trainer/logs.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const Log_form *const forms[] = {&event_form, &csv_form};
enum { FORMS = sizeof forms / sizeof *forms };

struct Logs {
    char *metrics;
    Log log[FORMS];
    int n;
    Gauges *gauges; /* NULL: nobody watches */
};

typedef struct Watched { /* a line's numbers on their way to the gauges */
    Gauges *gauges;
    const char *split;
} Watched;

/* ------------------------------------------------------------------ by name */

/* The form at *names, which is moved on; NULL: there is none of that name, of *bytes bytes. */
static const Log_form *next_form(const char **names, size_t *bytes)
{
    const char *at = *names;
    *bytes = strcspn(at, ",");
    *names = at + *bytes + (at[*bytes] == ',');
    for (int i = 0; i < FORMS; i++)
        if (strlen(forms[i]->name) == *bytes && memcmp(forms[i]->name, at, *bytes) == 0) return forms[i];
    return NULL;
}

void check_log_names(const char *names)
{
    size_t bytes;
    for (const char *at = names, *name = at; name && *name; name = at)
        if (!next_form(&at, &bytes))
            fail(EXIT_USAGE, NULL, "--log %s: expected tensorboard, csv, or both with a comma between, found %.*s",
                 names, (int)bytes, name);
    if (names && !*names) fail(EXIT_USAGE, NULL, "--log: expected tensorboard, csv, or both with a comma between");
}

/* ------------------------------------------------------------------ lines */

static void take_log_line(const char *line, size_t n, Take_line take, void *to)
{
    json_t *all = json_loadb(line, n, 0, NULL);
    if (json_is_object(all)) take(to, all);
    json_decref(all);
}

void each_line(const char *metrics, Fault *f, Take_line take, void *to)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    FILE *file = open_stream_to_read(metrics);
    while (file && (n = getline(&line, &room, file)) > 0) take_log_line(line, (size_t)n, take, to);
    if (!file || !feof(file)) set_fault(f, metrics, "read");
    if (file) fclose(file);
    free(line);
}

/* ------------------------------------------------------------------ a run's */

static void open_log(Logs *l, const Log_form *form, const char *run, double began)
{
    Log *log = &l->log[l->n++];
    *log = (Log){.form = form, .metrics = l->metrics, .began = began, .fd = -1};
    form->open(log, run);
    if (log->fault.path)
        fail(EXIT_DATA, log->fault.path, "%s; %s or choose another folder with --out", log->fault.text,
             room_remedy(log->fault.number));
}

static bool is_named(const char *names, const Log_form *form)
{
    size_t bytes;
    while (names && *names)
        if (next_form(&names, &bytes) == form) return true;
    return false;
}

/* NULL: none are wanted. */
static Gauges *wanted_gauges(const Wanted_logs *w)
{
    int64_t port;
    if (!w->port) return NULL;
    if (!parse_count(w->port, &port) || port > 65535)
        fail(EXIT_USAGE, NULL, "--metrics-port %s: expected a number up to 65535", w->port);
    Gauges *g = open_gauges((int)port, w->model, w->run);
    show(stderr, "metrics: http://127.0.0.1:%d/metrics\n", port_of_gauges(g));
    return g;
}

Logs *open_logs(const Wanted_logs *w)
{
    Logs *l = must_alloc(sizeof *l);
    double began = (double)time(NULL) - w->elapsed;
    l->metrics = text_of("%s/metrics.jsonl", w->run);
    l->gauges = wanted_gauges(w);
    for (int i = 0; i < FORMS; i++)
        if (is_named(w->names, forms[i]) || forms[i]->is_there(w->run)) open_log(l, forms[i], w->run, began);
    return l;
}

static void watch_value(void *watched, const char *name, const json_t *value)
{
    const Watched *w = watched;
    if (!json_is_number(value)) return;
    char *full = text_of("%s_%s", w->split, name);
    set_gauge(w->gauges, full, json_number_value(value));
    free(full);
}

static void watch_line(Gauges *g, const json_t *line)
{
    Watched w = {g, json_string_value(json_object_get(line, "split"))};
    if (!w.split) return;
    set_gauge(g, "step", json_number_value(json_object_get(line, "step")));
    each_value(line, watch_value, &w);
}

static void add_line(void *logs, const json_t *line)
{
    Logs *l = logs;
    for (int i = 0; i < l->n; i++)
        if (!l->log[i].fault.path) l->log[i].form->add(&l->log[i], line);
    if (l->gauges) watch_line(l->gauges, line);
}

void add_to_logs(Logs *l, const char *line)
{
    if (l->n || l->gauges) take_log_line(line, strlen(line), add_line, l);
}

static void add_histograms(void *logs, const json_t *line)
{
    Logs *l = logs;
    for (int i = 0; i < l->n; i++)
        if (!l->log[i].fault.path && l->log[i].form->add_histograms) l->log[i].form->add_histograms(&l->log[i], line);
}

void add_histograms_to_logs(Logs *l, const char *line)
{
    if (l->n) take_log_line(line, strlen(line), add_histograms, l);
}

void close_logs(Logs *l)
{
    for (int i = 0; i < l->n; i++) {
        Log *log = &l->log[i];
        if (close(log->fd) != 0) set_fault(&log->fault, log->path, "written");
        if (log->fault.path) note("%s is not complete: it %s", log->path, log->fault.text);
        log->form->close(log);
        free(log->path);
    }
    close_gauges(l->gauges);
    free(l->metrics);
    free(l);
}
