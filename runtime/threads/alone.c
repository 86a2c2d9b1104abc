/* alone.c: the pool of a library whose compiler has no threads: it runs in the one that calls. */
#if defined LATHE_LIBRARY && !defined LATHE_OWN_THREADS
#include "threads/pool.h"

struct Pool {
    void *owner;
};

#if (defined __GNUC__ || defined __clang__) && !defined LATHE_FREESTANDING
static _Thread_local Pool *used;
#else /* one thread at a time */
static Pool *used;
#endif

size_t pool_bytes(int threads)
{
    (void)threads;
    return sizeof(Pool);
}

const char *open_pool(Pool *pool, int threads, Run_threads *run, void *with, void *owner)
{
    (void)threads, (void)run, (void)with;
    pool->owner = owner;
    return NULL;
}

void close_pool(Pool *pool) { pool->owner = NULL; }

Pool *use_pool(Pool *pool)
{
    Pool *before = used;
    used = pool;
    return before;
}

void *leave_regions(void) { return NULL; }
void return_to_regions(void *regions) { (void)regions; }

void *owner_of_pool(void) { return used ? used->owner : NULL; }
#endif
