/* apart.h: runs something that may end the process in a process of its own. */
#ifndef APART_H
#define APART_H

#include "harness.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* The exit code, 128 + signal for a crash, and what it said on stderr. */
static inline int apart(void (*work)(const void *), const void *with, char **said)
{
    char *log = format("%s/apart", temp_folder());
    fflush(stdout);
    pid_t child = fork();
    must(child >= 0);
    if (child == 0) {
        if (!freopen(log, "w", stderr)) _exit(99);
        setvbuf(stderr, NULL, _IONBF, 0); /* an abort does not flush */
        alarm(20);
        work(with);
        fflush(stderr);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    *said = read_file(log, NULL);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#endif
