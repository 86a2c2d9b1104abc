# ids.sh: ids out of range on a GPU (runtime/cuda/ids.cuh) in the simulator.
set -eu
sh tests/sim/compile simulator "$TMP" || exit
sh tests/sim/compile program "$TMP" tests/sim/ids.cu
"$TMP/program"
