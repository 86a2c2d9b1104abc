# preference.sh: preference pairs (--prefer) by the trainer for a GPU in the simulator beside the CPU's: the reference, losses, evaluations
# with a batch that is not full; the plan's bytes and no other; resumed to the same bytes.
set -eu
. tests/sim/libraries
export LATHE_CACHE=off LATHE_CUDA_TUNE=off LATHE_CUDNN=none
sh tests/sim/compile simulator "$TMP" || exit
tell() { cat "$TMP/said"; echo "FAILED: $*"; exit 1; }
must() { timeout 300 "$@" >"$TMP/said" 2>&1 || tell "exit code $?: $*"; }
. tests/sim/same

awk 'BEGIN { for (i = 0; i < 17; i++) printf "{\"prompt\": \"what is %d?\", \"chosen\": \"it is %d.\", \"rejected\": \"no idea %d!\"}\n", i, i * i, i }' >"$TMP/pairs.jsonl"
small="models/llama.lua --set layers=2 --set width=32 --set hidden=64 --set seq=24 --set batch=2 --set accumulate=2 --prefer dpo,beta=0.5"
# shellcheck disable=SC2086
must "$LATHE" build $small -o "$TMP/cpu"
# shellcheck disable=SC2086
must "$LATHE" build $small --target cuda --source -o "$TMP/gpu"
must sh tests/sim/compile trainer "$TMP" "$TMP/gpu"
gpu=$TMP/gpu/trainer

must "$TMP/cpu/trainer" train --data "$TMP/pairs.jsonl" --val-fraction 0.3 --steps 12 --eval-every 6 --set warmup=0 --out "$TMP/a"
SIM_TAKEN=1 must "$gpu" train --data "$TMP/pairs.jsonl" --val-fraction 0.3 --steps 12 --eval-every 6 --set warmup=0 --save-every 5 --keep-last 0 --out "$TMP/b"
planned=$(sed -n '1s/^[^:]*: \([0-9,]*\) bytes.*/\1/p' "$TMP/gpu/plan.txt" | tr -d ,)
grep -q "^sim: $planned bytes are taken" "$TMP/said" || tell "not the $planned bytes of the plan"
grep -q rewards_margin "$TMP/b/metrics.jsonl" || tell "no evaluation of pairs"
same "$TMP/a" "$TMP/b" 1e-4
SIM_EARLY=1 must "$gpu" train --resume="$TMP/b/checkpoints/step-5" --out "$TMP/c"
cmp "$TMP/b/checkpoints/step-12/model.safetensors" "$TMP/c/checkpoints/step-12/model.safetensors" || tell "resumed to other bytes"
cmp "$TMP/b/reference.safetensors" "$TMP/c/reference.safetensors" || tell "another reference"
