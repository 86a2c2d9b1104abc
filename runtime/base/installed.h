/* installed.h: where Lathe's own files are, by the place of the program that runs, so that an installed tree may be moved:
 *
 *     PREFIX/bin/lathe
 *     PREFIX/lib/lathe/      the programs beside it, liblathe_rt.a, library.c
 *     PREFIX/share/lathe/    runtime/, models/, lua/ (to read: lathe has it inside)
 *
 * In a folder of a build the programs lie side by side, and sources where they were built from. */
#ifndef LATHE_BASE_INSTALLED_H
#define LATHE_BASE_INSTALLED_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

enum { LONGEST_PREFIX = 3072 }; /* with a file below it, it is a path */

/* The path of the program that runs. */
static inline bool find_own_path(char path[LONGEST_PREFIX])
{
    const ssize_t n = readlink("/proc/self/exe", path, LONGEST_PREFIX);
    if (n > 0 && n < LONGEST_PREFIX) {
        path[n] = 0;
        return true;
    }
    char *real = realpath((const char *)getauxval(AT_EXECFN), NULL); /* as in a chroot without /proc */
    const bool fits = real && strlen(real) < LONGEST_PREFIX;
    if (fits) strcpy(path, real);
    free(real);
    return fits;
}

/* The folder of the program that runs, without a slash at its end. */
static inline bool find_own_folder(char folder[LONGEST_PREFIX])
{
    if (!find_own_path(folder)) return false;
    *strrchr(folder, '/') = 0;
    return true;
}

static inline bool cut_end(char *path, const char *end)
{
    const size_t n = strlen(path), k = strlen(end);
    if (n < k || strcmp(path + n - k, end) != 0) return false;
    path[n - k] = 0;
    return true;
}

/* PREFIX; false: this program is in the folder of a build. */
static inline bool find_prefix(char prefix[LONGEST_PREFIX])
{
    char lib[LONGEST_PREFIX + 16], share[LONGEST_PREFIX + 16];
    if (!find_own_folder(prefix) || !(cut_end(prefix, "/lib/lathe") || cut_end(prefix, "/bin"))) return false;
    snprintf(lib, sizeof lib, "%s/lib/lathe", prefix);
    snprintf(share, sizeof share, "%s/share/lathe", prefix);
    return access(lib, F_OK) == 0 || access(share, F_OK) == 0;
}

#endif
