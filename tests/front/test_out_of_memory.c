/* test_out_of_memory.c: the front end, and the passes behind it, with memory running out at every allocation in turn: a
 * message and exit code 1, never a crash.  Quick: every allocation of the first hundred, and each 97th after. */
#include "../graph/apart.h"

#include <errno.h>
#include <string.h>

enum { FIRST = 100, STEP = 97 };

static int64_t calls, fails_at; /* 0: never */

#ifndef LATHE_SANITIZE /* AddressSanitizer has a malloc of its own */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *at, size_t bytes);

static bool refused(void)
{
    if (++calls != fails_at) return false;
    errno = ENOMEM;
    return true;
}
void *malloc(size_t bytes) { return refused() ? NULL : __libc_malloc(bytes); }
void *calloc(size_t n, size_t size) { return refused() ? NULL : __libc_calloc(n, size); }
void *realloc(void *at, size_t bytes) { return bytes > 0 && refused() ? NULL : __libc_realloc(at, bytes); }
#endif

static void compile_it(const void *which)
{
    calls = 0;
    fails_at = *(const int64_t *)which;
    options = (Options){.target = &target_cpu, .model_file = "tests/fuzz/corpus/front/layers.lua"};
    compile(front(&options));
    if (!fails_at) fprintf(stderr, "%lld allocations\n", (long long)calls);
    fails_at = 0;
}

static void fail_at(int64_t number)
{
    char *said;
    int code = apart(compile_it, &number, &said);
    bool told = strstr(said, "out of memory") || strstr(said, "Cannot allocate memory");
    expect(code == 0 || (code == 1 && told), "allocation %lld fails: exit code %d, \"%.200s\"", (long long)number, code,
           said);
}

int main(void)
{
#ifdef LATHE_SANITIZE
    skip_test("AddressSanitizer has a malloc of its own");
#endif
    char *said;
    int64_t never = 0;
    int code = apart(compile_it, &never, &said);
    expect(code == 0, "without failures: %s", said);
    int64_t all = atoll(said);
    expect(all > FIRST, "there are allocations: %s", said);
    for (int64_t n = 1; n <= all; n += n < FIRST || long_run() ? 1 : STEP) fail_at(n);
    return finish();
}
