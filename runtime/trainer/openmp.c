/* openmp.c: settings of the OpenMP runtime: how threads wait, and their stacks. */
#include "trainer/openmp.h"
#include "base/words.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Threads that wait by spinning are slow on a busy machine (measured: 1,300 ms per step against 53), and threads that
 * sleep at once lose a quarter of a small step to waking.  So they spin 300 times, a few microseconds, and then sleep:
 * char on two cores takes 14.4 ms per step, against 19.0 when they sleep at once; beside another process it takes 5 %
 * more than that.  The user's own settings are kept. */
static bool wait_briefly(void)
{
    if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT")) return false;
    return setenv("OMP_WAIT_POLICY", "passive", 1) == 0 && setenv("GOMP_SPINCOUNT", "300", 1) == 0;
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
