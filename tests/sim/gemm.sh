# gemm.sh: products of generated CUDA (runtime/cuda/gemm*.cu) with the simulator's cuBLASLt: random ones against loops in fp64
# (gemm.cu); algorithms by timing and their file (gemm_timing.cu); what is refused (gemm_refused.cu); and mistakes put into
# cuda/gemm.cu, each of which must be noticed.
# Where nvcc is, it compiles the files, and no kernel spills.
set -eu
sh tests/sim/compile simulator "$TMP" || exit
runtime='runtime/cuda/gemm.cu runtime/cuda/gemm_ends.cu runtime/cuda/gemm_tune.cu runtime/cuda/gemm_check.cu'
for name in gemm_timing gemm_refused gemm; do
    rm -f "$TMP"/program_gemm*.o
    # shellcheck disable=SC2086  # several files
    sh tests/sim/compile program "$TMP" tests/sim/$name.cu $runtime
    runtime=    # it is compiled
    "$TMP/program" "$TMP/products.txt"
done

failed=0
mutants=0
file=cuda_gemm
mutant() { # FROM TO WORD: the first line of $file with FROM, and what the program must say
    mutants=$((mutants + 1))
    awk -v from="$1" -v to="$2" '!done && (at = index($0, from)) {
        $0 = substr($0, 1, at - 1) to substr($0, at + length(from)); done = 1 } { print }
        END { exit !done }' runtime/cuda/${file#cuda_}.cu >"$TMP/$file.cu" || { echo "failed: no \"$1\" in $file.cu"; failed=1; }
    sh tests/sim/compile program "$TMP" "$TMP/$file.cu"
    ! timeout 60 "$TMP/program" products >"$TMP/said" 2>&1 || { echo "failed: nobody notices \"$2\" for \"$1\""; failed=1; }
    grep -q "$3" "$TMP/said" || { echo "failed: \"$2\" for \"$1\": $(head -n 3 "$TMP/said")"; failed=1; }
}
mutant 'columns > 1 ? column : rows' 'rows' 'element'
mutant 'rows > 1 ? row : columns' 'rows' 'leading dimension\|element\|not all in'
mutant 'bits % 16 == 0' 'true' 'misaligned\|ssertion'
mutant 'exchanged ? b : a, p->a' 'exchanged ? a : b, p->a' 'element\|not all in\|INVALID'
mutant 'add ? one : zero' 'add ? zero : one' 'element'
mutant 'p->layouts.a.turned ? CUBLAS_OP_T' 'p->layouts.b.turned ? CUBLAS_OP_T' 'extents\|element'
mutant 'a_batch[i] | s->b_batch[i]) * n->in_bytes' 'a_batch[i]) * n->in_bytes' 'misaligned\|ssertion'
mutant 'CUBLASLT_EPILOGUE_GELU_AUX_BIAS' 'CUBLASLT_EPILOGUE_GELU_BIAS' 'aux: element'
mutant 'CUBLASLT_EPILOGUE_GELU_AUX :' 'CUBLASLT_EPILOGUE_GELU :' 'aux: element'
mutant 'p->to_aux ? p->aux : p->d' 'p->d' 'element\|not all in\|overlap'
mutant 'if ((p->biased = choose(g, p, &p->plain))) return true' 'if (choose(g, p, &p->plain)) return true' 'element'
mutant 'return exchanged ? CUBLASLT_EPILOGUE_BGRADB : CUBLASLT_EPILOGUE_BGRADA' \
    'return exchanged ? CUBLASLT_EPILOGUE_BGRADA : CUBLASLT_EPILOGUE_BGRADB' 'vector: element\|not all in\|where the product writes'
mutant 'g->aux_m % 8 || ' '' 'a multiple of 8'
mutant ' && !(add && gemm_sums(g))' '' 'vector: element'
mutant '&vector, sizeof vector' '&(vector = &vector), sizeof vector' 'element\|bias is NULL\|where the product writes\|not all in'
sh tests/sim/compile program "$TMP" runtime/cuda/gemm.cu
file=cuda_gemm_ends
mutant 'in_row = N / W' 'in_row = N' 'element\|not all in\|out of bounds'
mutant '(vector || !in_aux)' '!in_aux' 'aux: element'
mutant 'in_aux ? at.aux : at.c' 'at.c' 'element'
mutant 'g->shape.c_m | g->aux_m) % W' 'g->shape.c_m) % W' 'element\|misaligned\|ssertion'
mutant '!p->biased' 'true' 'element'
echo "note: $mutants mistakes put into cuda/gemm.cu and cuda/gemm_ends.cu"
if ! nvcc=$(command -v nvcc); then
    echo "note: nvcc is not here: they are compiled for the simulator alone"
elif include=$(dirname "$(dirname "$(readlink -f "$nvcc")")")/include && [ ! -e "$include/cublasLt.h" ]; then
    echo "note: cublasLt.h is not in $include: they are compiled for the simulator alone"
else
    for file in cuda_gemm cuda_gemm_ends cuda_gemm_tune cuda_gemm_check; do
        nvcc -Werror all-warnings -fmad=false -Xptxas -v -Iruntime -gencode arch=compute_80,code=sm_80 \
            -gencode arch=compute_90,code=sm_90 -c runtime/cuda/${file#cuda_}.cu -o "$TMP/nvcc.o" >>"$TMP/nvcc" 2>&1 ||
            { cat "$TMP/nvcc"; failed=1; }
    done
    ! grep 'bytes stack frame' "$TMP/nvcc" | grep -v '^ *0 bytes stack frame, 0 bytes spill' || { echo "failed: registers spilled"; failed=1; }
    echo "note: nvcc compiles them: $(($(grep -c "bytes stack frame" "$TMP/nvcc") / 2)) kernels for sm_80 and sm_90, none spills"
fi
exit $failed
