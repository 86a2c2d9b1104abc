/* harness.c: checks, temporary folders, commands and numbers for the C tests. */
#include "harness.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int checks, failures;

bool expect(bool ok, const char *fmt, ...)
{
    checks++;
    if (ok) return true;
    va_list args;
    va_start(args, fmt);
    printf("failed: ");
    vprintf(fmt, args);
    printf("\n");
    va_end(args);
    failures++;
    return false;
}

int finish(void)
{
    printf("%d checks, %d failed\n", checks, failures);
    return failures || !checks;
}

bool run_apart(void (*run)(void *user), void *user)
{
    fflush(stdout);
    pid_t child = fork();
    must(child >= 0);
    if (child == 0) {
        checks = failures = 0;
        run(user);
        exit(finish());
    }
    int status;
    waitpid(child, &status, 0);
    return status == 0;
}

void skip_test(const char *why)
{
    printf("%s\n", why);
    exit(failures ? 1 : 77);
}

bool long_run(void)
{
    const char *value = getenv("LATHE_LONG");
    return value && *value && strcmp(value, "0") != 0;
}

/* ------------------------------------------------------------------ folders and commands */

static char folder[256];
static pid_t folder_owner;

static void remove_folder(void)
{
    char command[300];
    if (getpid() != folder_owner) /* a child that exits leaves it alone */
        return;
    if (getenv("LATHE_KEEP")) {
        printf("kept %s\n", folder);
        return;
    }
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command)) printf("cannot remove %s\n", folder);
}

/* An internal error of the compiler under test ends this process as well. */
static void on_crash(int number)
{
    remove_folder();
    signal(number, SIG_DFL);
    raise(number);
}

const char *temp_folder(void)
{
    if (!*folder) {
        const char *base = getenv("TMPDIR");
        snprintf(folder, sizeof folder, "%s/lathe-test-XXXXXX", base ? base : "/tmp");
        if (!mkdtemp(folder)) die("cannot make %s", folder);
        folder_owner = getpid();
        atexit(remove_folder);
        signal(SIGABRT, on_crash);
        signal(SIGSEGV, on_crash);
    }
    return folder;
}

int run_command(char **output, const char *fmt, ...)
{
    char command[4096], piece[4096];
    va_list args;
    va_start(args, fmt);
    int length = vsnprintf(command, sizeof command - 8, fmt, args);
    va_end(args);
    must(length < (int)sizeof command - 8);
    strcat(command, " 2>&1");
    fflush(stdout);
    FILE *pipe = popen(command, "r");
    must(pipe);
    Text all = {0};
    for (size_t n; (n = fread(piece, 1, sizeof piece, pipe)) > 0;) say_bytes(&all, piece, n);
    int status = pclose(pipe);
    if (output) *output = all.at ? copy_bytes_as_string(all.at, all.n) : "";
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

const char *lathe_command(void)
{
    const char *given = getenv("LATHE");
    return given ? given : "build/lathe";
}

/* ------------------------------------------------------------------ numbers */

Rng rng_of(uint64_t seed)
{
    Rng r = {seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du};
    for (int i = 0; i < 4; i++) uniform(&r);
    return r;
}

double uniform(Rng *r)
{
    r->state ^= r->state >> 12;
    r->state ^= r->state << 25;
    r->state ^= r->state >> 27;
    return (double)((r->state * 0x2545f4914f6cdd1du) >> 11) / 9007199254740992.0;
}

double normal(Rng *r)
{
    double u = 1 - uniform(r), v = uniform(r);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

int64_t below(Rng *r, int64_t n) { return (int64_t)(uniform(r) * (double)n); }

double norm_of(const double *a, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * a[i];
    return sqrt(sum);
}

double norm_of_difference(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(sum);
}
