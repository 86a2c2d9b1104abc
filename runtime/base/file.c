/* file.c: files that survive a power cut: they are written under another name, synced, renamed, and the folder is
 * synced, so that either the old file or the new one exists; links and folders likewise.
 *
 * An error is kept in a Fault, and calls after the first fault do nothing.  The caller decides whether the run ends (a
 * save in the background must not end it). */
#include "base/file.h"
#include "base/hash.h"
#include "base/words.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool set_fault(Fault *f, const char *path, const char *doing)
{
    if (f->path) return false;
    f->number = errno;
    f->path = text_of("%s", path);
    f->text = text_of("cannot be %s: %s", doing, error_text(f->number));
    return false;
}

void clear_fault(Fault *f)
{
    free(f->path);
    free(f->text);
    *f = (Fault){0};
}

const char *room_remedy(int number)
{
    return number == EFBIG ? "raise the limit on the size of files (ulimit -f)" : "free some space";
}

/* ------------------------------------------------------------------ one file */

int open_to_read(const char *path) { return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); }

FILE *open_stream_to_read(const char *path)
{
    int fd = open_to_read(path);
    return fd < 0 ? NULL : fdopen(fd, "rb");
}

Out *open_out(const char *path, Fault *f)
{
    Out *o = must_alloc(sizeof *o);
    o->path = text_of("%s", path);
    o->fault = f;
    o->fd = -1;
    hash_start(&o->hash);
    if (f->path) return o;
    o->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (o->fd < 0) set_fault(f, path, "made");
    return o;
}

static void write_all(Out *o, const char *at, size_t bytes)
{
    while (bytes && !o->fault->path) {
        ssize_t n = write(o->fd, at, bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            set_fault(o->fault, o->path, "written");
            return;
        }
        at += n;
        bytes -= (size_t)n;
    }
}

void flush_out(Out *o)
{
    write_all(o, o->room, o->waiting);
    o->waiting = 0;
}

void put_out(Out *o, const void *at, size_t bytes)
{
    enum { PIECE = 1 << 20 }; /* hashed, then written, while it is in the processor's cache */
    if (o->fault->path) return;
    if (o->waiting + bytes > sizeof o->room) flush_out(o);
    if (bytes < sizeof o->room) {
        memcpy(o->room + o->waiting, at, bytes);
        o->waiting += bytes;
        hash_add(&o->hash, at, bytes);
        return;
    }
    for (const char *from = at; bytes;) {
        size_t n = bytes < PIECE ? bytes : PIECE;
        hash_add(&o->hash, from, n);
        write_all(o, from, n);
        from += n;
        bytes -= n;
    }
}

Mark close_out(Out *o)
{
    flush_out(o);
    if (!o->fault->path && fsync(o->fd) != 0) set_fault(o->fault, o->path, "synced to the disk");
    if (o->fd >= 0 && close(o->fd) != 0) set_fault(o->fault, o->path, "written");
    Mark mark = {(int64_t)o->hash.bytes, hash_end(&o->hash)};
    free(o->path);
    free(o);
    return mark;
}

int64_t grow_out(Out *o, int64_t more)
{
    flush_out(o);
    const int64_t bytes = (int64_t)o->hash.bytes;
    if (!o->fault->path && ftruncate(o->fd, bytes + more) != 0) set_fault(o->fault, o->path, "written");
    if (o->fd >= 0 && close(o->fd) != 0) set_fault(o->fault, o->path, "written");
    free(o->path);
    free(o);
    return bytes;
}

/* ------------------------------------------------------------------ a file that several write */

struct Placed_out {
    char *path;
    Fault *fault;
    int fd;
    int64_t place; /* of what waits in room */
    int64_t waiting;
    char room[1 << 16];
};

Placed_out *open_placed(const char *path, Fault *f)
{
    Placed_out *o = must_alloc(sizeof *o);
    o->path = text_of("%s", path);
    o->fault = f;
    o->waiting = 0;
    o->fd = f->path ? -1 : open(path, O_WRONLY | O_CLOEXEC);
    if (o->fd < 0 && !f->path) set_fault(f, path, "opened");
    return o;
}

static void write_at(Placed_out *o, int64_t place, const char *at, int64_t bytes)
{
    while (bytes && !o->fault->path) {
        const ssize_t n = pwrite(o->fd, at, (size_t)bytes, place);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            set_fault(o->fault, o->path, "written");
            return;
        }
        at += n;
        place += n;
        bytes -= n;
    }
}

void flush_placed(Placed_out *o)
{
    write_at(o, o->place, o->room, o->waiting);
    o->waiting = 0;
}

void put_placed(Placed_out *o, int64_t place, const void *at, int64_t bytes)
{
    const int64_t room = (int64_t)sizeof o->room;
    if (o->waiting && (place != o->place + o->waiting || o->waiting + bytes > room)) flush_placed(o);
    if (bytes >= room) {
        write_at(o, place, at, bytes);
        return;
    }
    if (!o->waiting) o->place = place;
    memcpy(o->room + o->waiting, at, (size_t)bytes);
    o->waiting += bytes;
}

