# attention.sh: the attention of generated CUDA in the simulator: test cases of attention.cu.
set -eu
sh tests/sim/compile simulator "$TMP" || exit
sh tests/sim/compile program "$TMP" tests/sim/attention.cu
"$TMP/program" ${LATHE_LONG:+500}
