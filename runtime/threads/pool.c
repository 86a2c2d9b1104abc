/* pool.c: parallel regions in a pool of threads: no globals but which pool a thread uses, no allocation, no
 * environment.
 *
 * A region begins when `start` changes, which holds its number and how many threads it has; thread k of the pool takes
 * part if there are more than k.  The last to end it changes `ended`, the last at a barrier `met`.  Who waits for such
 * a word polls some microseconds and then sleeps in its seat (compiler/decisions/015-waiting-threads.md): it says so in
 * `asleep` and looks at the word once more; who changes a word looks at `asleep` after that.  All four are sequentially
 * consistent, so one of the two sees the other. */
#if !defined LATHE_LIBRARY || defined LATHE_OWN_THREADS
#include "threads/pool.h"
#include "threads/system.h"

#include <stdatomic.h>

enum {
    LINE_BYTES = 64,
    MOST_THREADS = 1024,
    THREAD_BITS = 16, /* of Pool.start: the region's threads; 0: the pool closes */
    MOST_POLLS = 1024,
    LEAST_POLLS = 64,
    WAITS_BETWEEN = 32,    /* waits with MOST_POLLS */
    STACK_BYTES = 1 << 20, /* kernels need less than 256 KB: their frames have at most 12 KB (CMakeLists.txt) */
    LOOPS = 8              /* that threads of a region may be in at the same time */
};

typedef atomic_uint_fast64_t Word;

/* Where a thread sleeps. */
typedef struct Seat {
    _Alignas(LINE_BYTES) atomic_bool asleep;
    int number; /* of the thread in the pool */
    int polls;  /* before it sleeps */
    unsigned waits;
    System_thread thread;
    System_lock lock;
    System_bell bell;
    Pool *pool;
} Seat;

/* A loop of a region: loop number n of the pool is in place n % LOOPS, in round n / LOOPS of that place. */
typedef struct Shared_loop {
    _Alignas(LINE_BYTES) Word taken; /* iterations */
    atomic_int left;                 /* threads that have ended it */
    Word round;
} Shared_loop;

struct Pool {
    _Alignas(LINE_BYTES) Word start; /* number of the region << THREAD_BITS | its threads */
    void (*body)(void *);            /* of the region, as the rest up to `shares` */
    void *data;
    int width, level;
    bool has_shares;
    uint64_t loops, loops_after; /* number of its first loop, and of the next region's */
    Shares shares;
    _Alignas(LINE_BYTES) atomic_int arrived; /* threads that have ended the region */
    Word ended;                              /* as start was */
    _Alignas(LINE_BYTES) atomic_int waiting; /* threads at the barrier */
    Word met;                                /* barriers that all have passed */
    Shared_loop loop[LOOPS];
    _Alignas(LINE_BYTES) int threads; /* constant from here on, but for limit */
    int limit;
    Run_threads *run; /* NULL: threads of our own */
    void *with, *owner;
    atomic_flag busy; /* a region runs */
    Seat seat[];      /* [threads] */
};

/* A thread's part of a region. */
typedef struct Region {
    Pool *pool;
    int number, threads, level;
    int first; /* number in the region of several threads around; -1: there is none */
    Shares shares;
    uint64_t loop, taken; /* number of the loop in the pool; iterations taken, if the region has one thread */
} Region;

static _Thread_local Region outside = {.threads = 1, .first = -1};
static _Thread_local Region *inside; /* the innermost; NULL: outside */

static Region *region_here(void) { return inside ? inside : &outside; }

Pool *use_pool(Pool *pool)
{
    Pool *before = outside.pool;
    outside.pool = pool;
    return before;
}

void *leave_regions(void)
{
    void *left = inside;
    inside = NULL;
    return left;
}

void return_to_regions(void *regions) { inside = regions; }

void *owner_of_pool(void)
{
    const Pool *p = region_here()->pool;
    return p ? p->owner : NULL;
}

/* ------------------------------------------------------------------ waiting */