void close_placed(Placed_out *o)
{
    flush_placed(o);
    if (!o->fault->path && fsync(o->fd) != 0) set_fault(o->fault, o->path, "synced to the disk");
    if (o->fd >= 0 && close(o->fd) != 0) set_fault(o->fault, o->path, "written");
    free(o->path);
    free(o);
}

/* ------------------------------------------------------------------ texts */

bool append_whole(int fd, const char *at, size_t bytes, const char *path, Fault *f)
{
    ssize_t written = write(fd, at, bytes);
    if (written == (ssize_t)bytes) return true;
    if (written >= 0) errno = ENOSPC;
    set_fault(f, path, "written");
    off_t end = lseek(fd, 0, SEEK_END);
    if (written > 0 && ftruncate(fd, end - written) != 0) set_fault(f, path, "cut");
    return false;
}

Mark write_text(const char *path, const char *text, Fault *f)
{
    Out *o = open_out(path, f);
    put_out(o, text, strlen(text));
    return close_out(o);
}

/* ------------------------------------------------------------------ folders */

bool sync_folder(const char *path, Fault *f)
{
    if (f->path) return false;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return set_fault(f, path, "opened");
    /* EINVAL: the file system cannot sync folders */
    bool ok = fsync(fd) == 0 || errno == EINVAL || set_fault(f, path, "synced to the disk");
    close(fd);
    return ok;
}

char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash) return text_of(".");
    return slash == path ? text_of("/") : text_of("%.*s", (int)(slash - path), path);
}

static bool sync_folder_of(const char *path, Fault *f)
{
    char *folder = folder_of(path);
    bool ok = sync_folder(folder, f);
    free(folder);
    return ok;
}

bool add_folder(const char *path, Fault *f)
{
    if (f->path) return false;
    if (mkdir(path, 0777) == 0) return sync_folder_of(path, f);
    struct stat about;
    bool there = errno == EEXIST && stat(path, &about) == 0;
    if (there && S_ISDIR(about.st_mode)) return true;
    if (there) errno = ENOTDIR;
    return set_fault(f, path, "made");
}

bool make_folders(const char *path, Fault *f)
{
    struct stat about;
    if (f->path) return false;
    if (stat(path, &about) == 0 && S_ISDIR(about.st_mode)) return true;
    char *parent = folder_of(path);
    bool ok = strcmp(parent, path) == 0 || make_folders(parent, f);
    free(parent);
    return ok && add_folder(path, f);
}

/* ------------------------------------------------------------------ what an early end removes */

static char *volatile unfinished; /* NULL: nothing; a signal may read it at any time */

static void remove_unfinished(void)
{
    const char *path = unfinished;
    if (path) (void)unlink(path);
}

static void on_end(int number)
{
    remove_unfinished();
    signal(number, SIG_DFL);
    raise(number);
}

void begin_unfinished(const char *path)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    static bool ready;
    end_unfinished();
    unfinished = text_of("%s", path);
    for (size_t i = 0; i < sizeof ends / sizeof *ends && !ready; i++) {
        struct sigaction before;
        if (sigaction(ends[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL) signal(ends[i], on_end);
    }
    if (!ready) atexit(remove_unfinished);
    ready = true;
}

void end_unfinished(void)
{
    char *path = unfinished;
    unfinished = NULL; /* first, since a signal may come at any time */
    free(path);
}

/* ------------------------------------------------------------------ moving */

bool move_file(const char *from, const char *to, Fault *f)
{
    if (f->path) return false;
    return rename(from, to) == 0 || set_fault(f, to, "put in its place");
}

bool replace_file(const char *from, const char *to, Fault *f)
{
    return move_file(from, to, f) && sync_folder_of(to, f);
}

bool replace_text(const char *path, const char *text, Fault *f)
{
    char *aside = text_of("%s.part", path);
    write_text(aside, text, f);
    bool ok = replace_file(aside, path, f);
    if (!ok) unlink(aside);
    free(aside);
    return ok;
}

bool replace_link(const char *path, const char *target, Fault *f)
{
    if (f->path) return false;
    char *aside = text_of("%s.part", path);
    unlink(aside);
    bool ok = symlink(target, aside) == 0, none = !ok && (errno == EPERM || errno == ENOTSUP);
    if (ok) ok = replace_file(aside, path, f);
    else if (!none) set_fault(f, path, "made"); /* the file system has no links */
    if (!ok) unlink(aside);
    free(aside);
    return ok || none;
}

/* Removes plain files; if there is anything else, that stays, and so does the folder. */
bool remove_folder(const char *path)
{
    DIR *d = opendir(path);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        if (e->d_name[0] == '.' && (!e->d_name[1] || (e->d_name[1] == '.' && !e->d_name[2]))) continue;
        (void)unlinkat(dirfd(d), e->d_name, 0);
    }
    if (d) closedir(d);
    return rmdir(path) == 0;
}

/* ------------------------------------------------------------------ mapped files */

void drop_pages(const void *map, int64_t from, int64_t to)
{
    const int64_t page = sysconf(_SC_PAGESIZE), begin = from / page * page;
    if (begin < to) (void)madvise((char *)map + begin, (size_t)(to - begin), MADV_DONTNEED);
}
