/* launcher.c: mpirun, where a host is cut off: it waits for its daemon there until the system gives up the connection,
 * which takes a quarter of an hour, and whoever waits for mpirun to start the run again waits as long.
 *
 * SIGTERM ends it at once (seen with Open MPI 4.1.4 and MPICH 4.0.2).  It is sent by a process of its own, since mpirun
 * gets time to end by itself, and the rank whose exit code it shall see must end first. */
#include "ranks/launcher.h"
#include "base/words.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { GENERATIONS = 2 }; /* MPICH has a proxy between */

/* Of a process; 0: it has none that we can see.  name: [64] */
static pid_t parent_of(pid_t process, char *name)
{
    char text[512] = "", path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    FILE *f = fopen(path, "r");
    const size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    char *begin = strchr(text, '('), *end = n ? strrchr(text, ')') : NULL;
    if (!begin || !end || strlen(end) < 5) return 0;
    snprintf(name, 64, "%.*s", (int)(end - begin - 1), begin + 1);
    return (pid_t)atoi(end + 4);
}

static pid_t launcher_above(void)
{
    char name[64];
    pid_t process = getppid();
    for (int i = 0; i < GENERATIONS && process > 0; i++) {
        const pid_t above = parent_of(process, name);
        if (strncmp(name, "mpirun", 6) == 0 || strncmp(name, "mpiexec", 7) == 0 || strcmp(name, "orterun") == 0)
            return process;
        process = above;
    }
    return 0;
}

/* In a process of a program with threads: nothing here takes a lock. */
static _Noreturn void end_after(pid_t launcher, int seconds)
{
    const int nowhere = open("/dev/null", O_RDWR);
    setsid();
    signal(SIGTERM, SIG_DFL);
    for (int k = 0; k < 3; k++) dup2(nowhere, k);
    syscall(SYS_close_range, 3U, ~0U, 0U); /* mpirun waits for the other ends */
    for (int i = 0; i < 10 * seconds; i++) {
        nanosleep(&(struct timespec){0, 100000000}, NULL);
        if (kill(launcher, 0) != 0) _exit(0);
    }
    kill(launcher, SIGTERM);
    _exit(0);
}

void end_launcher_soon(void)
{
    const pid_t launcher = launcher_above();
    if (launcher && fork() == 0) end_after(launcher, 3);
}
