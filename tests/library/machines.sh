# machines.sh: one program with a library leaves the same weights on other machines: Arm, RISC-V, Windows, WebAssembly and
# the levels of x86-64, as far as their compilers and emulators are here.  A processor without a library's instructions and
# a compiler that is missing are said in words.  In short: of Windows alone by `lathe build --for`, of others the one C file,
# unoptimized; LATHE_LONG=1: all by --for.
# compiled: as for users
grep -q 'LATHE_SANITIZE:[A-Z]*=\(OFF\)\?$' "$BUILD/CMakeCache.txt" || { echo "skipped: calls.sh runs a library under sanitizers"; exit 77; }
set -eu
failed=0 missing=
complain() { echo "failed: $*"; failed=1; }
words="--set hidden=8 --set batch=4 --set steps=50"
driver=$PWD/tests/library/machine_driver.c module=$PWD/tests/library/machine_module.mjs lathe=$LATHE model=$PWD/models/mlp.lua
cd "$TMP"
export WINEPREFIX="$TMP/wine" WINEDEBUG=-all

# shellcheck disable=SC2086
"$lathe" build "$model" $words --amalgamation -o one >/dev/null
${CC:-cc} -O1 -march=native -fopenmp -w -Ione -c one/mlp.c -o here.o
${CC:-cc} -O1 -Ione "$driver" here.o -lm -lpthread -o here
./here wanted 2 || complain "it does not run here"

# Of several levels, each function of the header has one that chooses.
"$lathe" build "${model%/*}/char_rnn.lua" --config tiny --library --for x86-64 --source -o levels >/dev/null
for function in $(grep -o 'char_rnn_[a-z_]*(' levels/char_rnn.h | sort -u); do
    grep -q "BY_LEVEL([^,]*, ${function%(}," levels/char_rnn-levels.c || complain "$function has no levels"
done

# machine NAME COMPILER RUNNER FLAGS…: the program with its library.
machine() {
    name=$1 compiler=$2 runner=$3 threads=-fopenmp
    shift 3
    command -v "$compiler" >/dev/null && command -v "${runner%% *}" >/dev/null || { missing="$missing $name"; return 0; }
    printf '#include <stdio.h>\nint main(void) { return puts("") < 0; }\n' >probe.c
    "$compiler" "$@" probe.c -o probe.exe 2>said || { missing="$missing $name"; return 0; }
    [ "$name" != wasm32 ] || threads=
    if [ -n "${LATHE_LONG:-}" ] || [ "$name" = windows ]; then
        # shellcheck disable=SC2086
        library=$("$lathe" build "$model" $words --library --for "$name" -o "$name") || { complain "no library for $name"; return 0; }
    else
        mkdir "$name"
        # shellcheck disable=SC2086
        "$compiler" "$@" -O0 $threads -w -Ione -c one/mlp.c -o "$name/mlp.o" || { complain "$name refuses the one file"; return 0; }
        library=$name/mlp.o
    fi
    [ "$name" != windows ] || threads=
    # shellcheck disable=SC2086
    "$compiler" "$@" -O1 -Ione "$driver" "$library" -lm -o "$name/program.exe" || { complain "no program for $name"; return 0; }
    $runner "$name/program.exe" "$name/weights" 3 >said 2>&1 || { complain "$name: $(cat said)"; return 0; }
    cmp -s "$name/weights" wanted || complain "$name leaves other weights"
}
machine aarch64 aarch64-linux-gnu-gcc qemu-aarch64-static -static
machine windows x86_64-w64-mingw32-gcc wine
if [ -e windows/mlp.dll ]; then # two models in one program have no names in common, nor do two of its libraries
    x86_64-w64-mingw32-nm -g --defined-only windows/libmlp.a | grep ' T ' | grep -v ' mlp_' && complain "Windows sees more than the model"
    x86_64-w64-mingw32-objdump -p windows/mlp.dll | grep '^\s*\[ *[0-9]*\] [_A-Za-z]' | grep -v ' mlp_' && complain "the DLL exports more than the model"
