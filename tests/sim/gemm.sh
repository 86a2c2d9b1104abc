# gemm.sh: products of generated CUDA (runtime/cuda_gemm.cu) with the simulator's cuBLASLt: random ones against loops in fp64;
# what it must refuse; and mistakes put into cuda_gemm.cu, each of which must be noticed.  Where nvcc is, it compiles the
# file.
set -eu
sh tests/sim/compile simulator "$TMP" || exit
sh tests/sim/compile program "$TMP" tests/sim/gemm.cu runtime/cuda_gemm.cu
"$TMP/program"

failed=0
mutants=0
mutant() { # FROM TO WORD: the first line with FROM, and what the program must say
    mutants=$((mutants + 1))
    awk -v from="$1" -v to="$2" '!done && (at = index($0, from)) {
        $0 = substr($0, 1, at - 1) to substr($0, at + length(from)); done = 1 } { print }
        END { exit !done }' runtime/cuda_gemm.cu >"$TMP/cuda_gemm.cu" || { echo "failed: no \"$1\" in cuda_gemm.cu"; failed=1; }
    sh tests/sim/compile program "$TMP" "$TMP/cuda_gemm.cu"
    ! "$TMP/program" products >"$TMP/said" 2>&1 || { echo "failed: nobody notices \"$2\" for \"$1\""; failed=1; }
    grep -q "$3" "$TMP/said" || { echo "failed: \"$2\" for \"$1\": $(head -n 3 "$TMP/said")"; failed=1; }
}
mutant 'columns > 1 ? column : rows' 'rows' 'element'
mutant 'rows > 1 ? row : columns' 'rows' 'leading dimension\|element\|not all in'
mutant 'bits % 16 == 0' 'true' 'misaligned'
mutant 'exchanged ? b : a, p->a' 'exchanged ? a : b, p->a' 'element\|not all in\|INVALID'
mutant 'add ? one : zero' 'add ? zero : one' 'element'
mutant 'p->layouts.a.turned ? CUBLAS_OP_T' 'p->layouts.b.turned ? CUBLAS_OP_T' 'extents\|element'
mutant 'a_batch[i] | s->b_batch[i]) * n->in_bytes' 'a_batch[i]) * n->in_bytes' 'misaligned'
echo "note: $mutants mistakes put into cuda_gemm.cu"
if command -v nvcc >/dev/null; then
    nvcc -Werror all-warnings -Iruntime -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 \
        -c runtime/cuda_gemm.cu -o "$TMP/nvcc.o"
    echo "note: nvcc compiles cuda_gemm.cu"
else
    echo "note: nvcc is not here: cuda_gemm.cu is compiled for the simulator alone"
fi
exit $failed
