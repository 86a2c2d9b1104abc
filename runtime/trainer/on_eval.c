/* on_eval.c: a command of the user's after each evaluation, beside the training.  It cannot harm the run: one at a
 * time, and its failure is a note. */
#include "base/words.h"
#include "trainer/on_eval.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Whether the command before has ended; says how, if not well. */
static bool has_ended(On_eval *c, int how)
{
    int status;
    pid_t ended;
    if (!c->running) return true;
    while ((ended = waitpid(c->running, &status, how)) < 0 && errno == EINTR) {}
    if (ended == 0) return false;
    c->running = 0;
    if (ended > 0 && status != 0)
        note("--on-eval: the command for step %lld ended with %s%d; the run goes on", (long long)c->step,
             WIFSIGNALED(status) ? "signal " : "exit code ",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return true;
}

/* The environment with two more; the list is from malloc. */
static char **environment_with(char *run, char *step)
{
    size_t n = 0;
    while (environ[n]) n++;
    char **all = must_alloc(sizeof *all * (n + 3));
    all[0] = run, all[1] = step;
    memcpy(all + 2, environ, sizeof *all * n);
    return all;
}

/* Its standard input reads `from`. */
static int start_command(On_eval *c, int from, char **environment)
{
    char *const words[] = {(char *)"sh", (char *)"-c", (char *)c->command, NULL};
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, from, 0);
    posix_spawn_file_actions_adddup2(&files, 2, 1);
    int error = posix_spawn(&c->running, "/bin/sh", &files, NULL, words, environment);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

/* A line is shorter than what a pipe holds; if not, the command reads its beginning. */
static int pipe_with(const char *line)
{
    int ends[2];
    if (pipe(ends) != 0) return -1;
    for (int i = 0; i < 2; i++) (void)fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    (void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
    if (write(ends[1], line, strlen(line)) < 0)
        note("--on-eval: the metrics cannot be handed over: %s", error_text(errno));
    close(ends[1]);
    return ends[0];
}

void tell_command(On_eval *c, int64_t step, const char *line)
{
    if (!c->command) return;
    if (!has_ended(c, WNOHANG)) {
        note("--on-eval: the command for step %lld still runs, so there is none for step %lld", (long long)c->step,
             (long long)step);
        return;
    }
    char *run = text_of("LATHE_RUN=%s", c->run), *number = text_of("LATHE_STEP=%lld", (long long)step);
    char **environment = environment_with(run, number);
    int from = pipe_with(line), error = from < 0 ? errno : start_command(c, from, environment);
    c->step = step;
    if (error) {
        c->running = 0;
        note("--on-eval: the command cannot be started: %s; the run goes on", error_text(error));
    }
    if (from >= 0) close(from);
    free(environment);
    free(run);
    free(number);
}

void wait_for_command(On_eval *c) { has_ended(c, 0); }
