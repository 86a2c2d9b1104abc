# widths.sh: products and attention with the vectors of older processors than this one, on which tiles and packing depend:
# their tests again, compiled for AVX2 (x86-64-v3); with LATHE_LONG=1 also for SSE4.2 (x86-64-v2), where fma is software and
# takes minutes: library/everywhere.sh compares weights of v2 in short.  All of the suite for such a processor: tests/run.sh
# --march=x86-64-v3.
# compiled: as for users
[ "$(uname -m)" = x86_64 ] || { echo "skipped: no x86-64 processor"; exit 77; }
grep -q 'LATHE_SANITIZE:[A-Z]*=\(OFF\)\?$' "$BUILD/CMakeCache.txt" || { echo "skipped: as it is without sanitizers"; exit 77; }

flags="-std=gnu11 -ffp-contract=off -fno-math-errno -fno-trapping-math -fopenmp -Iruntime -Itests -Icompiler -I."
openblas=$(sed -n 's/^OPENBLAS:[A-Z]*=//p' "$BUILD/CMakeCache.txt")

# try LEVEL: what the level's vectors are for is compiled anew, the rest is the build's.
try() {
    dir=$TMP/$1
    mkdir "$dir"
    for name in gemm gemm_own gemm_blas attention; do
        ${CC:-gcc} $flags -O3 -march="$1" "-DLATHE_OPENBLAS=\"$openblas\"" -c runtime/math/$name.c -o "$dir/rt_$name.o" || return 1
    done
    for name in gemm attention; do
        ${CC:-gcc} $flags -O2 -march="$1" -rdynamic tests/math/test_$name.c "$dir"/rt_*.o "$BUILD/libharness.a" "$BUILD/liblathe.a" \
            "$BUILD/liblathe_rt.a" -llua5.4 -ljansson -lpcre2-8 -lzstd -ljpeg -lpng -lz -lm -ldl -o "$dir/$name" || return 1
        "$dir/$name" >"$dir/said" 2>&1 || { echo "FAILED: $name, compiled for $1:"; head -n 20 "$dir/said"; return 1; }
    done
}

tried=
for level in ${LATHE_LONG:+x86-64-v2:avx} x86-64-v3:avx512f; do
    grep -q -w "${level#*:}" /proc/cpuinfo || continue      # that is what all other tests run with
    try "${level%:*}" || exit 1
    tried="$tried ${level%:*}"
done
[ -n "$tried" ] || { echo "skipped: a processor without AVX"; exit 77; }
echo "note: compiled for$tried"
