/* run.c: the run folder: its lock, its checkpoints, and which of them are kept.
 *
 * A folder named checkpoints/step-N is complete (trainer/checkpoint.c), so the newest is the one with the highest N;
 * the links are for people and other programs.  A checkpoint is renamed before it is removed. */
#include "base/file.h"
#include "base/words.h"
#include "model/run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

char *checkpoint_path(const char *run, int64_t step)
{
    return text_of("%s/checkpoints/step-%lld", run, (long long)step);
}

/* ------------------------------------------------------------------ the list of checkpoints */

typedef struct Steps {
    int64_t *at; /* ascending */
    int n;
} Steps;

/* The N of step-N; -1: another name. */
static int64_t step_of_name(const char *name)
{
    int64_t step;
    if (strncmp(name, "step-", 5) != 0 || !strchr("0123456789", name[5])) return -1;
    return parse_count(name + 5, &step) ? step : -1;
}

static int by_step(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Empty if there is no such folder; a fault if it cannot be read. */
static Steps list_steps(const char *run, Fault *f)
{
    Steps s = {NULL, 0};
    char *path = text_of("%s/checkpoints", run);
    DIR *d = opendir(path);
    if (!d && errno != ENOENT && errno != ENOTDIR) set_fault(f, path, "read");
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        int64_t step = step_of_name(e->d_name);
        if (step < 0) continue;
        s.at = must_grow(s.at, sizeof *s.at * (size_t)(s.n + 1));
        s.at[s.n++] = step;
    }
    if (d) closedir(d);
    if (s.n) qsort(s.at, (size_t)s.n, sizeof *s.at, by_step);
    free(path);
    return s;
}

int64_t newest_checkpoint(const char *run, int64_t below)
{
    int64_t newest = -1;
    Fault f = {0};
    Steps s = list_steps(run, &f);
    if (f.path) fail(EXIT_DATA, f.path, "%s", f.text);
    for (int i = 0; i < s.n; i++)
        if (s.at[i] < below) newest = s.at[i];
    free(s.at);
    return newest;
}

char *newest_weights(const char *folder)
{
    int64_t step = newest_checkpoint(folder, INT64_MAX);
    return text_of("%s/model.safetensors", step < 0 ? folder : checkpoint_path(folder, step));
}

static bool exists(const char *folder, const char *name)
{
    struct stat about;
    char *path = text_of("%s/%s", folder, name);
    bool there = lstat(path, &about) == 0;
    free(path);
    return there;
}

bool holds_a_run(const char *folder)
{
    return newest_checkpoint(folder, INT64_MAX) >= 0 || exists(folder, "model.safetensors");
}

/* ------------------------------------------------------------------ one trainer at a time */

/* The system releases these locks when the program ends, however it ends.  The lock of the folder counts, so removing
 * the file `lock` does not admit another trainer.  The lock of the file is for file systems that cannot lock folders;
 * its text is for the message. */
static int folder_fd = -1, file_fd = -1;

static _Noreturn void refuse_second(const char *run, const char *then)
{
    char *path = text_of("%s/lock", run), who[64] = "";
    int fd = open_to_read(path);
    if (fd >= 0 && read(fd, who, sizeof who - 1) > 0) who[strcspn(who, "\n")] = 0;
    fail(EXIT_DATA, run, "another trainer (%s) is writing into this run folder; %s", *who ? who : "process unknown",
         then);
}

static bool is_locked(int fd) { return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; }

void lock_run(const char *run)
{
    static const char then[] = "wait for it, or choose another with --out";
    char *path = text_of("%s/lock", run);
    Fault f = {0};
    if (file_fd >= 0) return;
    if (!make_folders(run, &f)) fail(EXIT_DATA, f.path, "the run folder %s; choose another with --out", f.text);
    folder_fd = open(run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (is_locked(folder_fd)) refuse_second(run, then);
    file_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file_fd < 0) fail(EXIT_DATA, path, "cannot be made: %s; choose another folder with --out", error_text(errno));
    if (is_locked(file_fd)) refuse_second(run, then);
    if (ftruncate(file_fd, 0) == 0) dprintf(file_fd, "process %d\n", (int)getpid());
    free(path);
}

