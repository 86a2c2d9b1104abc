#!/bin/sh
# gpu.sh: what only a GPU can show, on a machine that may have nvcc, cmake and a GPU and nothing else.
#
#   sh tests/gpu.sh bundle OUT          here, with Lathe built: OUT holds all that the others need, this script too
#   sh OUT/tests/gpu.sh correctness     there: kernels, libraries, models and training against what the CPU gave; within 8 minutes
#   sh OUT/tests/gpu.sh speed           there: steps of Lathe and of PyTorch in turns; within 8 minutes
#
#   --simulate        correctness with g++ and the simulator of tests/sim, no GPU: shows that the script works
#   --compile         correctness: everything is compiled, for sm_90, and nothing run
#   --only PATTERN    rows whose names match the extended regular expression
#   --work DIR        for what is built (default: a new folder under $TMPDIR or the bundle's build/)
#
# The table comes last; what failed says more above it.  LATHE_CUDNN names cuDNN's library where the loader does not find it.
set -u
cd "$(dirname "$0")/.." || exit 1
top=$PWD
usage() { sed -n '2,/^set/s/^# \{0,1\}//p' tests/gpu.sh | sed '$d'; exit 2; }

phase=${1:-}
[ $# -gt 0 ] && shift
out= how=gpu only=. work= models=tests/gpu/cases.txt trainers=tests/gpu/trainers.txt
[ "$phase" = bundle ] && [ $# -gt 0 ] && { out=$1; shift; }
while [ $# -gt 0 ]; do
    case $1 in
    --simulate) how=simulate ;;
    --compile) how=compile ;;
    --only) only=${2:?--only needs a pattern}; shift ;;
    --work) work=${2:?--work needs a folder}; shift ;;
    --cases) models=${2:?--cases needs a file}; shift ;;      # bundle: others than those of tests/gpu/cases.txt,
    --trainers) trainers=${2:?--trainers needs a file}; shift ;;    # tests/gpu/trainers.txt
    *) usage ;;
    esac
    shift
done
case $phase in bundle) [ -n "$out" ] || usage ;; correctness | speed) ;; build | run) [ -n "$work" ] || usage ;; *) usage ;; esac

switch=
[ "$how" != simulate ] || export LATHE_CUDNN=none    # the real one knows nothing of the simulator
[ "$how" = gpu ] || switch=--$how

say() { echo "gpu.sh: $*"; }
stop() { say "$*" >&2; exit 1; }

