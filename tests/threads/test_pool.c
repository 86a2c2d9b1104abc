/* test_pool.c: `#pragma omp` in a pool of our own (runtime/threads): regions, loops, barriers, nested regions, several
 * pools and callers at once, the caller's threads, memory, signals, and what a pool refuses.
 *
 * It is built as a library is: the pool and this text are one file.  threads/alone.sh builds it without libgomp, with
 * other compilers' libraries, and under ThreadSanitizer, with an argument: fewer repetitions. */
#define LATHE_OWN_THREADS
#include "threads/pool.c"
#include "threads/gomp.c"

#include <dirent.h>
#include <limits.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int failures;

#define EXPECT(ok, ...)                                                                                                \
    do                                                                                                                 \
        if (!(ok)) {                                                                                                   \
            printf("%s:%d: ", __func__, __LINE__);                                                                     \
            printf(__VA_ARGS__);                                                                                       \
            printf("\n");                                                                                              \
            failures++;                                                                                                \
        }                                                                                                              \
    while (0)

static Pool *memory_of(int threads)
{
    size_t bytes = pool_bytes(threads);
    char *memory = aligned_alloc(64, (bytes + 64 + 63) / 64 * 64);
    memset(memory, 0xa5, bytes + 64);
    return (Pool *)memory;
}

static Pool *opened(int threads, Run_threads *run)
{
    Pool *p = memory_of(threads);
    const char *why = open_pool(p, threads, run, p, NULL);
    EXPECT(!why, "%d threads: %s", threads, why);
    if (why) exit(1);
    return p;
}

static void closed(Pool *p, int threads)
{
    close_pool(p);
    const unsigned char *beyond = (unsigned char *)p + pool_bytes(threads);
    for (int i = 0; i < 64; i++) EXPECT(beyond[i] == 0xa5, "byte %d beyond the memory of %d threads", i, threads);
    free(p);
}

/* ------------------------------------------------------------------ loops */

enum { N = 1000 };

/* Every thread count must give these bits: shares are cut by n alone, sums are added in order. */
static double sum_of(int repetition)
{
    static _Thread_local double part[N];
    double *parts = part, sum = 0;
#pragma omp parallel for schedule(static)
    for (int i = 0; i < N; i++) parts[i] = 1.0 / (i + 1 + repetition);
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < N; i++) parts[i] *= 3.0 - 1.0 / (2 * i + 1);
#pragma omp parallel for collapse(2) schedule(static)
    for (int i = 0; i < N / 10; i++)
        for (int j = 0; j < 10; j++) parts[10 * i + j] += i - j;
    for (int i = 0; i < N; i++) sum += parts[i];
    return sum;
}

static void each_once(const atomic_int *seen, int64_t n, const char *what)
{
    for (int64_t i = 0; i < n; i++)
        EXPECT(seen[i] == 1, "%s: iteration %lld ran %d times", what, (long long)i, seen[i]);
}

static void dynamic_loops(void)
{
    static _Thread_local atomic_int counted[4][N];
    atomic_int(*seen)[N] = counted, *s = counted[3];
    memset(counted, 0, sizeof counted);
#pragma omp parallel for schedule(dynamic, 7)
    for (long i = 3; i < 3 + 2 * N; i += 2) seen[0][(i - 3) / 2]++;
#pragma omp parallel for schedule(dynamic, 3)
    for (int i = N - 1; i >= 0; i--) seen[1][i]++;
#pragma omp parallel for schedule(dynamic)
    for (unsigned long long i = ULLONG_MAX - N; i < ULLONG_MAX; i++) seen[2][i - (ULLONG_MAX - N)]++;
    for (int k = 0; k < 3; k++) each_once(seen[k], N, "dynamic");
#pragma omp parallel for schedule(dynamic, 1 << 30)
    for (unsigned long long i = ULLONG_MAX; i > ULLONG_MAX - N; i--) s[ULLONG_MAX - i]++;
    each_once(s, N, "one chunk, downwards");
    atomic_int odd = 0;
#pragma omp parallel for schedule(dynamic)
    for (long i = LONG_MAX - 7; i < LONG_MAX - 2; i += 3) odd++;
    EXPECT(odd == 2, "%d iterations at the end of long, not 2", odd);
    for (int n = -3; n <= 0; n++) {
#pragma omp parallel for schedule(dynamic)
        for (int i = 0; i < n; i++) odd++;
#pragma omp parallel for schedule(static)
        for (int i = 0; i < n; i++) odd++;
    }
    EXPECT(odd == 2, "an empty loop ran");
}

