# persistent.sh: loops in one launch, in the simulator: meetings of blocks, their mistakes, products of a step.  Where nvcc is, it
# compiles the same text.
set -eu
sh tests/sim/compile simulator "$TMP" || exit
command -v nvcc >/dev/null || echo "note: nvcc is not here: they are compiled for the simulator alone"
for name in persistent persistent_products; do
    rm -f "$TMP"/program_*.o
    sh tests/sim/compile program "$TMP" tests/sim/$name.cu
    "$TMP/program"
    command -v nvcc >/dev/null || continue
    nvcc -Werror all-warnings -std=c++20 -fmad=false -Iruntime -arch=sm_90 -c tests/sim/$name.cu -o "$TMP/$name.o"
    echo "note: nvcc compiles $name.cu"
done

# What a launch writes by another name: read by ld.global.nc where nvcc takes it for constant, by plain loads with CHANGES.
command -v nvcc >/dev/null || exit 0
cat >"$TMP/names.cu" <<'CU'
#include "cuda/persistent.cuh"
DEVICE void one_round(int block, float *RESTRICT to, const float *RESTRICT from)
{
    to[block * THREADS + threadIdx.x] = from[block * THREADS + threadIdx.x] + 1;
}
#define LOOP(name, hide)                                                                                               \
    extern "C" PERSISTENT void name(Grid grid, float *a, float *b, float (*over_a)[4])                                 \
    {                                                                                                                  \
        hide;                                                                                                          \
        for (int t = 0; t < 9; t++) {                                                                                  \
            EACH_BLOCK(block, 64) one_round(block, a, b);                                                              \
            meet(grid);                                                                                                \
            EACH_BLOCK(block, 64) one_round(block, b, (const float *)over_a);                                          \
            meet(grid);                                                                                                \
        }                                                                                                              \
    }
LOOP(open_loop, )
LOOP(hidden_loop, CHANGES(over_a))
CU
nvcc -std=c++20 -fmad=false -Iruntime -arch=sm_90 -ptx "$TMP/names.cu" -o "$TMP/names.ptx"
loads() { awk -v name="$1" '$0 ~ "entry " name { in_it = 1 } in_it && /ld\.global\.nc/ { n++ } in_it && /^}/ { exit } END { print n + 0 }' "$TMP/names.ptx"; }
[ "$(loads hidden_loop)" = 0 ] || { echo "failed: CHANGES does not hide where a pointer comes from"; exit 1; }
[ "$(loads open_loop)" -gt 0 ] || echo "note: this nvcc reads nothing by ld.global.nc where CHANGES is missing"
