#!/bin/sh
# long.sh: the campaigns that tests/run.sh is too quick for: 500 random graphs and scans, 320 as CUDA in the simulator and 20 steps of each model there, 2,000 kills of five models and
# 200 power cuts of runs that save every step, 10 stops and resumes, `char` on tinyshakespeare to the loss that nanoGPT's
# recipe reaches, for three seeds, the data's stream (kills, races, 5 GB), memory that runs out at every allocation of the compiler and of a run, and the fuzzers,
# five minutes each.  Some four hours on two cores.
#
#   tests/long.sh [-k PATTERN]      PATTERN chooses among: random_graphs random_scans emitted emitted_mutants emitted_random narrow, the other tests of generated C (panels, gradients, …: compiled as for users), kill power_cut source nvcc gpu_trainers machines static architectures
#                                   resume stream kinds kills stream_races stream_memory char out_of_memory memory package widths everywhere, and fuzz_NAME for each fuzz_NAME.c
set -u
cd "$(dirname "$0")/.."
pattern=.
[ "${1:-}" != -k ] || pattern=${2:?-k needs a pattern}

. tests/setup.sh
need_compiler_packages
install_wanted
build_lathe

DATA=${LATHE_DATA:-$PWD/../shared/data}
TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
passed=0 failed=0 skipped=0

result() {      # NAME ok|FAIL|skip DETAIL
    printf '%-40s %-4s  %s\n' "$1" "$2" "$3"
    case $2 in
    ok) passed=$((passed + 1)) ;;
    FAIL) failed=$((failed + 1)) ;;
    skip) skipped=$((skipped + 1)) ;;
    esac
}

chosen() { echo "$1" | grep -Eq -- "$pattern"; }

campaign() {    # NAME DETAIL: build/test_NAME
    chosen "$1" || return 0
    LATHE_LONG=1 build/test_$1 >"$TMP/log" 2>&1
    case $? in 0) word=ok ;; 77) word=skip ;; *) word=FAIL ;; esac
    cat "$TMP/log"
    result "$1" $word "$2"
}

campaign random_graphs "500 graphs"
campaign random_scans "500 scans"
campaign emitted "20 steps of each model as CUDA"
campaign emitted_mutants "every mistake in the text of a model"
campaign emitted_random "320 graphs"
campaign narrow "20 steps of each model as CUDA, in bf16 and fp16"
for name in panels packed op_gradients op_values gradients linear_cross_entropy cfunc scatter shared precision carry decode_logits huggingface \
    emit persistent reference; do
    campaign $name "generated code compiled as for users"
done
campaign kill "2,000 kills of five models"
campaign power_cut "200 power cuts"
campaign out_of_memory "every allocation of the compiler"
campaign source "5,000 rounds of random files"
campaign source_memory "5 GB in a line, a field, a file"

script() {      # NAME FILE DETAIL: tests/FILE.sh
    chosen "$1" || return 0
    mkdir "$TMP/$1"
    LATHE_LONG=1 BUILD=$PWD/build LATHE=$PWD/build/lathe TMP=$TMP/$1 sh "tests/$2.sh" >"$TMP/log" 2>&1
    case $? in 0) word=ok ;; 77) word=skip ;; *) word=FAIL ;; esac
    grep -v '^ok: ' "$TMP/log"
    result "$1" $word "$3"
}

script nvcc sim/nvcc "every model for sm_80 and sm_90"
script gpu_trainers sim/trainer "more trainers for a GPU, in the simulator"
script machines library/machines "a library on every machine"
script static trainer/static "three levels of x86-64 in one trainer"
script architectures trainer/architectures "one chain of hashes on three processors"
script resume models/resume "10 stops, by signal and by kill"
script stream models/stream "20 kills of a run on documents"
script stream_races data/stream_races "ThreadSanitizer over a larger corpus"
script stream_memory data/stream_memory "5 GB through less than 64 MB"
script kinds ranks/kinds "ranks: more kinds of data and optimizers, 3 and 4 of them"
script kills ranks/kills "300 kills of ranks: wires, TCP, Open MPI, MPICH"
script two_trainers ranks/two_trainers "two hosts: a cable cut in a step, a save, an evaluation"
script memory trainer/memory "every allocation of a run"
script package tools/package "a Debian package, from a bare Debian 12 and back"
script widths math/widths "products with a software fma"
script everywhere library/everywhere "200 steps of four models, for all compilers, processors and systems here"

# Validation loss over the whole held-out tenth, windows side by side, after 2,000 steps.
limit=1.93
if chosen char; then
    if [ -e "$DATA/tinyshakespeare.txt" ]; then
        build/lathe build models/gpt.lua --config char -o "$TMP/char" >"$TMP/log" 2>&1 || cat "$TMP/log"
        for seed in 1 2 3; do
            loss=$("$TMP/char/trainer" train --data "$DATA/tinyshakespeare.txt" --seed $seed --out "$TMP/run-$seed" \
                >"$TMP/log" 2>&1 && sed -n '/"split":"val"/s/.*"loss":\([0-9.]*\).*/\1/p' "$TMP/run-$seed/metrics.jsonl" | tail -n 1)
            if awk "BEGIN { exit !(\"$loss\" != \"\" && $loss + 0 <= $limit) }" 2>/dev/null; then word=ok; else word=FAIL; fi
            [ $word = ok ] || tail -n 20 "$TMP/log"
            result "char seed $seed" $word "validation loss $loss (at most $limit)"
        done
    else
        result char skip "no $DATA/tinyshakespeare.txt"
    fi
fi

# What a fuzzer adds to the corpus that reaches new code can be kept: copy it from the folder that is printed.
targets=
for target in tests/fuzz/corpus/*; do
    ! chosen "fuzz_${target##*/}" || targets="$targets $target"
done
if [ -n "$targets" ]; then
    need clang clang
    need_library libclang-rt-14-dev
    install_wanted
    . tests/fuzz/libfuzzer
    kept=$(mktemp -d)
    if fuzz_build "$TMP/fuzz" >"$TMP/log" 2>&1; then
        for target in $targets; do
            name=${target##*/}
            mkdir -p "$kept/$name"
            LATHE_FUZZ_CC=${CC:-cc} "$TMP/fuzz/$name" -max_total_time="${LATHE_FUZZ_SECONDS:-300}" -timeout=60 -rss_limit_mb=3000 -detect_leaks=0 -close_fd_mask=3 \
                -artifact_prefix="$kept/$name-" "$kept/$name" "$target" >"$TMP/log" 2>&1 && word=ok || word=FAIL
            [ $word = ok ] || tail -n 30 "$TMP/log"
            result "fuzz_$name" $word "$(sed -n 's/^Done //p' "$TMP/log"), new inputs and findings in $kept"
        done
    else
        cat "$TMP/log"
        result fuzz FAIL "the fuzzers do not build"
    fi
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