/* More loops in a row than places for them, and threads that are far apart. */
static void loops_in_a_team(void)
{
    enum { MANY = 40 };
    static _Thread_local atomic_int counted[MANY][64];
    atomic_int(*seen)[64] = counted;
    int early = 0;
    memset(counted, 0, sizeof counted);
#pragma omp parallel reduction(+ : early)
    {
        for (int k = 0; k < MANY; k++) {
            if (omp_get_thread_num() == k % 3) usleep(100);
#pragma omp for schedule(dynamic) nowait
            for (int i = 0; i < 64; i++) seen[k][i]++;
        }
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 64; i++) usleep(i < 3 ? 100 : 0), seen[0][i] += 10;
        for (int i = 0; i < 64; i++) early += seen[0][i] != 11;
#pragma omp barrier
#pragma omp for schedule(static)
        for (int i = 0; i < 64; i++) seen[0][i] -= 10;
    }
    for (int k = 0; k < MANY; k++) each_once(seen[k], 64, "nowait");
    EXPECT(early == 0, "%d looks before the loop had ended", early);
}

/* No region around. */
static void loop_alone(void)
{
    atomic_int seen[10] = {0};
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 10; i++) seen[i]++;
#pragma omp barrier
    each_once(seen, 10, "orphaned");
}

/* ------------------------------------------------------------------ barriers, nested regions, clauses */

static void barriers(int threads)
{
    enum { ROUNDS = 200 };
    int at[64] = {0}, wrong = 0;
#pragma omp parallel reduction(+ : wrong)
    for (int round = 1; round <= ROUNDS; round++) {
        int k = omp_get_thread_num(), n = omp_get_num_threads();
        at[k] = round;
#pragma omp barrier
        for (int i = 0; i < n; i++) wrong += at[i] != round;
#pragma omp barrier
    }
    EXPECT(wrong == 0, "%d threads: %d looks before others had come", threads, wrong);
}

static void nested(int threads)
{
    int inner[64] = {0}, number[64] = {0};
    EXPECT(!omp_in_parallel() && omp_get_level() == 0 && omp_get_num_threads() == 1, "there is a region already");
    EXPECT(omp_get_max_threads() == threads, "at most %d threads, not %d", omp_get_max_threads(), threads);
#pragma omp parallel
    {
        int k = omp_get_thread_num();
        EXPECT(omp_get_num_threads() == threads, "%d threads, not %d", omp_get_num_threads(), threads);
        EXPECT(omp_in_parallel() == (threads > 1), "in a region of %d", threads);
#pragma omp parallel
        {
            EXPECT(omp_get_num_threads() == (omp_in_parallel() ? 1 : threads), "%d inner threads",
                   omp_get_num_threads());
            EXPECT(omp_get_level() == 2 && omp_get_thread_num() == 0, "thread %d", omp_get_thread_num());
            number[k] = omp_get_ancestor_thread_num(1);
#pragma omp for schedule(dynamic) nowait
            for (int i = 0; i < 10; i++) inner[k]++;
#pragma omp barrier
        }
        EXPECT(omp_get_thread_num() == k && omp_get_level() == 1, "thread %d is %d afterwards", k,
               omp_get_thread_num());
    }
    for (int k = 0; k < threads; k++)
        EXPECT(inner[k] == 10 && number[k] == k, "thread %d: %d, %d", k, inner[k], number[k]);
}

static void clauses(int threads)
{
    for (int no = 0; no < 2; no++) {
        atomic_int count = 0;
#pragma omp parallel if (!no)
        count += omp_get_num_threads() == (no ? 1 : threads);
        EXPECT(count == (no ? 1 : threads), "if: %d threads", count);
    }
    for (int n = 1; n <= threads + 2; n++) {
        atomic_int seen[64] = {0};
        int wanted = n < threads ? n : threads;
#pragma omp parallel num_threads(n)
        seen[omp_get_thread_num()]++;
        each_once(seen, wanted, "num_threads");
        for (int k = wanted; k < 64; k++) EXPECT(!seen[k], "thread %d of %d", k, wanted);
#pragma omp parallel for schedule(dynamic) num_threads(n)
        for (int i = 0; i < 64; i++) seen[i] = 1;
        each_once(seen, 64, "num_threads, dynamic");
    }
    /* A region of one around one of several: numbers of rooms differ there, too. */
    atomic_int rooms[64] = {0};
#pragma omp parallel if (threads > 100)
#pragma omp parallel
    rooms[omp_get_ancestor_thread_num(1)]++;
    each_once(rooms, threads, "region in a region of one");
    omp_set_num_threads(2);
    EXPECT(omp_get_max_threads() == (threads < 2 ? 1 : 2), "%d threads after a limit of 2", omp_get_max_threads());
    omp_set_num_threads(1000);
    EXPECT(omp_get_max_threads() == threads, "%d threads after no limit", omp_get_max_threads());
}

