/* shim_record.c: preloaded into a trainer, records what it does to files under RECORD_ROOT, in order, into the file
 * RECORD: one line a call, "KIND LENGTH PATH\n" and LENGTH bytes (of a write, or the second path): O made or opened for
 * writing · T emptied · W OFFSET:written · F synced (file or folder) · R renamed to · U removed · D folder removed · M
 * folder made · L link made to */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static const char *absolute(char *out, int at, const char *path)
{
    char link[64];
    ssize_t n = 0;
    if (*path != '/') {
        snprintf(link, sizeof link, "/proc/self/fd/%d", at);
        n = at == AT_FDCWD ? (getcwd(out, 4096) ? (ssize_t)strlen(out) : 0) : readlink(link, out, 4095);
        if (n > 0 && *path) out[n++] = '/';
    }
    snprintf(out + n, (size_t)(4096 - n), "%s", path);
    return out;
}

static void record(char kind, const char *path, const char *prefix, const void *more, size_t n)
{
    static int fd = -1;
    const char *root = getenv("RECORD_ROOT"), *to = getenv("RECORD");
    char head[4200];
    if (!root || !to || strncmp(path, root, strlen(root)) != 0) return;
    if (fd < 0) fd = REAL(open)(to, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    size_t before = strlen(prefix);
    int length = snprintf(head, sizeof head, "%c %zu %s\n%s", kind, before + n, path, prefix);
    if (REAL(write)(fd, head, (size_t)length) != length || REAL(write)(fd, more, n) != (ssize_t)n) abort();
}

static void begin(void) { pthread_mutex_lock(&one_at_a_time); }
static void end(void) { pthread_mutex_unlock(&one_at_a_time); }

int open(const char *path, int flags, ...)
{
    char full[4096];
    va_list args;
    va_start(args, flags);
    int mode = flags & O_CREAT ? va_arg(args, int) : 0;
    va_end(args);
    begin();
    int fd = REAL(open)(path, flags, mode);
    if (fd >= 0 && (flags & O_CREAT)) record('O', absolute(full, AT_FDCWD, path), "", "", 0);
    if (fd >= 0 && (flags & O_TRUNC)) record('T', absolute(full, AT_FDCWD, path), "", "", 0);
    end();
    return fd;
}

ssize_t write(int fd, const void *at, size_t n)
{
    struct stat about;
    char full[4096], offset[32];
    begin();
    int is_file = fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
    int appends = (fcntl(fd, F_GETFL) & O_APPEND) != 0;
    long long place = is_file ? (appends ? (long long)about.st_size : (long long)lseek(fd, 0, SEEK_CUR)) : 0;
    ssize_t done = REAL(write)(fd, at, n);
    snprintf(offset, sizeof offset, "%lld:", place);
    if (is_file && done > 0) record('W', absolute(full, fd, ""), offset, at, (size_t)done);
    end();
    return done;
}

int fsync(int fd)
{
    char full[4096];
    begin();
    int code = REAL(fsync)(fd);
    if (code == 0) record('F', absolute(full, fd, ""), "", "", 0);
    end();
    return code;
}

int rename(const char *from, const char *to)
{
    char a[4096], b[4096];
    begin();
    int code = REAL(rename)(from, to);
    absolute(b, AT_FDCWD, to);
    if (code == 0) record('R', absolute(a, AT_FDCWD, from), "", b, strlen(b));
    end();
    return code;
}

int symlink(const char *target, const char *path)
{
    char full[4096];
    begin();
    int code = REAL(symlink)(target, path);
    if (code == 0) record('L', absolute(full, AT_FDCWD, path), "", target, strlen(target));
    end();
    return code;
}

static int removed(char kind, int code, int at, const char *path)
{
    char full[4096];
    if (code == 0) record(kind, absolute(full, at, path), "", "", 0);
    end();
    return code;
}

int unlink(const char *path) { return begin(), removed('U', REAL(unlink)(path), AT_FDCWD, path); }
int unlinkat(int at, const char *path, int flags)
{
    return begin(), removed('U', REAL(unlinkat)(at, path, flags), at, path);
}
int rmdir(const char *path) { return begin(), removed('D', REAL(rmdir)(path), AT_FDCWD, path); }
int mkdir(const char *path, mode_t mode) { return begin(), removed('M', REAL(mkdir)(path, mode), AT_FDCWD, path); }