fi
! [ -x /usr/lib/wine/wineserver ] || /usr/lib/wine/wineserver -k || true # of this prefix
machine wasm32 clang "node --no-warnings $module" --target=wasm32-wasi -Wl,-z,stack-size=1048576
[ ! -e wasm32/mlp.wasm ] || node --no-warnings "$module" wasm32/mlp.wasm || complain "the module of WebAssembly does not train"
if [ -n "${LATHE_LONG:-}" ]; then
    machine riscv64 riscv64-linux-gnu-gcc qemu-riscv64-static -static
    for level in x86-64-v2:avx x86-64-v3:avx2 x86-64-v4:avx512vl x86-64:avx512vl; do
        ! grep -q -w "${level#*:}" /proc/cpuinfo || machine "${level%:*}" gcc env
    done
fi

# on PROCESSOR CODE WORDS PROGRAM: how it ends there, and what it says.
on() {
    command -v qemu-x86_64 >/dev/null || { missing="$missing $1"; return 0; }
    code=0
    qemu-x86_64 -cpu "$1" "$4" weights 2 >said 2>/dev/null || code=$?
    [ $code = "$2" ] && { [ -z "$3" ] || grep -q "$3" said; } || complain "$1: exit code $code: $(cat said)"
}
if grep -q '^flags.* avx ' /proc/cpuinfo; then
    on Nehalem 2 'open: this library was built for a processor with [a-z0-9.]* instructions, which this one lacks' ./here
fi
if [ -x x86-64/program.exe ]; then
    on qemu64 2 'with ssse3 instructions' x86-64/program.exe
    on Nehalem 0 '' x86-64/program.exe
    cmp -s weights wanted || complain "level 2 leaves other weights"
    on Haswell 0 '' x86-64/program.exe
    cmp -s weights wanted || complain "level 3 leaves other weights"
fi

# What is missing, or cannot be.
mkdir path
ln -s "$(command -v "${CC:-cc}")" path/cc
refused() { # CODE WORDS COMMAND…
    wanted=$1 said=$2 code=0
    shift 2
    PATH=$TMP/path "$lathe" "$@" >out 2>&1 || code=$?
    [ $code = "$wanted" ] && grep -q -- "$said" out || complain "$*: exit code $code: $(cat out)"
}
refused 1 'apt install gcc-aarch64-linux-gnu libc6-dev-arm64-cross' build "$model" --library --for aarch64 -o none
refused 1 'apt install clang lld llvm wasi-libc' build "$model" --library --for wasm32 -o none
refused 2 'expected x86-64, x86-64-v2' build "$model" --library --for sparc -o none
refused 2 'or windows; did you mean aarch64?' build "$model" --library --for arm64 -o none
refused 2 'or windows; did you mean riscv64?' build "$model" --library --for risc64 -o none
refused 2 'makes libraries (--library): a trainer needs Linux' build "$model" --for windows -o none
refused 2 'makes libraries (--library): a trainer needs Linux' build "$model" --for wasm32 -o none
refused 1 'apt install gcc-riscv64-linux-gnu libc6-dev-riscv64-cross' build "$model" --for riscv64 -o none
refused 2 'that is for build' train "$model" --for x86-64-v3
refused 1 'wasm32 addresses 4,294,967,296 bytes' build "$model" --set batch=100000000 --library --for wasm32 -o none
if cross=$(command -v aarch64-linux-gnu-gcc); then # without that machine's jansson there is no trainer
    printf '#!/bin/sh\ncase "$*" in *-ljansson*) exit 1 ;; esac\nexec %s "$@"\n' "$cross" >path/aarch64-linux-gnu-gcc
    chmod +x path/aarch64-linux-gnu-gcc
    ln -s "$(command -v aarch64-linux-gnu-ar)" path
    refused 1 'apt install libjansson-dev:arm64), or set LATHE_TARGET' build "$model" --for aarch64 -o none
fi
"$lathe" build "$model" --set hidden=8 --set batch=4 --set steps=50 --amalgamation --for windows -o two >/dev/null
cmp -s one/mlp.c two/mlp.c || complain "the one file depends on --for"
[ -z "$missing" ] || echo "note: not here:$missing (apt install gcc-aarch64-linux-gnu gcc-riscv64-linux-gnu gcc-mingw-w64-x86-64 wine64 qemu-user qemu-user-static clang lld llvm wasi-libc libclang-rt-14-dev-wasm32 nodejs)"
exit $failed
