# carry.sh: an LSTM that carries its state from batch to batch over a text that goes on: killed at random steps and resumed
# with other threads, the same bytes as without, states too; better than one that begins anew where much depends on it; less
# memory, replay; what does not fit.  2 kills; 20 with LATHE_LONG=1.
set -eu
kills=2
[ -z "${LATHE_LONG:-}" ] || kills=20
steps=$((100 + 30 * kills))
. tests/models/common
# A letter for forty places, then another one: which, shows only at the change.
awk 'BEGIN {
    for (i = 0; i < 1500; i++) {
        x = (x * 1103515245 + 12345) % 2147483648
        letter = substr("abcdefgh", x / 65536 % 8 + 1, 1)
        printf "%s", letter
        for (k = 0; k < 39; k++) printf "."
        printf "%s\n", letter
    }
}' >"$TMP/t.txt"
model="models/char_rnn.lua --set hidden=24 --set width=12 --set seq=14 --set batch=4 --set accumulate=2 --set vocab=16"
# shellcheck disable=SC2086
must "$LATHE" build $model --set layers=2 --set carry=true -o "$TMP/built"
trainer="$TMP/built/trainer"
start="--data $TMP/t.txt --steps $steps --seed 7 --eval-every 25 --save-every 7 --set samples=2 --set sample_tokens=30"

# shellcheck disable=SC2086
must "$trainer" train $start --out "$TMP/whole" --threads 1
. tests/models/killed
killed_and_resumed
cmp "$TMP/whole/checkpoints/step-$steps/states.safetensors" "$TMP/run/checkpoints/step-$steps/states.safetensors"
# Stretches end where the epoch does: 498 windows of 14 tokens in each of 8 rows.
must "$trainer" train --data "$TMP/t.txt" --steps 510 --out "$TMP/long" --set log_every=1
must "$trainer" train --data "$TMP/t.txt" --steps 480 --set schedule_steps=510 --out "$TMP/halves"
must "$trainer" train --resume --out "$TMP/halves" --steps 510
cmp "$TMP/long/model.safetensors" "$TMP/halves/model.safetensors" || tell "another model beyond an epoch's end"
must "$trainer" eval --out "$TMP/long"
grep -q 'windows of 14 tokens, in stretches that carry their state on' "$TMP/said" || tell "no word of stretches"
must "$trainer" train --data "$TMP/t.txt" --dry-run
must "$trainer" bench --steps 2
refuse 1 'overfit: the loss went' "$trainer" train --data "$TMP/t.txt" --overfit --steps 3

# damage, another batch, a run that carried nothing
cp -r "$TMP/whole/checkpoints/step-$steps" "$TMP/damaged"
printf x | dd of="$TMP/damaged/states.safetensors" bs=1 seek=300 conv=notrunc 2>/dev/null
refuse 3 'states.safetensors' "$trainer" train --resume="$TMP/damaged" --out "$TMP/other" --steps 999
# shellcheck disable=SC2086
must "$LATHE" build $model --set layers=2 --set carry=true --set batch=3 -o "$TMP/three"
refuse 3 'states belong to a batch' "$TMP/three/trainer" train --resume="$TMP/whole" --out "$TMP/other" --steps 999
# shellcheck disable=SC2086
must "$LATHE" build $model --set layers=2 -o "$TMP/plain"
must "$TMP/plain/trainer" train --data "$TMP/t.txt" --order contiguous --steps 5 --out "$TMP/without"
refuse 3 'carries a state from step to step' "$trainer" train --resume="$TMP/without" --out "$TMP/other" --steps 9
refuse 2 'that is order=contiguous, and this run has another' "$trainer" train --data "$TMP/t.txt" --order windows --out "$TMP/other"
head -c 120 "$TMP/t.txt" >"$TMP/short.txt"
refuse 3 'for each of the 8 rows' "$trainer" train --data "$TMP/short.txt" --out "$TMP/other"
refuse 2 'this model carries states' "$trainer" train --data models --out "$TMP/other"

# The letter at a block's end, forty places after its beginning, lies in another window.
loss() { sed -n '/"split":"val"/s/.*"loss":\([0-9.]*\),.*/\1/p' "$TMP/$1/metrics.jsonl" | tail -n 1; }
for how in true false; do
    # shellcheck disable=SC2086
    must "$LATHE" build $model --set carry=$how -o "$TMP/$how"
    must "$TMP/$how/trainer" train --data "$TMP/t.txt" --steps 1500 --set lr=5e-3 --set warmup=0 --set eval_rows=64 --set eval_every=0 --out "$TMP/run-$how"
done
echo "note: loss $(loss run-true) with the state carried, $(loss run-false) without"
awk "BEGIN { exit !($(loss run-true) < $(loss run-false) - 0.02) }" || tell "carrying the state is of no use"

# less memory cuts micro-batches: rows and their states stay what they are; replay needs the state
# shellcheck disable=SC2086
must "$LATHE" plan $model --set carry=true --json
must "$LATHE" replay models/char_rnn.lua --set hidden=24 --set width=12 --set seq=14 --set batch=4 --set accumulate=2 \
    --set vocab=16 --set layers=2 --set carry=true --checkpoint "$TMP/whole/checkpoints/step-$((steps / 7 * 7))" --step $((steps / 7 * 7 + 2))
refuse 2 'carries states from step to step' "$LATHE" replay models/char_rnn.lua --set hidden=24 --set width=12 --set seq=14 \
    --set batch=4 --set accumulate=2 --set vocab=16 --set layers=2 --set carry=true --weights "$TMP/whole/model.safetensors" --step 9 --data "$TMP/t.txt"
