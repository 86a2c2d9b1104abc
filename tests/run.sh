#!/bin/sh
# run.sh: the one command: installs what is missing, builds, runs every test.
#
#   tests/run.sh              all tests
#   tests/run.sh -k PATTERN   those whose name matches the extended regular expression
#   tests/run.sh -l           names only; -l -v: and what each holds, by its first sentence
#   tests/run.sh --sanitize   with AddressSanitizer and UBSan in everything built, generated programs included (build-sanitize/)
#   tests/run.sh --sanitize=thread   with ThreadSanitizer and clang's OpenMP, which tells it of its threads (build-thread/)
#   tests/run.sh --march=x86-64-v3   runtime and generated programs compiled for that processor (build-x86-64-v3/)
#   tests/run.sh bless [-k PATTERN]   rewrites golden files from what comes out now
#
# A test is a file, nothing to register:
#   tests/DIR/test_NAME.c     a program (CMakeLists.txt): exit 0 passes, 77 skips, anything else fails
#   tests/DIR/NAME.sh         the same, run from the top folder with LATHE, DATA and TMP set
#   tests/front/NAME.lua      `lathe check` of it; what it says on stderr is NAME.err.  Its head may say
#                             "-- args: …" and "-- exit: N" (default: 1 where NAME.err has something in it)
#   tests/golden/NAME.STAGE   what `lathe dump --after STAGE` prints of NAME.lua, NAME.graph or NAME.kernels; the
#                             head may say "-- args: …" ("# args: …" in a text)
# A skipped test says why in its last line; of lines that begin with "note: " the first 20 are shown even if it passes.  Texts to train on lie in $LATHE_DATA, or ../shared/data.
set -u
cd "$(dirname "$0")/.."
top=$PWD

pattern=. list= about= one= bless=${BLESS:-} BUILD=${BUILD:-build} BUILD_OPTIONS=
while [ $# -gt 0 ]; do
    case $1 in
    bless) bless=1 ;;
    -k) pattern=${2:?-k needs a pattern}; shift ;;
    -l) list=1 ;;
    -v) about=1 ;;
    --sanitize) BUILD=build-sanitize BUILD_OPTIONS=-DLATHE_SANITIZE=ON ;;
    --sanitize=thread)
        BUILD=build-thread BUILD_OPTIONS='-DLATHE_SANITIZE=thread -DCMAKE_C_COMPILER=clang' CC=clang
        export CC ;;
    --march=*) BUILD=build-${1#*=} BUILD_OPTIONS=-DLATHE_MARCH=${1#*=} ;;
    --one) one=${2:?}; shift ;;
    *) echo "usage: tests/run.sh [bless] [--sanitize[=thread]] [--march=LEVEL] [-l [-v]] [-k PATTERN]" >&2; exit 2 ;;
    esac
    shift
done

all_tests() {
    for file in tests/*/test_*.c tests/*/*.sh tests/front/*.lua tests/golden/*.*; do
        case $file in
        *'*'* | tests/golden/*.lua | tests/golden/*.graph | tests/golden/*.kernels | tests/bench/*) ;;
        *) name=${file#tests/}; name=${name%.c}; echo "${name%.lua}" ;;
        esac
    done | grep -E -- "$pattern" | if [ -n "$bless" ]; then blessable; else cat; fi
}

# Of the scripts only those that know what BLESS=1 means.
blessable() {
    while read -r name; do
        case $name in
        */test_*) ;;
        *.sh) ! grep -q BLESS "tests/$name" || echo "$name" ;;
        *) echo "$name" ;;
        esac
    done
}

