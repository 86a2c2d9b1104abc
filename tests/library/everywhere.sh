# everywhere.sh: a library trains to the same weights whatever compiled it for whatever processor and system; saved and loaded
# half-way.  Here one model and ten steps; in tests/long.sh a table, convolutions, a recurrent net and a GPT, 200 steps, 1 to 3
# threads, for all compilers, processors and systems that are installed.
# compiled: as for users
set -eu
failed=0 missing=''
complain() { echo "failed: $*"; failed=1; }
long=${LATHE_LONG:-}
level=x86-64-v3
[ "$(uname -m)" = x86_64 ] && grep -q -w avx2 /proc/cpuinfo || level=native

# built NAME BATCH OPTIONS…: the file of a model; models: "NAME BATCH STEPS" of each.
models=
built() {
    name=$1 batch=$2 steps=$3 description=$4
    shift 4
    "$LATHE" build "$description" "$@" --amalgamation -o "$TMP/$name" >/dev/null || complain "$description makes no library"
    models="$models $name:$batch:$steps"
}

# same NAME RUNNER THREADS COMPILER…: must leave the weights that the first one left.
same() {
    with=$1 runner=$2 counts=$3
    shift 3
    command -v "$1" >/dev/null && command -v "${runner%% *}" >/dev/null || { missing="$missing $with"; return 0; }
    for model in $models; do
        name=${model%%:*} steps=${model##*:} batch=${model#*:}
        batch=${batch%:*}
        "$@" -w "-DMODEL=$name" "-D$batch" "-I$TMP/$name" "$TMP/$name/$name.c" tests/library/everywhere_driver.c -lm \
            -o "$TMP/driver.exe" >"$TMP/said" 2>&1 || { complain "$with does not compile $name: $(head -n 3 "$TMP/said")"; continue; }
        for threads in $counts; do
            (cd "$TMP" && $runner ./driver.exe "$threads" "$steps" weights) >"$TMP/said" 2>&1 ||
                { complain "$with, $name, $threads threads: $(head -n 3 "$TMP/said")"; continue; }
            [ -f "$TMP/$name/wanted" ] || cp "$TMP/weights" "$TMP/$name/wanted"
            cmp -s "$TMP/weights" "$TMP/$name/wanted" || complain "$with, $name, $threads threads: other weights"
            rm -f "$TMP/weights"
        done
        [ -z "$long" ] || echo "$with: $name $(sha256sum <"$TMP/$name/wanted" | cut -c 1-16)"
    done
}

# has FLAG: this is an x86 with it.
has() { grep -q "^flags.* $1\( \|$\)" /proc/cpuinfo; }

if [ -z "$long" ]; then
    built everywhere OF_IMAGES 10 tests/library/everywhere.lua --config small
    same gcc env 1 gcc -O1 -march=$level
    [ $level = native ] || same v2 env 1 gcc -O0 -march=x86-64-v2
    same clang env 1 clang -O0 -march=$level
    same tcc env 1 tcc
    [ -z "$missing" ] || echo "note: not here:$missing"
    exit $failed
fi

built tabular OF_TABLE 200 models/tabular.lua --set levels=5 --set width=32 --set batch=20 --set steps=200
built everywhere OF_IMAGES 200 tests/library/everywhere.lua
built char_rnn OF_TEXT 200 models/char_rnn.lua --set tokenizer=bytes --set vocab=64 --set hidden=24 --set width=16 --set seq=16 \
    --set batch=4 --set dropout=0.2 --set steps=200
built gpt OF_TEXT 200 models/gpt.lua --config char --set vocab=64 --set layers=2 --set width=32 --set heads=2 --set seq=24 \
    --set batch=4 --set dropout=0.1 --set steps=200
for o in -O1 -O2 -O3; do same "gcc $o" env '1 2 3' gcc $o -march=native -fopenmp -pthread; done
if [ "$(uname -m)" = x86_64 ]; then
    same v2 env '1 3' gcc -O2 -march=x86-64-v2 -fopenmp -pthread
    ! has avx2 || same v3 env '1 3' gcc -O2 -march=x86-64-v3 -fopenmp -pthread
    ! has avx512vl || same v4 env '1 3' gcc -O2 -march=x86-64-v4 -fopenmp -pthread
    same clang-v2 env 1 clang -fno-strict-aliasing -O2 -march=x86-64-v2
fi
same clang env 1 clang -fno-strict-aliasing -O3 -march=native
same clang-19 env 1 clang-19 -fno-strict-aliasing -O3 -march=native
same zig env 1 zig cc -fno-strict-aliasing -O2
same musl env 1 musl-gcc -static -O2 -march=native
same tcc env 1 tcc
same i386 env 1 i686-linux-gnu-gcc -static -O2 -msse2 -mfpmath=sse
same aarch64 qemu-aarch64-static '1 3' aarch64-linux-gnu-gcc -static -O2 -fopenmp -pthread
same riscv64 qemu-riscv64-static 1 riscv64-linux-gnu-gcc -static -O2
same riscv64-v "qemu-riscv64-static -cpu rv64,v=true,vlen=256,vext_spec=v1.0" 1 clang-19 -fno-strict-aliasing \
    --target=riscv64-linux-gnu -static -O2 -march=rv64gcv

cat >"$TMP/wasi.mjs" <<'END'
import { readFileSync } from 'node:fs';
import { WASI } from 'node:wasi';
const [file, ...args] = process.argv.slice(2);
const wasi = new WASI({ version: 'preview1', args: [file, ...args], preopens: { '.': '.' } });
const made = await WebAssembly.compile(readFileSync(file));
process.exitCode = wasi.start(await WebAssembly.instantiate(made, { wasi_snapshot_preview1: wasi.wasiImport })) ?? 0;
END
if [ -e /usr/lib/wasm32-wasi/libc.a ]; then
    same wasm32-wasi "node --no-warnings --experimental-wasi-unstable-preview1 $TMP/wasi.mjs" 1 clang -fno-strict-aliasing --target=wasm32-wasi --sysroot=/usr -O2
else missing="$missing wasm32-wasi"; fi
export WINEDEBUG=-all WINEPREFIX="$TMP/wine"
same windows wine 1 x86_64-w64-mingw32-gcc -static -O2 -march=x86-64-v2
! has avx2 || same windows-v3 wine 1 x86_64-w64-mingw32-gcc -static -O2 -march=x86-64-v3
[ -z "$missing" ] || echo "note: not here:$missing (Debian: clang clang-19 musl-tools tcc gcc-i686-linux-gnu gcc-aarch64-linux-gnu gcc-riscv64-linux-gnu qemu-user-static wasi-libc libclang-rt-14-dev-wasm32 lld-14 nodejs mingw-w64 wine64)"
exit $failed
