/* cache.c: the cache folder, which is kept between runs: files in use, the size limit, and which files are removed
 * first.
 *
 * Programs lock (flock) the files that they read or write, so that no other program removes them; a file's modification
 * time is its last use.  Faults here only cost time. */
#include "base/cache.h"
#include "base/file.h"
#include "base/words.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

char *cache_folder(void)
{
    const char *own = getenv("LATHE_CACHE"), *all = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char *path = own && *own     ? text_of("%s", own)
                 : all && *all   ? text_of("%s/lathe", all)
                 : home && *home ? text_of("%s/.cache/lathe", home)
                                 : NULL;
    Fault fault = {0};
    if (path && strcmp(path, "off") != 0 && make_folders(path, &fault)) return path;
    clear_fault(&fault);
    free(path);
    return NULL;
}

int open_cached(const char *path)
{
    int fd = open_to_read(path);
    if (fd < 0) return -1;
    (void)flock(fd, LOCK_SH); /* without locks, a mapped file still exists until it is closed */
    (void)futimens(fd, (struct timespec[]){{0, UTIME_NOW}, {0, UTIME_NOW}});
    return fd;
}

/* ------------------------------------------------------------------ contents */

typedef struct Item {
    char *path;
    int64_t bytes, used; /* used: time of the last use, ns */
} Item;

typedef struct Items {
    Item *at;
    int n;
    int64_t bytes;
} Items;

static bool is_ours(const char *name)
{
    bool begins = strncmp(name, "tokens-", 7) == 0 || strncmp(name, "parts-", 6) == 0;
    return begins && (has_end(name, ".bin") || has_end(name, ".part"));
}

static int by_use(const void *a, const void *b)
{
    const Item *x = a, *y = b;
    return (x->used > y->used) - (x->used < y->used);
}

static void add_item(Items *all, const char *folder, const char *name)
{
    struct stat about;
    char *path = text_of("%s/%s", folder, name);
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode)) {
        free(path);
        return;
    }
    if (all->n % 64 == 0) all->at = must_grow(all->at, sizeof *all->at * (size_t)(all->n + 64));
    all->at[all->n++] = (Item){path, about.st_size, about.st_mtim.tv_sec * 1000000000LL + about.st_mtim.tv_nsec};
    all->bytes += about.st_size;
}

/* Least recently used first. */
static Items list_items(const char *folder)
{
    Items all = {0};
    DIR *d = opendir(folder);
    for (const struct dirent *e; d && (e = readdir(d));)
        if (is_ours(e->d_name)) add_item(&all, folder, e->d_name);
    if (d) closedir(d);
    if (all.n) qsort(all.at, (size_t)all.n, sizeof *all.at, by_use);
    return all;
}

static void free_items(Items *all)
{
    for (int i = 0; i < all->n; i++) free(all->at[i].path);
    free(all->at);
}

/* ------------------------------------------------------------------ the limit */

/* 20 GB, or a tenth of the space that the disk has for it, if that is less. */
static int64_t limit_of(const char *folder, int64_t now)
{
    const char *own = getenv("LATHE_CACHE_LIMIT");
    int64_t limit = INT64_C(20) << 30;
    struct statvfs disk;
    if (own && *own) {
        if (!parse_size(own, &limit))
            fail(EXIT_USAGE, NULL, "LATHE_CACHE_LIMIT=%s: expected a size such as 512M or 20G", own);
        return limit;
    }
    if (statvfs(folder, &disk) != 0) return limit;
    int64_t tenth = ((int64_t)disk.f_bavail * (int64_t)disk.f_frsize + now) / 10;
    return tenth < limit ? tenth : limit;
}

int64_t cache_limit(const char *folder)
{
    Items all = list_items(folder);
    int64_t limit = limit_of(folder, all.bytes);
    free_items(&all);
    return limit;
}

/* Whether no program reads or writes it. */
static bool is_free(const char *path)
{
    int fd = open_to_read(path);
    bool locked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (fd >= 0) close(fd);
    return locked;
}

static int64_t bytes_in_use(const Items *all)
{
    int64_t bytes = 0;
    for (int i = 0; i < all->n; i++) bytes += is_free(all->at[i].path) ? 0 : all->at[i].bytes;
    return bytes;
}

static void remove_oldest(const Items *all, int64_t limit)
{
    int64_t left = all->bytes;
    for (int i = 0; i < all->n && left > limit; i++)
        if (is_free(all->at[i].path) && unlink(all->at[i].path) == 0) left -= all->at[i].bytes;
}

/* Removes files that killed programs were writing. */
static void remove_stale(const char *folder)
{
    Items all = list_items(folder);
    for (int i = 0; i < all.n; i++)
        if (has_end(all.at[i].path, ".part") && is_free(all.at[i].path)) (void)unlink(all.at[i].path);
    free_items(&all);
}

/* Admits one program at a time; closing the descriptor unlocks. */
static int lock_folder(const char *folder)
{
    char *path = text_of("%s/lock", folder);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd >= 0) (void)flock(fd, LOCK_EX);
    free(path);
    return fd;
}

/* The new file, PATH.part, is in use, so it is counted. */
bool keep_in_cache(const char *aside, const char *path, Fault *f)
{
    char *folder = folder_of(path);
    int lock = lock_folder(folder);
    remove_stale(folder);
    Items all = list_items(folder);
    int64_t limit = limit_of(folder, all.bytes);
    bool fits = bytes_in_use(&all) <= limit;
    if (fits && !f->path) remove_oldest(&all, limit);
    bool ok = fits && replace_file(aside, path, f);
    if (!ok) unlink(aside);
    if (lock >= 0) close(lock);
    free_items(&all);
    free(folder);
    return ok;
}
