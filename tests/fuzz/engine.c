/* engine.c: a fuzz target under libFuzzer.  The code under test is written for one input a process: it ends by exit(),
 * keeps its memory until then, and has state in static variables.  So here exit() jumps back (--wrap), all that was
 * allocated or mapped is freed after each input (libfuzzer renames malloc and its kin in the code under test, and wraps
 * mmap), and its static variables (which libfuzzer puts into sections of their own) are set back to what they were. */
#define _GNU_SOURCE /* fopencookie */
#include "fuzz.h"
#include "memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

/* ------------------------------------------------------------------ memory */

typedef struct Block {
    struct Block *next, *last;
    size_t bytes;
    _Alignas(16) char at[];
} Block;

static Block blocks = {&blocks, &blocks, 0};

void *fuzz_malloc(size_t bytes)
{
    Block *b = malloc(sizeof *b + bytes);
    if (!b) return NULL;
    *b = (Block){blocks.next, &blocks, bytes};
    b->next->last = b;
    blocks.next = b;
    return b->at;
}

void fuzz_free(void *at)
{
    if (!at) return;
    Block *b = (Block *)((char *)at - offsetof(Block, at));
    b->next->last = b->last;
    b->last->next = b->next;
    free(b);
}

void *fuzz_calloc(size_t n, size_t size)
{
    size_t bytes;
    void *at = __builtin_mul_overflow(n, size, &bytes) ? NULL : fuzz_malloc(bytes);
    return at ? memset(at, 0, bytes) : NULL;
}

void *fuzz_realloc(void *old, size_t bytes)
{
    void *at = fuzz_malloc(bytes);
    if (!at || !old) return at;
    Block *b = (Block *)((char *)old - offsetof(Block, at));
    memcpy(at, old, bytes < b->bytes ? bytes : b->bytes);
    fuzz_free(old);
    return at;
}

/* A file in memory: that of the C library has memory of its own malloc. */
typedef struct Written {
    char **text;
    size_t *bytes;
} Written;

static ssize_t write_to_memory(void *cookie, const char *from, size_t n)
{
    const Written *w = cookie;
    char *text = fuzz_realloc(*w->text, *w->bytes + n + 1);
    if (!text) return 0;
    memcpy(text + *w->bytes, from, n);
    *w->bytes += n;
    text[*w->bytes] = 0;
    *w->text = text;
    return (ssize_t)n;
}

FILE *fuzz_open_memstream(char **text, size_t *bytes)
{
    Written *w = fuzz_malloc(sizeof *w);
    *w = (Written){text, bytes};
    *text = fuzz_calloc(1, 1);
    *bytes = 0;
    return fopencookie(w, "w", (cookie_io_functions_t){.write = write_to_memory});
}

/* Lines, likewise. */
ssize_t fuzz_getdelim(char **line, size_t *room, int end, FILE *f)
{
    size_t n = 0;
    for (int c; (c = fgetc(f)) != EOF;) {
        if (!*line || n + 2 > *room) {
            char *more = fuzz_realloc(*line, 2 * n + 120);
            if (!more) return -1;
            *line = more;
            *room = 2 * n + 120;
        }
        (*line)[n++] = (char)c;
        (*line)[n] = 0;
        if (c == end) break;
    }
    return n ? (ssize_t)n : -1;
}

ssize_t fuzz_getline(char **line, size_t *room, FILE *f) { return fuzz_getdelim(line, room, '\n', f); }

static void free_all_blocks(void)
{
    while (blocks.next != &blocks) fuzz_free(blocks.next->at);
}

/* ------------------------------------------------------------------ mappings */

/* Of files, mostly, that were refused after they were mapped.  Thousands of them make each system call slow, and at
 * vm.max_map_count the kernel gives no more. */
enum { MAPPINGS = 64 };

static struct {
    void *at;
    size_t bytes;
} mapping[MAPPINGS];
static int mappings;
static volatile int inside; /* the code under test */

void *__real_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
int __real_munmap(void *at, size_t bytes);

