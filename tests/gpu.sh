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
out= how=gpu only=. work= models=tests/gpu/cases.txt
[ "$phase" = bundle ] && [ $# -gt 0 ] && { out=$1; shift; }
while [ $# -gt 0 ]; do
    case $1 in
    --simulate) how=simulate ;;
    --compile) how=compile ;;
    --only) only=${2:?--only needs a pattern}; shift ;;
    --work) work=${2:?--work needs a folder}; shift ;;
    --cases) models=${2:?--cases needs a file}; shift ;;      # bundle: other models than those of tests/gpu/cases.txt
    *) usage ;;
    esac
    shift
done
case $phase in bundle) [ -n "$out" ] || usage ;; correctness | speed) ;; build | run) [ -n "$work" ] || usage ;; *) usage ;; esac

switch=
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
    cp -r tests/sim/include tests/sim/compile tests/sim/*.cc tests/sim/sim.h tests/sim/*.cu "$out/tests/sim/"
    cp tests/bench/torch_*.py "$out/tests/bench/"
    grep -v '^#' "$models" | while read -r name loss gradients arguments; do
        # shellcheck disable=SC2086
        "$dump" "$out/cases/$name" $arguments || stop "case $name"
        echo "$loss $gradients" >"$out/cases/$name/bounds"
    done || exit 1
    size=$(du -sm "$out" | cut -f 1)
    say "$out: $(ls "$out/cases" | wc -l) cases, $size MB"
    [ "$size" -lt 60 ] || stop "that is more than 60 MB"
}

# ---------------------------------------------------------------- building
cases() { [ -d cases ] && ls cases; }
rows() {
    for row in fragments gemm attention cudnn; do
        [ "$how" = simulate ] && [ "$row" != fragments ] || echo "$row"     # the others are tests of their own there
    done
    cases | sed 's/^/model_/'
}

sources_of() {
    case $1 in
    fragments) echo tests/gpu/fragments.cu ;;
    gemm) echo "$work/src/gemm.cu" runtime/cuda_gemm*.cu ;;
    attention) echo "$work/src/attention.cu" ;;
    cudnn) echo "$work/src/cudnn.cu" runtime/cuda_cudnn*.cu ;;
    model_*) echo tests/gpu/entry.cu "cases/${1#model_}/model.cu" runtime/cuda_gemm*.cu runtime/cuda_cudnn*.cu ;;
    esac
}

# A row's program, $work/ROW/program; everything said is in $work/ROW/build.log.
build_row() {
    mkdir -p "$work/$1"
    tables= include=
    case $1 in model_*) include=-Icases/${1#model_} tables=$work/$1/tables.o ;; esac
    if [ -n "$tables" ]; then
        ${CC:-cc} -std=gnu11 -Dmain=model_main -Iruntime "$include" -c "cases/${1#model_}/tables.c" -o "$tables" || return 1
    fi
    if [ "$how" = simulate ]; then
        ln -sf "$work"/simulator/sim_*.o "$work/$1/"
        # shellcheck disable=SC2046
        CXX="${CXX:-g++} $include" LIBRARIES=$tables sh tests/sim/compile program "$work/$1" $(sources_of "$1")
        return
    fi
    arch=native
    [ "$how" = compile ] && arch=sm_90
    # shellcheck disable=SC2046,SC2086
    nvcc -std=c++20 -O2 -fmad=false -Itests/gpu/include -Iruntime $include -arch=$arch $(sources_of "$1") $tables -o "$work/$1/program" \
        -lcublasLt -ldl
}

# ---------------------------------------------------------------- running
run_row() {
    case $1 in
    gemm) "$work/gemm/program" products ;;
    model_*)
        read -r loss gradients <"cases/${1#model_}/bounds"
        "$work/$1/program" "cases/${1#model_}" "${1#model_}" "$loss" "$gradients" ;;
    sanitizer_*) compute-sanitizer --error-exitcode 9 --tool memcheck "$work/model_${1#sanitizer_}/program" \
        "cases/${1#sanitizer_}" "${1#sanitizer_}" 1 1 ;;
    *) "$work/$1/program" ;;
    esac
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
        timeout 120 sh tests/gpu.sh run $switch --work "$work" --only "$1" >"$work/said" 2>&1 || code=$?
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

case $phase in
bundle) bundle ;;
build)
    mkdir -p "$work/$only"
    build_row "$only" >"$work/$only/build.log" 2>&1 || : >"$work/$only/failed" ;;
run) run_row "$only" ;;
*)
    work=${work:-$(mktemp -d)}
    "$phase" ;;
esac