# ---------------------------------------------------------------- bundle
bundle() {
    LATHE=${LATHE:-$top/build/lathe}
    dump=${LATHE%/*}/gpu_dump
    [ -x "$LATHE" ] && [ -x "$dump" ] || stop "$LATHE and gpu_dump are not built (sh tests/run.sh builds them)"
    mkdir -p "$out/tests/gpu" "$out/tests/sim" "$out/tests/bench" "$out/cases" || exit 1
    cp -r runtime "$out/"
    cp tests/gpu.sh "$out/tests/"
    cp -r tests/gpu/. "$out/tests/gpu/"
    cp -r tests/sim/include tests/sim/compile tests/sim/*.cc tests/sim/*.h tests/sim/*.cu "$out/tests/sim/"
    cp tests/bench/torch_*.py tests/bench/bench.py "$out/tests/bench/"
    grep -v '^#' "$models" | while read -r name loss gradients arguments; do
        # shellcheck disable=SC2086
        "$dump" "$out/cases/$name" $arguments || stop "case $name"
        echo "$loss $gradients" >"$out/cases/$name/bounds"
    done || exit 1
    bundle_trainers
    size=$(du -sm "$out" | cut -f 1)
    say "$out: $(ls "$out/cases" | wc -l) cases, $(ls "$out/trainers" | wc -l) runs, $(ls "$out/speed" | wc -l) trainers to time, $size MB"
    [ "$size" -lt 60 ] || stop "that is more than 60 MB"
}

# Trainers as text; jansson, which they link, as it is installed here; a text, and the CPU's losses on it.
bundle_trainers() {
    mkdir -p "$out/trainers" "$out/speed" "$out/deps/include" "$out/deps/lib"
    cp /usr/include/jansson.h /usr/include/jansson_config.h "$out/deps/include/" 2>/dev/null
    cp "$(${CC:-cc} -print-file-name=libjansson.a)" "$out/deps/lib/" 2>/dev/null || say 'no static jansson is here: it must be installed there'
    text=${DATA:-${LATHE_DATA:-../shared/data}}/tinyshakespeare.txt
    if [ -e "$text" ]; then head -c 300000 "$text"; else cat compiler/*.c runtime/*.c | head -c 300000; fi >"$out/text.txt"
    grep '^train' "$trainers" | while read -r _ name bound arguments; do
        folder=$out/trainers/$name
        # shellcheck disable=SC2086
        "$dump" --text "$folder" $arguments || stop "trainer $name"
        echo "$bound" >"$folder/bound"
        # shellcheck disable=SC2086
        "$LATHE" build ${arguments% --precision *} -o "$out/cpu" >/dev/null && LATHE_CACHE=off "$out/cpu/trainer" train --data "$out/text.txt" \
            $steps_of_20 --out "$out/cpu/run" >/dev/null 2>&1 && cp "$out/cpu/run/metrics.jsonl" "$folder/cpu.jsonl" || stop "the CPU's trainer of $name"
        rm -rf "$out/cpu"
    done || exit 1
    grep '^gpus' "$trainers" | while read -r _ name like arguments; do
        # shellcheck disable=SC2086
        "$dump" --text "$out/trainers/$name" $arguments || stop "trainer $name"
        cp "$out/trainers/$like/bound" "$out/trainers/$like/cpu.jsonl" "$out/trainers/$name/"
        echo 2 >"$out/trainers/$name/gpus"
    done || exit 1
    grep '^speed' "$trainers" | while read -r _ name arguments; do
        # shellcheck disable=SC2086
        "$dump" --text "$out/speed/$name" $arguments || stop "trainer $name"
        echo "$arguments" >"$out/speed/$name/arguments"
    done || exit 1
}
steps_of_20='--steps 20 --seed 3 --eval-every 10 --set eval_rows=4 --set warmup=5 --set log_every=1'

# ---------------------------------------------------------------- building
cases() { [ -d cases ] && ls cases; }
rows() {
    for row in fragments gemm attention cudnn optim; do
        [ "$how" = simulate ] && [ "$row" != fragments ] || echo "$row"     # the others are tests of their own there
    done
    cases | sed 's/^/model_/'
    [ ! -d trainers ] || ls trainers | sed 's/^/train_/'
}

sources_of() {
    case $1 in
    fragments) echo tests/gpu/fragments.cu ;;
    gemm) echo "$work/src/gemm.cu" runtime/cuda_gemm*.cu ;;
    attention) echo "$work/src/attention.cu" ;;
    cudnn) echo "$work/src/cudnn.cu" runtime/cuda_cudnn*.cu ;;
    optim) echo "$work/src/optim.cu" runtime/cuda_optim.cu "$work/rt/liblathe_rt.a" -Xcompiler -fopenmp -Ldeps/lib -ljansson ;;
    model_*) echo tests/gpu/entry.cu "cases/${1#model_}/model.cu" runtime/cuda_gemm*.cu runtime/cuda_cudnn*.cu ;;
    esac
}

# The runtime that trainers link: once, in $work/rt.  In the simulator that of $LATHE_RT, if it is given.
c_flags='-std=gnu11 -O3 -march=native -ffp-contract=off -fno-math-errno -fno-trapping-math -fno-strict-aliasing -fopenmp'
build_runtime() {
    [ -z "${LATHE_RT:-}" ] || return 0
    mkdir -p "$work/rt"
    for file in runtime/*.c; do
        echo "${CC:-cc} $c_flags -Iruntime -Ideps/include -c $file -o $work/rt/$(basename "$file" .c).o"
    done >"$work/rt/commands"
    if [ "$how" != simulate ]; then
        for file in runtime/cuda_*.cu; do
            echo "nvcc $nvcc_flags -Iruntime -c $file -o $work/rt/$(basename "$file" .cu).o"
        done >>"$work/rt/commands"
    fi
    xargs -P "$(nproc)" -I '{}' sh -c '{}' <"$work/rt/commands" >"$work/rt/build.log" 2>&1 && ar rcs "$work/rt/liblathe_rt.a" "$work"/rt/*.o
}

gpus_of() { cat "trainers/$1/gpus" 2>/dev/null || echo 1; }
gpus_here() {
    case $how in
    gpu) nvidia-smi -L 2>/dev/null | awk '/^GPU/ { n++ } END { print n ? n : 1 }' ;;
    compile) echo 64 ;;
    *) echo 1 ;;
    esac
}

# FOLDER with a trainer's text, and where the trainer is to be
build_trainer() {
    mkdir -p "$2"
    if [ "$how" = simulate ]; then
        cp "$1"/model.* "$1/tables.c" "$2/"
        ln -sf "$work"/simulator/sim_*.o "$2/"
        SIM_LIBRARIES=${LATHE_RT:-"$work/rt/liblathe_rt.a -fopenmp -ljansson -lm"} sh tests/sim/compile trainer "$2" "$2"
        return
    fi
    # shellcheck disable=SC2086
    ${CC:-cc} $c_flags -Iruntime "-I$1" -c "$1/tables.c" -o "$2/tables.o" &&
        nvcc $nvcc_flags -Iruntime "-I$1" -c "$1/model.cu" -o "$2/model.o" &&
        nvcc $nvcc_flags "$2/model.o" "$2/tables.o" "$work/rt/liblathe_rt.a" -Xcompiler -fopenmp -Ldeps/lib -ljansson -lcublasLt -ldl -lm \
            -o "$2/trainer"
}

nvcc_flags='-std=c++20 -O2 -fmad=false -arch=native'
[ "$how" != compile ] || nvcc_flags='-std=c++20 -O2 -fmad=false -arch=sm_90'

# A row's program, $work/ROW/program; everything said is in $work/ROW/build.log.
build_row() {
    mkdir -p "$work/$1"
    tables= include=
    case $1 in model_*) include=-Icases/${1#model_} tables=$work/$1/tables.o ;; esac
    if [ -n "$tables" ]; then
        ${CC:-cc} -std=gnu11 -Dmain=model_main -Iruntime "$include" -c "cases/${1#model_}/tables.c" -o "$tables" || return 1
    fi
    case $1 in
    train_*) [ "$(gpus_here)" -lt "$(gpus_of "${1#train_}")" ] || build_trainer "trainers/${1#train_}" "$work/$1"; return ;;
    speed_*) build_trainer "speed/${1#speed_}" "$work/$1"; return ;;
    esac
    if [ "$how" = simulate ]; then
        ln -sf "$work"/simulator/sim_*.o "$work/$1/"
        # shellcheck disable=SC2046
        CXX="${CXX:-g++} $include" SIM_LIBRARIES=$tables sh tests/sim/compile program "$work/$1" $(sources_of "$1")
        return
    fi
    # shellcheck disable=SC2046,SC2086
    nvcc $nvcc_flags -Itests/gpu/include -Iruntime $include $(sources_of "$1") $tables -o "$work/$1/program" \
        -lcublasLt -ldl
}

# ---------------------------------------------------------------- running
run_row() {
    case $1 in
    gemm) "$work/gemm/program" products ;;
    model_*)
        read -r loss gradients <"cases/${1#model_}/bounds"
        "$work/$1/program" "cases/${1#model_}" "${1#model_}" "$loss" "$gradients" ;;
    train_*) run_train "${1#train_}" "$work/$1" ;;
    sanitizer_*) compute-sanitizer --error-exitcode 9 --tool memcheck "$work/model_${1#sanitizer_}/program" \
        "cases/${1#sanitizer_}" "${1#sanitizer_}" 1 1 ;;
    *) "$work/$1/program" ;;
    esac
}

# 20 steps, twice, by one choice of algorithms: losses of steps and evaluations are the CPU's, line by line; both end with the same bytes.
run_train() {
    gpus=$(gpus_of "$1")
    [ "$gpus" = 1 ] || steps_of_20="$steps_of_20 --gpus $gpus"
    if [ "$(gpus_here)" -lt "$gpus" ]; then
        echo "there are no $gpus GPUs here"
        return 77
    fi
    for run in a b; do
        rm -rf "$2/$run"
        # shellcheck disable=SC2086
        LATHE_CACHE=$2/cache "$2/trainer" train --data text.txt $steps_of_20 --out "$2/$run" || return 1
    done
    cmp "$2/a/model.safetensors" "$2/b/model.safetensors" || return 1
    awk -v bound="$(cat "trainers/$1/bound")" '
        function number(key,   at) { at = match($0, "\"" key "\":[-0-9.e]+"); return at ? substr($0, at + length(key) + 3, RLENGTH - length(key) - 3) + 0 : 0 }
        { split_of = $0; sub(/.*"split":"/, "", split_of); sub(/".*/, "", split_of); line = number("step") " " split_of }
        FNR == NR { loss[line] = number("loss"); lines++; next }
        { found++; off = loss[line] ? (loss[line] - number("loss")) / loss[line] : 9; if (off < 0) off = -off; if (off > worst) worst = off }
        END { printf "note: losses of 20 steps are off by %.1e at most; two runs end alike\n", worst; exit !(worst <= bound && found == lines && lines > 10) }' \
        "trainers/$1/cpu.jsonl" "$2/a/metrics.jsonl"
}

