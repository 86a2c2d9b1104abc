/* sources.h: what the tests of sources share: checks, random numbers, files plain and packed, documents put together,
 * and commands that are expected to end the program. */
#ifndef TESTS_SOURCES_H
#define TESTS_SOURCES_H

#include "base/words.h"
#include "source/source.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef LATHE_WITH_ZLIB
#include <zlib.h>
#endif
#ifdef LATHE_WITH_ZSTD
#include <zstd.h>
#endif

static int checks, failures;

__attribute__((format(printf, 2, 3), unused)) static bool expect(bool ok, const char *fmt, ...)
{
    checks++;
    if (ok) return true;
    va_list args;
    va_start(args, fmt);
    printf("failed: ");
    vprintf(fmt, args);
    printf("\n");
    va_end(args);
    fflush(stdout);
    failures++;
    return false;
}

__attribute__((unused)) static int finish(void)
{
    printf("%d checks, %d failed\n", checks, failures);
    return failures || !checks;
}

/* xorshift64*. */
static uint64_t rng = 88172645463325252u;
__attribute__((unused)) static int64_t below(int64_t n)
{
    rng ^= rng >> 12, rng ^= rng << 25, rng ^= rng >> 27;
    return (int64_t)((rng * 2685821657736338717u >> 11) % (uint64_t)n);
}

/* ------------------------------------------------------------------ bytes that grow */

typedef struct Bytes {
    char *at;
    int64_t n, room;
} Bytes;

__attribute__((unused)) static void put(Bytes *b, const void *at, int64_t n)
{
    if (b->n + n + 1 > b->room) b->at = realloc(b->at, (size_t)(b->room = 2 * (b->n + n) + 64));
    memcpy(b->at + b->n, at, (size_t)n);
    b->n += n;
    b->at[b->n] = 0;
}
__attribute__((unused)) static void puts_to(Bytes *b, const char *s) { put(b, s, (int64_t)strlen(s)); }
__attribute__((unused)) static void empty(Bytes *b)
{
    if (!b->at) put(b, "", 0);
    b->n = 0;
    b->at[0] = 0;
}

/* ------------------------------------------------------------------ files */

static char folder[] = "/tmp/lathe-source-XXXXXX";

static void remove_test_folder(void)
{
    char *command = text_of("rm -rf %s", folder);
    if (system(command) != 0) perror(folder);
}

static pid_t first_process;
static void remove_at_end(void)
{
    if (getpid() == first_process) remove_test_folder();
}

__attribute__((unused)) static void make_test_folder(void)
{
    if (!mkdtemp(folder)) perror(folder), exit(1);
    first_process = getpid();
    atexit(remove_at_end);
}

__attribute__((unused)) static char *in_folder(const char *name) { return text_of("%s/%s", folder, name); }

__attribute__((unused)) static void write_bytes(const char *path, const void *at, int64_t n)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(at, 1, (size_t)n, f) != (size_t)n || fclose(f) != 0) perror(path), exit(1);
}

/* As it is, or in several members or frames. */
__attribute__((unused)) static bool pack_bytes(Packed how, const char *at, int64_t n, Bytes *out)
{
    empty(out);
    if (how == NOT_PACKED) return put(out, at, n), true;
    for (int64_t from = 0; from == 0 || from < n;) {
        int64_t here = below(3) ? n - from : below(n - from + 1);
        size_t room = (size_t)here * 2 + 1000, got = 0;
        char *to = malloc(room);
#ifdef LATHE_WITH_ZLIB
        if (how == PACKED_GZ) {
            z_stream z = {0};
            deflateInit2(&z, 1 + (int)below(9), Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
            z.next_in = (Bytef *)(uintptr_t)(at + from), z.avail_in = (uInt)here;
            z.next_out = (Bytef *)to, z.avail_out = (uInt)room;
            if (deflate(&z, Z_FINISH) != Z_STREAM_END) abort();
            got = z.total_out;
            deflateEnd(&z);
        }
#endif
#ifdef LATHE_WITH_ZSTD
        if (how == PACKED_ZST) {
            if (below(3) == 0) put(out, "\x52\x2a\x4d\x18\x05\0\0\0skip!", 13); /* a skippable frame */
            got = ZSTD_compress(to, room, at + from, (size_t)here, 1 + (int)below(5));
            if (ZSTD_isError(got)) abort();
        }
#endif
        if (!got) return free(to), false;
        put(out, to, (int64_t)got);
        free(to);
        from += here;
        if (n == 0) break;
    }
    return true;
}

/* ------------------------------------------------------------------ programs that end themselves */

typedef struct Ended {
    int code; /* exit code; 128 + signal */
    char text[4000];
    int64_t peak; /* bytes of memory */
} Ended;

/* Runs it in a process of its own; its messages in text. */
__attribute__((unused)) static Ended run_apart(void (*what)(void *), void *arg)
{
    Ended e = {0};
    int pipes[2], status;
    struct rusage use;
    fflush(stdout);
    if (pipe(pipes) != 0) perror("pipe"), exit(1);
    pid_t child = fork();
    if (child == 0) {
        dup2(pipes[1], 2);
        close(pipes[0]);
        close(pipes[1]);
        what(arg);
        exit(0);
    }
    close(pipes[1]);
    for (size_t n = 0; n + 1 < sizeof e.text;) {
        ssize_t got = read(pipes[0], e.text + n, sizeof e.text - 1 - n);
        if (got <= 0) break;
        n += (size_t)got;
    }
    close(pipes[0]);
    wait4(child, &status, 0, &use);
    e.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    e.peak = (int64_t)use.ru_maxrss * 1024;
    return e;
}

__attribute__((unused)) static Words one_path(const char *path)
{
    const char **at = malloc(sizeof *at);
    *at = path;
    return (Words){at, 1};
}

#endif
