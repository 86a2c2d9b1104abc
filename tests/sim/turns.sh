# turns.sh: a model that trains in turns (tests/models/turns.lua), by the trainer for a GPU in the simulator beside the CPU's: losses of
# 20 steps, micro-batches, evaluations; with optimizers in Lua and a mean of the weights, too; resumed in the middle to the same bytes, with streams that get ahead of each other; the plan's
# bytes and no other; bench and profile of each turn; a turn that diverges stops the updates of all; several GPUs are refused.
. tests/sim/both
. tests/npy

mkdir "$TMP/data"
npy "$TMP/data/x.npy" '(90, 5)' "$(some_bytes 450)"
npy "$TMP/data/z.npy" '(90, 3)' "$(some_bytes 270)"

# in_turns NAME DESCRIPTION FILES…: those that its checkpoint has
in_turns() {
    both "$1" "$2" $settings --set normal=true --set drawn=true --set batch=4 --set accumulate=2 --set steps=20
    shift 2
    must "$TMP/$name-cpu/trainer" train --data "$TMP/data" --out "$TMP/$name.a"
    SIM_TAKEN=1 must "$gpu" train --data "$TMP/data" --out "$TMP/$name.b" --save-every 7 --keep-last 0
    planned=$(sed -n '1s/^[^:]*: \([0-9,]*\) bytes.*/\1/p' "$TMP/$name/plan.txt" | tr -d ,)
    grep -q "^sim: $planned bytes are taken" "$TMP/said" || tell "not the $planned bytes of the plan"
    same "$TMP/$name.a" "$TMP/$name.b" 1e-4
    SIM_EARLY=1 must "$gpu" train --resume="$TMP/$name.b/checkpoints/step-7" --out "$TMP/$name.c"
    SIM_REFUSES=graph must "$gpu" train --data "$TMP/data" --out "$TMP/$name.d"
    for file in "$@"; do
        cmp "$TMP/$name.b/checkpoints/step-20/$file.safetensors" "$TMP/$name.c/checkpoints/step-20/$file.safetensors" || tell "resumed to other bytes"
        cmp "$TMP/$name.b/checkpoints/step-20/$file.safetensors" "$TMP/$name.d/checkpoints/step-20/$file.safetensors" || tell "other bytes without graphs"
    done
    for turn in discriminator generator encoding; do
        must "$gpu" bench --turn $turn --steps 4
        must "$gpu" profile --turn $turn --steps 1
        grep -q ' optimizer_step ' "$TMP/said" || tell "profile of $turn"
    done
}

settings=
in_turns turns tests/models/turns.lua model optimizer
sed 's/optimizer = optim.sgd {.*nesterov = true }/optimizer = optim.muon { match = { "*up.weight", "*out.weight" }, others = optim.sgd { lr = 0.05, momentum = 0.9 } }/
    s/optimizer = optim.adamw { lr = 1e-2, decay = 0.1 }/optimizer = optim.lamb { lr = 1e-2, decay = 0.1 }/' tests/models/turns.lua >"$TMP/owns.lua"
settings='--set ema=0.9'
in_turns owns "$TMP/owns.lua" model optimizer directions trained
grep -q ' 1 .* direction  *optim.lamb' "$TMP/said" || tell "no row of the last turn's direction"
for file in model trained; do kept $file 4 1e-4; done
! cmp -s "$TMP/owns.b/checkpoints/step-20/trained.safetensors" "$TMP/owns.b/checkpoints/step-20/model.safetensors" || tell "the model is what was trained"

# ---- the first turn overflows, and the others would not: nothing is updated any more, so the parameters that are kept are the CPU's
awk '/name = "encoding"/ { next }
     /loss = "discriminator"/ { print "{ name = \"encoding\", loss = \"encoder\", of = \"encoder\", optimizer = optim.sgd { lr = 1e20 } }," }
     { print }' tests/models/turns.lua >"$TMP/wild.lua"
both wild "$TMP/wild.lua"
timeout 60 "$gpu" train --data "$TMP/data" --out "$TMP/two" --gpus 2 >"$TMP/said" 2>&1 && tell "two GPUs are taken"
grep -q 'wild.lua:[0-9]*: turns train in one process' "$TMP/said" || tell "two GPUs are refused without a reason"
for side in wild wild-cpu; do
    code=0
    timeout 60 "$TMP/$side/trainer" train --data "$TMP/data" --out "$TMP/$side-run" --steps 20 >"$TMP/said" 2>&1 || code=$?
    [ $code = 4 ] && grep -q 'expected a finite loss of turn encoding' "$TMP/said" || tell "$side: exit code $code"
    file=$TMP/$side-run/diverged.safetensors
    od -A n -v -t f4 -w4 -j $(($(od -A n -t u8 -N 8 "$file") + 8)) "$file" >"$TMP/$side.txt"
done
paste "$TMP/wild.txt" "$TMP/wild-cpu.txt" | awk '$1 ^ 2 < 1e6 { n++; off += ($1 - $2) ^ 2; all += $1 ^ 2 }
    END { print n " numbers, off by " sqrt(off / all); exit !(n > 100 && off <= 1e-10 * all) }' >"$TMP/said" || tell "other parameters than the CPU's"

# ---- several losses without turns: each by its name, as on the CPU
both together tests/models/turns.lua --set together=true --set batch=4 --set accumulate=2 --set steps=4
must "$TMP/together-cpu/trainer" train --data "$TMP/data" --out "$TMP/e"
must "$gpu" train --data "$TMP/data" --out "$TMP/f"
same "$TMP/e" "$TMP/f" 1e-4
for loss in discriminator encoder generator; do
    for run in e f; do sed -n "s/.*\"split\":\"train\".*\"$loss\":\([-0-9.e]*\),.*/\1/p" "$TMP/$run/metrics.jsonl" >"$TMP/$run.losses"; done
    paste "$TMP/e.losses" "$TMP/f.losses" | awk '{ n++; off = $1 - $2; if (off * off > 1e-8) exit 1 } END { if (n != 4) exit 1 }' || tell "$loss differs on the device"
done
