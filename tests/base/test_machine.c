/* test_machine.c: cores and memory that control groups of both versions leave, over made-up files of /proc and /sys;
 * threads of the ranks of a launcher. */
#include "harness.h"
#include "base/machine.h"
#include "math/openmp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/lathe-machine-XXXXXX";

/* A file under root, with the folders on its way. */
static void put(const char *path, const char *text)
{
    char name[512];
    snprintf(name, sizeof name, "%s%s", root, path);
    for (char *at = name + strlen(root); (at = strchr(at, '/')); *at++ = '/') {
        *at = 0;
        mkdir(name, 0777);
    }
    FILE *f = fopen(name, "w");
    expect(f && fputs(text, f) >= 0, "writing %s", name);
    if (f) fclose(f);
}

static void remove_all(void)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", root);
    expect(system(command) == 0, "%s", command);
}

static void groups_are(double cores, int64_t bytes, const char *where)
{
    double c = cores_of_groups(root);
    int64_t b = bytes_of_groups(root);
    expect(c == cores, "%s: %g cores, found %g", where, cores, c);
    expect(b == bytes, "%s: %lld bytes, found %lld", where, (long long)bytes, (long long)b);
    remove_all();
}

static const char second[] = "25 20 0:22 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";

/* The least on the way up: of cores that of the slice, of memory that of the job, whose pages of files may go. */
static void check_second(void)
{
    put("/proc/self/cgroup", "0::/slice/job/task\n");
    put("/proc/self/mountinfo", second);
    put("/sys/fs/cgroup/slice/cpu.max", "150000 100000\n");
    put("/sys/fs/cgroup/slice/job/cpu.max", "400000 100000\n");
    put("/sys/fs/cgroup/slice/job/task/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/slice/memory.max", "max\n");
    put("/sys/fs/cgroup/slice/memory.high", "9000000\n");
    put("/sys/fs/cgroup/slice/memory.current", "8000\n");
    put("/sys/fs/cgroup/slice/job/memory.max", "1000000\n");
    put("/sys/fs/cgroup/slice/job/memory.current", "600000\n");
    put("/sys/fs/cgroup/slice/job/memory.stat", "anon 1\nfile 9\ninactive_file 200000\nactive_file 50000\n");
    groups_are(1.5, 650000, "version 2");

    put("/proc/self/cgroup", "0::/slice\n");
    put("/proc/self/mountinfo", second);
    put("/sys/fs/cgroup/slice/memory.max", "max\n");
    put("/sys/fs/cgroup/slice/memory.high", "7000\n");
    put("/sys/fs/cgroup/slice/memory.current", "8000\n");
    groups_are(INFINITY, 0, "more than memory.high");
}

/* A tree each; a container sees its own group at the mount, and its host's path in /proc. */
static void check_first(void)
{
    put("/proc/self/cgroup", "9:name=systemd:/x\n4:memory:/docker/ab\n3:cpuset,cpu,cpuacct:/docker/ab/in\n0::/\n");
    put("/proc/self/mountinfo", "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
                                "32 31 0:29 /docker/ab /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
                                "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "250000\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "50000\n");
    put("/sys/fs/cgroup/cpu/in/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu/in/cpu.cfs_period_us", "50000\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "5\n");
    put("/sys/fs/cgroup/memory/docker/ab/memory.limit_in_bytes", "5000\n");
    put("/sys/fs/cgroup/memory/docker/ab/memory.usage_in_bytes", "4500\n");
    put("/sys/fs/cgroup/memory/docker/ab/memory.stat", "inactive_file 1\ntotal_inactive_file 300\n");
    groups_are(5, 800, "version 1");
    put("/proc/self/cgroup", "0::/../..\n");
    put("/proc/self/mountinfo", second);
    put("/sys/fs/cgroup/cpu.max", "50000 100000\n");
    groups_are(0.5, INT64_MAX, "a group outside the name space");
    groups_are(INFINITY, INT64_MAX, "no /proc");
}

static void check_affinity(void)
{
    put("/proc/self/status", "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-3,8,12-15\n");
    put("/proc/7/status", "Cpus_allowed_list:\t0-2047\n");
    int own = cores_of_process(root, "self"), parent = cores_of_process(root, "7");
    expect(own == 9 && parent == 2048, "9 and 2048 cores, found %d and %d", own, parent);
    expect(cores_of_process(root, "8") == 0, "a process that is not there");
    expect(memory_nodes(root) == 1, "one node where the system does not say");
    put("/sys/devices/system/node/has_memory", "0-1,4\n");
    expect(memory_nodes(root) == 3, "three nodes, found %d", memory_nodes(root));
    remove_all();
}

static void check_share(void)
{
    static const struct {
        int own, all, ranks, threads;
        double quota;
    } of[] = {
        {16, 16, 1, 16, INFINITY},
        {16, 0, 1, 16, INFINITY},
        {16, 16, 1, 2, 1.5},
        {16, 16, 1, 1, 1.4},
        {16, 16, 1, 1, 0.1},
        {64, 64, 4, 16, INFINITY},
        {64, 64, 4, 4, 16},
        {1, 64, 4, 1, INFINITY} /* bound to a core */,
        {32, 64, 4, 16, INFINITY} /* to a socket, which two share */,
        {3, 16, 2, 3, INFINITY},
        {2, 2, 3, 1, INFINITY},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        int n = threads_of_rank(of[i].own, of[i].all, of[i].quota, of[i].ranks);
        expect(n == of[i].threads, "line %zu: %d threads, found %d", i, of[i].threads, n);
    }
}

static void ranks_are(int wanted, const char *name, const char *value, const char *node)
{
    setenv(name, value, 1);
    if (node) setenv("SLURM_NODEID", node, 1);
    expect(ranks_of_machine() == wanted, "%s=%s: %d ranks, found %d", name, value, wanted, ranks_of_machine());
    unsetenv(name);
}

static void check_launchers(void)
{
    ranks_are(4, "OMPI_COMM_WORLD_LOCAL_SIZE", "4", NULL);
    ranks_are(3, "MPI_LOCALNRANKS", "3", NULL);
    ranks_are(2, "SLURM_STEP_TASKS_PER_NODE", "4(x2),2,1(x3)", "2");
    ranks_are(1, "SLURM_STEP_TASKS_PER_NODE", "4(x2),2,1(x3)", "5");
    ranks_are(4, "SLURM_STEP_TASKS_PER_NODE", "4(x2),2", "1");
    ranks_are(1, "SLURM_STEP_TASKS_PER_NODE", "4(x2),2", "3");
    ranks_are(1, "SLURM_NTASKS_PER_NODE", "4", "0"); /* a batch script: one process */
}

int main(void)
{
    expect(mkdtemp(root) != NULL, "a folder");
    check_second();
    check_first();
    check_affinity();
    check_share();
    check_launchers();
    expect(cores_here() >= 1 && available_bytes() > 0, "this machine");
    return finish();
}
