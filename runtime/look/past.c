/* past.c: reads the folder of a run: its files of JSON, and metrics.jsonl line by line, thinned as it is read.
 *
 * A run that is being written, or was cut off, has a last line without an end: it is left out.  A line that is no JSON
 * is a fault that is told; the others count. */
#define _GNU_SOURCE /* strverscmp */
#include "look/past.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/words.h"
#include "look/lines.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ------------------------------------------------------------------ series */

static Series *named_series(Past_run *r, const char *split, const char *name)
{
    for (int i = 0; i < r->n; i++)
        if (strcmp(r->series[i]->name, name) == 0 && strcmp(r->series[i]->split, split) == 0) return r->series[i];
    if (r->n == MOST_SERIES) return r->crowded = true, NULL;
    return r->series[r->n++] = new_series(split, name);
}

typedef struct Line_at { /* a line of metrics.jsonl */
    Past_run *run;
    const char *split;
    int64_t number;
} Line_at;

static bool is_place(const char *split, const char *name)
{
    bool amount = strcmp(name, "tokens") == 0 || strcmp(name, "rows") == 0;
    return strcmp(name, "time") == 0 || (strcmp(split, "train") == 0 && amount);
}

static void take_series_number(void *line, const char *name, const json_t *value)
{
    Line_at *at = line;
    Past_run *r = at->run;
    double x;
    if (is_place(at->split, name) || !number_of_value(value, &x)) return;
    Series *s = named_series(r, at->split, name);
    if (s) add_to_series(s, (Point){at->number, r->step, r->units, r->seconds, x});
}

/* ------------------------------------------------------------------ lines */

static void put_fault(Past_run *r, char *text)
{
    json_array_append_new(r->faults, json_string(utf8_of(text)));
    free(text);
}

static bool finite_member(const json_t *line, const char *name, double *x)
{
    const json_t *value = json_object_get(line, name);
    if (!json_is_number(value) || !isfinite(json_number_value(value))) return false;
    return *x = json_number_value(value), true;
}

/* Where the line lies: lines of evaluations have no time of their own, so it is that of the step before. */
static void take_places(Past_run *r, const char *split, const json_t *line)
{
    finite_member(line, "step", &r->step);
    finite_member(line, "time", &r->seconds);
    if (strcmp(split, "train") != 0) return;
    if (finite_member(line, "tokens", &r->units)) r->unit = "tokens";
    else if (finite_member(line, "rows", &r->units)) r->unit = "rows";
}

static void keep_sample(Past_run *r, json_t *line)
{
    if (json_array_size(r->samples) == MOST_SAMPLES) json_array_remove(r->samples, 0);
    json_array_append(r->samples, line);
}

static void take_whole_line(Past_run *r, json_t *line)
{
    double step;
    const char *split = json_string_value(json_object_get(line, "split"));
    if (!split || !finite_member(line, "step", &step)) {
        if (r->bad_lines++ == 0)
            put_fault(r, text_of("%s/metrics.jsonl:%lld: expected the members step and split; the line is left out",
                                 r->folder, (long long)r->lines));
        return;
    }
    take_places(r, split, line);
    Line_at at = {r, split, r->lines};
    if (strcmp(split, "sample") == 0) keep_sample(r, line);
    else each_value(line, take_series_number, &at);
}

void take_metrics_line(Past_run *r, const char *line, size_t n)
{
    if (line[n - 1] != '\n') return; /* being written, or cut off */
    r->lines++;
    if (n == 1) return;
    json_t *all = line_json(line, n);
    if (all) take_whole_line(r, all);
    else if (r->bad_lines++ == 0)
        put_fault(r, text_of("%s/metrics.jsonl:%lld: expected a JSON object; the line is left out", r->folder,
                             (long long)r->lines));
    json_decref(all);
}

static void read_metrics_file(Past_run *r)
{
    char *path = text_of("%s/metrics.jsonl", r->folder), *line = NULL;
    size_t room = 0;
    struct stat about;
    ssize_t n;
    off_t left = 0;
    FILE *f = open_stream_to_read(path);
    if (f && fstat(fileno(f), &about) == 0 && S_ISREG(about.st_mode))
        left = about.st_size; /* a run may go on writing */
    while (f && left > 0 && (n = getline(&line, &room, f)) > 0) {
        take_metrics_line(r, line, (size_t)n);
        left -= n;
    }
    if (!f) put_fault(r, text_of("%s: cannot be read: %s", path, error_text(errno)));
    if (f) fclose(f);
    if (r->bad_lines > 1) put_fault(r, text_of("%s: %lld lines were left out", path, (long long)r->bad_lines));
    free(line);
    free(path);
}