# The longest first, so that no core is idle at the end: by what each took here last; before that, those that are long anywhere.
long='emit/test_random_graphs sim/cudnn.sh sim/test_emitted sim/test_emitted_inputs sim/test_emitted_mutants sim/nvcc.sh sim/nccl.sh sim/test_narrow sim/trainer.sh sim/optimizers.sh'
long="$long sim/precision.sh sim/gpu.sh models/test_reference plan/budget.sh sim/gemm.sh house/documents.sh sim/test_persistent"
long="$long math/widths.sh models/test_precision build/bundle.sh sim/attention_mutants.sh sim/attention.sh trainer/replay.sh"
long="$long sim/optimizer_ranks.sh kernels/test_kernel_text emit/deep.sh sim/counts.sh sim/test_emitted_random sim/selftest.sh sim/preference.sh"
long="$long models/test_gradients models/precision.sh sim/optim.sh trainer/race.sh sim/trainer_nvcc.sh sim/attention_nvcc.sh models/pairs.sh"
longest_first() {
    awk -v long="$long" -v file="$BUILD/seconds" '
        BEGIN {
            for (i = split(long, name, " "); i > 0; i--) seconds[name[i]] = 1000 - i
            while ((getline <file) > 0) seconds[$1] = $2
        }
        { printf "%.1f %s\n", seconds[$1], $1 }' | sort -s -r -n -k 1,1 | sed 's/^[^ ]* //'
}

# remember FILE: what each test of it took
remember() {
    touch "$BUILD/seconds"
    awk 'NF == 2 { seconds[$1] = $2 } $2 == "ok" { seconds[$1] = $3 } END { for (name in seconds) print name, seconds[name] }' \
        "$BUILD/seconds" "$1" >"$1.seconds" && mv "$1.seconds" "$BUILD/seconds"
}

# quick_level NAME: a script's trainers are compiled with less optimisation, to the same bits, unless its head says
# "# compiled: as for users"; so are all in the long run, for sanitizers, and for another processor than this one.
quick_level() {
    [ "$BUILD" = build ] && [ -z "${LATHE_LONG:-}" ] && [ -z "$(head_line "tests/$1" compiled)" ] || return 0
    export QUICK_CC="${CC:-cc}" CC="$top/tests/quick_cc"
}

# head_line FILE KEY: the value of a "-- key: value" comment near the top of FILE.
head_line() {
    sed -n "1,10s/^[-#]* *$2: *//p" "$1" | head -n 1
}

# compare EXPECTED GOT: differences, or with BLESS=1 a new EXPECTED.
compare() {
    if [ -n "$bless" ]; then
        cmp -s "$1" "$2" || { cp "$2" "$1"; echo "rewrote $1"; }
    else
        diff -u "$1" "$2"
    fi
}

# The Lua description tests/$1.lua must be taken or refused with exactly this message and exit code.
front_test() {
    lua=tests/$1.lua expected=tests/$1.err
    [ -e "$expected" ] || : >"$TMP/none"
    [ -e "$expected" ] || [ -n "$bless" ] || expected=$TMP/none
    # shellcheck disable=SC2046  # the arguments are words
    "$LATHE" check "$lua" $(head_line "$lua" args) >"$TMP/out" 2>"$TMP/err"
    code=$?
    compare "$expected" "$TMP/err" || return 1
    wanted_code=$(head_line "$lua" exit)
    [ -n "$wanted_code" ] || { [ -s "$expected" ] && wanted_code=1 || wanted_code=0; }
    [ "$code" = "$wanted_code" ] || { echo "exit code $code, not $wanted_code"; cat "$TMP/out"; return 1; }
}

