/* slurm.c: tasks of a step of srun that meet over TCP, without MPI.
 *
 * Only if LATHE_RANKS=slurm says so: tasks of a step may as well be runs of their own, each with its settings. */
#include "ranks/promise.h"
#include "base/words.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char wish[] = "LATHE_RANKS";

/* "node[01-04,7]", "a,b[1-2]": the first; from malloc */
static char *first_host(const char *list)
{
    char *host = text_of("%s", list), *to = host;
    for (const char *at = list; *at && *at != ','; at++) {
        if (*at != '[') *to++ = *at;
        else {
            while (at[1] && !strchr("-,]", at[1])) *to++ = *++at;
            while (at[1] && *at != ']') at++;
        }
    }
    *to = 0;
    return host;
}

/* Steps of jobs that run side by side have other ports, mostly; above, the system chooses ports for connections. */
static int usual_port(void)
{
    enum { FIRST = 20000, PORTS = 10000, STEPS = 10 };
    int job = 0, step = 0;
    (void)count_in("SLURM_JOB_ID", &job), (void)count_in("SLURM_STEP_ID", &step);
    return FIRST + (int)(((int64_t)job * STEPS + step) % PORTS);
}

/* SLURM_STEP_RESV_PORTS: "12000-12003", "12000,12004" */
static int reserved_port(void)
{
    const char *ports = set_value("SLURM_STEP_RESV_PORTS");
    const int port = ports ? atoi(ports) : 0;
    return port > 0 && port <= HIGHEST_PORT ? port : 0;
}

static const char *wrong_slurm(const char *name, const char *expected)
{
    const char *value = set_value(name);
    return text_of("%s, and %s=slurm makes the tasks of srun ranks: expected %s; start them by srun, or unset %s",
                   value ? text_of("%s=%s", name, value) : text_of("%s is not set", name), wish, expected, wish);
}

static const char *word_of(const char *variable) { return set_value(variable) ? set_value(variable) : ""; }

/* How many tasks share this machine, they count themselves, unless it is the only one. */
static void place_task(Promise *p)
{
    int machines;
    p->place = -1;
    if (!number_within("SLURM_LOCALID", 0, p->ranks - 1, &p->place)) return;
    if (count_in("SLURM_STEP_NUM_NODES", &machines) && machines == 1) p->places = p->ranks;
}

const char *read_slurm(Promise *p)
{
    const char *value = set_value(wish), *hosts = set_value("SLURM_STEP_NODELIST");
    int tasks, node;
    *p = (Promise){.kind = "srun", .launcher = "srun", .variable = wish, .slurm = true};
    if (!value) return NULL;
    if (strcmp(value, "slurm") != 0)
        return text_of("%s=%s: expected slurm, which makes the tasks of srun ranks, or nothing", wish, value);
    if (!count_in("SLURM_STEP_NUM_TASKS", &tasks) || tasks < 2) return NULL;
    p->ranks = tasks;
    if (!number_within("SLURM_PROCID", 0, tasks - 1, &p->rank))
        return wrong_slurm("SLURM_PROCID", text_of("the number of this task, 0 to %d", tasks - 1));
    if (!hosts) return wrong_slurm("SLURM_STEP_NODELIST", "the machines of this step");
    if (p->rank == 0 && count_in("SLURM_NODEID", &node) && node != 0)
        return wrong_slurm("SLURM_NODEID", "0 for task 0, since all look for it on the first machine");
    p->address = first_host(hosts);
    p->port = reserved_port();
    if (!p->port) p->port = usual_port();
    p->run = text_of("%s.%s of Slurm", word_of("SLURM_JOB_ID"), word_of("SLURM_STEP_ID"));
    place_task(p);
    return own_ports_fault(p);
}

int tasks_of_step(void)
{
    int n, rank;
    if (!count_in("SLURM_STEP_NUM_TASKS", &n) || !count_in("SLURM_PROCID", &rank)) return 0;
    return n > 1 && rank == 0 ? n : 0;
}
