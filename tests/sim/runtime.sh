# runtime.sh: the simulator's streams, events, graphs, pinned memory and device: what is right computes right, mistakes show.
set -eu
sh tests/sim/compile simulator "$TMP" || exit
sh tests/sim/compile program "$TMP" tests/sim/runtime.cu runtime/cuda/gemm.cu runtime/cuda/gemm_ends.cu
"$TMP/program"
