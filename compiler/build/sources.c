/* sources.c: the runtime's source files, in its rooms. */
#include "build/sources.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

bool ends_in(const char *name, const char *ending)
{
    size_t n = strlen(name), k = strlen(ending);
    return n > k && same(name + n - k, ending);
}

static bool is_folder(const char *path)
{
    struct stat s;
    return lstat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

/* under: "" or "room/" */
static void add_files(Files *all, const char *folder, const char *under, bool (*wanted)(const char *name))
{
    DIR *d = opendir(format("%s/%s", folder, under));
    for (const struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        char *path = format("%s%s", under, e->d_name);
        if (is_folder(format("%s/%s", folder, path))) add_files(all, folder, format("%s/", path), wanted);
        else if (wanted(e->d_name)) push(all, path);
    }
    if (d) closedir(d);
}

Files files_below(const char *folder, bool (*wanted)(const char *name))
{
    Files all = {0};
    add_files(&all, folder, "", wanted);
    if (all.n) qsort(all.at, (size_t)all.n, sizeof *all.at, by_text);
    return all;
}

/* All that is installed: no pages. */
static bool is_source(const char *name) { return !ends_in(name, ".md") && !ends_in(name, ".txt"); }

uint64_t hash_of_sources(const char *folder)
{
    uint64_t h = 1;
    const Files all = files_below(folder, is_source);
    for (int i = 0; i < all.n; i++) {
        size_t bytes = 0;
        const char *text = read_file(format("%s/%s", folder, all.at[i]), &bytes);
        h = hash_bytes(all.at[i], strlen(all.at[i]), h);
        h = hash_bytes(text ? text : "", bytes, h);
    }
    return h;
}
