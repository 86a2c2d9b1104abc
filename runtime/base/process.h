/* process.h: the start and end of each of Lathe's programs: it opens missing standard descriptors, makes the stack as
 * large as allowed, turns a limit on the size of files into an error, and reports output that standard output did not
 * accept.  It is only a header, because lathe does not link the runtime. */
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

/* If descriptor 0, 1 or 2 were closed, the next opened file would get it, and messages would be written into that file.
 * Closed standard input and output are opened in the wrong direction, so that using them is an error; text for a closed
 * standard error is dropped. */
static inline void open_standard(void)
{
    static const int modes[] = {O_WRONLY, O_RDONLY, O_WRONLY};
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", modes[fd]) != fd) _exit(1);
}

enum { LEAST_STACK = 64 << 10, USUAL_STACK = 8 << 20 };

/* The stack grows up to the current limit.  No function of Lathe has large arrays on the stack (CMakeLists.txt:
 * -Wframe-larger-than), so 64 KB are enough. */
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
    signal(SIGXFSZ, SIG_IGN); /* write and ftruncate then return EFBIG (`ulimit -f`) */
}

/* The exit code: 1 instead of 0 if standard output did not accept everything.  A closed pipe is not reported (EPIPE;
 * unless SIGPIPE is ignored, it has ended the program earlier). */
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
