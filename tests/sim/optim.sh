# optim.sh: the optimizer's kernels (runtime/cuda/optim.cu) in the simulator beside the CPU's: the same bits; mistakes put into them,
# each of which must be noticed.  Where nvcc is, it compiles them: accesses of 16 bytes, and nothing spilled.
set -eu
. tests/sim/libraries
sh tests/sim/compile simulator "$TMP" || exit
sh tests/sim/compile program "$TMP" tests/sim/optim.cu runtime/cuda/optim.cu runtime/cuda/coded.cu
"$TMP/program"

failed=0
. tests/sim/mutant
mutant runtime/cuda/optim.cu 'if (i + BESIDE <= o.segment[s].end)' 'if (i < o.segment[s].end)'
mutant runtime/cuda/optim.cu 'if (*stopped) return;' 'if (*stopped > 1) return;'
mutant runtime/cuda/optim.cu 'sum = block_sum_f64(sum);' ''
mutant runtime/cuda/optim.cu '!is_finite(norm)' 'false'
mutant runtime/cuda/optim.cu 'rates.step, i / BESIDE)' 'rates.step, 0 * i + threadIdx.x)'
mutant runtime/cuda/optim.cu 'put(p + i, wide, step->rates, i);' 'put(p + i, wide, step->rates, i / 4);'
if command -v nvcc >/dev/null; then
    mkdir "$TMP/kept"
    nvcc -std=c++20 -O3 -fmad=false -Werror all-warnings -Xptxas -v -Iruntime -arch=sm_90 --keep --keep-dir "$TMP/kept" \
        -c runtime/cuda/optim.cu -o "$TMP/nvcc.o" 2>"$TMP/log" || { cat "$TMP/log"; exit 1; }
    ! grep -E '[1-9][0-9]* bytes (stack frame|spill)' "$TMP/log" || { echo "failed: it spills"; failed=1; }
    loads=$(grep -c 'ld.*v4.*f32' "$TMP/kept/optim.ptx") || true
    stores=$(grep -c 'st.global.*v4.*f32' "$TMP/kept/optim.ptx") || true
    [ "$loads" -ge 10 ] && [ "$stores" -ge 7 ] || { echo "failed: $loads loads and $stores stores of 16 bytes"; failed=1; }
    echo "note: nvcc: $loads loads and $stores stores of 16 bytes, nothing spilled"
fi
exit $failed