began=$(date +%s)
passed() { echo $(($(date +%s) - began)); }

# tell ROW WORD REMARK
tell() { printf '  %-28s %-8s %s\n' "$1" "$2" "$3" >>"$work/table"; }

try_row() {
    if [ -e "$work/$1/failed" ]; then
        tell "$1" FAILED 'does not compile'
        say "$1 does not compile:"; tail -n 20 "$work/$1/build.log"
    elif [ "$how" = compile ]; then
        tell "$1" compiled ''
    elif [ "$(passed)" -gt "$LIMIT" ]; then
        tell "$1" FAILED "not run: $LIMIT s had passed"
    else
        code=0
        # shellcheck disable=SC2086
        timeout 100 sh tests/gpu.sh run $switch --work "$work" --only "$1" >"$work/said" 2>&1 || code=$?
        remark=$(sed -n 's/^row: *[^ ]* *//p; s/^note: //p' "$work/said" | tr '\n' ';' | cut -c 1-90)
        case $code in
        0) tell "$1" ok "$remark" ;;
        77) tell "$1" skipped "$(tail -n 1 "$work/said")" ;;
        *) tell "$1" FAILED "exit code $code"; say "$1:"; tail -n 20 "$work/said" ;;
        esac
    fi
}

LIMIT=420

