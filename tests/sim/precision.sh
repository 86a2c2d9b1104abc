# precision.sh: trainers for a GPU under bf16, with weights of bf16 too, fp16 and tf32, in the simulator: losses of 20 steps within 2e-2 of the CPU's fp32, stopped
# and resumed to the same bytes.  fp16: where gradients overflow the step is not taken, the loss scale is halved and told of, counted in
# the checkpoint and gone on with.  Gradients of the command grad are those of fp32.
set -eu
. tests/sim/libraries
export LATHE_CACHE=off LATHE_CUDA_TUNE=off
sh tests/sim/compile simulator "$TMP" || exit
. tests/models/common
must() { timeout 300 "$@" >"$TMP/said" 2>&1 || tell "exit code $?: $*"; }
cat compiler/*/*.c | head -c 20000 >"$TMP/text.txt"

# A gpt whose gradients of the logits reach 4 times the loss scale.
sed 's/return loss,/return loss * 64,/' models/gpt.lua >"$TMP/loud.lua"
grep -q 'loss \* 64' "$TMP/loud.lua" || { echo "FAILED: models/gpt.lua returns its loss in other words"; exit 1; }
loud="$TMP/loud.lua --set layers=2 --set width=16 --set heads=2 --set seq=16 --set batch=2 --set clip=1"
# shellcheck disable=SC2086  # the arguments are words
must "$LATHE" build $loud -o "$TMP/fp32"
flags() { case $1 in weights) echo "--precision bf16 --parameters bf16" ;; *) echo "--precision $1" ;; esac; }
for p in bf16 weights fp16 tf32; do
    # shellcheck disable=SC2086,SC2046
    must "$LATHE" build $loud --target cuda --source $(flags $p) -o "$TMP/$p"
    must sh tests/sim/compile trainer "$TMP" "$TMP/$p"
done
train() {       # PRECISION OUT OPTIONS…
    p=$1 out=$2
    shift 2
    must "$TMP/$p/trainer" train --data "$TMP/text.txt" --seed 3 --set warmup=5 --set log_every=1 --out "$TMP/$out" "$@"
}
losses() { sed -n 's/.*"step":\([0-9]*\),"split":"train","loss":\([^,]*\),.*/\1 \2/p' "$TMP/$1/metrics.jsonl"; }
state() { sed -n "s/.*\"$2\": *\([0-9]*\).*/\1/p" "$TMP/$1/state.json"; }

train fp32 wide --steps 20
losses wide >"$TMP/wide.losses"
for p in bf16 weights fp16 tf32; do
    train $p $p.whole --steps 20 --save-every 7
    cp "$TMP/said" "$TMP/$p.said"
    losses $p.whole >"$TMP/$p.losses"
    awk -v p=$p 'FNR == NR { wide[$1] = $2; next }
        { off = (wide[$1] - $2) / wide[$1]; off = off < 0 ? -off : off; worst = off > worst ? off : worst; n++ }
        END { printf "note: %s: %d losses within %.1e of the CPU'"'"'s fp32\n", p, n, worst; exit !(n > 12 && worst <= 2e-2) }' \
        "$TMP/wide.losses" "$TMP/$p.losses" || { cat "$TMP/$p.losses"; tell "$p: other losses"; }
    train $p $p.parts --steps 7 --set schedule_steps=20
    train $p $p.parts --steps 20 --resume
    for file in model optimizer; do
        cmp "$TMP/$p.whole/checkpoints/step-20/$file.safetensors" "$TMP/$p.parts/checkpoints/step-20/$file.safetensors" ||
            tell "$p: resumed to another $file"
    done
done

# What overflowed: told of step by step, halving each time, in the checkpoint too; parameters stay.
skipped=$(grep -c 'is skipped' "$TMP/fp16.said") || tell "fp16: no step is skipped"
grep -q 'step 1 | loss scale 65536: gradients overflowed fp16; the step is skipped (1 so far), and the scale is now 32768' \
    "$TMP/fp16.said" || { cat "$TMP/fp16.said"; tell "fp16: the first step says nothing of its scale"; }
for run in whole parts; do
    at=fp16.$run/checkpoints/step-20
    [ "$(state $at skipped)" = "$skipped" ] && [ "$(state $at scale)" = $((65536 >> skipped)) ] && [ "$(state $at good)" -gt 10 ] ||
        { cat "$TMP/$at/state.json"; tell "fp16: $skipped steps were skipped, and the checkpoint says otherwise"; }
done
must "$TMP/fp16/trainer" init --seed 3 --out "$TMP/drawn.safetensors"
train fp16 one --steps 1
# The command grad: of the loss times as much as the gradients bear, which is less than it begins with, and divided by that.
ids() { awk -v k="$1" 'BEGIN { for (i = 0; i < 32; i++) printf "\\%03o\\000\\000\\000", i * k % 128 }'; }
head='{"tokens":{"dtype":"I32","shape":[2,16],"data_offsets":[0,128]},"targets":{"dtype":"I32","shape":[2,16],"data_offsets":[128,256]}}'
# shellcheck disable=SC2059
{ printf "\\$(printf %03o ${#head})\\000\\000\\000\\000\\000\\000\\000%s" "$head"; printf "$(ids 7)$(ids 11)"; } >"$TMP/in.safetensors"
for p in fp32 fp16; do
    must "$TMP/$p/trainer" grad --weights "$TMP/drawn.safetensors" --inputs "$TMP/in.safetensors" --out "$TMP/$p.grad" --only gradients
    at=$(($(od -A n -t u8 -N 8 "$TMP/$p.grad") + 8))
    od -A n -v -t f4 -w4 -j "$at" "$TMP/$p.grad" >"$TMP/$p.numbers"
done
paste "$TMP/fp32.numbers" "$TMP/fp16.numbers" | awk '{ off += ($1 - $2) ^ 2; all += $1 ^ 2; odd += $2 !~ /^-?[0-9]/ }
    END { printf "note: fp16: %d gradients, off by %.1e of their norm\n", NR, sqrt(off / all); exit !(NR > 5000 && !odd && off <= 1e-5 * all) }' || tell "fp16: gradients"
cmp "$TMP/drawn.safetensors" "$TMP/one/model.safetensors" || tell "fp16: a step that overflowed changed parameters"
echo "note: fp16: $skipped steps skipped, the scale is $((65536 >> skipped))"
# Weights of bf16: products read them as they are, and 2 bytes of each are kept.
grep -q '[*]p->h\[l\].mlp_c_fc_weight, false' "$TMP/weights/model.cu" || tell "weights: no product reads a parameter"
! grep -q weight_bf16 "$TMP/weights/model.cu" || tell "weights: one is cast"
size() { wc -c <"$TMP/$1.whole/checkpoints/step-20/$2.safetensors"; }
[ $((10 * $(size weights model))) -lt $((7 * $(size bf16 model))) ] && [ "$(size weights optimizer)" = "$(size bf16 optimizer)" ] || tell "weights: $(size weights model) bytes"
grep -q GEMM_TF32 "$TMP/tf32/model.cu" || tell "tf32: its products are not of that kind"
