/* shim_memory.c: preloaded into a trainer: the MEMORY_ENDS_AT-th allocation fails, and with MEMORY_FOR_GOOD all after
 * it. Where nothing fails, their number is written into MEMORY_COUNT at the end. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *at, size_t bytes);

static atomic_long calls;
static long ends_at;
static int for_good;

__attribute__((constructor)) static void read_settings(void)
{
    const char *at = getenv("MEMORY_ENDS_AT");
    ends_at = at ? atol(at) : 0;
    for_good = getenv("MEMORY_FOR_GOOD") != NULL;
    calls = 0;
}

__attribute__((destructor)) static void write_count(void)
{
    const char *path = getenv("MEMORY_COUNT");
    long n = calls;
    FILE *f = path ? fopen(path, "w") : NULL;
    if (f) fprintf(f, "%ld\n", n), fclose(f);
}

static int refused(void)
{
    long now = atomic_fetch_add(&calls, 1) + 1;
    if (!ends_at || (for_good ? now < ends_at : now != ends_at)) return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t bytes) { return refused() ? NULL : __libc_malloc(bytes); }
void *calloc(size_t n, size_t size) { return refused() ? NULL : __libc_calloc(n, size); }
void *realloc(void *at, size_t bytes) { return bytes > 0 && refused() ? NULL : __libc_realloc(at, bytes); }
