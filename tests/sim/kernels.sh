# kernels.sh: kernels written by hand in the simulator of CUDA: right ones give the right numbers, each mistake is named.
# Where nvcc is, it compiles the same text.
set -eu
sh tests/sim/compile simulator "$TMP" || exit
sh tests/sim/compile program "$TMP" tests/sim/kernels.cu
"$TMP/program"
if command -v nvcc >/dev/null; then
    nvcc -Werror all-warnings -std=c++17 -fmad=false -Iruntime -arch=sm_90 -c tests/sim/kernels.cu -o "$TMP/kernels.o"
    echo "note: nvcc compiles kernels.cu"
else
    echo "note: nvcc is not here: kernels.cu is compiled for the simulator alone"
fi