static void pause_briefly(void)
{
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

static uint64_t sleep_until_changed(Seat *s, Word *word, uint64_t old)
{
    uint64_t now;
    hold_lock(&s->lock);
    atomic_store(&s->asleep, true);
    while ((now = atomic_load(word)) == old) wait_for_bell(&s->bell, &s->lock);
    atomic_store_explicit(&s->asleep, false, memory_order_relaxed);
    free_lock(&s->lock);
    return now;
}

/* Returns what the word is then.  A thread that polls in vain may keep the one that it waits for from its core: then it
 * polls less next time, down to LEAST_POLLS; but now and then it tries MOST_POLLS, and what would have been enough
 * several times over is what it polls from then on. */
static uint64_t wait_until_changed(Seat *s, Word *word, uint64_t old)
{
    int polls = ++s->waits % WAITS_BETWEEN ? s->polls : MOST_POLLS;
    for (int i = 0; i < polls; i++) {
        uint64_t now = atomic_load_explicit(word, memory_order_acquire);
        if (now != old) {
            int enough = 4 * i + LEAST_POLLS;
            if (enough > s->polls) s->polls = enough < MOST_POLLS ? enough : MOST_POLLS;
            return now;
        }
        pause_briefly();
    }
    if (s->polls > LEAST_POLLS) s->polls -= s->polls / 4;
    return sleep_until_changed(s, word, old);
}

/* Called after a word has changed that threads from … below - 1 may wait for. */
static void wake_threads(Pool *p, int from, int below)
{
    for (int k = from; k < below; k++) {
        Seat *s = &p->seat[k];
        if (!atomic_load(&s->asleep)) continue;
        hold_lock(&s->lock); /* it sleeps, or has seen the word */
        free_lock(&s->lock);
        ring_bell(&s->bell);
    }
}

/* ------------------------------------------------------------------ regions */

/* Thread k's part of the pool's region. */
static void run_part(void *pool, int k)
{
    Pool *p = pool;
    Region r = {.pool = p, .number = k, .threads = p->width, .level = p->level, .first = k, .loop = p->loops};
    Region *before = inside;
    inside = &r;
    if (p->has_shares) begin_shares(&p->shares);
    p->body(p->data);
    if (k == 0) p->loops_after = r.loop; /* threads that are late still read `loops` */
    inside = before;
}

static void run_alone(const Region *around, void (*body)(void *), void *data, const Shares *shares)
{
    Region r;
    r.pool = around->pool;
    r.number = 0;
    r.threads = 1;
    r.level = around->level + 1;
    r.first = around->first;
    Region *before = inside;
    inside = &r;
    if (shares) begin_shares(shares);
    body(data);
    inside = before;
}

/* Our threads take part, and the caller as thread 0. */
static void run_own(Pool *p)
{
    uint64_t before = atomic_load_explicit(&p->ended, memory_order_relaxed);
    uint64_t number = (before >> THREAD_BITS) + 1;
    atomic_store(&p->start, number << THREAD_BITS | (uint64_t)p->width);
    wake_threads(p, 1, p->width);
    run_part(p, 0);
    wait_until_changed(&p->seat[0], &p->ended, before);
}

void run_region(void (*body)(void *), void *data, unsigned threads, const Shares *shares)
{
    const Region *around = region_here();
    Pool *p = around->pool;
    int width = !p || around->first >= 0 ? 1 : threads && threads < (unsigned)p->limit ? (int)threads : p->limit;
    if (width == 1 || atomic_flag_test_and_set_explicit(&p->busy, memory_order_acquire)) {
        run_alone(around, body, data, shares);
        return;
    }
    p->body = body;
    p->data = data;
    p->width = width;
    p->level = around->level + 1;
    p->has_shares = shares != NULL;
    if (shares) p->shares = *shares;
    if (p->run) p->run(p->with, width, run_part, p);
    else run_own(p);
    p->loops = p->loops_after;
    atomic_flag_clear_explicit(&p->busy, memory_order_release);
}

void meet_region(void)
{
    const Region *r = region_here();
    Pool *p = r->pool;
    if (r->threads == 1) return;
    uint64_t met = atomic_load_explicit(&p->met, memory_order_relaxed);
    if (atomic_fetch_add(&p->waiting, 1) + 1 < r->threads) {
        wait_until_changed(&p->seat[r->number], &p->met, met);
        return;
    }
    atomic_store_explicit(&p->waiting, 0, memory_order_relaxed);
    atomic_store(&p->met, met + 1);
    wake_threads(p, 0, r->threads);
}

static Thread_end serve_regions(void *seat)
{
    Seat *s = seat;
    Pool *p = s->pool;
    uint64_t region = 0;
    for (bool polls = true;;) {
        region = polls ? wait_until_changed(s, &p->start, region) : sleep_until_changed(s, &p->start, region);
        int width = (int)(region & ((1 << THREAD_BITS) - 1));
        if (width == 0) return (Thread_end)0;
        polls = s->number < width; /* the region is ours */
        if (!polls) continue;
        run_part(p, s->number);
        if (atomic_fetch_add(&p->arrived, 1) + 2 < width) continue;
        atomic_store_explicit(&p->arrived, 0, memory_order_relaxed);
        atomic_store(&p->ended, region);
        wake_threads(p, 0, 1);
    }
}

/* ------------------------------------------------------------------ loops whose iterations threads take in chunks */

static uint64_t least_of(uint64_t a, uint64_t b) { return a < b ? a : b; }

void begin_shares(const Shares *shares)
{
    enum { SHIFT = 53 }; /* taken: at most all iterations and a chunk of each thread, far from 2^64 */
    Region *r = region_here();
    r->shares = *shares;
    r->shares.chunk = least_of(shares->chunk, (uint64_t)1 << SHIFT);
    r->taken = 0;
    if (r->threads == 1) return;
    Shared_loop *l = &r->pool->loop[r->loop % LOOPS];
    uint64_t round = r->loop / LOOPS, now; /* its place is free when all have ended the loop before */
    while ((now = atomic_load(&l->round)) != round) wait_until_changed(&r->pool->seat[r->number], &l->round, now);
}

bool take_share(uint64_t *from, uint64_t *to)
{
    Region *r = region_here();
    const Shares *s = &r->shares;
    uint64_t at = r->taken;
    if (r->threads > 1)
        at = atomic_fetch_add_explicit(&r->pool->loop[r->loop % LOOPS].taken, s->chunk, memory_order_relaxed);
    if (at >= s->all) return false;
    uint64_t end = at + least_of(s->chunk, s->all - at);
    r->taken = end;
    *from = s->start + at * s->step;
    *to = end == s->all ? s->end : s->start + end * s->step;
    return true;
}

void end_shares(void)
{
    Region *r = region_here();
    if (r->threads == 1) return;
    Shared_loop *l = &r->pool->loop[r->loop % LOOPS];
    uint64_t round = r->loop++ / LOOPS;
    if (atomic_fetch_add(&l->left, 1) + 1 < r->threads) return;
    atomic_store_explicit(&l->taken, 0, memory_order_relaxed);
    atomic_store_explicit(&l->left, 0, memory_order_relaxed);
    atomic_store(&l->round, round + 1);
    wake_threads(r->pool, 0, r->threads);
}

/* ------------------------------------------------------------------ questions */

int region_thread(void) { return region_here()->number; }
int region_threads(void) { return region_here()->threads; }
int region_level(void) { return region_here()->level; }
int region_first_thread(void) { return in_wide_region() ? region_here()->first : 0; }
bool in_wide_region(void) { return region_here()->first >= 0; }
int pool_threads(void) { return region_here()->pool ? region_here()->pool->limit : 1; }

void limit_pool(int threads)
{
    Pool *p = region_here()->pool;
    if (p && threads > 0) p->limit = threads < p->threads ? threads : p->threads;
}

/* ------------------------------------------------------------------ open and close */

size_t pool_bytes(int threads) { return sizeof(Pool) + (size_t)threads * sizeof(Seat); }

static bool open_seat(Pool *p, int k)
{
    Seat *s = &p->seat[k];
    *s = (Seat){.number = k, .polls = MOST_POLLS, .pool = p};
    if (!make_lock(&s->lock)) return false;
    if (make_bell(&s->bell)) {
        if (p->run || k == 0 || start_system_thread(&s->thread, STACK_BYTES, serve_regions, s)) return true;
        end_bell(&s->bell);
    }
    end_lock(&s->lock);
    return false;
}

/* Of the first n seats.  A thread may still wake another when that has gone on, so all end first. */
static void close_seats(Pool *p, int n)
{
    atomic_store(&p->start, UINT64_MAX << THREAD_BITS);
    wake_threads(p, 1, n);
    for (int k = 1; k < n && !p->run; k++) end_system_thread(p->seat[k].thread);
    for (int k = 0; k < n; k++) {
        end_bell(&p->seat[k].bell);
        end_lock(&p->seat[k].lock);
    }
}

const char *open_pool(Pool *p, int threads, Run_threads *run, void *with, void *owner)
{
    if ((uintptr_t)p % LINE_BYTES) return "the memory of a pool of threads is not aligned to 64 bytes";
    if (threads < 1 || threads > MOST_THREADS) return "a pool has 1 to 1024 threads";
    *p = (Pool){
        .threads = threads, .limit = threads, .run = run, .with = with, .owner = owner, .busy = ATOMIC_FLAG_INIT};
    for (int k = 0; k < threads; k++) {
        if (open_seat(p, k)) continue;
        close_seats(p, k);
        return "the system starts no more threads: fewer are needed, or a higher limit (ulimit -u, memory)";
    }
    return NULL;
}

void close_pool(Pool *p) { close_seats(p, p->threads); }
#endif
