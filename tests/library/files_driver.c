/* files_driver.c: for files.sh: saves and loads in a folder, as it should go and with every failure. */
#include "mlp_driver.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What <fcntl.h>, <unistd.h> and others say of files, which -std=c11 hides in part. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROOM = 1 << 20 };
static char room[ROOM], held[ROOM];

/* ---- the call of the system that has a number fails */

static int calls, failing = -1, failed_with, halved;
static char failed_call[16];

static int fails(const char *call)
{
    if (calls++ != failing) return 0;
    snprintf(failed_call, sizeof failed_call, "%s", call);
    return errno = failed_with, 1;
}

int __real_open(const char *path, int how, int mode);
ssize_t __real_read(int file, void *to, size_t n);
ssize_t __real_write(int file, const void *from, size_t n);
off_t __real_lseek(int file, off_t to, int from);
int __real_fsync(int file);
int __real_close(int file);
int __real_rename(const char *from, const char *to);
int __wrap_open(const char *path, int how, ...)
{
    va_list more;
    va_start(more, how);
    const int mode = how & O_CREAT ? va_arg(more, int) : 0;
    va_end(more);
    return fails("open") ? -1 : __real_open(path, how, mode);
}
ssize_t __wrap_read(int file, void *to, size_t n)
{
    return fails("read") ? -1 : __real_read(file, to, halved ? (n + 1) / 2 : n);
}
ssize_t __wrap_write(int file, const void *from, size_t n)
{
    return fails("write") ? -1 : __real_write(file, from, halved ? (n + 1) / 2 : n);
}
off_t __wrap_lseek(int file, off_t to, int from) { return fails("lseek") ? -1 : __real_lseek(file, to, from); }
int __wrap_fsync(int file) { return fails("fsync") ? -1 : __real_fsync(file); }
int __wrap_close(int file)
{
    const int code = __real_close(file);
    return fails("close") ? -1 : code;
}
int __wrap_rename(const char *from, const char *to) { return fails("rename") ? -1 : __real_rename(from, to); }

/* ---- files */

static size_t file_bytes(const char *path, char *to)
{
    FILE *f = fopen(path, "rb");
    const size_t n = f ? fread(to, 1, ROOM, f) : 0;
    if (f) fclose(f);
    return n;
}

static void put_bytes(const char *path, const char *from, size_t n)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(from, 1, n, f) != n || fclose(f) != 0) puts("a file cannot be written"), exit(1);
}

static int files_here(void)
{
    int n = 0;
    DIR *d = opendir(".");
    for (const struct dirent *e; d && (e = readdir(d));) n += e->d_name[0] != '.';
    if (d) closedir(d);
    return n;
}

/* Whether it answers as before. */
static int answers(mlp *m, const float before[ROWS][CLASSES])
{
    return predict(m) == 0 && memcmp(before, logits, sizeof logits) == 0;
}

static void refuse(mlp *m, const char *path, int expected, const char *words)
{
    float before[ROWS][CLASSES];
    EXPECT(predict(m) == 0);
    memcpy(before, logits, sizeof before);
    const int code = mlp_load_file(m, path);
    EXPECT(code == expected && is_said(m, code, words), "code %d: %s", code, mlp_words(m, code));
    EXPECT(!path || !*path || strlen(path) > 1000 || is_said(m, code, path), "%s", mlp_words(m, code));
    EXPECT(answers(m, before));
}

static void wrong_loads(mlp *m, const char *saved, size_t used)
{
    static char longest[5000];
    memset(longest, 'x', sizeof longest - 1);
    refuse(m, NULL, MLP_USAGE, "NULL");
    refuse(m, "", MLP_USAGE, "empty");
    refuse(m, longest, MLP_USAGE, "longer");
    refuse(m, "none", MLP_NO_FILE, "load_file: none cannot be read: there is no such file");
    refuse(m, ".", MLP_FILE, "folder");
    refuse(m, "saved/none", MLP_FILE, "no folder");
    refuse(m, "/dev/null", MLP_DATA, "found 0 bytes");
    put_bytes("forbidden", saved, used);
    if (getuid() != 0 && chmod("forbidden", 0) == 0) refuse(m, "forbidden", MLP_FILE, "permission");
    remove("forbidden");
    for (size_t n = 0; n < used; n += n < 700 ? 37 : 1009) {
        put_bytes("cut", saved, n);
        refuse(m, "cut", MLP_DATA, "");
    }
    memcpy(held, saved, used);
    memset(held + used - 8, 0xff, 4);
    put_bytes("cut", held, used);
    refuse(m, "cut", MLP_DATA, "not finite");
    memcpy(held, saved, used);
    *strstr(held + 8, "weight") = 'W';
    put_bytes("cut", held, used);
    refuse(m, "cut", MLP_DATA, "cut: tensor ");
    memcpy(held, saved, used);
    put_bytes("cut", held, used + 2);
    refuse(m, "cut", MLP_DATA, "cut: 2 bytes follow the last tensor");
    remove("cut");
}

