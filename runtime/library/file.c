/* file.c: saved models in files, which a crash or a full disk never leaves torn: all is written beside its place,
 * synced and renamed.  Files are checked whole before anything is taken.
 *
 * By the system's calls: stdio would allocate. */
#include "library/saved.h"

#include <stdio.h>
#include <string.h>

#ifndef LATHE_FREESTANDING
#include <errno.h>

#ifdef _WIN32
/* As Microsoft's pages have them (io.h has other names, too, which models may have). */
int _open(const char *path, int how, ...);
int _read(int file, void *to, unsigned bytes);
int _write(int file, const void *from, unsigned bytes);
long long _lseeki64(int file, long long to, int from);
int _commit(int file);
int _close(int file);
__declspec(dllimport) int MoveFileExA(const char *from, const char *to, unsigned how);
__declspec(dllimport) unsigned long GetLastError(void);
#define OR_IN_USE ", or a program has the file open" /* Windows does not say which */
/* Binary, and not for child processes; ANEW: to write, created, and not there before. */
enum { TO_READ = 0x8080, ANEW = 0x8581, MODE_OF_NEW = 0600 };
#define open  _open
#define read  _read
#define write _write
#define lseek _lseeki64
#define fsync _commit
#define close _close
#else
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
/* Which -std=c11 hides. */
int fsync(int file);
int fchmod(int file, mode_t mode);
#define OR_IN_USE
#ifndef O_CLOEXEC
#define O_CLOEXEC 0
#endif
enum {
    TO_READ = O_RDONLY | O_NONBLOCK | O_CLOEXEC,
    ANEW = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
    MODE_OF_NEW = 0666
};
#endif

enum { PIECE_BYTES = 4096, LONGEST_PATH = 4096, BESIDES = 1000, MOST_AT_ONCE = 1 << 30 };

static const char *fault_word(int number, bool writing)
{
    switch (number) {
    case ENOENT: return writing ? "its folder does not exist" : "there is no such file or folder";
    case EEXIST: return "all of .part to .part999 beside it are taken: remove them";
    case EBUSY: return "it is in use";
    case EISDIR: return "that is a folder";
    case ENOTDIR: return "a part of the path is no folder";
    case EACCES:
    case EPERM: return "permission is denied" OR_IN_USE;
    case EROFS: return "the disk is read-only";
    case ENOSPC: return "the disk is full";
    case EFBIG: return "files may not be so large here";
    case EMFILE:
    case ENFILE: return "too many files are open";
    case ESPIPE: return "that is no file";
    case EIO: return "the disk has failed";
    default: return NULL;
    }
}

static int fail_of_file(Library *l, const char *call, const char *path, const char *doing, int number)
{
    const bool writing = doing[0] == 'w';
    const char *word = fault_word(number, writing);
    const int code = number == ENOENT && !writing ? LIBRARY_NO_FILE : LIBRARY_FILE;
    if (word) return fail_library(l, code, "%s: %.240s cannot be %s: %s", call, path, doing, word);
    return fail_library(l, code, "%s: %.240s cannot be %s: the system's error %d", call, path, doing, number);
}

static int refuse_path(Library *l, const char *call, const char *path)
{
    if (!path || !*path) return fail_library(l, LIBRARY_USAGE, "%s: the path is %s", call, path ? "empty" : "NULL");
    if (strlen(path) < LONGEST_PATH) return LIBRARY_FINE;
    return fail_library(l, LIBRARY_USAGE, "%s: the path is longer than %d bytes", call, LONGEST_PATH - 1);
}

/* ------------------------------------------------------------------ writing */

typedef struct File_sink {
    Saved_sink sink;
    int file, fault; /* fault: errno of the first; nothing is written after it */
    size_t waiting;
    char room[PIECE_BYTES];
} File_sink;

static void write_to_file(File_sink *f, const char *from, size_t n)
{
    while (n && !f->fault) {
        const int64_t written = (int64_t)write(f->file, from, n < MOST_AT_ONCE ? (unsigned)n : MOST_AT_ONCE);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) f->fault = written ? errno : ENOSPC;
        else from += written, n -= (size_t)written;
    }
}

static void put_in_file(Saved_sink *s, const void *from, size_t n)
{
    File_sink *f = (File_sink *)s;
    if (n > sizeof f->room - f->waiting) {
        write_to_file(f, f->room, f->waiting);
        f->waiting = 0;
    }
    if (n > sizeof f->room) write_to_file(f, from, n);
    else memcpy(f->room + f->waiting, from, n), f->waiting += n;
}

/* Two programs that save to one path have a file each until it is whole.  -1: errno says why. */
static int open_beside(const char *path, char *aside, size_t room, int mode)
{
    for (int k = 0; k < BESIDES; k++) {
        snprintf(aside, room, k ? "%s.part%d" : "%s.part", path, k);
        const int file = open(aside, ANEW, mode);
        if (file >= 0 || (errno != EEXIST && errno != EINTR)) return file;
    }
    return -1;
}

