/* engine.c: a fuzz target under libFuzzer.  The code under test is written for one input a process: it ends by exit(),
 * keeps its memory until then, and has state in static variables.  So here exit() jumps back (--wrap), all that was
 * allocated is freed after each input (libfuzzer renames malloc and its kin in the code under test), and its static
 * variables (which libfuzzer puts into sections of their own) are set back to what they were at first. */
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

static void free_all_blocks(void)
{
    while (blocks.next != &blocks) fuzz_free(blocks.next->at);
}

/* ------------------------------------------------------------------ static variables */

extern char __start_under_data[] __attribute__((weak)),
    __stop_under_data[] __attribute__((weak)), /* weak: there may be none */
    __start_under_bss[] __attribute__((weak)), __stop_under_bss[] __attribute__((weak));
static char *first_data, *first_bss;

/* Between the variables lie the sanitizer's red zones, which memcpy would trip over. */
__attribute__((no_sanitize("address"), noinline)) static void copy_raw(char *to, const char *from, const char *end)
{
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
static volatile int inside;
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
    set_back_statics();
    return 0;
}
