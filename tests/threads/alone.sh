# alone.sh: a pool of our own needs no libgomp and meets none: test_pool.c built without it, at all levels of
# optimisation, and under ThreadSanitizer; two libraries with pools, shared and static, in a program whose own pragmas
# are libgomp's.
# compiled: as for users
failed=0
wrong() { echo "failed: $*"; failed=1; }
CC=gcc
command -v $CC >/dev/null || { echo 'skipped: no gcc, whose calls runtime/threads/gomp.c defines'; exit 77; }
flags='-std=gnu11 -fopenmp -Wall -Wextra -Werror -Iruntime'

# ours FILE: no symbol of OpenMP is missing in it, and none of ours is seen from elsewhere.
ours() {
    [ "$(nm "$1" | grep -c ' t GOMP_parallel$')" = 1 ] || wrong "$1 has no GOMP_parallel of its own"
    nm "$1" | grep -E ' [A-Z] (GOMP|omp)_' && wrong "$1 shows or needs what is above"
}

for level in -O0 -O1 -O2 -O3 -Os; do
    # shellcheck disable=SC2086  # several flags
    $CC $flags $level -c tests/threads/test_pool.c -o "$TMP/pool$level.o" || wrong "gcc $level"
    ours "$TMP/pool$level.o"
done
$CC "$TMP/pool-O3.o" -o "$TMP/alone" -pthread && "$TMP/alone" 10 || wrong 'without libgomp'

tsan="$TMP/tsan"
setarch -R true 2>/dev/null && tsan="setarch -R $tsan" # ThreadSanitizer wants its addresses for itself
# shellcheck disable=SC2086
if $CC $flags -O1 -g -fsanitize=thread -c tests/threads/test_pool.c -o "$TMP/tsan.o" 2>"$TMP/log" &&
    $CC -fsanitize=thread "$TMP/tsan.o" -o "$TMP/tsan" 2>>"$TMP/log"; then
    TSAN_OPTIONS='exitcode=66 halt_on_error=1' $tsan 20 >"$TMP/log" 2>&1 || { wrong ThreadSanitizer; head -40 "$TMP/log"; }
else echo "no ThreadSanitizer here: $(tail -n 1 "$TMP/log")"; fi

cat >"$TMP/library.c" <<'END'
#define LATHE_OWN_THREADS
#include "threads/pool.c"
#include "threads/gomp.c"
#include <omp.h>
#include <stdlib.h>
__attribute__((visibility("default"))) int NAME(int threads)
{
    Pool *p = aligned_alloc(64, (pool_bytes(threads) + 63) / 64 * 64);
    if (open_pool(p, threads, NULL, NULL, NULL)) return -1;
    Pool *before = use_pool(p);
    int seen = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : seen)
    for (int i = 0; i < 100; i++) seen += omp_get_num_threads();
    use_pool(before);
    close_pool(p);
    free(p);
    return seen;
}
END
cat >"$TMP/program.c" <<'END'
#include <omp.h>
int one(int threads), two(int threads);
int main(void)
{
    int wrong = omp_get_max_threads() != 5, threads = 0;
#pragma omp parallel reduction(+ : wrong, threads)
    {
        threads = omp_get_num_threads() == 5;
        for (int i = 0; i < 20; i++) wrong += one(2) != 200, wrong += two(3) != 300;
        wrong += omp_get_num_threads() != 5;
    }
    return wrong || threads != 5 || omp_get_max_threads() != 5;
}
END
for name in one two; do
    # shellcheck disable=SC2086
    $CC $flags -O2 -fPIC -fvisibility=hidden -DNAME=$name -c "$TMP/library.c" -o "$TMP/$name.o" || wrong "the library $name"
    ours "$TMP/$name.o"
    $CC -shared -Wl,-z,defs "$TMP/$name.o" -o "$TMP/lib$name.so" -pthread || wrong "lib$name.so"
    [ "$(nm -D --defined-only "$TMP/lib$name.so" | awk '{ print $3 }')" = $name ] || wrong "lib$name.so shows more than $name"
    objcopy --keep-global-symbol=$name "$TMP/$name.o" "$TMP/${name}_static.o" || wrong objcopy
done
$CC -O2 -fopenmp "$TMP/program.c" "$TMP/one_static.o" "$TMP/two_static.o" -o "$TMP/static" || wrong 'the static program'
$CC -O2 -fopenmp "$TMP/program.c" "$TMP/libone.so" "$TMP/libtwo.so" -Wl,-rpath,"$TMP" -o "$TMP/shared" || wrong 'the program'
for program in static shared; do
    OMP_NUM_THREADS=5 OMP_WAIT_POLICY=passive timeout 60 "$TMP/$program" || wrong "two libraries beside libgomp, $program"
done
exit $failed
