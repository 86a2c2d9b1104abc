/* process.h: what each of Lathe's programs does first and last: its standard descriptors are open, its stack
 * is as large as may be, a limit on the size of files is an error and not the end, and what standard output did not
 * take is said.  A header alone, since lathe does not link the runtime. */
#ifndef LATHE_BASE_PROCESS_H
#define LATHE_BASE_PROCESS_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* A descriptor 0, 1 or 2 that is closed would become that of the next file opened, and text would land in it.  Standard
 * input and output are opened the wrong way round, so that using them is an error; what is said on a closed standard
 * error is lost, as its owner wanted. */
static inline void open_standard(void)
{
    static const int modes[] = {O_WRONLY, O_RDONLY, O_WRONLY};
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", modes[fd]) != fd) _exit(1);
}

enum { LEAST_STACK = 64 << 10, USUAL_STACK = 8 << 20 };

/* The system's stack grows up to the limit that holds when it grows.  No function of Lathe has large arrays on it
 * (CMakeLists.txt: -Wframe-larger-than), so that 64 KB are enough. */
static inline void raise_stack(const char *name)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_STACK, &r) != 0 || r.rlim_cur >= USUAL_STACK) return;
    r.rlim_cur = r.rlim_max < USUAL_STACK ? r.rlim_max : USUAL_STACK;
    (void)setrlimit(RLIMIT_STACK, &r);
    if (r.rlim_cur >= LEAST_STACK) return;
    fprintf(stderr, "%s: error: the stack may have %llu KB, and at least %d are needed; raise the limit (ulimit -s)\n",
            name, (unsigned long long)r.rlim_cur >> 10, LEAST_STACK >> 10);
    _exit(1);
}

static inline void start_process(const char *name)
{
    open_standard();
    raise_stack(name);
    signal(SIGXFSZ, SIG_IGN); /* write and ftruncate say EFBIG (`ulimit -f`) */
}

/* The exit code: 1 instead of 0 where standard output did not take everything.  Nothing is said of a reader that has
 * gone (EPIPE; where SIGPIPE is not ignored, it has ended the program before). */
static inline int end_process(const char *name, int code)
{
    bool wrong = ferror(stdout) != 0;
    errno = 0;
    if (fclose(stdout) == 0 && !wrong) return code;
    if (errno != EPIPE)
        fprintf(stderr, "%s: error: standard output cannot be written%s%s; what it has is not the whole result\n", name,
                errno ? ": " : "", errno ? strerror(errno) : "");
    return code ? code : 1;
}

#endif
