# optimizers.sh: optimizers written in Lua and means of the weights, by the trainer for a GPU in the simulator beside the CPU's: losses of
# 12 steps, evaluations, states that a checkpoint keeps; stopped and resumed to the same bytes; the plan's bytes and no other;
# clipping and frozen layers; steps that fp16 skips.
. tests/sim/both
. tests/npy

mkdir "$TMP/arrays"
npy "$TMP/arrays/x.npy" '(90, 8)' "$(some_bytes 720)"
cat compiler/*/*.c | head -c 20000 >"$TMP/text.txt"
text="--data $TMP/text.txt"
steps=12

# ---- each of them, in doubles: every element as on the CPU; layers that are frozen keep theirs
bound=1e-9
sed 's/clip = 1.5 }/clip = 1.5, groups = { { match = "*.1.up.weight", frozen = true } } }/' tests/models/directed.lua >"$TMP/frozen.lua"
model=$TMP/frozen.lua
for kind in muon muon_plain adafactor lamb own; do
    both $kind "$model" --precision fp64 --set kind=$kind --set clip_value=0.05
    trained --data "$TMP/arrays" --set warmup=5
    kept model 8 1e-9
    kept directions 8 1e-9
    model=tests/models/directed.lua
done

small='--set layers=2 --set width=16 --set heads=2 --set seq=8 --set batch=2 --set warmup=5'
bound=1e-3
# Muon takes most of a step here, so it has one matrix of each layer.
sed 's/^ *optimizer = optimizer,/      layer_decay = 0.8, &/; s/optim.muon { /&match = { "h.*.attn.c_proj.weight" }, /' models/gpt.lua >"$TMP/gpt.lua"
# shellcheck disable=SC2086
both gpt "$TMP/gpt.lua" $small --set optimizer=muon --set accumulate=2 --set ema=0.9
# shellcheck disable=SC2086
trained $text --eval-every 10 --set eval_rows=5 --set clip=0.5 --set clip_weights=0.3
agree eval --out "$TMP/gpt.b" --set eval_rows=7
must "$gpu" bench --steps 1
must "$gpu" profile --steps 1
grep -q ' 1 .* direction  *optim.muon' "$TMP/said" || tell "gpt: no row of the direction"
# shellcheck disable=SC2086
SIM_REFUSES='algorithm:2 product:9 graph' must "$gpu" train $text --eval-every 10 --set eval_rows=5 --set clip=0.5 --set clip_weights=0.3 --steps $steps --out "$TMP/gpt.e"
same "$TMP/gpt.a" "$TMP/gpt.e" "$bound"
# shellcheck disable=SC2086
refused 4 'step [0-9]* diverged' train $text --steps 20 --set lr=1e30 --set warmup=0 --set clip=0 --out "$TMP/gpt.d"

# ---- the mean of weights is evaluated and saved, what is trained is kept beside it
sed 's/^ *optimizer = optimizer,/      optimizer = optim.schedule_free { lr = 0.01, decay = c.decay },/' models/gpt.lua >"$TMP/free.lua"
# shellcheck disable=SC2086
both free "$TMP/free.lua" $small
# shellcheck disable=SC2086
trained $text --eval-every 7 --set eval_rows=5
kept trained 4 1e-3
! cmp -s "$TMP/free.b/checkpoints/step-$steps/trained.safetensors" "$TMP/free.b/checkpoints/step-$steps/model.safetensors" || tell "free: the model is what was trained"
# shellcheck disable=SC2086
refuse 1 'take --precision bf16' "$LATHE" check "$TMP/free.lua" $small --precision fp16 --target cuda

# ---- moments in 8 bits: the CPU's codes
bound=1e-9
both coded models/gpt.lua --set layers=1 --set width=32 --set heads=2 --set seq=8 --set batch=2 --precision fp64 --set bits=8 --set ema=0.9
# shellcheck disable=SC2086
trained $text --eval-every 10 --set eval_rows=5 --set warmup=5
kept model 8 1e-9
grep -q '"dtype":"U8"' "$TMP/coded.b/checkpoints/step-$steps/optimizer.safetensors" || tell "coded: no codes are kept"
must "$gpu" bench --steps 1
refused 2 'on one GPU only; set bits=32' train --data "$TMP/text.txt" --gpus 2 --steps 2 --out "$TMP/coded.d"

both coded32 models/gpt.lua --set layers=1 --set width=32 --set heads=2 --set seq=8 --set batch=2 --set bits=8
bound=1e-4
# shellcheck disable=SC2086
trained $text --eval-every 10 --set eval_rows=5 --set warmup=5
kept model 4 1e-4

# ---- parameters in 16 bits
bound=3e-2
# shellcheck disable=SC2086
both bf16 "$TMP/gpt.lua" $small --set optimizer=muon --set ema=0.9 --precision bf16 --parameters bf16
# shellcheck disable=SC2086
trained $text --eval-every 10 --set eval_rows=5

# ---- steps that overflow fp16 change no state and no mean, and do not count as updates
awk '/^local function own/ { print; print "  local n = s.state(\"count\", { 1 })"; print "  s.keep(\"count\", n + 1)"
        print "  s.state(\"last\", { 1 })"; print "  s.keep(\"last\", 0 * n + s.update)"; print "  return g"; print "end"; over = 1 }
    !over { sub(/:mean\(\)/, "&* 4096"); print }
    /^end/ { over = 0 }' tests/models/directed.lua >"$TMP/counts.lua"
name=counts gpu=$TMP/counts/trainer
must "$LATHE" build "$TMP/counts.lua" --set kind=own --set ema=0.9 --precision fp16 --target cuda --source -o "$TMP/counts"
must sh tests/sim/compile trainer "$TMP" "$TMP/counts"
numbers() { # FILE: those of a file of weights or states, a line each
    od -A n -v -w4 -t f4 -j $((8 + $(od -A n -t u8 -N 8 "$1"))) "$1"
}
must "$gpu" train --data "$TMP/arrays" --steps 20 --out "$TMP/counts.b"
skipped=$(sed -n 's/.*"skipped": *\([0-9]*\).*/\1/p' "$TMP/counts.b/checkpoints/step-20/state.json")
[ "${skipped:-0}" -gt 1 ] || tell "fp16: no step is skipped"
numbers "$TMP/counts.b/checkpoints/step-20/directions.safetensors" | awk -v all=$((20 - skipped)) '$1 != all { bad = 1; print } END { exit bad || NR < 4 }' >"$TMP/said" ||
    tell "fp16: of 20 steps $skipped are skipped, and states count otherwise"
# The first mean has 0.9 of the weights after the first update.
must "$gpu" init --seed 1 --out "$TMP/drawn.safetensors"
must "$gpu" train --data "$TMP/arrays" --seed 1 --steps $((skipped + 1)) --out "$TMP/counts.c"
last=$TMP/counts.c/checkpoints/step-$((skipped + 1))
numbers "$TMP/drawn.safetensors" >"$TMP/first"
numbers "$last/trained.safetensors" | head -n "$(wc -l <"$TMP/first")" >"$TMP/second" # the mean follows, unrounded
numbers "$last/model.safetensors" | paste "$TMP/first" "$TMP/second" - | awk '
    { off += ($3 - 0.1 * $1 - 0.9 * $2) ^ 2; all += ($2 - $1) ^ 2 } END { print off, all; exit !(all > 0 && off <= 1e-6 * all) }' >"$TMP/said" ||
    tell "fp16: skipped steps count in the mean"