void refuse_running(const char *run)
{
    int fd = open(run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) fail(EXIT_DATA, run, "expected a run's folder: %s", error_text(errno));
    if (flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        refuse_second(run, "wait for it, or copy the folder");
    close(fd);
}

static bool is_file_at(int fd, const char *path)
{
    struct stat held, there;
    return fstat(fd, &held) == 0 && stat(path, &there) == 0 && held.st_dev == there.st_dev &&
           held.st_ino == there.st_ino;
}

/* If the folder was replaced, another trainer may run in the new one. */
void keep_lock(const char *run)
{
    struct stat there;
    if (folder_fd < 0 || is_file_at(folder_fd, run) || stat(run, &there) != 0)
        return; /* missing: the save will report it */
    int fd = open(run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (is_locked(fd))
        refuse_second(run, "this trainer had the folder's predecessor, and stops; its last steps are not saved");
    close(folder_fd);
    close(file_fd);
    folder_fd = file_fd = -1;
    if (fd >= 0) close(fd);
    lock_run(run);
    note("%s was replaced by another folder during the run; the run continues in the new one", run);
}

/* ------------------------------------------------------------------ order */

/* Removes what a killed trainer was writing or removing. */
static void remove_half_done(const char *run)
{
    char *folder = text_of("%s/checkpoints", run);
    DIR *d = opendir(folder);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        if (!has_end(e->d_name, ".part") && !has_end(e->d_name, ".gone")) continue;
        char *path = text_of("%s/%s", folder, e->d_name);
        if (unlink(path) != 0) (void)remove_folder(path);
        free(path);
    }
    if (d) closedir(d);
    free(folder);
}

static char *make_before(const char *run, Fault *f)
{
    char *path = NULL, *inner;
    struct stat about;
    for (int k = 1; !path; k++) {
        path = text_of("%s/before-%d", run, k);
        if (lstat(path, &about) != 0) break;
        free(path);
        path = NULL;
    }
    inner = text_of("%s/checkpoints", path);
    make_folders(inner, f);
    free(inner);
    return path;
}

static void set_aside(const char *run, const char *before, const char *name, Fault *f)
{
    char *from = text_of("%s/%s", run, name), *to = text_of("%s/%s", before, name);
    if (exists(run, name)) move_file(from, to, f);
    free(from);
    free(to);
}

/* Moves the highest first, so that after an interruption the remaining ones are older than those moved. */
static void set_checkpoints_aside(const char *run, const char *before, const Steps *s, int64_t after, Fault *f)
{
    for (int i = s->n - 1; i >= 0 && s->at[i] > after; i--) {
        char *name = text_of("checkpoints/step-%lld", (long long)s->at[i]);
        set_aside(run, before, name, f);
        free(name);
    }
}

static void sync_moved(const char *run, const char *before, Fault *f)
{
    char *from = text_of("%s/checkpoints", run), *to = text_of("%s/checkpoints", before);
    sync_folder(to, f);
    sync_folder(before, f);
    sync_folder(from, f);
    sync_folder(run, f);
    free(from);
    free(to);
}

static void set_events_aside(const char *run, const char *before, Fault *f)
{
    DIR *d = opendir(run);
    for (const struct dirent *e; d && (e = readdir(d));)
        if (strncmp(e->d_name, EVENT_FILES, strlen(EVENT_FILES)) == 0) set_aside(run, before, e->d_name, f);
    if (d) closedir(d);
}

bool prepare_run(const char *run, int64_t after, char **where)
{
    static const char *const files[] = {
        "metrics.jsonl",        "metrics.csv",           "config.json",      "model.safetensors", "tokenizer.json",
        "diverged.safetensors", "checkpoints/latest",    "checkpoints/best", "huggingface.json",  "table.json",
        "classes.json",         "reference.safetensors", "run.json",         "report.html",       "eval.json",
        "profile.json",         "histograms.jsonl",      "data.json",        "hashes.jsonl"};
    char *checkpoints = text_of("%s/checkpoints", run);
    Fault f = {0};
    Steps s = list_steps(run, &f);
    bool some = (s.n && s.at[s.n - 1] > after) || (after < 0 && holds_a_run(run));
    make_folders(checkpoints, &f);
    remove_half_done(run);
    if (some) {
        *where = make_before(run, &f);
        set_checkpoints_aside(run, *where, &s, after, &f);
        for (size_t i = 0; i < sizeof files / sizeof *files && after < 0; i++) set_aside(run, *where, files[i], &f);
        if (after < 0) set_events_aside(run, *where, &f);
        sync_moved(run, *where, &f);
    }
    if (f.path) fail(EXIT_DATA, f.path, "%s; choose another run folder with --out", f.text);
    free(s.at);
    free(checkpoints);
    return some;
}

/* ------------------------------------------------------------------ after a save */

/* Links RUN/file, if the checkpoint has the file. */
static void link_file(const char *run, const char *checkpoint, const char *file, Fault *f)
{
    char *path = text_of("%s/%s", run, file), *to = text_of("checkpoints/%s/%s", checkpoint, file);
    if (exists(run, to)) replace_link(path, to, f);
    free(path);
    free(to);
}

void link_checkpoint(const char *run, int64_t step, int64_t best, Fault *f)
{
    static const char *const files[] = {"model.safetensors", "tokenizer.json", "table.json", "classes.json",
                                        "huggingface.json"};
    char *name = text_of("step-%lld", (long long)step), *path = text_of("%s/checkpoints/latest", run);
    char *best_path = text_of("%s/checkpoints/best", run), *best_name = text_of("step-%lld", (long long)best);
    replace_link(path, name, f);
    if (best >= 0) replace_link(best_path, best_name, f);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) link_file(run, name, files[i], f);
    char *const all[] = {name, path, best_path, best_name};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

static void remove_checkpoint(const char *run, int64_t step)
{
    char *path = checkpoint_path(run, step), *gone = text_of("%s.gone", path);
    if (rename(path, gone) == 0) (void)remove_folder(gone);
    free(path);
    free(gone);
}

void prune_run(const char *run, int64_t keep, int64_t best)
{
    Fault f = {0};
    Steps s = list_steps(run, &f);
    for (int i = 0; keep > 0 && i < s.n - keep; i++)
        if (s.at[i] != best) remove_checkpoint(run, s.at[i]);
    clear_fault(&f); /* the next save removes them */
    free(s.at);
}
