# card.sh: the model card of an exported folder: data, recipe and results of the run that the weights are from, up to their step.
# A card that is there stays; weights of no run have a short one.
set -eu
. tests/models/common
small="--set layers=1 --set width=32 --set heads=2 --set seq=16 --set batch=4 --set vocab=256 --set tokenizer=bytes"
seq 1 900 | sed 's/.*/& times a|b/' >"$TMP/num|bers.txt"
# shellcheck disable=SC2086
must "$LATHE" build models/gpt.lua --config char $small --set eval_every=5 --lora rank=2 -o "$TMP/gpt"
gpt=$TMP/gpt/trainer
must $gpt init --out "$TMP/begin.safetensors"
must $gpt train --data "$TMP/num|bers.txt" --init "$TMP/begin.safetensors" --steps 10 --save-every 5 --set keep_last=3 --seed 7 --out "$TMP/run"

# says FOLDER LINE…
says() {
    card=$1/README.md; shift
    for line in "$@"; do grep -Fqx -- "$line" "$card" || { echo "no line \"$line\" in"; cat "$card"; exit 1; }; done
}
of_step() { # STEP SPLIT: its loss
    grep "\"step\":$1,\"split\":\"$2\"" "$TMP/run/metrics.jsonl" | sed 's/.*"loss":\([^,]*\),.*/\1/' | awk '{ printf "%.6g\n", $1 }'
}
must $gpt export --to hf --weights "$TMP/run" --out "$TMP/last"
says "$TMP/last" 'library_name: transformers' '# gpt' '| started from | begin.safetensors |' '| data | num/bers.txt |' \
    '| steps | 10 |' '| seq | 16 |' '| optimizer | adamw |' '| seed | 7 |' "| training loss, of the last step | $(of_step 10 train) |" \
    "| validation loss | $(of_step 10 val) |"
must $gpt export --to hf --weights "$TMP/run/checkpoints/step-5" --out "$TMP/early"
says "$TMP/early" '| steps | 5 |' "| validation loss | $(of_step 5 val) |"
must $gpt export --to peft --weights "$TMP/run" --out "$TMP/adapter"
says "$TMP/adapter" 'library_name: peft' '| steps | 10 |'

echo mine >"$TMP/last/README.md"
must $gpt export --to hf --weights "$TMP/run" --out "$TMP/last"
grep -q 'stays as it is' "$TMP/said" || { echo "no word about the card"; exit 1; }
[ "$(cat "$TMP/last/README.md")" = mine ]
must $gpt export --to hf --weights "$TMP/begin.safetensors" --out "$TMP/none"
! grep -q '^|' "$TMP/none/README.md"
