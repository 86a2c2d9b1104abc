/* arena.c: the memory of a compilation, and vectors that grow in it. */
#include "base/util.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Chunk {
    struct Chunk *next;
    size_t used, size;
    _Alignas(16) char bytes[];
} Chunk;

static Chunk *chunks;    /* of which is taken */
static Chunk *set_aside; /* while something is made for a while: what is made for good; for_good(): the reverse */
static enum { GOOD, SCRATCH, GOOD_AGAIN } making;
enum { CHUNK = 1 << 20 };

void no_memory(size_t bytes)
{
    fprintf(stderr,
            "lathe: error: out of memory: %zu more bytes were wanted\n"
            "  end other programs, raise the limit (ulimit -v), or describe a smaller model\n",
            bytes);
    exit(1);
}

/* A description is refused before the machine that compiles it runs out of memory. */
static size_t most_held(void)
{
    static size_t most;
    if (most) return most;
    const char *less = getenv("LATHE_COMPILER_MB"); /* for tests */
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    most = (size_t)16 << 30;
    if (pages > 0 && page > 0 && (size_t)pages < most / (size_t)page) most = (size_t)pages * (size_t)page;
    if (less) most = (size_t)atoi(less) << 20;
    return most;
}

static size_t held; /* by all chunks */

static void check_held(size_t more)
{
    if (more <= most_held() && held <= most_held() - more) return;
    fprintf(stderr,
            "lathe: error: compiling this description takes more than %.1f GB of memory\n"
            "  is a Lua loop unrolled that should be nn.stack or nn.scan? or describe a smaller model\n",
            1e-9 * (double)most_held());
    exit(1);
}

static Chunk *new_chunk(size_t size)
{
    check_held(size);
    Chunk *c = calloc(1, sizeof *c + size);
    if (!c) no_memory(size);
    held += size;
    c->size = size;
    return c;
}

void *alloc(size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    if (!chunks || chunks->used + bytes > chunks->size) {
        Chunk *c = new_chunk(bytes > CHUNK ? bytes : CHUNK);
        c->next = chunks;
        chunks = c;
    }
    void *p = chunks->bytes + chunks->used;
    chunks->used += bytes;
    return p;
}

size_t allocated_bytes(void)
{
    size_t sum = 0;
    for (const Chunk *c = chunks; c; c = c->next) sum += c->used;
    return sum;
}

static void free_chunks(Chunk **list)
{
    while (*list) {
        Chunk *next = (*list)->next;
        held -= (*list)->size;
        free(*list);
        *list = next;
    }
}

/* Free lists by size, a power of two; each block begins with the address of the next. */
static void *given_back[64];

static void **given_back_of(size_t bytes)
{
    int power = 0;
    while ((size_t)1 << power < bytes) power++;
    must(making != GOOD || (size_t)1 << power == bytes);
    return &given_back[power];
}

void give_back(void *at, size_t bytes)
{
    if (making != GOOD || bytes < sizeof(void *)) return;
    void **list = given_back_of(bytes);
    *(void **)at = *list;
    *list = at;
}

void *alloc_again(size_t bytes)
{
    void **list = given_back_of(bytes), *at = *list;
    if (making != GOOD || !at) return alloc(bytes);
    *list = *(void **)at;
    return memset(at, 0, bytes);
}

void free_all(void)
{
    memset(given_back, 0, sizeof given_back);
    free_chunks(&chunks);
    free_chunks(&set_aside);
    making = GOOD;
}

static void swap_lists(void)
{
    Chunk *c = chunks;
    chunks = set_aside;
    set_aside = c;
}

void begin_scratch(void)
{
    must(making == GOOD);
    making = SCRATCH;
    swap_lists();
}

void end_scratch(void)
{
    must(making == SCRATCH);
    if (chunks) { /* the newest is taken again */
        free_chunks(&chunks->next);
        memset(chunks->bytes, 0, chunks->used);
        chunks->used = 0;
    }
    swap_lists();
    making = GOOD;
}

bool for_good(void)
{
    if (making != SCRATCH) return false;
    making = GOOD_AGAIN;
    swap_lists();
    return true;
}

void for_a_while(bool again)
{
    if (!again) return;
    must(making == GOOD_AGAIN);
    making = SCRATCH;
    swap_lists();
}

/* A vector that is kept must not grow into what is not. */
static void check_growth(const void *at)
{
    bool found = making != SCRATCH;
    for (const Chunk *c = chunks; !found && c; c = c->next)
        found = (const char *)at >= c->bytes && (const char *)at < c->bytes + c->size;
    must(found);
}

void *copy_of(const void *from, size_t bytes)
{
    void *p = alloc(bytes);
    if (bytes) memcpy(p, from, bytes);
    return p;
}

/* Lengthens the last allocation in place, if nothing was allocated since. */
static bool stretch(const void *at, size_t old, size_t bytes)
{
    old = (old + 15) & ~(size_t)15;
    bytes = (bytes + 15) & ~(size_t)15;
    const char *end = chunks ? chunks->bytes + chunks->used : NULL;
    if ((const char *)at + old != end || bytes - old > chunks->size - chunks->used) return false;
    chunks->used += bytes - old;
    return true;
}

void *lengthen(void *at, size_t used, size_t old, size_t bytes)
{
    if (used) check_growth(at);
    if (used && stretch(at, old, bytes)) return at;
    void *p = alloc(bytes);
    if (used) memcpy(p, at, used);
    return p;
}

void *grow(void *at, int n, int *cap, size_t size)
{
    int bigger = *cap ? *cap * 2 : 8;
    void *p = lengthen(at, (size_t)n * size, (size_t)*cap * size, (size_t)bigger * size);
    *cap = bigger;
    return p;
}
