/* known.c: the programs with which this user has trained, as notes in the cache folder.  A run's folder may be a
 * stranger's, and name any program; one of these the user has run before.
 *
 * A note holds the path that its name is a hash of, since other paths with that hash can be made. */
#include "base/known.h"
#include "base/cache.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/words.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *folder_of_notes(void)
{
    char *cache = cache_folder(), *folder = cache ? text_of("%s/trainers", cache) : NULL;
    free(cache);
    return folder;
}

static char *note_of(const char *folder, const char *path)
{
    return text_of("%s/%016llx", folder, (unsigned long long)hash_of(path, strlen(path)));
}

static bool says(const char *note, const char *path)
{
    char text[PATH_MAX + 1] = "";
    FILE *f = open_stream_to_read(note);
    const size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    return n == strlen(path) && memcmp(text, path, n) == 0;
}

void remember_this_program(void)
{
    Fault fault = {0};
    char *path = realpath("/proc/self/exe", NULL), *folder = path ? folder_of_notes() : NULL;
    char *note = folder ? note_of(folder, path) : NULL;
    if (note && !says(note, path) && make_folders(folder, &fault)) replace_text(note, path, &fault);
    clear_fault(&fault);
    free(path), free(folder), free(note);
}

char *known_program(const char *path)
{
    char *real = realpath(path, NULL), *folder = real ? folder_of_notes() : NULL;
    char *note = folder ? note_of(folder, real) : NULL;
    const bool known = note && says(note, real);
    free(folder), free(note);
    if (known) return real;
    free(real);
    return NULL;
}
