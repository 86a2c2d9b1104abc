/* state.c: what a run's folder says at a glance: whether it runs, how it ended, how far it came. */
#include "base/file.h"
#include "base/json_text.h"
#include "base/words.h"
#include "look/lines.h"
#include "look/past.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_JSON = 64 << 20 }; /* bytes of a file of JSON */

const char *const state_words[] = {"running", "done", "stopped", "diverged", "cut off"};

static bool is_file_of_run(const char *folder, const char *name, struct stat *about)
{
    char *path = text_of("%s/%s", folder, name);
    bool is = stat(path, about) == 0 && S_ISREG(about->st_mode);
    free(path);
    return is;
}

bool is_regular_file(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

bool looks_like_run(const char *folder)
{
    struct stat about;
    return is_file_of_run(folder, "metrics.jsonl", &about) ||
           (is_file_of_run(folder, "config.json", &about) && is_file_of_run(folder, "lock", &about));
}

/* ------------------------------------------------------------------ small files */

json_t *json_of_file(const char *folder, const char *name, char **fault)
{
    struct stat about;
    json_error_t e;
    if (!is_file_of_run(folder, name, &about)) return NULL;
    char *path = text_of("%s/%s", folder, name);
    json_t *all = about.st_size > MOST_JSON ? NULL : json_load_file(path, 0, &e);
    if (about.st_size > MOST_JSON) *fault = text_of("%s: larger than a file of a run; it is left out", path);
    else if (!all) *fault = text_of("%s:%d: not JSON: %s; it is left out", path, e.line, e.text);
    else if (!json_is_object(all)) {
        *fault = text_of("%s: expected a JSON object; it is left out", path);
        json_decref(all);
        all = NULL;
    }
    free(path);
    return all;
}

const char *recipe_word(const json_t *config, const char *name, char *room, int bytes)
{
    const json_t *value = json_object_get(json_object_get(config, "recipe"), name);
    snprintf(room, (size_t)bytes, "%s", json_is_string(value) ? json_string_value(value) : "");
    if (json_is_number(value)) snprintf(room, (size_t)bytes, "%g", json_number_value(value));
    return room;
}

double planned_steps(const json_t *config)
{
    return json_number_value(json_object_get(json_object_get(config, "recipe"), "steps"));
}

/* ------------------------------------------------------------------ is it running? */

/* The process that the file `lock` names; 0: none. */
static long locker(const char *folder)
{
    char *path = text_of("%s/lock", folder), text[64] = "";
    int fd = open_to_read(path);
    long pid = 0;
    if (fd >= 0 && read(fd, text, sizeof text - 1) > 0 && strncmp(text, "process ", 8) == 0) pid = atol(text + 8);
    if (fd >= 0) close(fd);
    free(path);
    return pid > 0 ? pid : 0;
}

/* The system's list of locks is read: taking the lock for a moment could stop a trainer that starts. */
static bool holds_lock(long pid, const char *folder)
{
    struct stat about;
    char line[256], kind[16], inode[64];
    long holder;
    bool holds = false;
    FILE *f = stat(folder, &about) == 0 ? open_stream_to_read("/proc/locks") : NULL;
    char *wanted = text_of("%llu", (unsigned long long)about.st_ino);
    while (f && !holds && fgets(line, sizeof line, f)) {
        bool read = sscanf(line, "%*s %15s %*s %*s %ld %63s", kind, &holder, inode) == 3;
        const char *number = read ? strrchr(inode, ':') : NULL;
        holds = number && strcmp(kind, "FLOCK") == 0 && holder == pid && strcmp(number + 1, wanted) == 0;
    }
    if (f) fclose(f);
    free(wanted);
    return holds;
}

static bool is_running(const char *folder)
{
    long pid = locker(folder);
    return pid && holds_lock(pid, folder);
}

static bool is_after(const char *folder, const char *name, const char *than)
{
    struct stat a, b;
    return is_file_of_run(folder, name, &a) && (!is_file_of_run(folder, than, &b) || a.st_mtime >= b.st_mtime);
}

Run_state state_of_run(const char *folder, const json_t *config, const json_t *about, double last_step)
{
    const char *how = json_string_value(json_object_get(json_object_get(about, "ended"), "how"));
    if (how && strcmp(how, "done") == 0) return DONE;
    if (how && strcmp(how, "diverged") == 0) return DIVERGED;
    if (how) return STOPPED; /* at its end a run draws its report, and still has its lock */
    if (is_running(folder)) return RUNS_NOW;
    if (!about && is_after(folder, "diverged.safetensors", "metrics.jsonl")) return DIVERGED;
    return planned_steps(config) > 0 && last_step >= planned_steps(config) ? DONE : CUT_OFF;
}

/* ------------------------------------------------------------------ metrics.jsonl, from its end */

static char *text_of_run(const char *folder, const char *name, size_t *bytes)
{
    struct stat about;
    char *path = text_of("%s/%s", folder, name), *text = NULL;
    int fd = is_file_of_run(folder, name, &about) ? open_to_read(path) : -1;
    *bytes = 0;
    if (fd >= 0) {
        size_t room = (size_t)about.st_size;
        text = must_alloc(room + 1);
        for (ssize_t n = 1; n > 0 && *bytes < room;) {
            n = read(fd, text + *bytes, room - *bytes);
            if (n > 0) *bytes += (size_t)n;
        }
        close(fd);
    }
    free(path);
    return text;
}

static double member(const json_t *line, const char *name)
{
    double x;
    const json_t *value = json_object_get(line, name);
    return value && number_of_value(value, &x) ? x : NAN;
}

static void take_train_line(Glance *g, const json_t *line)
{
    const char *split = json_string_value(json_object_get(line, "split"));
    if (!split || strcmp(split, "train") != 0) return;
    double norm = member(line, "grad_norm");
    if (norm >= g->norm || isnan(g->norm)) g->norm = norm, g->norm_step = member(line, "step");
    if (!isnan(g->step)) return;
    g->step = member(line, "step");
    g->loss = member(line, "loss");
    g->seconds = member(line, "time");
}

static void take_val_line(Glance *g, const json_t *line)
{
    const char *split = json_string_value(json_object_get(line, "split"));
    double loss = member(line, "loss");
    if (split && strcmp(split, "val") == 0 && !(loss >= g->best)) g->best = isnan(loss) ? g->best : loss;
}

static void take_glance_line(Glance *g, const char *line, size_t n, void (*take)(Glance *g, const json_t *line))
{
    json_t *all = line_json(line, n);
    if (all) take(g, all);
    json_decref(all);
}

/* The last complete lines, newest first. */
static void take_last_lines(Glance *g, const char *text, size_t bytes)
{
    enum { LINES = 50 };
    while (bytes && text[bytes - 1] != '\n') bytes--;
    for (int i = 0; i < LINES && bytes; i++) {
        size_t from = bytes - 1;
        while (from && text[from - 1] != '\n') from--;
        take_glance_line(g, text + from, bytes - from, take_train_line);
        bytes = from;
    }
}

static void glance_at_evaluations(Glance *g, const char *text)
{
    static const char mark[] = "\"split\":\"val\"";
    for (const char *at = strstr(text, mark); at; at = strstr(at, mark)) {
        const char *line = at, *end = strchr(at, '\n');
        while (line > text && line[-1] != '\n') line--;
        if (!end) return;
        take_glance_line(g, line, (size_t)(end - line), take_val_line);
        at = end;
    }
}

static char *model_word(const json_t *config)
{
    const char *model = json_string_value(json_object_get(config, "model"));
    const char *of = json_string_value(json_object_get(config, "config"));
    return text_of("%s%s%s", model ? model : "", of && *of ? " " : "", of ? of : "");
}

Glance glance_at(const char *folder)
{
    Glance g = {.step = NAN, .seconds = NAN, .loss = NAN, .best = NAN, .norm = NAN, .norm_step = NAN};
    size_t bytes;
    struct stat about;
    char *fault = NULL, *text = text_of_run(folder, "metrics.jsonl", &bytes);
    json_t *config = json_of_file(folder, "config.json", &fault), *run = json_of_file(folder, "run.json", &fault);
    const json_t *rate = json_object_get(json_object_get(config, "recipe"), "lr");
    g.folder = text_of("%s", folder);
    g.model = model_word(config);
    g.steps = planned_steps(config);
    g.rate = json_is_number(rate) ? json_number_value(rate) : NAN;
    g.changed = is_file_of_run(folder, "metrics.jsonl", &about) ? (double)about.st_mtime : 0;
    if (text) {
        take_last_lines(&g, text, bytes);
        glance_at_evaluations(&g, text);
    }
    g.state = state_of_run(folder, config, run, g.step);
    json_decref(config);
    json_decref(run);
    free(fault);
    free(text);
    return g;
}
