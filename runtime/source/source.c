/* source.c: lists the files of paths: files, globs, folders or standard input. */
#include "base/file.h"
#include "base/hash.h"
#include "base/words.h"
#include "source/classify.h"
#include "source/source.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEEPEST = 64 }; /* depth of folders, which ends cycles of links */

typedef struct Found {
    Sources *s;
    int room;
    int64_t left_out;     /* files in folders without a supported format */
    const char *left_one; /* the first of them */
} Found;

/* ------------------------------------------------------------------ a file */

static void add_file(Found *f, const char *path, bool named)
{
    Sources *s = f->s;
    Source_file file = {.path = text_of("%s", path)};
    if (!classify_file(&file, &s->options, named)) {
        if (!f->left_out++) f->left_one = file.path;
        return;
    }
    if (s->n == f->room) {
        f->room = f->room * 2 + 16;
        s->file = must_grow(s->file, sizeof *s->file * (size_t)f->room);
    }
    s->file[s->n++] = file;
}

/* ------------------------------------------------------------------ folders */

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Names in a folder without hidden ones, sorted by their bytes. */
static char **names_in(const char *folder, int *n)
{
    DIR *d = opendir(folder);
    char **name = NULL;
    int room = 0;
    *n = 0;
    if (!d) fail(EXIT_DATA, folder, "the folder cannot be read: %s", error_text(errno));
    for (const struct dirent *e; (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        if (*n == room) name = must_grow(name, sizeof *name * (size_t)(room = room * 2 + 64));
        name[(*n)++] = text_of("%s", e->d_name);
    }
    closedir(d);
    if (*n) qsort(name, (size_t)*n, sizeof *name, by_text);
    return name;
}

static void add_folder_files(Found *f, const char *folder, int depth)
{
    int n;
    if (depth == DEEPEST) fail(EXIT_DATA, folder, "is %d folders deep; does a link in it lead back up?", DEEPEST);
    char **name = names_in(folder, &n);
    for (int i = 0; i < n; i++) {
        struct stat about;
        size_t end = strlen(folder);
        char *path = text_of("%s%s%s", folder, end && folder[end - 1] == '/' ? "" : "/", name[i]);
        if (stat(path, &about) != 0)
            fail(EXIT_DATA, path, "cannot be read: %s; take it out of the folder", error_text(errno));
        if (S_ISDIR(about.st_mode)) add_folder_files(f, path, depth + 1);
        else if (S_ISREG(about.st_mode)) add_file(f, path, false);
        free(path);
        free(name[i]);
    }
    free(name);
}

/* ------------------------------------------------------------------ what the user named */

static bool add_path(Found *f, const char *path)
{
    struct stat about;
    if (strcmp(path, "-") == 0) return add_file(f, path, true), true;
    if (stat(path, &about) != 0) return false;
    if (S_ISDIR(about.st_mode)) add_folder_files(f, path, 0);
    else add_file(f, path, true);
    return true;
}

static void add_glob(Found *f, const char *pattern)
{
    glob_t found = {0};
    int code = glob(pattern, GLOB_BRACE | GLOB_TILDE, NULL, &found);
    if (code == GLOB_NOMATCH)
        fail(EXIT_DATA, pattern,
             strpbrk(pattern, "*?[{") ? "no file matches; check the pattern"
                                      : "expected a file, but there is none of that name; check the path");
    if (code != 0) fail(EXIT_DATA, pattern, "the pattern cannot be followed: %s", error_text(errno));
    for (size_t i = 0; i < found.gl_pathc; i++)
        if (!add_path(f, found.gl_pathv[i]))
            fail(EXIT_DATA, found.gl_pathv[i], "cannot be read: %s", error_text(errno));
    globfree(&found);
}

/* Standard input can be read only once. */
static void check_streams(const Sources *s)
{
    int n = 0;
    for (int i = 0; i < s->n; i++) n += strcmp(s->file[i].path, "-") == 0;
    if (n > 1) fail(EXIT_USAGE, NULL, "standard input (-) was given %d times, and can be read only once", n);
}

Sources *open_sources(const Words *paths, const Source_options *o)
{
    Sources *s = must_alloc(sizeof *s);
    Found f = {.s = s};
    s->options = *o;
    for (int i = 0; i < paths->n; i++)
        if (!add_path(&f, paths->at[i])) add_glob(&f, paths->at[i]);
    if (f.left_out)
        note("%lld file%s in folders %s left out (neither text nor a supported format): %s%s", (long long)f.left_out,
             f.left_out == 1 ? "" : "s", f.left_out == 1 ? "is" : "are", f.left_one, f.left_out == 1 ? "" : ", …");
    if (s->n == 0) fail(EXIT_DATA, paths->n ? paths->at[0] : NULL, "expected files to read, found none");
    check_streams(s);
    return s;
}

uint64_t sources_hash(const Sources *s)
{
    enum { HEAD = 4096 };
    Hash h;
    hash_start(&h);
    for (int i = 0; i < s->n; i++) {
        const Source_file *f = &s->file[i];
        const char *slash = strrchr(f->path, '/'), *name = slash ? slash + 1 : f->path;
        char head[HEAD];
        int fd = f->bytes < 0 ? -1 : open_to_read(f->path);
        ssize_t n = fd < 0 ? 0 : read(fd, head, sizeof head);
        if (fd >= 0) close(fd);
        hash_add(&h, name, strlen(name) + 1);
        hash_add(&h, &f->bytes, sizeof f->bytes);
        if (n > 0) hash_add(&h, head, (size_t)n);
    }
    return hash_end(&h);
}

void close_sources(Sources *s)
{
    for (int i = 0; i < s->n; i++) {
        close_input(s->file[i].stream);
        free((char *)(uintptr_t)s->file[i].path);
    }
    free(s->file);
    free(s);
}
