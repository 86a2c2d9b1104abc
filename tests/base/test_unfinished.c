/* test_unfinished.c: an early end of a program, by exit or by a signal, removes its unfinished file; a finished one
 * stays. */
#include "base/file.h"
#include "harness.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* In a process of its own: begins a file, finishes it if asked, and ends by the signal, or by exit. */
static int end_with_file(const char *path, bool finished, int number)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        Fault f = {0};
        begin_unfinished("another, which the next replaces");
        begin_unfinished(path);
        write_text(path, "half", &f);
        if (finished) end_unfinished();
        if (number) raise(number);
        exit(3);
    }
    expect(child > 0 && waitpid(child, &status, 0) == child, "a process of its own");
    return status;
}

int main(void)
{
    static const int ends[] = {0, SIGINT, SIGTERM, SIGHUP};
    char folder[] = "/tmp/lathe-unfinished-XXXXXX", path[sizeof folder + 8];
    expect(mkdtemp(folder) != NULL, "a folder");
    snprintf(path, sizeof path, "%s/half", folder);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        int status = end_with_file(path, false, ends[i]);
        expect(ends[i] ? WIFSIGNALED(status) && WTERMSIG(status) == ends[i]
                       : WIFEXITED(status) && WEXITSTATUS(status) == 3,
               "end %d: status %d", ends[i], status);
        expect(access(path, F_OK) != 0, "end %d leaves the unfinished file", ends[i]);
        end_with_file(path, true, ends[i]);
        expect(access(path, F_OK) == 0, "end %d removes a finished file", ends[i]);
        unlink(path);
    }
    rmdir(folder);
    return finish();
}