/* ------------------------------------------------------------------ the folder */

static json_t *read_part(Past_run *r, const char *name)
{
    char *fault = NULL;
    json_t *all = json_of_file(r->folder, name, &fault);
    if (fault) put_fault(r, fault);
    return all;
}

static char *name_of_folder(const char *folder)
{
    size_t n = strlen(folder), from;
    while (n > 1 && folder[n - 1] == '/') n--;
    for (from = n; from && folder[from - 1] != '/';) from--;
    return text_of("%.*s", (int)(n - from), folder + from);
}

Past_run *new_past(const char *folder)
{
    Past_run *r = must_alloc(sizeof *r);
    r->folder = text_of("%s", folder);
    r->name = name_of_folder(folder);
    r->samples = json_array();
    r->faults = json_array();
    return r;
}

Past_run *read_past(const char *folder)
{
    struct stat about;
    if (stat(folder, &about) != 0)
        fail(EXIT_DATA, folder,
             "expected a run's folder, and it cannot be read: %s; `lathe runs DIR` lists the runs below a folder",
             error_text(errno));
    if (!S_ISDIR(about.st_mode) || !looks_like_run(folder))
        fail(EXIT_DATA, folder, "expected a run's folder, found %s; `lathe runs DIR` lists the runs below a folder",
             S_ISDIR(about.st_mode) ? "no metrics.jsonl in it" : "a file");
    Past_run *r = new_past(folder);
    r->config = read_part(r, "config.json");
    r->about = read_part(r, "run.json");
    r->eval = read_part(r, "eval.json");
    r->profile = read_part(r, "profile.json");
    r->data = read_part(r, "data.json");
    read_metrics_file(r);
    if (r->crowded)
        put_fault(r, text_of("%s: more than %d numbers by name; the others are left out", folder, MOST_SERIES));
    return r;
}

void free_past(Past_run *r)
{
    json_t *const parts[] = {r->config, r->about, r->eval, r->profile, r->data, r->samples, r->faults};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) json_decref(parts[i]);
    for (int i = 0; i < r->n; i++) free_series(r->series[i]);
    free(r->folder);
    free(r->name);
    free(r);
}

/* ------------------------------------------------------------------ finding runs */

enum { DEEPEST = 6 }; /* folders below the one that is named */

static bool may_hold_runs(const char *name)
{
    return *name != '.' && strcmp(name, "checkpoints") != 0 && strncmp(name, "before-", 7) != 0;
}

/* Links are not followed, so no folder is met twice. */
static void find_runs(Words *all, const char *folder, int depth)
{
    struct stat about;
    if (looks_like_run(folder)) {
        add_word(all, text_of("%s", folder));
        return;
    }
    DIR *d = depth < DEEPEST ? opendir(folder) : NULL;
    for (const struct dirent *e; d && (e = readdir(d));) {
        if (!may_hold_runs(e->d_name)) continue;
        char *path = text_of("%s/%s", folder, e->d_name);
        if (lstat(path, &about) == 0 && S_ISDIR(about.st_mode)) find_runs(all, path, depth + 1);
        free(path);
    }
    if (d) closedir(d);
}

static int by_version(const void *a, const void *b)
{
    return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

void add_runs_below(Words *runs, const char *folder)
{
    const int before = runs->n;
    find_runs(runs, folder, 0);
    if (runs->n > before) qsort(runs->at + before, (size_t)(runs->n - before), sizeof *runs->at, by_version);
}

Words runs_named(const Words *given)
{
    Words runs = {0};
    struct stat about;
    bool folders = false;
    for (int i = 0; i < given->n; i++) folders |= stat(given->at[i], &about) == 0 && S_ISDIR(about.st_mode);
    for (int i = 0; i < given->n; i++) {
        const bool there = stat(given->at[i], &about) == 0, folder = there && S_ISDIR(about.st_mode);
        const int before = runs.n;
        if (there && !folder && folders) continue; /* a log, which the shell found beside the folders */
        if (folder) add_runs_below(&runs, given->at[i]);
        if (runs.n == before) add_word(&runs, given->at[i]); /* read_past() says what is wrong */
    }
    return runs;
}
