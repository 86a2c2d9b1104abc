# kernels.sh: kernels written by hand in the simulator of CUDA: right ones give the right numbers (kernels.cu), each mistake is
# named (kernels_wrong.cu).  Where nvcc is, it compiles the same text.
set -eu
sh tests/sim/compile simulator "$TMP" || exit
command -v nvcc >/dev/null || echo "note: nvcc is not here: they are compiled for the simulator alone"
for name in kernels kernels_wrong; do
    rm -f "$TMP"/program_*.o
    sh tests/sim/compile program "$TMP" tests/sim/$name.cu
    "$TMP/program"
    command -v nvcc >/dev/null || continue
    nvcc -Werror all-warnings -std=c++17 -fmad=false -Iruntime -arch=sm_90 -c tests/sim/$name.cu -o "$TMP/$name.o"
    echo "note: nvcc compiles $name.cu"
done
