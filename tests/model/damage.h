/* damage.h: copies of a file with a few bytes changed, or cut off: a reader takes or refuses them (3), without a signal. */
#ifndef LATHE_TESTS_DAMAGE_H
#define LATHE_TESTS_DAMAGE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* In a child, since what is wrong ends the program. */
static bool survives(void (*read_all)(void))
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        alarm(20); /* a reader that hangs ends by this signal */
        if (!freopen("/dev/null", "w", stderr)) _exit(9);
        read_all();
        exit(0);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == EXIT_DATA);
}

static uint32_t below(uint32_t n)
{
    static uint32_t state = 12345;
    state = state * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)state * n >> 32);
}

static void put_file(const char *path, const char *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    fwrite(bytes, 1, n, f);
    fclose(f);
}

/* likely: bytes that half of the changes take.  The last damaged copy stays at path if a signal ended its reader. */
static bool survives_damage(const char *path, const char *good, size_t n, const char *likely, int rounds, void (*read_all)(void))
{
    char *bad = malloc(n);
    bool all = true;
    for (int round = 0; all && round < rounds; round++) {
        size_t length = below(4) ? n : below((uint32_t)n);
        memcpy(bad, good, n);
        for (uint32_t k = 1 + below(3); k > 0; k--)
            bad[below((uint32_t)n)] = below(2) ? (char)below(256) : likely[below((uint32_t)strlen(likely) + 1)];
        put_file(path, bad, length);
        all = survives(read_all);
    }
    free(bad);
    return all;
}

#endif
