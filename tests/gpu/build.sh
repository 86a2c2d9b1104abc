#!/bin/sh
# build.sh: how tests/gpu.sh makes programs in $work for what $how says: tools and libraries of the machine, objects, links.  Sourced.
# A job is a row of the table, or runtime_ROOM-FILE; what it said is in build.log beside what it made, and a row has the file `compiled`, or
# `failed`, which says what it does not: compile or link.

# ---------------------------------------------------------------- tools, found once and exported

# Folders of libraries in NVIDIA's Python packages: PyTorch brings cuBLASLt, cuDNN and NCCL along.
wheels() {
    command -v python3 >/dev/null || return 0
    python3 -c 'import sys; print("\n".join(p for p in sys.path if p))' 2>/dev/null | while read -r folder; do
        ls -d "$folder"/nvidia/*/lib 2>/dev/null
    done
}
in_wheels() {
    for folder in $wheel_folders; do
        for file in "$folder"/$1; do
            [ ! -e "$file" ] || { echo "$file"; return; }
        done
    done
}
loads() {
    PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | grep -q "[[:space:]]$1 " || ls $(echo "${LD_LIBRARY_PATH:-}" | tr : ' ') 2>/dev/null | grep -qx "$1"
}

# The toolkit's cuBLASLt, which is looked for in its folder when a program starts; that of a Python package where it has none.
find_cublas() {
    toolkit=$(readlink -f "$(command -v nvcc)")
    toolkit=${toolkit%/bin/nvcc}
    for folder in "$toolkit/lib64" "$toolkit/lib" "$toolkit"/targets/*/lib; do
        [ -e "$folder/libcublasLt.so" ] || continue
        include= cublas="-L$folder -Xlinker -rpath=$folder -lcublasLt"
        return
    done
    include= cublas=-lcublasLt file=$(in_wheels 'libcublasLt.so.*')
    [ -z "$file" ] || include=-I${file%/lib/*}/include cublas="-Xlinker -rpath=${file%/*} $file"
}

# Code for the GPU that is here; where this nvcc does not know it, text that the driver compiles.
find_architecture() {
    known=$(nvcc --list-gpu-code 2>/dev/null)
    architecture=${LATHE_CUDA_ARCH:-$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d '. ')}
    newest=$(echo "$known" | sed -n 's/^sm_\([0-9]*\)$/\1/p' | sort -n | tail -n 1)
    case $architecture in
    *[!0-9]* | '') architecture=native ;;
    *) if [ -z "$known" ] || echo "$known" | grep -qx "sm_$architecture"; then architecture=sm_$architecture; else architecture=compute_$newest; fi ;;
    esac
}

find_tools() {
    mkdir -p "$work/tmp"
    TMPDIR=$work/tmp
    [ -z "${NVCC:-}" ] || PATH=${NVCC%/*}:$PATH
    PATH=$PATH:/usr/local/cuda/bin
    CC=${CC:-$(command -v cc || command -v gcc || echo cc)}
    export TMPDIR PATH CC
    if [ "$how" = simulate ]; then      # objects of the runtime are kept there for all rows
        BUILD=$work
        export BUILD
        return
    fi
    command -v nvcc >/dev/null || stop 'nvcc is not here: neither $NVCC, nor in PATH, nor in /usr/local/cuda/bin'
    wheel_folders=$(wheels)
    find_cublas
    if [ "$how" = compile ]; then architecture=sm_90; else find_architecture; fi
    loads libcudnn.so.9 || LATHE_CUDNN=${LATHE_CUDNN:-$(in_wheels libcudnn.so.9)}
    loads libnccl.so.2 || LATHE_NCCL=${LATHE_NCCL:-$(in_wheels libnccl.so.2)}
    GPU_FLAGS="-std=c++20 -O2 -fmad=false -arch=$architecture $include" GPU_LIBRARIES="$cublas -ldl -lm"
    SPLIT=
    ! nvcc --help 2>/dev/null | grep -q -- '--split-compile ' || SPLIT=--split-compile=0
    export GPU_FLAGS GPU_LIBRARIES SPLIT LATHE_CUDNN LATHE_NCCL
    say "$(nvcc --version | sed -n 's/.*release/nvcc/p'), $architecture, ${cublas##* }, cuDNN: ${LATHE_CUDNN:-as the loader finds it}"
}

# As many as there are cores, and 1.5 GB for each.
jobs_at_once() {
    awk -v cores="$(nproc)" '/^MemAvailable/ { n = int($2 / 1500000) } END { print n < 1 ? 1 : n < cores ? n : cores }' /proc/meminfo
}

# ---------------------------------------------------------------- a job: objects of ours

c_flags='-std=gnu11 -O3 -march=native -ffp-contract=off -fno-math-errno -fno-trapping-math -fno-strict-aliasing -fopenmp'

compile_cuda() { # FILE OBJECT FLAGS…
    file=$1 object=$2
    shift 2
    # shellcheck disable=SC2086
    nvcc $GPU_FLAGS -Iruntime "$@" -c "$file" -o "$object"
}

compile_runtime() { # ROOM-FILE
    source=runtime/$(echo "$1" | tr - /)
    # shellcheck disable=SC2086
    case $how:$1 in
    simulate:*.cu) sh tests/sim/compile object "$work" "$source" "$work/simulator/${1%.cu}.o" ;;
    *:entry.cu) compile_cuda tests/gpu/entry.cu "$work/entry/entry.o" -Itests/gpu/include ;;
    *:*.c) $CC $c_flags -Iruntime -Ideps/include -c "$source" -o "$work/rt/${1%.c}.o" ;;
    *) compile_cuda "$source" "$work/rt/${1%.cu}.o" ;;
    esac
}

compile_trainer() { # FOLDER ROW
    # shellcheck disable=SC2086
    $CC $c_flags -Iruntime "-I$1" -c "$1/tables.c" -o "$work/$2/tables.o" && compile_cuda "$1/model.cu" "$work/$2/model.o" "-I$1"
}

# In the simulator the whole program, but for trainers, which need the runtime.  attention.cu and cudnn.cu keep one core busy for minutes:
# their kernels are optimized side by side where nvcc can do that ($SPLIT); what is timed is not.
compile_row() {
    folder=cases/${1#model_}
    case $how:$1 in
    simulate:train_*) return ;;
    *:model_*) $CC -std=gnu11 -Dmain=model_main -Iruntime "-I$folder" -c "$folder/tables.c" -o "$work/$1/tables.o" || return 1 ;;
    esac
    case $how:$1 in
    simulate:model_*) simulated "$1" "-I$folder" tests/gpu/entry.cu "$folder/model.cu" runtime/cuda/gemm*.cu runtime/cuda/cudnn*.cu ;;
    simulate:*) simulated "$1" '' "tests/gpu/$1.cu" ;;
    *:train_*) [ "$(gpus_here)" -lt "$(gpus_of "${1#train_}")" ] || compile_trainer "trainers/${1#train_}" "$1" ;;
    *:speed_*) compile_trainer "speed/${1#speed_}" "$1" ;;
    *:model_*) compile_cuda "$folder/model.cu" "$work/$1/model.o" "-I$folder" ;;
    *:fragments) compile_cuda tests/gpu/fragments.cu "$work/$1/program.o" -Itests/gpu/include ;;
    # shellcheck disable=SC2086
    *) compile_cuda "$work/src/$1.cu" "$work/$1/program.o" -Itests/gpu/include $SPLIT ;;
    esac
}

simulated() { # ROW FLAGS FILE…
    row=$1
    tables=$work/$row/tables.o
    [ -e "$tables" ] || tables=
    ln -sf "$work"/simulator/sim_*.o "$work/$row/"
    SIM_FLAGS=$2
    export SIM_FLAGS
    shift 2
    SIM_LIBRARIES=$tables sh tests/sim/compile program "$work/$row" "$@"
}

# ---------------------------------------------------------------- a job: its program, when all objects are there

link_row() {
    at=$work/$1 rt=$work/rt
    trainer="$rt/liblathe_rt.a -Xcompiler -fopenmp -Ldeps/lib -ljansson"
    case $how:$1 in
    simulate:train_*)
        cp "trainers/${1#train_}"/model.* "trainers/${1#train_}/tables.c" "$at/"
        ln -sf "$work"/simulator/sim_*.o "$at/"
        SIM_LIBRARIES=${LATHE_RT:-"$rt/liblathe_rt.a -fopenmp -ljansson -lm"} sh tests/sim/compile trainer "$at" "$at"
        return ;;
    simulate:*) return ;;
    esac
    [ -e "$at/model.o" ] || [ -e "$at/program.o" ] || return 0
    case $1 in
    train_* | speed_*) linked "$at/trainer" "$at/model.o" "$at/tables.o" $trainer ;;
    model_*) linked "$at/program" "$work/entry/entry.o" "$at/model.o" "$at/tables.o" "$rt"/cuda-gemm*.o "$rt"/cuda-cudnn*.o ;;
    gemm) linked "$at/program" "$at/program.o" "$rt"/cuda-gemm*.o ;;
    cudnn) linked "$at/program" "$at/program.o" "$rt"/cuda-cudnn*.o ;;
    optim) linked "$at/program" "$at/program.o" $trainer ;;
    *) linked "$at/program" "$at/program.o" ;;
    esac
}

linked() { # PROGRAM OBJECT…
    program=$1
    shift
    # shellcheck disable=SC2086
    nvcc $GPU_FLAGS "$@" $GPU_LIBRARIES -o "$program"
}

# ---------------------------------------------------------------- all of them

# What rows need of the runtime.
runtime_jobs() {
    [ "$how" = simulate ] && ! grep -q '^model_\|^train_' "$work/rows" || find runtime -name '*.cu' | sort
    [ -n "${LATHE_RT:-}" ] || ! grep -q '^train_\|^optim\|^speed_' "$work/rows" || find runtime -name '*.c' | sort
    [ "$how" = simulate ] || ! grep -q '^model_' "$work/rows" || echo entry.cu
}

# What takes longer than others comes first; where few cores are, last: it would take all the time.
ordered_jobs() {
    if [ "$(jobs_at_once)" -ge 4 ]; then
        cat "$work/rows"
        runtime_jobs | sed 's|^runtime/||; s|/|-|; s/^/runtime_/'
    else
        runtime_jobs | sed 's|^runtime/||; s|/|-|; s/^/runtime_/'
        grep -v '^attention$\|^cudnn$' "$work/rows"
        grep '^attention$\|^cudnn$' "$work/rows"
    fi
}

# The programs of $work/rows.
build() {
    mkdir -p "$work/rt" "$work/src" "$work/entry"
    cp tests/sim/*.cu tests/sim/*.cuh "$work/src/"  # away from the simulator's sim.h, which is beside them
    while read -r row; do rm -rf "${work:?}/$row"; mkdir -p "$work/$row"; done <"$work/rows"
    ordered_jobs >"$work/jobs"
    # shellcheck disable=SC2086
    timeout "$COMPILE" xargs -P "$(jobs_at_once)" -n 1 sh tests/gpu.sh compile $switch --work "$work" --only <"$work/jobs"
    for job in $(grep '^runtime_' "$work/jobs"); do
        [ ! -e "$(log_of "$job").failed" ] || { say "$job:"; tail -n 10 "$(log_of "$job")"; }
    done
    ! ls "$work"/rt/*.o >/dev/null 2>&1 || { rm -f "$work/rt/liblathe_rt.a"; ar rcs "$work/rt/liblathe_rt.a" "$work"/rt/*.o; }
    # shellcheck disable=SC2086
    timeout "$LINK" xargs -P "$(jobs_at_once)" -n 1 sh tests/gpu.sh link $switch --work "$work" --only <"$work/rows"
    say "compiled in $(passed) s"
}

log_of() { case $1 in runtime_entry.cu) echo "$work/entry/log" ;; *) echo "$work/rt/${1#runtime_}.log" ;; esac; }

# One job, in a process of its own: objects, or with `link` the program.
build_one() { # compile|link JOB
    case $1:$2 in
    compile:runtime_*)
        log=$(log_of "$2")
        rm -f "$log.failed"
        compile_runtime "${2#runtime_}" >"$log" 2>&1 || : >"$log.failed" ;;
    *)
        [ ! -e "$work/$2/failed" ] || return 0
        "${1}_row" "$2" >>"$work/$2/build.log" 2>&1 || { echo "$1" >"$work/$2/failed"; return 0; }
        [ "$1" = link ] || : >"$work/$2/compiled" ;;
    esac
}