/* One bit of a number, or how far the run was; before there were checksums that was not noticed. */
static void damaged_loads(mlp *m)
{
    const size_t used = file_bytes("saved", held), data = 8 + (unsigned char)held[0] + 256 * (unsigned char)held[1];
    for (size_t at = data; at < used; at += at == data ? used - data - 4 : 1) {
        held[at] ^= 1;
        put_bytes("cut", held, used);
        refuse(m, "cut", MLP_DATA, "the file is damaged");
        held[at] ^= 1;
    }
    char *step = strstr(held + 8, "\"step\":\"5");
    step[8] = '4';
    put_bytes("cut", held, used);
    refuse(m, "cut", MLP_DATA, "cut: expected the checksum ");
    *strstr(held + 8, "checksum") = 'C';
    put_bytes("cut", held, used);
    EXPECT(mlp_load_file(m, "cut") == 0);
    remove("cut");
}

/* The k-th call of the system fails, for each k, until none does: then it is loaded.  What fails behind the checks
 * leaves no weights, and says so. */
static void failing_loads(mlp *m)
{
    float before[ROWS][CLASSES], after[ROWS][CLASSES];
    int code = 1, torn = 0, whole = 0;
    EXPECT(mlp_load_file(m, "saved") == 0 && predict(m) == 0);
    memcpy(after, logits, sizeof after);
    EXPECT(mlp_load_file(m, "other") == 0 && predict(m) == 0);
    memcpy(before, logits, sizeof before);
    for (failing = 0; code; failing++) {
        calls = 0, failed_with = EIO, failed_call[0] = 0;
        const int next = failing;
        code = mlp_load_file(m, "saved");
        failing = -1;
        if (code) {
            EXPECT(code == MLP_FILE, "%s %d: %s", failed_call, next, mlp_words(m, code));
            const int lost = is_said(m, code, "needs weights again");
            EXPECT(lost || is_said(m, code, "the disk has failed"), "%s", mlp_words(m, code));
            if (lost)
                EXPECT(predict(m) == MLP_USAGE && is_said(m, MLP_USAGE, "needs weights first") &&
                       mlp_save(m, room, ROOM, NULL) == MLP_USAGE);
            else EXPECT(answers(m, before));
            torn += lost, whole += !lost;
        } else EXPECT(answers(m, after)); /* what has failed, if anything, was to close what was read */
        EXPECT(mlp_load_file(m, "other") == 0 && answers(m, before));
        failing = next;
    }
    failing = -1;
    EXPECT(torn > 3 && whole > 3, "%d and %d", torn, whole);
}

#ifndef ANSWERS
static int32_t targets[ROWS] = {0, 1, 2, 1};

static void refuse_save(mlp *m, const char *path, int expected, const char *words)
{
    const int before = files_here(), code = mlp_save_file(m, path);
    EXPECT(code == expected && is_said(m, code, words), "code %d: %s", code, mlp_words(m, code));
    EXPECT(files_here() == before);
}

static void failing_saves(mlp *m)
{
    int code = 1, tried = 0;
    const size_t used = file_bytes("saved", held);
    const int files = files_here();
    for (failing = 0; code; failing++) {
        const int next = failing;
        calls = 0, failed_with = ENOSPC;
        code = mlp_save_weights_file(m, "saved");
        failing = -1;
        if (!code) break; /* that of the folder, behind the renaming */
        EXPECT(code == MLP_FILE && is_said(m, code, "save_file: saved cannot be written: the disk is full"), "%s: %s",
               failed_call, mlp_words(m, code));
        EXPECT(file_bytes("saved", room) == used && memcmp(room, held, used) == 0, "%s", failed_call);
        EXPECT(files_here() == files, "%s leaves a file", failed_call);
        failing = next, tried++;
    }
    failing = -1;
    EXPECT(tried > 6 && strcmp(failed_call, "open") == 0, "%d, %s", tried, failed_call);
    EXPECT(mlp_save_file(m, "saved") == 0);
}

