# parts.sh: --shard-parameters on GPUs, in the simulator with an NCCL and a driver of its own: GPUs that keep only their parts of
# parameters and gradients train to the same bits as GPUs that have all of them, resumed too, forked and under mpirun; the plan's bytes
# are taken; what the driver cannot do is told; mistakes put into the runtime.
set -eu
. tests/sim/ranks
$CXX -std=gnu++17 -Wall -Wextra -Werror -O2 -fPIC -shared -Itests/sim/include -Itests/sim -Iruntime tests/sim/fake_driver.cc -o "$TMP/libdriver.so"
export LATHE_LIBCUDA="$TMP/libdriver.so" LATHE_GPU_PAGE=4096 LATHE_NCCL_BUCKET=8192
cat README.md compiler/base/*.c | head -c 20000 >"$TMP/text.txt"
data="--data $TMP/text.txt"
usual='--set eval_every=2 --set clip=0.5 --val-fraction 0.1'

# both NAME MODEL OPTIONS…: NAME has parts; NAME.all, of the same text, does not know what entries say, and so has all
both() {
    built "$@" --shard-parameters
    mkdir -p "$TMP/$1.all"
    cp "$TMP/$1"/model.* "$TMP/$1.all"
    sed 's/\.sayings = [0-9]*/.sayings = 0/' "$TMP/$1/tables.c" >"$TMP/$1.all/tables.c"
    must sh tests/sim/compile trainer "$TMP" "$TMP/$1.all"
}