void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    at = __real_mmap(at, bytes, protection, flags, fd, offset);
    if (!inside || at == MAP_FAILED) return at;
    if (mappings == MAPPINGS) abort();
    mapping[mappings].at = at;
    mapping[mappings++].bytes = bytes;
    return at;
}

int __wrap_munmap(void *at, size_t bytes)
{
    for (int i = 0; i < mappings; i++)
        if (mapping[i].at == at) mapping[i--] = mapping[--mappings];
    return __real_munmap(at, bytes);
}

static void unmap_all(void)
{
    while (mappings) __wrap_munmap(mapping[0].at, mapping[0].bytes);
}

/* ------------------------------------------------------------------ static variables */

extern char __start_under_data[] __attribute__((weak)),
    __stop_under_data[] __attribute__((weak)), /* weak: there may be none */
    __start_under_bss[] __attribute__((weak)), __stop_under_bss[] __attribute__((weak));
static char *first_data, *first_bss;

typedef uint64_t __attribute__((aligned(1), may_alias)) Eight; /* bytes at any address */

/* Between the variables lie the sanitizer's red zones, which memcpy would trip over. */
__attribute__((no_sanitize("address"), noinline)) static void copy_raw(char *to, const char *from, const char *end)
{
    for (; end - from >= 8; from += 8, to += 8) *(volatile Eight *)to = *(const Eight *)from;
    while (from < end) *(volatile char *)to++ = *from++;
}

static void keep_statics(void)
{
    first_data = malloc((size_t)(__stop_under_data - __start_under_data) + 1);
    first_bss = malloc((size_t)(__stop_under_bss - __start_under_bss) + 1);
    copy_raw(first_data, __start_under_data, __stop_under_data);
    copy_raw(first_bss, __start_under_bss, __stop_under_bss);
}

static void set_back_statics(void)
{
    copy_raw(__start_under_data, first_data, first_data + (__stop_under_data - __start_under_data));
    copy_raw(__start_under_bss, first_bss, first_bss + (__stop_under_bss - __start_under_bss));
}

/* ------------------------------------------------------------------ one input */

static sigjmp_buf back;
/* In memory: ext4 writes a file that replaces another to the disk at once. */
static char folder[] = "/dev/shm/lathe-fuzz-XXXXXX", path[sizeof folder + 20];

_Noreturn void __real_exit(int code);
static pid_t fuzzer;

/* A process that the code under test has forked (front/trace.c) ends; it is no second fuzzer. */
_Noreturn void __wrap_exit(int code)
{
    if (getpid() != fuzzer) _exit(code);
    if (inside) siglongjmp(back, 1);
    __real_exit(code);
}

static void remove_folder_at_end(void)
{
    DIR *d = opendir(folder);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) (void)unlinkat(dirfd(d), e->d_name, 0);
    if (d) closedir(d);
    rmdir(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    fuzzer = getpid();
    if (!mkdtemp(folder)) perror(folder), abort();
    snprintf(path, sizeof path, "%s/tokenizer.json", folder);
    atexit(remove_folder_at_end);
    json_set_alloc_funcs(fuzz_malloc, fuzz_free);
    keep_statics();
    return 0;
}

/* What an input that was refused has left open: it opens a handful of files, one after the other. */
static void close_files(int first)
{
    for (int fd = first; fd < first + 16; fd++) close(fd);
}

static void write_input(const uint8_t *text, size_t n)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(text, 1, n, f) != n) perror(path), abort();
    fclose(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *text, size_t n)
{
    write_input(text, n);
    int free_file = dup(0);
    close(free_file);
    if (sigsetjmp(back, 1) == 0) {
        inside = 1;
        fuzz_one(path, (const char *)text, n);
    }
    inside = 0;
    if (free_file >= 0) close_files(free_file);
    setitimer(ITIMER_VIRTUAL, &(struct itimerval){0}, NULL); /* the front's limit of time */
    free_all_blocks();
    unmap_all();
    set_back_statics();
    return 0;
}
