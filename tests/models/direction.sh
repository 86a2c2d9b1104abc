# direction.sh: a gpt trained by Muon, killed and resumed, with other numbers of threads: parameters, moments and Muon's momentum of the
# uninterrupted run, byte for byte; micro-batches, adapters and parameters in 16 bits; what it cannot do is refused.
set -eu
. tests/models/common
. tests/npy
. tests/models/killed
awk 'BEGIN { for (i = 0; i < 4000; i++) { x = (x * 1103515245 + 12345) % 2147483648; printf "%s", substr("etaoin shrdlu", x % 13 + 1, 1) } }' >"$TMP/text"
small="--config char --set layers=2 --set width=24 --set heads=2 --set seq=20 --set batch=4 --set optimizer=muon"
# shellcheck disable=SC2086
build() { must "$LATHE" build models/gpt.lua $small "$@"; }
build --set accumulate=2 -o "$TMP/gpt"
trainer=$TMP/gpt/trainer steps=120 kills=2 start="--data $TMP/text --tokenizer chars --steps 120 --save-every 7 --seed 5"
# shellcheck disable=SC2086
must "$trainer" train $start --out "$TMP/whole" --threads 1
killed_and_resumed
cmp "$TMP/whole/checkpoints/step-$steps/directions.safetensors" "$TMP/run/checkpoints/step-$steps/directions.safetensors"
awk -F '[:,]' '/"split":"train"/ { if (!first) first = $6; last = $6 } END { exit !(last < 0.8 * first) }' "$TMP/whole/metrics.jsonl" || tell "the loss has not fallen"

# ---- train's inputs, filled once, are still there in the next step; its kernels are told from those of the direction
# shellcheck disable=SC2086
must "$trainer" train --data "$TMP/text" --tokenizer chars --overfit --steps 600 --set warmup=0 --out "$TMP/overfit"
must "$trainer" profile --steps 2
grep -q ' 1 .* direction  *optim.muon' "$TMP/said" || tell "no row of the direction"
must "$trainer" bench --steps 2

# ---- a checkpoint of another optimizer has no momentum
must "$LATHE" build models/gpt.lua --config char --set layers=2 --set width=24 --set heads=2 --set seq=20 --set batch=4 --set accumulate=2 -o "$TMP/adamw"
must "$TMP/adamw/trainer" train --data "$TMP/text" --tokenizer chars --steps 3 --out "$TMP/other"
refuse 3 'expected a run of optim.muon, which this trainer was built with, found one of adamw' "$trainer" train --resume --out "$TMP/other" --steps 5
refuse 3 'expected a run of adamw, which this trainer was built with, found one of optim.muon' "$TMP/adamw/trainer" train --resume --out "$TMP/whole" --steps 125

# ---- which optimizers need no rebuild, and which do
must "$TMP/adamw/trainer" info
grep -q '^optimizers that have room here (--set optimizer=NAME): sgd, adamw, adam, lion, rmsprop$' "$TMP/said" || tell "info names other optimizers"
refuse 2 'take one that fits (sgd, adamw, adam, lion, rmsprop) or rebuild' "$TMP/adamw/trainer" train --data "$TMP/text" --tokenizer chars --set optimizer=schedule_free --out "$TMP/free"

# ---- the plan's lines have parts, which the categories count already
# shellcheck disable=SC2086
must "$LATHE" plan models/gpt.lua $small --set ema=0.9
tr -d , <"$TMP/said" | awk '
    /^memory of/ { match($0, /[0-9]+ bytes/); total = substr($0, RSTART) + 0 }
    /^  [a-z]/ { sum += $2; of[$1] = $2; last = $1 } /^    [a-z]/ { part[last] += $(NF - 1); name[$1]++ } /^train:/ { exit }
    END { exit !(sum == total && part["optimizer"] == of["optimizer"] && part["states"] == of["states"] && name["moments"] && name["mean"] && name["optim.muon"]) }' ||
    tell "the parts of the plan are not what their category has"

# ---- in turns: one turn of everything is what there is without turns; each of two has its own
cat >"$TMP/turns.lua" <<'END'
local muon = optim.muon { lr = 0.02, decay = 0.1, others = optim.adamw { lr = 0.005 } }
return {
  config = { batch = 4, wide = 6, turns = 0 },
  inputs = { x = { "f32", "wide" } },
  forward = function(c, input)
    local y = nn.scope("body", function() return nn.stack(2, input.x, function(x) return nn.tanh(nn.linear(x, { name = "up", out = c.wide })) end) end)
    local z = nn.scope("head", nn.linear, y, { name = "out", out = 3 })
    local a, b = (z * z):mean(), (y * y):mean()
    if c.turns == 0 then return a end
    return c.turns == 1 and { all = a } or { first = a, second = b }
  end,
  data = data.arrays {},
  train = function(c)
    if c.turns == 0 then return { optimizer = muon, steps = 30, clip = 0.5 } end
    return { steps = 30, clip = 0.5, turns = c.turns == 1 and { { loss = "all", of = { "body", "head" }, optimizer = muon } } or
      { { loss = "first", of = "head", optimizer = optim.lamb {} }, { loss = "second", of = "body", optimizer = muon, every = 2 } } }
  end,
}
END
mkdir "$TMP/arrays"
npy "$TMP/arrays/x.npy" '(90, 6)' "$(some_bytes 540)"
for turns in 0 1 2; do
    must "$LATHE" build "$TMP/turns.lua" --set turns=$turns -o "$TMP/turns$turns"
    must "$TMP/turns$turns/trainer" train --data "$TMP/arrays" --out "$TMP/run$turns" --save-every 15 --keep-last 0
done
for file in model optimizer directions; do cmp "$TMP/run0/checkpoints/latest/$file.safetensors" "$TMP/run1/checkpoints/latest/$file.safetensors"; done
must "$TMP/turns2/trainer" train --resume="$TMP/run2/checkpoints/step-15" --out "$TMP/run3"
for file in model optimizer directions; do cmp "$TMP/run2/checkpoints/latest/$file.safetensors" "$TMP/run3/checkpoints/latest/$file.safetensors"; done
must "$TMP/turns2/trainer" profile --turn second --steps 2
grep -q ' 1 .* direction  *optim.muon' "$TMP/said" || tell "no row of the second turn's direction"

# ---- clipping by value, parameters in 16 bits, adapters
build --set clip_value=0.01 -o "$TMP/clipped"
must "$TMP/clipped/trainer" train --data "$TMP/text" --tokenizer chars --steps 5 --out "$TMP/clipped-run"
build --precision bf16 --parameters bf16 -o "$TMP/bf16"
must "$TMP/bf16/trainer" train --data "$TMP/text" --tokenizer chars --steps 30 --out "$TMP/bf16-run"
build --lora rank=2 -o "$TMP/lora"
must "$TMP/lora/trainer" train --data "$TMP/text" --tokenizer chars --steps 5 --out "$TMP/lora-run" --init "$TMP/whole"
