# attention_nvcc.sh: nvcc compiles the kernels of attention without a warning, and keeps their sums in registers.
set -eu
command -v nvcc >/dev/null || { echo "nvcc is not here: the kernels of attention were not compiled by it"; exit 77; }
nvcc -std=c++17 -Werror all-warnings -fmad=false ${LATHE_LONG:+-DMORE=true} -Xptxas -v -Iruntime -gencode arch=compute_80,code=sm_80 \
    -gencode arch=compute_90,code=sm_90 -c tests/sim/attention_nvcc.cu -o "$TMP/kernels.o" >"$TMP/log" 2>&1 ||
    { cat "$TMP/log"; echo "nvcc refuses the kernels of attention"; exit 1; }
kernels=$(grep -c 'bytes stack frame' "$TMP/log")
[ "$kernels" -gt 0 ] || { echo "nvcc says nothing of any kernel"; exit 1; }
! grep -B1 'bytes stack frame' "$TMP/log" | grep -B1 '[1-9][0-9]* bytes spill' || { echo "sums are spilled"; exit 1; }
echo "note: $((kernels / 2)) kernels for sm_80 and sm_90, no spills"
