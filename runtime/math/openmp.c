/* openmp.c: settings of the OpenMP runtime: how threads wait, and their stacks. */
#include "math/openmp.h"
#include "base/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether no other program computes now: /proc/loadavg counts those that do, this one included. */
static bool machine_is_idle(void)
{
    enum { LOOKS = 5, APART = 2000 /* microseconds */ };
    int busy = 0, running;
    for (int i = 0; i < LOOKS; i++, usleep(APART)) {
        FILE *f = fopen("/proc/loadavg", "r");
        bool known = f && fscanf(f, "%*f %*f %*f %d/", &running) == 1;
        if (f) fclose(f);
        busy += !known || running > 1;
    }
    return busy < 2;
}

/* Threads that wait poll some microseconds and then sleep (compiler/decisions/015-waiting-threads.md has what was
 * measured).  Beside other programs they poll less: those may keep the thread that is waited for from its core.  The
 * user's own settings are kept. */
static bool wait_briefly(void)
{
    if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT")) return false;
    const char *polls = machine_is_idle() ? "1000" : "300";
    return setenv("OMP_WAIT_POLICY", "passive", 1) == 0 && setenv("GOMP_SPINCOUNT", polls, 1) == 0;
}

/* OpenMP's default is the first thread's stack limit (`ulimit -s`), which may be less than a kernel needs. */
static bool give_threads_stacks(void)
{
    enum { LEAST = 256 << 10 };
    const char *own = getenv("OMP_STACKSIZE");
    int64_t bytes = 0;
    if (own && *own) { /* without a unit it counts KB */
        char last = own[strlen(own) - 1];
        (void)parse_size(text_of("%s%s", own, last >= '0' && last <= '9' ? "K" : ""), &bytes);
    }
    return bytes < LEAST && setenv("OMP_STACKSIZE", "1M", 1) == 0;
}

/* The OpenMP runtime reads its settings before main runs, so the program starts itself once more. */
void set_up_openmp(char **argv)
{
    bool waits = wait_briefly(), stacks = give_threads_stacks();
    if (waits || stacks) execv("/proc/self/exe", argv);
}
