/* look.c: `trainer report`, and the report that a run leaves at its end. */
#include "base/file.h"
#include "base/json_text.h"
#include "base/words.h"
#include "look/page.h"
#include "trainer/about.h"
#include "trainer/trainer.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int draw_report(Trainer *t)
{
    Charts charts;
    Fault f = {0};
    size_t bytes;
    if (!find_charts(&charts)) fail(EXIT_ERROR, NULL, "%s", charts_remedy());
    Past_run *run = read_past(run_folder(t));
    char *path = t->to ? text_of("%s", t->to) : text_of("%s/report.html", run_folder(t));
    char *page = page_of_runs(&run, 1, &charts, false, &bytes);
    const json_t *fault;
    size_t k;
    json_array_foreach(run->faults, k, fault) note("%s", json_string_value(fault));
    if (!replace_text(path, page, &f))
        fail(EXIT_DATA, path, "%s; %s or choose another file with --to", f.text, room_remedy(f.number));
    show(stdout, "%s\n", path);
    free(path);
    free(page);
    free_past(run);
    free_charts(&charts);
    return 0;
}

/* Its output goes nowhere: a run's own must not change. */
static void run_quietly(char *const *words)
{
    pid_t child;
    int status;
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    for (int fd = 0; fd < 3; fd++)
        posix_spawn_file_actions_addopen(&files, fd, "/dev/null", fd ? O_WRONLY : O_RDONLY, 0);
    if (posix_spawn(&child, "/proc/self/exe", &files, NULL, words, environ) == 0)
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    posix_spawn_file_actions_destroy(&files);
}

void report_at_end(const Trainer *t)
{
    Charts charts;
    if (t->no_report || !find_charts(&charts)) return;
    free_charts(&charts);
    char *const words[] = {(char *)"trainer", (char *)"report", (char *)"--out", (char *)run_folder(t), NULL};
    run_quietly(words);
}