static void all_of(int threads, int repetitions)
{
    static _Thread_local double sums[8];
    for (int k = 0; k < repetitions; k++) {
        double sum = sum_of(k % 8);
        if (sums[k % 8] == 0) {
            Pool *p = use_pool(NULL);
            sums[k % 8] = sum_of(k % 8);
            use_pool(p);
        }
        EXPECT(sum == sums[k % 8], "%d threads: sum %.17g, not %.17g", threads, sum, sums[k % 8]);
    }
    dynamic_loops();
    loops_in_a_team();
    loop_alone();
    barriers(threads);
    nested(threads);
    clauses(threads);
}

/* ------------------------------------------------------------------ pools */

/* The caller's threads: started for each region. */
typedef struct Hired {
    void (*work)(void *, int);
    void *data;
    int number;
} Hired;

static void *hired_works(void *of)
{
    Hired *h = of;
    int level = omp_get_level();
    h->work(h->data, h->number);
    EXPECT(omp_get_level() == level, "level %d, then %d", level, omp_get_level());
    return NULL;
}

static atomic_int hirings;

static void hire(void *with, int threads, void (*work)(void *, int), void *data)
{
    pthread_t thread[64];
    Hired hired[64];
    EXPECT(with == data, "another pool");
    hirings++;
    for (int k = 0; k < threads; k++) hired[k] = (Hired){work, data, k};
    for (int k = 1; k < threads; k++) pthread_create(&thread[k], NULL, hired_works, &hired[k]);
    hired_works(&hired[0]);
    for (int k = 1; k < threads; k++) pthread_join(thread[k], NULL);
}

typedef struct User {
    pthread_t thread;
    Pool *pool;
    int threads, repetitions;
} User;

static void *use(void *of)
{
    User *u = of;
    use_pool(u->pool);
    all_of(u->threads, u->repetitions);
    EXPECT(use_pool(NULL) == u->pool, "another pool");
    return NULL;
}

static void two_pools(int repetitions)
{
    User user[3] = {{.threads = 2}, {.threads = 3}, {.threads = 4}};
    for (int k = 0; k < 3; k++) {
        user[k].pool = opened(user[k].threads, k == 2 ? hire : NULL);
        user[k].repetitions = k == 2 ? 1 : repetitions;
        pthread_create(&user[k].thread, NULL, use, &user[k]);
    }
    for (int k = 0; k < 3; k++) pthread_join(user[k].thread, NULL);
    for (int k = 0; k < 3; k++) closed(user[k].pool, user[k].threads);
}

static void *use_shared(void *pool)
{
    use_pool(pool);
    double first = sum_of(0);
    for (int k = 0; k < 300; k++) EXPECT(sum_of(0) == first, "sum %d", k);
    dynamic_loops();
    use_pool(NULL);
    return NULL;
}

/* Two callers at once in one pool. */
static void shared_pool(void)
{
    Pool *p = opened(2, NULL);
    pthread_t other;
    pthread_create(&other, NULL, use_shared, p);
    use_shared(p);
    pthread_join(other, NULL);
    closed(p, 2);
}

static void short_regions(int threads, int n)
{
    Pool *p = opened(threads, NULL), *before = use_pool(p);
    long sum[64 * 8] = {0}, all = 0;
    for (int i = 0; i < n; i++)
#pragma omp parallel
        sum[8 * omp_get_thread_num()] += i;
    for (int k = 0; k < threads; k++) all += sum[8 * k];
    EXPECT(all == (long)threads * n * (n - 1L) / 2, "%d short regions of %d", n, threads);
    use_pool(before);
    closed(p, threads);
}

