# parts.sh: --shard-parameters on GPUs, in the simulator with an NCCL and a driver of its own: GPUs that keep only their parts of
# parameters and gradients train to the same bits as GPUs that have all of them, resumed too, forked and under mpirun; the plan's bytes
# are taken; what the driver cannot do is told; mistakes put into the runtime.
set -eu
. tests/sim/ranks
$CXX -std=gnu++17 -Wall -Wextra -Werror -O2 -fPIC -shared -Itests/sim/include -Itests/sim -Iruntime tests/sim/fake_driver.cc -o "$TMP/libdriver.so"
export LATHE_LIBCUDA="$TMP/libdriver.so" LATHE_GPU_PAGE=4096 LATHE_NCCL_BUCKET=4096
cat README.md compiler/base/*.c | head -c 20000 >"$TMP/text.txt"
data="--data $TMP/text.txt"
usual='--set eval_every=2 --set eval_rows=4 --set clip=0.5 --set warmup=2 --set samples= --val-fraction 0.1'

# both NAME MODEL OPTIONS…: NAME has parts; NAME.all, of the same text, does not know what entries say, and so has all
both() {
    built "$@" --shard-parameters
    mkdir -p "$TMP/$1.all"
    cp "$TMP/$1"/model.* "$TMP/$1.all"
    sed 's/\.sayings = [0-9]*/.sayings = 0/' "$TMP/$1/tables.c" >"$TMP/$1.all/tables.c"
    must sh tests/sim/compile trainer "$TMP" "$TMP/$1.all"
}
# kind NAME GPUS OPTIONS…: the same bytes and scores
kind() {
    kind=$1 gpus=$2
    shift 2
    # shellcheck disable=SC2086
    {
        SIM_TAKEN=1 run "$kind" "$kind.b" --gpus "$gpus" $usual "$@"
        cp "$TMP/said" "$TMP/$kind.said"
        run "$kind.all" "$kind.a" --gpus "$gpus" $usual "$@"
    }
    alike_run "$kind.a" "$kind.b"
}
alike_run() {
    for file in "$TMP/$1"/checkpoints/latest/*.safetensors; do
        cmp "$file" "$TMP/$2/checkpoints/latest/${file##*/}" >"$TMP/said" 2>&1 || tell "$1 and $2: other bytes in ${file##*/}"
    done
    for run in "$1" "$2"; do sed -n 's/.*"split":"\([a-z]*\)".*"loss":\([0-9.]*\).*/\1 \2/p' "$TMP/$run/metrics.jsonl" >"$TMP/scores.$run"; done
    grep -q val "$TMP/scores.$1" || tell "$1 has not been evaluated"
    cmp "$TMP/scores.$1" "$TMP/scores.$2" >"$TMP/said" 2>&1 || tell "$1 and $2: other losses"
}
# needs NAME OPTIONS…: bytes of the GPU's memory that its trainer asks for
needs() {
    name=$1
    shift
    # shellcheck disable=SC2086
    ! timeout 100 "$TMP/$name/trainer" train $data --out "$TMP/none" --memory-limit 1 "$@" >"$TMP/said" 2>&1 || tell "1 byte is enough"
    sed -n 's/.* needs \([0-9]*\) bytes of the GPU.s memory.*/\1/p' "$TMP/said" | head -n 1
}

# ---- layers come and go, forward and backward; pages with two buckets; a last batch that not all GPUs have
gpt='models/gpt.lua --set layers=6 --set width=16 --set heads=2 --set seq=8 --set vocab=256 --set dropout=0.1 --set batch=1'
# shellcheck disable=SC2086
{
    both gpt $gpt
    kind gpt 3 --steps 3
    asked=$(needs gpt --gpus 3)
    [ "$(grep -c "^sim: $asked bytes are taken" "$TMP/gpt.said")" = 3 ] || { cat "$TMP/gpt.said"; tell "not the $asked bytes that it asks for, three times"; }
    [ "$asked" -lt "$(needs gpt.all --gpus 3)" ] || tell "parts take $asked bytes, all parameters no more"
    SIM_EARLY=1 run gpt gpt.half --gpus 3 $usual --steps 2 --set schedule_steps=3
    run gpt gpt.half --gpus 3 --steps 3 --resume
    alike_run gpt.a gpt.half
    run gpt gpt.half --gpus 2 --steps 4 --resume
    . tests/ranks/both
    if starter=$(by openmpi 3); then
        must $starter "$TMP/gpt/trainer" train $data --set log_every=1 --out "$TMP/gpt.mpi" $usual --steps 3
        alike_run gpt.a gpt.mpi
    else echo "note: $starter"; fi
}

# ---- the plan: tables of a larger model, whose kernels do not run
deep='models/gpt.lua --set layers=24 --set width=256 --set heads=2 --set seq=8 --set batch=2 --set vocab=256'
# shellcheck disable=SC2086
{
    must "$LATHE" build $deep --shard-parameters --target cuda --source -o "$TMP/deep"
    cp "$TMP/gpt/model.o" "$TMP/deep"
    must sh tests/sim/compile trainer "$TMP" "$TMP/deep"
    planned() { "$LATHE" plan $deep --target cuda --gpus 3 "$@" | sed -n '1s/^[^:]*: \([0-9,]*\) bytes.*/\1/p' | tr -d ,; }
    asked=$(unset LATHE_GPU_PAGE LATHE_NCCL_BUCKET; needs deep --gpus 3)
    [ "$asked" = "$(planned --shard-parameters)" ] || tell "$asked bytes are asked for, and not the $(planned --shard-parameters) of the plan"
    [ "$asked" -lt "$(planned)" ] || tell "parts take $asked bytes, all parameters $(planned)"
}

