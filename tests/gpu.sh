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
#   --work DIR        for what is built (default: a new folder under $TMPDIR, or /tmp)
#
# Both end before 480 s have passed, whatever fails; the table comes last; what failed says more above it.  nvcc: that of $NVCC, PATH or
# /usr/local/cuda/bin.  cuBLASLt, cuDNN and NCCL may be those of Python packages (PyTorch's); LATHE_CUDNN, LATHE_NCCL name others.
set -u
from=$PWD
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
case $phase in bundle) [ -n "$out" ] || usage ;; correctness | speed) ;; compile | link | run) [ -n "$work" ] || usage ;; *) usage ;; esac

case $work in /* | '') ;; *) work=$from/$work ;; esac
case $out in /*) ;; *) out=$from/$out ;; esac

switch=
[ "$how" != simulate ] || export LATHE_CUDNN=none    # the real one knows nothing of the simulator
[ "$how" = gpu ] || switch=--$how

say() { echo "gpu.sh: $*"; }
stop() { say "$*" >&2; exit 1; }
# shellcheck source=tests/gpu/build.sh
. tests/gpu/build.sh

# ---------------------------------------------------------------- bundle
bundle() {
    LATHE=${LATHE:-$top/build/lathe}
    dump=${LATHE%/*}/gpu_dump
    [ -x "$LATHE" ] && [ -x "$dump" ] || stop "$LATHE and gpu_dump are not built (sh tests/run.sh builds them)"
    mkdir -p "$out/tests/gpu" "$out/tests/sim" "$out/tests/bench" "$out/cases" || exit 1
    cp -r runtime "$out/"
    cp tests/gpu.sh "$out/tests/"
    cp -r tests/gpu/. "$out/tests/gpu/"
    cp -r tests/sim/include tests/sim/compile tests/sim/*.cc tests/sim/*.h tests/sim/*.cu tests/sim/*.cuh "$out/tests/sim/"
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
    if [ -e "$text" ]; then head -c 300000 "$text"; else cat compiler/*/*.c runtime/*/*.c | head -c 300000; fi >"$out/text.txt"
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

# ---------------------------------------------------------------- rows
cases() { [ -d cases ] && ls cases; }
rows() {
    for row in fragments gemm attention cudnn optim; do
        [ "$how" = simulate ] && [ "$row" != fragments ] || echo "$row"     # the others are tests of their own there
    done
    cases | sed 's/^/model_/'
    [ ! -d trainers ] || ls trainers | sed 's/^/train_/'
}

gpus_of() { cat "trainers/$1/gpus" 2>/dev/null || echo 1; }
gpus_here() {
    case $how in
    gpu) nvidia-smi -L 2>/dev/null | awk '/^GPU/ { n++ } END { print n ? n : 1 }' ;;
    compile) echo 64 ;;
    *) echo 1 ;;
    esac
}

# ---------------------------------------------------------------- running
run_row() {
    case $1 in
    gemm) "$work/gemm/program" products ;;
    cudnn)
        "$work/cudnn/program" ask || return      # 77, and why, where there is none
        "$work/cudnn/program" ;;
    model_*)
        read -r loss gradients <"cases/${1#model_}/bounds"
        "$work/$1/program" "cases/${1#model_}" "${1#model_}" "$loss" "$gradients" ;;
    train_*) run_train "${1#train_}" "$work/$1" ;;
    sanitizer_*) run_sanitizer "${1#sanitizer_}" ;;
    *) "$work/$1/program" ;;
    esac
}

# Accesses of memory alone: what libraries ask CUDA in vain is their business.
run_sanitizer() {
    code=0
    compute-sanitizer --error-exitcode 9 --report-api-errors no --tool memcheck "$work/model_$1/program" "cases/$1" "$1" 1 1 >"$work/sanitizer" 2>&1 || code=$?
    cat "$work/sanitizer"
    ! grep -qi 'device not supported' "$work/sanitizer" || { echo "compute-sanitizer does not support this GPU, or this machine"; return 77; }
    return "$code"
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

is_built() {
    [ ! -e "$work/$1/failed" ] || return 1
    case $1 in
    sanitizer_*) true ;;
    train_*) [ -x "$work/$1/trainer" ] || [ "$(gpus_here)" -lt "$(gpus_of "${1#train_}")" ] ;;
    speed_*) [ -x "$work/$1/trainer" ] ;;
    *) [ -x "$work/$1/program" ] ;;
    esac
}
why_unbuilt() {
    if [ -e "$work/$1/failed" ]; then
        say "$1 does not $(cat "$work/$1/failed"):" >&2
        tail -n 20 "$work/$1/build.log" >&2
        echo "does not $(cat "$work/$1/failed")"
    elif [ -e "$work/$1/compiled" ]; then
        echo "not linked within the $LINK s that there are for that"
    else
        echo "not compiled within the $COMPILE s that there are for that"
    fi
}

try_row() {
    left=$((END - $(passed)))
    if ! is_built "$1"; then
        tell "$1" FAILED "$(why_unbuilt "$1")"
    elif [ "$how" = compile ]; then
        tell "$1" compiled ''
    elif [ "$left" -lt 5 ]; then
        tell "$1" FAILED "not run: $(passed) s had passed"
    else
        code=0
        # shellcheck disable=SC2086
        timeout -k 5 "$((left < 100 ? left : 100))" sh tests/gpu.sh run $switch --work "$work" --only "$1" >"$work/said" 2>&1 || code=$?
        remark=$(sed -n 's/^row: *[^ ]* *//p; s/^note: //p' "$work/said" | tr '\n' ';' | cut -c 1-90)
        case $code in
        0) tell "$1" ok "$remark" ;;
        77) tell "$1" skipped "$(tail -n 1 "$work/said")" ;;
        124 | 137) tell "$1" FAILED "took more than $((left < 100 ? left : 100)) s"; say "$1:"; tail -n 20 "$work/said" ;;
        *) tell "$1" FAILED "exit code $code: $(grep '[^ ]' "$work/said" | tail -n 1 | cut -c 1-90)"; say "$1:"; tail -n 20 "$work/said" ;;
        esac
    fi
}