static int threads_now(void)
{
    DIR *d = opendir("/proc/self/task");
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d));) n += *e->d_name != '.';
    if (d) closedir(d);
    return n;
}

#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
enum { SANITIZED = true };
#else
enum { SANITIZED = false };
#endif

static long pages_now(void)
{
    FILE *f = SANITIZED ? NULL : fopen("/proc/self/statm", "r");
    long pages = 0;
    if (!f || fscanf(f, "%ld", &pages) != 1) pages = 0;
    if (f) fclose(f);
    return pages;
}

static void open_and_close(int times)
{
    int threads = threads_now();
    long pages = 0;
    for (int i = 0; i < times; i++) {
        Pool *p = opened(3, NULL);
        if (i % 2) {
            use_pool(p);
            EXPECT(sum_of(1) != 0, "no sum");
            use_pool(NULL);
        }
        closed(p, 3);
        if (i == times / 10) pages = pages_now();
    }
    EXPECT(pages_now() <= pages + 64, "%ld pages, then %ld", pages, pages_now());
    for (int i = 0; i < 1000 && threads_now() > threads; i++) usleep(1000); /* the kernel's part of a joined thread */
    EXPECT(threads_now() == threads, "%d threads, then %d", threads, threads_now());
}

static void refusals(void)
{
    Pool *p = memory_of(2);
    EXPECT(open_pool(p, 0, NULL, NULL, NULL), "no threads");
    EXPECT(open_pool(p, 1025, NULL, NULL, NULL), "1025 threads");
    EXPECT(open_pool((Pool *)((char *)p + 8), 1, NULL, NULL, NULL), "memory that is not aligned");
    free(p);
}

/* In a process of its own: memory for a few more stacks only. */
static void too_many(void)
{
    pid_t child = SANITIZED ? -1 : fork();
    if (child == 0) {
        struct rlimit limit = {(rlim_t)pages_now() * (rlim_t)sysconf(_SC_PAGESIZE) + (40 << 20), RLIM_INFINITY};
        setrlimit(RLIMIT_AS, &limit);
        Pool *p = memory_of(500);
        bool refused = open_pool(p, 500, NULL, NULL, NULL) != NULL, ended = threads_now() == 1;
        _exit(refused && ended && !open_pool(p, 2, NULL, NULL, NULL) ? 0 : 1);
    }
    int status = SANITIZED ? 0 : 1;
    if (child > 0) waitpid(child, &status, 0);
    EXPECT(status == 0, "500 threads in 40 MB: %d", status);
}

static void take_signal(int signal) { failures += signal > 0; }

/* The pool's threads take no signals: one that the caller blocks stays pending. */
static void signals(void)
{
    Pool *p = opened(4, NULL);
    sigset_t usr, pending;
    sigemptyset(&usr);
    sigaddset(&usr, SIGUSR1);
    signal(SIGUSR1, take_signal);
    pthread_sigmask(SIG_BLOCK, &usr, NULL);
    kill(getpid(), SIGUSR1);
    usleep(2000);
    sigpending(&pending);
    EXPECT(sigismember(&pending, SIGUSR1), "a thread of the pool took a signal");
    signal(SIGUSR1, SIG_IGN);
    pthread_sigmask(SIG_UNBLOCK, &usr, NULL);
    closed(p, 4);
}

int main(int argc, char **argv)
{
    int less = argc > 1 ? atoi(argv[1]) : 1;
#ifdef __clang__
    puts("skipped: clang calls other functions for its pragmas than gcc");
    return 77;
#endif
    all_of(1, 10);
    refusals();
    too_many();
    for (int i = 0; i < 4; i++) {
        int threads = (int[]){1, 2, 3, 8}[i];
        for (int hired = 0; hired < 2; hired++) {
            Pool *p = opened(threads, hired ? hire : NULL), *before = use_pool(p);
            all_of(threads, hired ? 4 : 200 / less);
            EXPECT(use_pool(before) == p, "another pool");
            closed(p, threads);
        }
    }
    EXPECT(hirings > 0, "nobody was hired");
    two_pools(100 / less);
    shared_pool();
    short_regions(2, 100000 / less);
    short_regions(8, 2000 / less);
    open_and_close(1000 / less);
    signals();
    if (failures) printf("%d checks failed\n", failures);
    return failures ? 1 : 0;
}