# ---- what does not go
FAKE_DRIVER=none refused 1 'has no virtual memory management' gpt --gpus 2
FAKE_DRIVER=12288 refused 1 'maps memory by 12288 bytes, and this trainer by 4096' gpt --gpus 2
LATHE_LIBCUDA="$TMP/nothing.so" refused 1 'the driver.s library was not found' gpt --gpus 2

# ---- micro-batches read the same parameters again; states make evaluations go along
if [ -n "${LATHE_LONG-}" ]; then
    both rnn models/char_rnn.lua --config tiny --set vocab=256 --set carry=true --set accumulate=2 --set batch=2
    kind rnn 2 --steps 4
    # shellcheck disable=SC2086
    both narrow $gpt --precision bf16 --parameters bf16
    kind narrow 2 --steps 4
fi

# ---- gradients one after the other, without parameters between them; in it, mistakes put into the runtime, which other losses or a
# complaint must show: what is read before it has come, rooms that are taken too early, rooms for fewer buckets than there are at once
table >"$TMP/table.csv"
data="--data $TMP/table.csv"
cat >"$TMP/sums.lua" <<'LUA'
return { config = { features = 4, classes = 3, batch = 2, n = 8, width = 1024 }, forward = function(c, input)
  local h = nn.linear(input.features, { name = "up", out = c.width })
  for i = 1, c.n do h = nn.relu(h + nn.param { name = "p" .. i, shape = { c.width }, init = nn.init.normal(0.5) }) end
  local logits = nn.linear(h, { name = "head", out = c.classes })
  return nn.cross_entropy(logits, input.targets), { logits = logits }
end, train = { optimizer = optim.adamw { lr = 0.01 }, steps = 3 }, data = data.csv { target = "class", val_fraction = 0.2 } }
LUA
both sums "$TMP/sums.lua"
kind sums 2 --steps 3
# shellcheck disable=SC2086
set -- sums sums.a $usual --steps 3
mistake runtime/cuda/parts.cu 'lathe_has(&now, k)' 'lathe_has(&now, k) && !stream' "$@"
mistake runtime/cuda/parts.cu 'wait_for(parts.added[before], stream)' 'continue' "$@"
mistake runtime/cuda/rooms.cu 'm->room[room_of[m->mapped]]' 'm->room[room_of[m->mapped] / 2]' "$@"
[ "$failed" = 0 ] || exit 1

# ---- the real driver's header
nvcc=$(command -v nvcc) || nvcc=/usr/local/cuda/bin/nvcc
cuda=$(dirname "$(dirname "$(readlink -f "$nvcc")")")/include
[ -e "$cuda/cuda.h" ] || { echo "note: CUDA's headers are not here: the driver's were not compared"; exit 0; }
{
    echo '#ifdef OURS'; echo '#include "cuda/driver_api.h"'; echo '#else'; echo '#include <cuda.h>'; echo '#endif'
    cat <<'HEAD'
#include <stdio.h>
#define VALUE(x) printf("%s = %d\n", #x, (int)x);
#define SIZE(x)  printf("%s: %zu bytes\n", #x, sizeof(x));
#define PLACE(x, y) printf("%s.%s: %zu, %zu bytes\n", #x, #y, __builtin_offsetof(x, y), sizeof(((x *)NULL)->y));
int main()
{
HEAD
    grep -oE '\bCU_[A-Z_]+ = ' runtime/cuda/driver_api.h | sed 's/\(.*\) = /VALUE(\1)/'
    for type in CUresult CUdevice CUdeviceptr CUmemGenericAllocationHandle CUmemLocation CUmemAllocationProp CUmemAccessDesc; do echo "SIZE($type)"; done
    for place in 'Location, type' 'Location, id' 'AllocationProp, type' 'AllocationProp, requestedHandleTypes' 'AllocationProp, location' 'AllocationProp, allocFlags' 'AccessDesc, location' 'AccessDesc, flags'; do
        echo "PLACE(CUmem$place)"
    done
    echo '}'
} >"$TMP/words.cc"
$CXX -std=gnu++17 -w -DOURS -Iruntime "$TMP/words.cc" -o "$TMP/ours"
$CXX -std=gnu++17 -w -I"$cuda" "$TMP/words.cc" -o "$TMP/theirs"
"$TMP/ours" >"$TMP/ours.txt"
"$TMP/theirs" >"$TMP/theirs.txt"
diff "$TMP/ours.txt" "$TMP/theirs.txt" || { echo "failed: < ours, > CUDA's"; exit 1; }
for name in $(grep -oE '\bX\(cu[A-Za-z]+\)' runtime/cuda/driver_api.h | sed 's/X(\(.*\))/\1/'); do
    ! grep -q "define $name " "$cuda/cuda.h" || { echo "failed: CUDA has another $name"; exit 1; }
done
echo "note: $(wc -l <"$TMP/ours.txt") values and sizes are those of CUDA's header"