correctness() {
    mkdir -p "$work/src"
    : >"$work/table"
    cp tests/sim/*.cu "$work/src/"      # away from the simulator's sim.h, which is beside them
    if [ "$how" = simulate ]; then
        mkdir -p "$work/simulator"
        [ -e "$work/simulator/sim_threads.o" ] || sh tests/sim/compile simulator "$work/simulator" || exit
    elif ! command -v nvcc >/dev/null; then
        stop 'nvcc is not here'
    fi
    rows | grep -E -- "$only" >"$work/rows"
    if grep -q '^train_\|^optim' "$work/rows" && ! build_runtime; then
        tail -n 20 "$work/rt/build.log"
        say 'the runtime does not compile'
    fi
    # shellcheck disable=SC2086
    xargs -P "$(nproc)" -n 1 sh tests/gpu.sh build $switch --work "$work" --only <"$work/rows"
    say "compiled in $(passed) s"
    while read -r row; do try_row "$row"; done <"$work/rows"
    if [ "$how" = gpu ] && command -v compute-sanitizer >/dev/null; then
        for name in mlp char_rnn postnorm; do
            [ ! -x "$work/model_$name/program" ] || try_row "sanitizer_$name"
        done
    elif [ "$how" = gpu ]; then
        tell sanitizer skipped 'compute-sanitizer is not here'
    fi
    echo
    [ "$how" != gpu ] || nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null
    say "correctness ($how), $(passed) s"
    cat "$work/table"
    ! grep -q ' FAILED ' "$work/table"
}

# ---------------------------------------------------------------- speed
speed() {
    command -v nvcc >/dev/null || stop 'nvcc is not here'
    # shellcheck disable=SC2010
    ls speed | grep -E -- "$only" | sed 's/^/speed_/' >"$work/rows"
    build_runtime || { tail -n 20 "$work/rt/build.log"; stop 'the runtime does not compile'; }
    # shellcheck disable=SC2086
    xargs -P "$(nproc)" -n 1 sh tests/gpu.sh build $switch --work "$work" --only <"$work/rows"
    say "compiled in $(passed) s"
    trainers= bad=0
    for row in $(order_of_speed); do
        if [ -x "$work/$row/trainer" ]; then
            trainers="$trainers ${row#speed_}=$work/$row/trainer"
        else
            bad=1
            say "$row does not compile:"; tail -n 20 "$work/$row/build.log"
        fi
    done
    [ "$how" = gpu ] || { say "compiled:$trainers"; exit "$bad"; }
    if command -v python3 >/dev/null; then
        # shellcheck disable=SC2086
        python3 tests/gpu/speed.py --work "$work" --until $((LIMIT - $(passed))) $trainers || bad=1
    else
        say 'python3 is not here: steps of Lathe alone'
        for word in $trainers; do
            echo "${word%%=*}:"
            "${word#*=}" bench --steps 30 || bad=1
        done
    fi
    say "speed, $(passed) s"
    exit "$bad"
}

# What matters most comes first, should time be up before the end.
order_of_speed() {
    for name in $(grep '^speed' tests/gpu/trainers.txt | cut -d ' ' -f 2); do grep -x "speed_$name" "$work/rows"; done
}

case $phase in
bundle) bundle ;;
build)
    mkdir -p "$work/$only"
    build_row "$only" >"$work/$only/build.log" 2>&1 || : >"$work/$only/failed" ;;
run) run_row "$only" ;;
*)
    work=${work:-$(mktemp -d)}
    mkdir -p "$work" || exit 1
    "$phase" ;;
esac