#ifdef _WIN32
/* Numbers of winerror.h. */
static int fault_of_windows(unsigned long number)
{
    switch (number) {
    case 2:
    case 3: return ENOENT;
    case 5: return EACCES;
    case 19: return EROFS;
    case 32:
    case 33: return EBUSY; /* sharing, a lock */
    case 39:
    case 112: return ENOSPC;
    default: return EIO;
    }
}
#endif

/* Windows: renaming over a file is MoveFileEx's, and is on the disk when it returns.  Elsewhere the folder is synced;
 * if it cannot be, a power cut may bring the old file back, whole. */
static int put_in_place(char *aside, const char *path)
{
#ifdef _WIN32
    enum { REPLACE_EXISTING = 1, WRITE_THROUGH = 8 };
    return MoveFileExA(aside, path, REPLACE_EXISTING | WRITE_THROUGH) ? 0 : fault_of_windows(GetLastError());
#else
    if (rename(aside, path) != 0) return errno;
    char *slash = strrchr(aside, '/');
    if (slash) slash[slash == aside] = 0;
    const int folder = open(slash ? aside : ".", TO_READ);
    if (folder >= 0) (void)fsync(folder), close(folder);
    return 0;
#endif
}

/* The permissions of the file that is there; -1: there is none.  What is no file (a folder, a device) stays. */
static int mode_of_old_file(const char *path, int *fault)
{
#ifdef _WIN32
    return (void)path, (void)fault, -1;
#else
    struct stat about;
    if (stat(path, &about) != 0) return -1;
    if (!S_ISREG(about.st_mode)) *fault = S_ISDIR(about.st_mode) ? EISDIR : ESPIPE;
    return about.st_mode & 0777;
#endif
}

/* Who may read the old file may read the new one: open takes away what umask says.  A disk without permissions has none
 * to keep. */
static void keep_mode(int file, int mode)
{
#if defined _WIN32 || defined __wasi__
    (void)file, (void)mode;
#else
    if (mode >= 0) (void)fchmod(file, (mode_t)mode);
#endif
}

static int save_in_file(Library *l, const char *path, bool all)
{
    const char *const call = "save_file";
    char aside[LONGEST_PATH + 16];
    int code = refuse_path(l, call, path), fault = 0;
    if (code) return code;
    const int old = mode_of_old_file(path, &fault), mode = old < 0 ? MODE_OF_NEW : old;
    File_sink f = {.sink.put = put_in_file, .file = fault ? -1 : open_beside(path, aside, sizeof aside, mode)};
    if (f.file < 0) return fail_of_file(l, call, path, "written", fault ? fault : errno);
    keep_mode(f.file, old);
    code = save_into(l, &f.sink, all);
    write_to_file(&f, f.room, f.waiting);
    if (!f.fault && fsync(f.file) != 0) f.fault = errno;
    if (close(f.file) != 0 && !f.fault) f.fault = errno;
    if (!code && !f.fault) f.fault = put_in_place(aside, path);
    if (code || f.fault) (void)remove(aside);
    return f.fault && !code ? fail_of_file(l, call, path, "written", f.fault) : code;
}

int save_file_of_library(Library *l, const char *path, bool all)
{
    int code = begin_library_call(l);
    return code ? code : end_library_call(l, save_in_file(l, path, all));
}

/* ------------------------------------------------------------------ reading */

typedef struct File_source {
    Saved_source source;
    int file, fault; /* errno */
    char room[PIECE_BYTES];
} File_source;

static const char *look_in_file(Saved_source *s, int64_t at, int64_t *n)
{
    File_source *f = (File_source *)s;
    const size_t wanted = *n < PIECE_BYTES ? (size_t)*n : PIECE_BYTES;
    size_t there = 0;
    if (lseek(f->file, at, SEEK_SET) < 0) f->fault = errno;
    while (there < wanted && !f->fault) {
        const int64_t got = (int64_t)read(f->file, f->room + there, (unsigned)(wanted - there));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) f->fault = got ? errno : EIO; /* it was longer a moment ago */
        else there += (size_t)got;
    }
    *n = (int64_t)there;
    return f->fault ? NULL : f->room;
}

/* Of what load_from() has said. */
static int name_file(Library *l, const char *call, const char *path, int code)
{
    char words[LIBRARY_WORDS];
    memcpy(words, l->words, sizeof words);
    return fail_library(l, code, "%s: %.240s: %s", call, path, words + strlen("load: "));
}

static int load_from_file(Library *l, const char *path)
{
    const char *const call = "load_file";
    int code = refuse_path(l, call, path);
    if (code) return code;
    File_source f = {.source.look = look_in_file, .file = open(path, TO_READ)};
    if (f.file < 0) return fail_of_file(l, call, path, "read", errno);
    f.source.bytes = lseek(f.file, 0, SEEK_END);
    if (f.source.bytes < 0) f.fault = errno;
    else code = load_from(l, &f.source);
    close(f.file);
    if (f.fault && code != LIBRARY_FILE) return fail_of_file(l, call, path, "read", f.fault);
    return code ? name_file(l, call, path, code) : code;
}

int load_file_of_library(Library *l, const char *path)
{
    int code = begin_library_call(l);
    return code ? code : end_library_call(l, load_from_file(l, path));
}

#endif
