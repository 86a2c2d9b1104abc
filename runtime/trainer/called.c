/* called.c: the program that was called, where it forks a process for each rank: it passes signals on and waits; if a
 * rank ends early, it ends all. */
#include "base/words.h"
#include "ranks/courier.h"
#include "trainer/called.h"
#include "trainer/ranks.h"
#include "trainer/trainer.h"

#include <errno.h>
#include <omp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = LATHE_MOST_GPUS };
static pid_t child[MOST], first[MOST]; /* 0: it has ended; as it began */

static void send_to_all(int number)
{
    for (int k = 0; k < MOST; k++)
        if (child[k]) kill(child[k], number);
}

static int rank_of(pid_t pid)
{
    for (int k = 0; k < MOST; k++)
        if (child[k] == pid) return k;
    return -1;
}

static bool all_ended(void)
{
    for (int k = 0; k < MOST; k++)
        if (child[k]) return false;
    return true;
}

typedef struct Ending {     /* of the run; code -1: none yet */
    int code, lost, number; /* lost: the rank that a signal killed, -1: none; number: the signal */
} Ending;

/* A rank that fails prints the reason itself, but one that a signal kills does not: the others only report that it is
 * missing. */
static void take_ending(Ending *e, int rank, int status, bool ending)
{
    if (WIFSIGNALED(status)) {
        if (e->lost < 0 && (rank == 0 || !ending)) e->lost = rank, e->number = WTERMSIG(status);
    } else if (rank == 0 && WEXITSTATUS(status) != 0) {
        e->code = WEXITSTATUS(status);
    } else if (e->code <= 0 && (rank == 0 || WEXITSTATUS(status) != 0 || !ending)) {
        e->code = WEXITSTATUS(status);
        if (rank > 0 && e->code == 0) e->code = EXIT_ERROR;
    }
}

static void reap(Ending *e, const Called *c)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        int rank = rank_of(pid);
        if (rank < 0) continue;
        child[rank] = 0;
        take_ending(e, rank, status, atomic_load(&c->ending));
    }
}

/* Ranks on processors have named the rank that is lost, unless they could not. */
static _Noreturn void end_run(const Trainer *t, const Called *c, const Ending *e)
{
    const bool device = t->model->device;
    const char *by = text_of("was killed by signal %d (%s)", e->number, strsignal(e->number));
    if (e->lost < 0) exit(e->code);
    if (e->lost == 0 && atomic_load(&c->passed) == e->number) exit(128 + e->number);
    if (atomic_load(&c->told)) {
        note("process %d, rank %d of %d, %s", (int)first[e->lost], e->lost, gpus_of(t), by);
        exit(e->code > 0 ? e->code : EXIT_RANK);
    }
    char *which = device ? text_of("GPU %d", e->lost) : text_of("process %d", (int)first[e->lost]);
    fail(device ? EXIT_ERROR : EXIT_RANK, NULL, "rank %d of %d (%s) %s, which ended the run; %s", e->lost, gpus_of(t),
         which, by, how_to_go_on(t));
}

static void pass_on(Called *c, int number)
{
    if (number <= 0 || number == SIGCHLD || !child[0]) return;
    if (number != SIGUSR1) atomic_store(&c->passed, number);
    kill(child[0], number);
}

/* Until no rank is left, or those that are left do not end. */
static void wait_for_others(const Trainer *t, Called *c, Ending *e, const sigset_t *signals)
{
    /* On processors the others name a rank that is lost, and end by themselves. */
    const struct timespec soon = {t->model->device ? 0 : 2, 200000000}, patience = {10, 0};
    const bool orderly = e->code >= 0 && atomic_load(&c->ending);
    for (int waits = 0; !all_ended() && waits < (orderly || !t->model->device ? MOST : 2); waits++) {
        const int number = sigtimedwait(signals, NULL, orderly ? &patience : &soon);
        if (number < 0 && errno == EAGAIN && !atomic_load(&c->saving)) break;
        if (atomic_load(&c->saving)) waits = 0;
        reap(e, c);
        pass_on(c, number);
    }
}

/* Waits until the run has ended: followers that are ordered to end do so by themselves. */
static _Noreturn void wait_for_ranks(const Trainer *t, Called *c, const sigset_t *signals)
{
    Ending e = {-1, -1, 0};
    while (e.code < 0 && e.lost < 0) {
        const int number = sigwaitinfo(signals, NULL);
        reap(&e, c);
        pass_on(c, number);
    }
    wait_for_others(t, c, &e, signals);
    send_to_all(SIGKILL);
    while (!all_ended()) {
        pid_t pid = waitpid(-1, NULL, 0);
        int rank = pid > 0 ? rank_of(pid) : -1;
        if (rank >= 0) child[rank] = 0;
        else if (pid < 0 && errno != EINTR) break;
    }
    end_run(t, c, &e);
}

/* A terminal's signals reach only the program that was called, which passes them on.  If it is killed, the ranks are
 * too. */
static void become_rank(Trainer *t, int rank, pid_t called, const sigset_t *before)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != called) _exit(EXIT_ERROR);
    setpgid(0, 0);
    signal(SIGTTOU, SIG_IGN);
    sigprocmask(SIG_SETMASK, before, NULL);
    t->rank = rank;
    memset(child, 0, sizeof child);
}

void fork_ranks(Trainer *t, Called *c, void (*forked)(void *with), void *with)
{
    sigset_t signals, before;
    pid_t called = getpid();
    sigemptyset(&signals);
    for (const int *s = (const int[]){SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD, 0}; *s; s++) sigaddset(&signals, *s);
    omp_pause_resource_all(omp_pause_hard); /* OpenMP's threads do not survive a fork, and it would wait for them */
    setenv("OMP_PROC_BIND", "false", 1);    /* LLVM's reads it again in a child, and ends one that it would bind */
    fflush(NULL);
    sigprocmask(SIG_BLOCK, &signals, &before);
    for (int k = 0; k < gpus_of(t); k++) {
        child[k] = first[k] = fork();
        if (child[k] == 0) {
            become_rank(t, k, called, &before);
            return;
        }
        if (child[k] > 0) continue;
        child[k] = 0;
        send_to_all(SIGKILL);
        fail(EXIT_ERROR, NULL, "the system refused a process for rank %d: %s", k, error_text(errno));
    }
    if (forked) forked(with);
    wait_for_ranks(t, c, &signals);
}
