# direction.sh: a gpt trained by Muon, killed and resumed, with other numbers of threads: parameters, moments and Muon's momentum of the
# uninterrupted run, byte for byte; micro-batches, adapters and parameters in 16 bits; what it cannot do is refused.
set -eu
. tests/models/common
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
refuse 3 'optimizer' "$trainer" train --resume --out "$TMP/other" --steps 5

# ---- clipping by value, parameters in 16 bits, adapters
build --set clip_value=0.01 -o "$TMP/clipped"
must "$TMP/clipped/trainer" train --data "$TMP/text" --tokenizer chars --steps 5 --out "$TMP/clipped-run"
build --precision bf16 --parameters bf16 -o "$TMP/bf16"
must "$TMP/bf16/trainer" train --data "$TMP/text" --tokenizer chars --steps 30 --out "$TMP/bf16-run"
build --lora rank=2 -o "$TMP/lora"
must "$TMP/lora/trainer" train --data "$TMP/text" --tokenizer chars --steps 5 --out "$TMP/lora-run" --init "$TMP/whole"
