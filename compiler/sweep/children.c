/* children.c: the processes of a sweep: builds and runs.
 *
 * Each is the head of a process group of its own, so that Ctrl-C reaches the sweep alone, which tells the others once:
 * a second signal would end a trainer before it has saved.  The system kills a process whose sweep has died, however it
 * died: nobody writes into a folder that the next sweep goes on with. */
#include "runtime/base/words.h"
#include "sweep/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

volatile int sweep_signal;
static const Sweep *sweep_of_signals;

/* ------------------------------------------------------------------ signals */

static void pass_on(int number)
{
    for (int i = 0; i < sweep_of_signals->children.n; i++) kill(-sweep_of_signals->children.at[i]->pid, number);
}

static void on_sweep_signal(int number)
{
    bool again = sweep_signal != 0;
    sweep_signal = number;
    pass_on(again ? SIGKILL : SIGTERM);
    if (again) _exit(128 + number);
}

void catch_sweep_signals(const Sweep *s)
{
    static const int caught[] = {SIGINT, SIGTERM, SIGHUP};
    sweep_of_signals = s;
    signal(SIGPIPE, SIG_IGN); /* when nobody reads the lines any more, the table is still written */
    for (int i = 0; i < COUNT_OF(caught); i++) {
        struct sigaction end = {.sa_handler = on_sweep_signal, .sa_flags = SA_RESTART}, before;
        if (sigaction(caught[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(caught[i], &end, NULL);
    }
}

/* Between these no signal finds the list of children half changed. */
static void hold_signals(bool hold)
{
    sigset_t all;
    sigemptyset(&all);
    sigaddset(&all, SIGINT), sigaddset(&all, SIGTERM), sigaddset(&all, SIGHUP);
    sigprocmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &all, NULL);
}

/* ------------------------------------------------------------------ start */

static _Noreturn void become(const char *command, const char *log, pid_t parent)
{
    int out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0666), in = open("/dev/null", O_RDONLY);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    signal(SIGINT, SIG_DFL), signal(SIGTERM, SIG_DFL), signal(SIGPIPE, SIG_DFL);
    hold_signals(false);
    if (out < 0 || in < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0) _exit(1);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

Child *start_child(Sweep *s, const char *command, const char *log)
{
    struct stat about;
    Child *c = NEW(Child);
    pid_t parent = getpid();
    *c = (Child){.trial = -1, .log = log, .from = stat(log, &about) == 0 ? about.st_size : 0, .started = seconds_now()};
    fflush(NULL);
    hold_signals(true);
    c->pid = fork();
    if (c->pid == 0) become(command, log, parent);
    if (c->pid > 0) setpgid(c->pid, c->pid); /* whoever of the two is first */
    if (c->pid > 0) push(&s->children, c);
    if (c->pid > 0 && sweep_signal) kill(-c->pid, SIGTERM);
    hold_signals(false);
    if (c->pid < 0) err((Where){0}, "cannot start a process: %s", strerror(errno));
    return c;
}

/* ------------------------------------------------------------------ end */

Child *end_of_child(Sweep *s, int *status)
{
    Child *c = NULL;
    pid_t pid;
    while ((pid = waitpid(-1, status, 0)) < 0 && errno == EINTR) {}
    if (pid < 0) return NULL;
    hold_signals(true);
    for (int i = 0; i < s->children.n; i++) {
        if (s->children.at[i]->pid != pid) continue;
        c = s->children.at[i];
        s->children.at[i] = s->children.at[--s->children.n];
    }
    hold_signals(false);
    return c ? c : end_of_child(s, status);
}

/* Trainers and lathe print "PLACE: error: …", and below it, set in, what to do. */
const char *first_error(const char *log, long from)
{
    size_t bytes;
    char *text = read_file(log, &bytes), *last = NULL;
    Text error = {0};
    if (!text || from > (long)bytes) return NULL;
    for (char *line = strtok(text + from, "\n"); line; line = strtok(NULL, "\n")) {
        last = line;
        if (error.n && *line != ' ') break;
        if (error.n || strstr(line, "error: ")) say(&error, "%s%s", error.n ? "\n" : "", line);
    }
    return error.n ? error.at : last;
}