# tests/golden/NAME.STAGE
golden_test() {
    stage=${1##*.} base=tests/${1%.*}
    source=$base.lua
    [ -e "$source" ] || source=$base.graph
    [ -e "$source" ] || source=$base.kernels
    # shellcheck disable=SC2046
    "$LATHE" dump "$source" --after "$stage" $(head_line "$source" args) >"$TMP/out" || return 1
    compare "tests/$1" "$TMP/out"
}


# One test, in a shell of its own: its line, and its output where it failed.
if [ -n "$one" ]; then
    TMP=$(mktemp -d)
    export TMP
    case $BUILD in build-*) limit=5400 ;; *) limit=900 ;; esac      # sanitizers take five times as long
    begin=$(date +%s%N)
    case $one in            # programs and scripts may hang; the others are lathe alone, which has its own limits
    */test_*) timeout "$limit" "$BUILD/${one##*/}" >"$TMP/.log" 2>&1 </dev/null ;;
    *.sh) quick_level "$one"; timeout "$limit" sh "tests/$one" >"$TMP/.log" 2>&1 </dev/null ;;
    front/*) front_test "$one" >"$TMP/.log" 2>&1 </dev/null ;;
    golden/*) golden_test "$one" >"$TMP/.log" 2>&1 </dev/null ;;
    esac
    code=$?
    seconds=$(awk "BEGIN { printf \"%.1f\", ($(date +%s%N) - $begin) / 1e9 }")
    case $code in
    0) word=ok detail= ;;
    77) word=skip detail="  ($(tail -n 1 "$TMP/.log"))" ;;
    124) word=FAIL detail="  (stopped after $limit s)" ;;
    *) word=FAIL detail= ;;
    esac
    {
        flock 9
        printf '%-40s %-4s %6s s%s\n' "$one" "$word" "$seconds" "$detail" | tee -a "$RESULTS"
        if [ "$word" = FAIL ]; then sed 's/^/    | /' "$TMP/.log"; else sed -n 's/^note: /    /p' "$TMP/.log" | head -n 20; fi
        [ -z "$bless" ] || grep '^rewrote' "$TMP/.log"
    } 9>"$RESULTS.lock"
    rm -rf "$TMP"
    exit 0
fi

# told: names, each with the first sentence of the comment that its file begins with.
told() {
    while read -r name; do
        for file in "tests/$name" "tests/$name.c" "tests/$name.lua" "tests/${name%.*}.graph" "tests/${name%.*}.kernels" "tests/${name%.*}.lua"; do
            [ ! -f "$file" ] || break
        done
        awk -v name="$name" '
            /^#!/ { next }
            !/^(\/\*| \*|#|--)/ { exit }
            { line = $0; sub(/^(\/\*| \*|#|--) */, "", line); if (line ~ /^(args|exit|after|graph|kernels)\>/) next; text = text line " " }
            /\*\/ *$/ || /^ *\*? *$/ { exit }
            END {
                sub(/ *\*\/ *$/, "", text)
                sub(/^[a-z_0-9A-Z]*\.(c|sh|lua): */, "", text)
                if (at = match(text, /\. /)) text = substr(text, 1, at)
                printf "%-36s %s\n", name, text
            }' "$file"
    done
}

if [ -n "$list" ]; then
    all_tests | if [ -n "$about" ]; then told; else cat; fi
    exit 0
fi

. tests/setup.sh
need_compiler_packages
need_cfunc_packages
need_report_packages
need_hdf5_packages
need g++ g++
if [ "$BUILD" = build-thread ]; then
    need clang clang
    need_library libclang-rt-14-dev libomp-14-dev
fi
install_wanted
build_lathe
if [ "$BUILD" = build-thread ]; then    # without this, all that OpenMP's threads share would look like a race
    OMP_TOOL_LIBRARIES=$(dirname "$(dirname "$(clang -print-resource-dir)")")/libarcher.so
    [ -e "$OMP_TOOL_LIBRARIES" ] || { tell "$OMP_TOOL_LIBRARIES is missing: is it clang's OpenMP (libomp-dev)?"; exit 1; }
    export OMP_TOOL_LIBRARIES
fi

LATHE=$top/$BUILD/lathe
DATA=${LATHE_DATA:-$top/../shared/data}
RESULTS=$(mktemp)
BLESS=$bless
# Two tests at a time on two cores: one thread each unless a test asks for more, and none that spins while it waits.
# What a process still holds when it ends is no leak.
ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0 # the tests preload a shim
UBSAN_OPTIONS=print_stacktrace=1
TSAN_OPTIONS=ignore_noninstrumented_modules=1:exitcode=66
export LATHE DATA RESULTS BLESS BUILD ASAN_OPTIONS UBSAN_OPTIONS TSAN_OPTIONS OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive
trap 'rm -f "$RESULTS" "$RESULTS.lock"' EXIT
trap 'exit 130' INT TERM

fixed=  # ThreadSanitizer wants its addresses for itself
[ "$BUILD" != build-thread ] || ! setarch -R true 2>/dev/null || fixed='setarch -R'
# shellcheck disable=SC2086
all_tests | longest_first | $fixed xargs -r -P 2 -n 1 sh tests/run.sh --one
remember "$RESULTS"

count() { grep -c "^[^ ]* *$1 " "$RESULTS"; }
failed=$(count FAIL)
grep '^[^ ]* *FAIL ' "$RESULTS"     # once more: the end of a log is often all that one sees
echo "$(count ok) passed, $failed failed, $(count skip) skipped"
[ "$failed" = 0 ] && [ -s "$RESULTS" ]
