/* results.c: the folder of a sweep.
 *
 *     sweep.json      what is searched, written once: the same command goes on, another is refused
 *     results.jsonl   a line for each run that has ended a rung, only appended to; half a line at its end is cut off
 *     builds/HASH/    the programs
 *     trial-007/      the runs; what they say is in trial-007.log
 *     sweep.csv       the table
 *     lock            one sweep at a time
 *     processes       is locked while any process of a sweep lives: those of a killed one take a while to die */
#include "runtime/base/file.h"
#include "runtime/base/json_text.h"
#include "runtime/base/words.h"
#include "runtime/model/run.h"
#include "sweep/sweep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const ended_words[] = {"", "done", "diverged", "failed", "too large"};

/* ------------------------------------------------------------------ one sweep at a time */

/* The system takes the lock back when the process ends, however it ends. */
static void lock_sweep(const Sweep *s)
{
    const char *path = format("%s/lock", s->folder);
    Fault f = {0};
    if (!make_folders(format("%s/builds", s->folder), &f))
        fail(EXIT_DATA, f.path, "%s; choose another folder with --out", f.text);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) fail(EXIT_DATA, path, "cannot be made: %s; choose another folder with --out", strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        fail(EXIT_DATA, s->folder,
             "another sweep is at work in this folder; wait for it, or choose another with --out");
}

/* A killed sweep's trainers are being ended by the system, and its compilers end by themselves.  The processes of this
 * sweep inherit the lock. */
static void await_processes(const Sweep *s)
{
    enum { LONGEST = 60 }; /* s */
    const char *path = format("%s/processes", s->folder);
    int fd = open(path, O_RDWR | O_CREAT, 0666);
    double from = seconds_now();
    if (fd < 0) fail(EXIT_DATA, path, "cannot be made: %s; choose another folder with --out", strerror(errno));
    while (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        if (seconds_now() - from > LONGEST)
            fail(EXIT_DATA, s->folder,
                 "processes of an earlier sweep are still at work in this folder; end them first");
        usleep(20000);
    }
}

/* Folders in which a killed sweep was building. */
static void remove_half_builds(const Sweep *s)
{
    const char *folder = format("%s/builds", s->folder);
    DIR *d = opendir(folder);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        const char *dot = strchr(e->d_name, '.');
        if (dot && dot != e->d_name && strspn(dot + 1, "0123456789") == strlen(dot + 1))
            (void)remove_folder(format("%s/%s", folder, e->d_name));
    }
    if (d) closedir(d);
}

/* ------------------------------------------------------------------ what is searched */

static json_t *texts_json(const Texts *texts)
{
    json_t *all = json_array();
    for (int i = 0; i < texts->n; i++) add_json(all, word_json(texts->at[i]));
    return all;
}

/* All that a trial's values and results depend on. */
static json_t *described_json(const Sweep *s)
{
    static const char *const methods[] = {[BY_GRID] = "grid", [BY_RANDOM] = "random", [BY_TPE] = "tpe"};
    json_t *all = json_object();
    Texts over = {0};
    for (int i = 0; i < s->over.n; i++) push(&over, format("%s=%s", s->over.at[i].key, s->over.at[i].given));
    put_json(all, "description", word_json(s->model));
    put_json(all, "--over", texts_json(&over));
    put_json(all, "--method", word_json(methods[s->method]));
    put_json(all, "--trials", json_integer(s->trials));
    put_json(all, "--halving", json_boolean(s->halving));
    put_json(all, "--seeds", json_integer(s->seeds));
    put_json(all, "--seed", json_integer(s->seed));
    put_json(all, "steps", json_integer(s->steps));
    put_json(all, "metric", word_json(s->metric));
    put_json(all, "options of the build", word_json(options_text(s->options, OTHER_PROGRAM)));
    put_json(all, "options of runs", texts_json(&s->words));
    put_json(all, "settings of runs", texts_json(&s->for_run));
    put_json(all, "text of the description and of the library",
             word_json(format("%016llx", (unsigned long long)s->desc->source_hash)));
    return all;
}

static const char *shown_json(const json_t *value)
{
    return !value ? "nothing" : json_is_string(value) ? json_string_value(value) : json_written(value, JSON_ENCODE_ANY);
}

static void compare_sweeps(const char *path, const json_t *old, const json_t *now)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)now, key, value)
    {
        const json_t *was = json_object_get(old, key);
        if (!json_equal(was, value))
            fail(EXIT_DATA, path,
                 "this folder has another sweep: %s was %s, and is %s now; give the same command to go on with it, or "
                 "choose another folder with --out",
                 key, shown_json(was), shown_json(value));
    }
}

/* What a sweep had begun in the folder before it wrote sweep.json is its lock and empty builds/. */
static void refuse_foreign_folder(const Sweep *s)
{
    DIR *d = opendir(s->folder);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
        if (e->d_name[0] != '.' && !same(e->d_name, "lock") && !same(e->d_name, "processes") &&
            !same(e->d_name, "builds") && !starts_with(e->d_name, "sweep.json"))
            fail(EXIT_DATA, s->folder, "this folder has no sweep, but %s; choose another with --out", e->d_name);
    if (d) closedir(d);
}