# Seconds: of the 480 of a phase, when nothing may run any more; the most that compiling and linking may take of them.
END=465 COMPILE=250 LINK=60
[ "$how" = gpu ] || END=100000 COMPILE=100000 LINK=100000

correctness() {
    : >"$work/table"
    if [ "$how" = simulate ]; then
        mkdir -p "$work/simulator"
        [ -e "$work/simulator/sim_threads.o" ] || sh tests/sim/compile simulator "$work/simulator" || exit
    fi
    rows | grep -E -- "$only" >"$work/rows"
    build
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
    # shellcheck disable=SC2010
    ls speed | grep -E -- "$only" | sed 's/^/speed_/' >"$work/rows"
    build
    trainers= bad=0
    for row in $(order_of_speed); do
        trainer=
        if is_built "$row"; then trainer=$work/$row/trainer; else bad=1; say "$row: $(why_unbuilt "$row")"; fi
        trainers="$trainers ${row#speed_}=$trainer"
    done
    [ "$how" = gpu ] || { say "compiled:$trainers"; exit "$bad"; }
    if command -v python3 >/dev/null; then
        # shellcheck disable=SC2086
        timeout -k 10 "$((END - $(passed)))" python3 tests/gpu/speed.py --work "$work" --until $((END - 25 - $(passed))) $trainers || bad=1
    else
        speed_alone || bad=1
    fi
    exit "$bad"
}

# Without python3 there is neither PyTorch nor an order of rounds.
speed_alone() {
    bad=0
    for word in $trainers; do
        { echo "${word%%=*}:" && LATHE_CACHE=$work/cache timeout "$((END - $(passed) > 60 ? 60 : END - $(passed) + 1))" "${word#*=}" bench --steps 30; } \
            >>"$work/table" 2>&1 || { bad=1; echo "failed" >>"$work/table"; }
    done
    printf '\npython3 is not here: steps of Lathe alone\n'
    cat "$work/table"
    return "$bad"
}

# What matters most comes first, should time be up before the end.
order_of_speed() {
    for name in $(grep '^speed' tests/gpu/trainers.txt | cut -d ' ' -f 2); do grep -x "speed_$name" "$work/rows"; done
}

case $phase in
bundle) bundle ;;
compile | link) build_one "$phase" "$only" ;;
run) run_row "$only" ;;
*)
    work=${work:-$(mktemp -d)}
    mkdir -p "$work" || exit 1
    find_tools
    "$phase" ;;
esac
