# persistent.sh: loops in one launch, in the simulator: meetings of blocks, their mistakes, products of a step.  Where nvcc is, it
# compiles the same text.
set -eu
sh tests/sim/compile simulator "$TMP" || exit
sh tests/sim/compile program "$TMP" tests/sim/persistent.cu
"$TMP/program"
if command -v nvcc >/dev/null; then
    nvcc -Werror all-warnings -std=c++20 -fmad=false -Iruntime -arch=sm_90 -c tests/sim/persistent.cu -o "$TMP/persistent.o"
    echo "note: nvcc compiles persistent.cu"
else
    echo "note: nvcc is not here: persistent.cu is compiled for the simulator alone"
fi