/* The system's own limit on files: what a full disk does. */
static void small_disk(mlp *m)
{
    struct rlimit all, few;
    const size_t used = file_bytes("saved", held);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &all);
    few = all;
    few.rlim_cur = used / 2;
    setrlimit(RLIMIT_FSIZE, &few);
    refuse_save(m, "saved", MLP_FILE, "files may not be so large here");
    setrlimit(RLIMIT_FSIZE, &all);
    EXPECT(file_bytes("saved", room) == used && memcmp(room, held, used) == 0);
    EXPECT(mlp_save_file(m, "saved") == 0);
}

static void saves(mlp *m)
{
    struct stat about;
    size_t used;
    char path[32];
    for (int k = 0; k < 5; k++) EXPECT(mlp_step(m, &(mlp_step_in){features, targets}, NULL) == 0);
    EXPECT(mlp_save(m, held, ROOM, &used) == 0 && mlp_save_file(m, "saved") == 0);
    EXPECT(file_bytes("saved", room) == used && memcmp(room, held, used) == 0);
    EXPECT(mlp_save_weights(m, held, ROOM, &used) == 0 && mlp_save_weights_file(m, "weights") == 0);
    EXPECT(file_bytes("weights", room) == used && memcmp(room, held, used) == 0);
    halved = 1; /* the system may take and give less than it is asked for */
    EXPECT(mlp_save_weights_file(m, "weights") == 0 && mlp_load_file(m, "weights") == 0 &&
           mlp_load_file(m, "saved") == 0);
    halved = 0;
    EXPECT(file_bytes("weights", room) == used && memcmp(room, held, used) == 0 && mlp_steps(m) == 5);
    umask(022);
    for (int k = 0; k < 3; k++) {
        const mode_t mode = (mode_t[]){0600, 0664, 0644}[k]; /* the last is a new file's */
        EXPECT((k == 2 ? remove("saved") : chmod("saved", mode)) == 0 && mlp_save_file(m, "saved") == 0 &&
               stat("saved", &about) == 0 && (about.st_mode & 0777) == mode);
    }
    put_bytes("saved.part", "", 0); /* another program's, or left by a crash */
    EXPECT(mlp_save_file(m, "saved") == 0 && files_here() == 3);
    remove("saved.part");
    refuse_save(m, NULL, MLP_USAGE, "NULL");
    refuse_save(m, "", MLP_USAGE, "empty");
    refuse_save(m, "..", MLP_FILE, "folder");
    refuse_save(m, "none/saved", MLP_FILE, "its folder does not exist");
    refuse_save(m, "saved/saved", MLP_FILE, "no folder");
    refuse_save(m, "/dev/full", MLP_FILE, "that is no file");
    EXPECT(mkfifo("fifo", 0600) == 0);
    refuse_save(m, "fifo", MLP_FILE, "that is no file");
    refuse(m, "fifo", MLP_FILE, "that is no file");
    remove("fifo");
    for (int k = 0; k < 1000; k++)
        snprintf(path, sizeof path, k ? "new.part%d" : "new.part", k), put_bytes(path, "", 0);
    refuse_save(m, "new", MLP_FILE, "new cannot be written: all of .part to .part999 beside it are taken");
    for (int k = 0; k < 1000; k++) snprintf(path, sizeof path, k ? "new.part%d" : "new.part", k), remove(path);
}
#endif

int main(int argc, char **argv)
{
    float before[ROWS][CLASSES];
    mlp *m = opened(&(mlp_options){.seed = 1}), *other = opened(&(mlp_options){.seed = 2});
    if (argc != 2 || chdir(argv[1]) != 0) return 2;
#ifndef ANSWERS
    saves(m);
    EXPECT(mlp_save_file(other, "other") == 0);
    failing_saves(m);
    small_disk(m);
#else
    EXPECT(predict(m) == MLP_USAGE);
    EXPECT(mlp_load_file(m, "weights") == 0);
#endif
    EXPECT(mlp_load_file(other, "saved") == 0 && predict(m) == 0);
    memcpy(before, logits, sizeof before);
    EXPECT(answers(other, before)); /* of the file, all of it */
    wrong_loads(other, room, file_bytes("weights", room));
    damaged_loads(other);
    failing_loads(other);
    allocated = 0;
    int code = mlp_load_file(m, "saved");
#ifndef ANSWERS
    code = code ? code : mlp_save_file(m, "saved");
#endif
    EXPECT(code == 0 && allocated == 0, "%d allocations", allocated);
    mlp_close(m), free(m);
    mlp_close(other), free(other);
    return failures != 0;
}
