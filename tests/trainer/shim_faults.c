/* shim_faults.c: preloaded into a trainer, makes its calls fail: FAULT="CALL NUMBER PATH [BYTES]" lets CALL (open,
 * write, fsync, rename, mkdir, symlink) end with errno NUMBER on every file whose path contains PATH, write only once
 * BYTES have been written there; -NUMBER lets it succeed so many milliseconds later.  FAULT_CLOCK=any: every look at a
 * clock shows another hour; FAULT_CLOCK=day: only at that of the day, as when someone sets it; FAULT_CLOCK=fast: a
 * minute takes half a second. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static char call[16], part[256];
static int number;
static long long room;

__attribute__((constructor)) static void read_fault(void)
{
    const char *text = getenv("FAULT");
    if (text) sscanf(text, "%15s %d %255s %lld", call, &number, part, &room);
}

static int fails(const char *name, const char *path)
{
    if (strcmp(name, call) != 0 || !path || !strstr(path, part)) return 0;
    if (number < 0) {
        struct timespec pause = {-number / 1000, -number % 1000 * 1000000L};
        while (nanosleep(&pause, &pause) != 0) continue;
        return 0;
    }
    errno = number;
    return 1;
}

static const char *path_of(int fd)
{
    static __thread char path[4096];
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    return path;
}

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    int mode = flags & O_CREAT ? va_arg(args, int) : 0;
    va_end(args);
    if ((flags & O_ACCMODE) != O_RDONLY && fails("open", path)) return -1;
    return REAL(open)(path, flags, mode);
}

ssize_t write(int fd, const void *at, size_t n)
{
    if (fails("write", path_of(fd))) {
        if (room <= 0) return -1;
        if ((long long)n > room) n = (size_t)room; /* as a disk that fills up: some of it still goes */
        room -= (long long)n;
    }
    return REAL(write)(fd, at, n);
}

int fsync(int fd) { return fails("fsync", path_of(fd)) ? -1 : REAL(fsync)(fd); }
int rename(const char *from, const char *to) { return fails("rename", to) ? -1 : REAL(rename)(from, to); }
int mkdir(const char *path, mode_t mode) { return fails("mkdir", path) ? -1 : REAL(mkdir)(path, mode); }
int symlink(const char *target, const char *path) { return fails("symlink", path) ? -1 : REAL(symlink)(target, path); }

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static unsigned calls;
    int code = REAL(clock_gettime)(clock, now);
    const char *which = getenv("FAULT_CLOCK");
    if (which && *which == 'f') {
        static long long began;
        long long own = now->tv_sec * 1000000000LL + now->tv_nsec;
        if (!began) began = own;
        own = began + 120 * (own - began);
        now->tv_sec = own / 1000000000, now->tv_nsec = own % 1000000000;
    } else if (which && (*which == 'a' || clock == CLOCK_REALTIME))
        now->tv_sec += 3600 * (time_t)(++calls * 2654435761u % 25) - 43200;
    return code;
}

time_t time(time_t *out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}
