# exact.sh: the same bits with every compiler, level of optimisation, C library and processor that is here: elementary functions,
# learning rates, initial values, sampled tokens and mel features; also on x86-64-v2, which has no fma, and on Arm and RISC-V
# under qemu.  With contraction by the compiler, too, for math/math.h alone.
# compiled: as for users
grep -q 'LATHE_SANITIZE:[A-Z]*=\(OFF\)\?$' "$BUILD/CMakeCache.txt" || { echo "skipped: it builds without sanitizers"; exit 77; }
mkdir "$TMP/include"
echo 'typedef struct json_t json_t; typedef struct json_error_t json_error_t;' >"$TMP/include/jansson.h"
files="tests/math/exact_drive.c runtime/step/schedule.c runtime/step/sample.c runtime/model/tables.c runtime/data/mel.c runtime/data/rate.c"
failed=0 first= missing=

# hashes NAME ARGUMENT RUNNER COMPILER…: must be those of the first one; with an argument, as far as it writes them.
hashes() {
    name=$1 argument=$2 runner=$3
    shift 3
    command -v "$1" >/dev/null && command -v "${runner:-true}" >/dev/null || { missing="$missing $name"; return; }
    # shellcheck disable=SC2086  # words
    "$@" -std=gnu11 -w -fno-math-errno -fno-trapping-math -Iruntime -I"$TMP/include" $files -lm -o "$TMP/drive" &&
        $runner "$TMP/drive" $argument >"$TMP/here" || { echo "FAILED: $name does not build or run"; failed=1; return; }
    [ -n "$first" ] || { first=$name; cp "$TMP/here" "$TMP/wanted"; }
    [ "$(wc -l <"$TMP/here")" -ge 21 ] || { echo "FAILED: $name writes too few hashes"; failed=1; }
    head -n "$(wc -l <"$TMP/here")" "$TMP/wanted" | diff - "$TMP/here" >"$TMP/diff" && return
    echo "FAILED: $name differs from $first:"
    cat "$TMP/diff"
    failed=1
}

off=-ffp-contract=off
hashes native '' '' gcc -O3 -march=native $off
hashes -O0 '' '' gcc -O0 $off
hashes clang '' '' clang -O2 $off
hashes tcc '' '' tcc # no vectors, and no fma but math/fma.h's
hashes contracted alone '' gcc -O3 -march=native -ffp-contract=fast
if [ "$(uname -m)" = x86_64 ]; then
    hashes musl '' '' musl-gcc -static -O2 -march=x86-64-v2 $off
    ! grep -q -w avx2 /proc/cpuinfo || hashes v3 '' '' gcc -O2 -march=x86-64-v3 $off
    ! grep -q -w avx512vl /proc/cpuinfo || hashes v4 '' '' gcc -O3 -march=x86-64-v4 $off
fi
hashes aarch64 '' qemu-aarch64-static aarch64-linux-gnu-gcc -static -O2 $off
hashes contracted-aarch64 alone qemu-aarch64-static aarch64-linux-gnu-gcc -static -O3 -ffp-contract=fast
hashes riscv64 '' qemu-riscv64-static riscv64-linux-gnu-gcc -static -O2 $off
[ -z "$missing" ] || echo "note: not here:$missing (apt install clang tcc musl-tools gcc-aarch64-linux-gnu gcc-riscv64-linux-gnu qemu-user-static)"
exit $failed
