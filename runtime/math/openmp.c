/* openmp.c: settings of the OpenMP runtime: how many threads there are, how they wait, and their stacks. */
#define _GNU_SOURCE /* sched_setaffinity */
#include "math/openmp.h"
#include "base/machine.h"
#include "base/words.h"

#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool has_setting(const char *name)
{
    const char *value = getenv(name);
    return value && *value;
}

/* ------------------------------------------------------------------ how many */

/* Slurm's list of tasks on each node, "4(x2),3": the number on the node of this process.  In a batch script, which is
 * one process, only variables without STEP are set. */
static int tasks_of_node(const char *list, int node)
{
    int tasks = 0, times, n;
    for (; node >= 0 && sscanf(list, "%d%n", &tasks, &n) == 1; node -= times) {
        list += n;
        times = 1;
        if (sscanf(list, "(x%d)%n", &times, &n) == 1) list += n;
        if (*list == ',') list++;
    }
    return node < 0 ? tasks : 0;
}

int ranks_of_machine(void)
{
    static const char *const words[] = {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"};
    const char *slurm = getenv("SLURM_STEP_TASKS_PER_NODE"), *node = getenv("SLURM_NODEID");
    int n = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words && n < 1; i++)
        if (has_setting(words[i])) n = atoi(getenv(words[i]));
    if (n < 1 && slurm && node) n = tasks_of_node(slurm, atoi(node));
    return n > 0 ? n : 1;
}

/* OpenMP may have bound this thread (OMP_PROC_BIND), but it knows which cores the process had.  A launcher's own cores
 * are those of the job. */
int threads_here(int ranks)
{
    char parent[16];
    snprintf(parent, sizeof parent, "%d", (int)getppid());
    return threads_of_rank(omp_get_num_procs(), ranks > 1 ? cores_of_process("", parent) : 0, cores_of_groups(""),
                           ranks);
}

/* ------------------------------------------------------------------ how they wait */

/* Whether other programs leave a core to each thread now: /proc/loadavg counts what computes, this program included. */
static bool machine_has_room(void)
{
    enum { LOOKS = 5, APART = 2000 /* microseconds */ };
    const long others = sysconf(_SC_NPROCESSORS_ONLN) - omp_get_max_threads();
    int busy = 0, running;
    for (int i = 0; i < LOOKS; i++, usleep(APART)) {
        FILE *f = fopen("/proc/loadavg", "r");
        bool known = f && fscanf(f, "%*f %*f %*f %d/", &running) == 1;
        if (f) fclose(f);
        busy += !known || running - 1 > others;
    }
    return busy < 2;
}

/* Threads that wait poll some microseconds and then sleep (compiler/decisions/015-waiting-threads.md has what was
 * measured).  Beside other programs they poll less: those may keep the thread that is waited for from its core.  The
 * user's own settings are kept. */
static bool wait_briefly(void)
{
    if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT")) return false;
    const char *polls = machine_has_room() ? "1000" : "300";
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

/* Where OpenMP binds threads (OMP_PROC_BIND), it has bound this one to a core, which a program started now would take
 * for the whole machine. */
static void unbind(void)
{
    enum { MOST_CORES = 8192 };
    static int number[MOST_CORES];
    const size_t bytes = CPU_ALLOC_SIZE(MOST_CORES);
    cpu_set_t *all = omp_get_proc_bind() == omp_proc_bind_false ? NULL : CPU_ALLOC(MOST_CORES);
    if (!all) return;
    CPU_ZERO_S(bytes, all);
    for (int place = 0; place < omp_get_num_places(); place++) {
        int n = omp_get_place_num_procs(place);
        if (n > MOST_CORES) continue;
        omp_get_place_proc_ids(place, number);
        for (int i = 0; i < n; i++) CPU_SET_S((size_t)number[i], bytes, all);
    }
    (void)sched_setaffinity(0, bytes, all);
    CPU_FREE(all);
}

/* The OpenMP runtime reads its settings before main runs, so the program starts itself once more. */
void set_up_openmp(char **argv)
{
    if (!has_setting("OMP_NUM_THREADS")) omp_set_num_threads(threads_here(ranks_of_machine()));
    bool waits = wait_briefly(), stacks = give_threads_stacks();
    if (!waits && !stacks) return;
    unbind();
    execv("/proc/self/exe", argv);
}
