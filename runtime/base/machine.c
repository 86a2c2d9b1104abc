/* machine.c: what of this machine a process may use.
 *
 * A control group (man 7 cgroups) limits all that lie in it, so the least limit on the way up to the mount holds.  Of
 * version 1 each controller has a tree of its own; of version 2 there is one tree.  Both may be mounted. */
#include "base/machine.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 4096 };

typedef struct Group {
    char folder[LINE_BYTES];
    size_t top; /* bytes of `folder` that are the mount */
    bool first; /* version 1 */
} Group;

static FILE *open_under(const char *root, const char *path)
{
    char name[LINE_BYTES];
    int n = snprintf(name, sizeof name, "%s%s", root, path);
    return n > 0 && n < LINE_BYTES ? fopen(name, "r") : NULL;
}

/* ------------------------------------------------------------------ where a process' group is */

static bool has_item(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == n && strncmp(at, word, n) == 0) return true;
    return false;
}

/* Lines are "4:cpu,cpuacct:/path", of version 2 "0::/path". */
static bool path_of_group(const char *root, const char *controller, char *path, bool *first)
{
    char line[LINE_BYTES];
    bool found = false;
    FILE *f = open_under(root, "/proc/self/cgroup");
    *first = false;
    while (f && !*first && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        char *list = strchr(line, ':'), *at = list ? strchr(list + 1, ':') : NULL;
        if (!at) continue;
        *at = 0;
        *first = has_item(list + 1, controller);
        if (!*first && list[1]) continue;
        snprintf(path, LINE_BYTES, "%s", at + 1);
        found = true;
    }
    if (f) fclose(f);
    return found;
}

/* What lies below the mount, which shows the tree from `from` on; a container may see its own group at the mount, and
 * that group's path as its host has it. */
static const char *path_below(const char *path, const char *from)
{
    size_t n = strcmp(from, "/") == 0 ? 0 : strlen(from);
    if (strncmp(path, from, n) != 0 || (path[n] && path[n] != '/')) return "";
    return strncmp(path + n, "/..", 3) == 0 || strcmp(path + n, "/") == 0 ? "" : path + n;
}

/* Lines are "31 23 0:28 FROM MOUNT options … - TYPE source OPTIONS". */
static bool find_group(const char *root, const char *controller, Group *g)
{
    char line[LINE_BYTES], path[LINE_BYTES], from[1024], mount[1024], type[32], options[512];
    bool found = false;
    if (!path_of_group(root, controller, path, &g->first)) return false;
    FILE *f = open_under(root, "/proc/self/mountinfo");
    while (f && !found && fgets(line, sizeof line, f)) {
        const char *rest = strstr(line, " - ");
        if (!rest || sscanf(line, "%*s %*s %*s %1023s %1023s", from, mount) != 2) continue;
        if (sscanf(rest, " - %31s %*s %511s", type, options) != 2) continue;
        found = g->first ? strcmp(type, "cgroup") == 0 && has_item(options, controller) : strcmp(type, "cgroup2") == 0;
    }
    if (f) fclose(f);
    if (!found) return false;
    g->top = strlen(root) + strlen(mount);
    int n = snprintf(g->folder, sizeof g->folder, "%s%s%s", root, mount, path_below(path, from));
    return n > 0 && n < LINE_BYTES;
}

/* The group around it; false: it was the outermost. */
static bool climb(Group *g)
{
    char *end = strrchr(g->folder, '/');
    if (!end || strlen(g->folder) <= g->top) return false;
    *end = 0;
    return strlen(g->folder) >= g->top;
}

/* ------------------------------------------------------------------ what a group says */

/* Up to two numbers of its file, of which "max" is none; returns how many there are. */
static int numbers_in(const Group *g, const char *file, long long *a, long long *b)
{
    FILE *f = open_under(g->folder, file);
    int n = f ? fscanf(f, "%lld %lld", a, b) : 0;
    if (f) fclose(f);
    return n > 0 ? n : 0;
}

static double quota_of(const Group *g)
{
    long long time = 0, period = 0, none;
    bool known = g->first ? numbers_in(g, "/cpu.cfs_quota_us", &time, &none) > 0 &&
                                numbers_in(g, "/cpu.cfs_period_us", &period, &none) > 0
                          : numbers_in(g, "/cpu.max", &time, &period) == 2;
    return known && time > 0 && period > 0 ? (double)time / (double)period : INFINITY;
}

