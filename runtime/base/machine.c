/* machine.c: what this machine has left. */
#include "base/machine.h"

#include <stdio.h>
#include <unistd.h>

int64_t available_bytes(void)
{
    long long kb = 0, limit, used;
    char line[128];
    int64_t bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    FILE *f = fopen("/proc/meminfo", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %lld", &kb) == 1) bytes = kb * 1024;
    if (f) fclose(f);
    FILE *max = fopen("/sys/fs/cgroup/memory.max", "r"), *now = fopen("/sys/fs/cgroup/memory.current", "r");
    if (max && now && fscanf(max, "%lld", &limit) == 1 && fscanf(now, "%lld", &used) == 1 && limit - used < bytes)
        bytes = limit - used;
    if (max) fclose(max);
    if (now) fclose(now);
    return bytes;
}