/* Something has ended, or would go on. */
static bool has_begun(const Sweep *s)
{
    struct stat about;
    bool begun = stat(format("%s/results.jsonl", s->folder), &about) == 0 && about.st_size > 0;
    DIR *d = opendir(s->folder);
    for (struct dirent *e = d ? readdir(d) : NULL; e && !begun; e = readdir(d)) {
        const char *path = format("%s/%s", s->folder, e->d_name);
        begun =
            starts_with(e->d_name, "trial-") && stat(path, &about) == 0 && S_ISDIR(about.st_mode) && holds_a_run(path);
    }
    if (d) closedir(d);
    return begun;
}

static void open_description(const Sweep *s)
{
    const char *path = format("%s/sweep.json", s->folder);
    json_t *now = described_json(s), *old = NULL;
    size_t bytes;
    Fault f = {0};
    char *text = read_file(path, &bytes);
    if (text) {
        old = json_loadb(text, bytes, 0, NULL);
        if (!json_is_object(old))
            fail(EXIT_DATA, path, "expected a JSON object; the file is damaged: choose another folder with --out");
        if (has_begun(s)) compare_sweeps(path, old, now);
    } else refuse_foreign_folder(s);
    if (!json_equal(old, now)) {
        if (!replace_text(path, format("%s\n", json_written(now, JSON_INDENT(1))), &f))
            fail(EXIT_DATA, f.path, "%s", f.text);
    }
    json_decref(old);
    json_decref(now);
}

/* ------------------------------------------------------------------ what has ended */

static int64_t member_below(const json_t *line, const char *key, int64_t below)
{
    const json_t *value = json_object_get(line, key);
    int64_t n = json_is_integer(value) ? json_integer_value(value) : -1;
    return n < below ? n : -1;
}

static bool take_outcome(const Sweep *s, const json_t *line)
{
    int64_t trial = member_below(line, "trial", s->trials + 1), rung = member_below(line, "rung", s->rungs);
    int64_t seed = member_below(line, "seed", s->seed + s->seeds) - s->seed;
    Outcome o = {.value = json_number_value(json_object_get(line, "value")),
                 .steps = json_integer_value(json_object_get(line, "steps")),
                 .seconds = json_number_value(json_object_get(line, "seconds"))};
    char *message = word_of_json(json_object_get(line, "message"));
    const char *how = json_string_value(json_object_get(line, "state"));
    o.message = message;
    for (int i = DONE; i <= TOO_LARGE; i++)
        if (same(how, ended_words[i])) o.how = (Ended)i;
    if (trial < 1 || seed < 0 || rung < 0 || o.how == NOT_ENDED) return false;
    s->trial[trial - 1].run[seed][rung] = o;
    return true;
}

/* Returns where the last whole line ends. */
static off_t take_outcomes(const Sweep *s, const char *path)
{
    size_t bytes;
    char *text = read_file(path, &bytes), *line = text;
    if (!text && errno != ENOENT) fail(EXIT_DATA, path, "cannot be read: %s", strerror(errno));
    for (int n = 1; text; n++) {
        char *end = memchr(line, '\n', bytes - (size_t)(line - text));
        if (!end) return line - text;
        json_t *all = json_loadb(line, (size_t)(end - line), 0, NULL);
        if (!all || !take_outcome(s, all))
            fail(EXIT_DATA, format("%s:%d", path, n),
                 "expected the result of a run of this sweep; the file is damaged: remove the line, and "
                 "the run is made again");
        json_decref(all);
        line = end + 1;
    }
    return 0;
}

void open_sweep_folder(Sweep *s)
{
    const char *path = format("%s/results.jsonl", s->folder);
    lock_sweep(s);
    await_processes(s);
    open_description(s);
    remove_half_builds(s);
    off_t end = take_outcomes(s, path);
    s->results = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (s->results < 0 || ftruncate(s->results, end) != 0)
        fail(EXIT_DATA, path, "cannot be written: %s", strerror(errno));
}

void forget_outcomes(const Sweep *s) { (void)!ftruncate(s->results, 0); }

void keep_outcome(const Sweep *s, int trial, int seed, int rung)
{
    const Outcome *o = &s->trial[trial].run[seed][rung];
    const char *path = format("%s/results.jsonl", s->folder);
    Fault f = {0};
    json_t *all = json_object();
    put_json(all, "trial", json_integer(trial + 1));
    put_json(all, "seed", json_integer(s->seed + seed));
    put_json(all, "rung", json_integer(rung));
    put_json(all, "state", word_json(ended_words[o->how]));
    put_json(all, "value", real_json(o->value));
    put_json(all, "steps", json_integer(o->steps));
    put_json(all, "seconds", real_json(o->seconds));
    put_json(all, "message", word_json(o->message));
    const char *line = format("%s\n", json_written(all, JSON_REAL_PRECISION(17)));
    if (!append_whole(s->results, line, strlen(line), path, &f))
        fail(EXIT_DATA, f.path, "%s; %s, and give the same command again", f.text, room_remedy(f.number));
    json_decref(all);
}