/* Pages of files, which the system gives up when memory is wanted, as MemAvailable counts them. */
static long long bytes_of_files(const Group *g)
{
    char word[64];
    long long n, all = 0;
    FILE *f = open_under(g->folder, "/memory.stat");
    while (f && fscanf(f, "%63s %lld", word, &n) == 2) {
        const char *key = g->first && strncmp(word, "total_", 6) == 0 ? word + 6 : g->first ? "" : word;
        if (strcmp(key, "inactive_file") == 0 || strcmp(key, "active_file") == 0) all += n;
    }
    if (f) fclose(f);
    return all;
}

static int64_t rest_of(const Group *g)
{
    long long used, limit = INT64_MAX, slower, none;
    if (numbers_in(g, g->first ? "/memory.usage_in_bytes" : "/memory.current", &used, &none) == 0) return INT64_MAX;
    (void)numbers_in(g, g->first ? "/memory.limit_in_bytes" : "/memory.max", &limit, &none);
    if (!g->first && numbers_in(g, "/memory.high", &slower, &none) > 0 && slower < limit) limit = slower;
    if (limit >= INT64_MAX / 2) return INT64_MAX; /* how version 1 says that there is none */
    used -= bytes_of_files(g);
    return limit > used ? limit - (used > 0 ? used : 0) : 0;
}

double cores_of_groups(const char *root)
{
    Group g;
    double least = INFINITY;
    if (!find_group(root, "cpu", &g)) return least;
    do least = fmin(least, quota_of(&g));
    while (climb(&g));
    return least;
}

int64_t bytes_of_groups(const char *root)
{
    Group g;
    int64_t least = INT64_MAX;
    if (!find_group(root, "memory", &g)) return least;
    do {
        int64_t rest = rest_of(&g);
        if (rest < least) least = rest;
    } while (climb(&g));
    return least;
}

/* ------------------------------------------------------------------ cores, memory */

/* Of "0-3,8,12-15". */
static int count_of_list(const char *s)
{
    int n = 0;
    for (char *end; *s >= '0' && *s <= '9'; s = *end == ',' ? end + 1 : end) {
        long from = strtol(s, &end, 10), to = *end == '-' ? strtol(end + 1, &end, 10) : from;
        n += to >= from ? (int)(to - from + 1) : 0;
    }
    return n;
}

int memory_nodes(const char *root)
{
    char line[LINE_BYTES] = "";
    FILE *f = open_under(root, "/sys/devices/system/node/has_memory");
    bool known = f && fgets(line, sizeof line, f);
    if (f) fclose(f);
    return known && count_of_list(line) > 0 ? count_of_list(line) : 1;
}

int cores_of_process(const char *root, const char *process)
{
    static const char key[] = "Cpus_allowed_list:";
    char line[LINE_BYTES], path[64];
    int n = 0;
    snprintf(path, sizeof path, "/proc/%s/status", process);
    FILE *f = open_under(root, path);
    while (f && n == 0 && fgets(line, sizeof line, f))
        if (strncmp(line, key, sizeof key - 1) == 0) n = count_of_list(line + strcspn(line, "0123456789"));
    if (f) fclose(f);
    return n;
}

/* A quota of 1.5 is for two threads, one of 1.4 for one: threads that use up their time in the midst of a step stop,
 * and others wait for them (compiler/decisions/068-cores.md). */
int threads_of_rank(int own, int all, double quota, int ranks)
{
    if (all < own) all = own;
    if (quota < all) all = (int)(quota + 0.5);
    int share = ranks > 1 ? all / ranks : all;
    if (share > own) share = own;
    return share > 0 ? share : 1;
}

int cores_here(void)
{
    int own = cores_of_process("", "self");
    if (own == 0) own = (int)sysconf(_SC_NPROCESSORS_ONLN);
    return threads_of_rank(own, own, cores_of_groups(""), 1);
}

int64_t available_bytes(void)
{
    long long kb = 0;
    char line[128];
    int64_t bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE), rest = bytes_of_groups("");
    FILE *f = fopen("/proc/meminfo", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %lld", &kb) == 1) bytes = kb * 1024;
    if (f) fclose(f);
    return rest < bytes ? rest : bytes;
}
