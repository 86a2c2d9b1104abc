# averages.sh: a running mean of the weights (ema), and schedule-free AdamW's: it is evaluated and saved as model.safetensors; a run that is
# killed and resumed ends with the bytes of the uninterrupted one; without the mean it goes on with what was trained.
set -eu
. tests/models/common
. tests/npy
. tests/models/killed
awk 'BEGIN { for (i = 0; i < 4000; i++) { x = (x * 1103515245 + 12345) % 2147483648; printf "%s", substr("etaoin shrdlu", x % 13 + 1, 1) } }' >"$TMP/text"
small="--config char --set layers=2 --set width=24 --set heads=2 --set seq=20 --set batch=4 --set lr=0.01 --set warmup=0"
# shellcheck disable=SC2086
build() { must "$LATHE" build models/gpt.lua $small "$@"; }
data="--data $TMP/text --tokenizer chars"

# The evaluation at the end of a run is that of its model.safetensors.
evaluated() { # RUN
    # shellcheck disable=SC2086
    must "$trainer" eval --out "$1" $data --json
    seen=$(sed -n 's/.*"loss": *\([0-9.]*\).*/\1/p' "$TMP/said" | head -1)
    logged=$(grep '"split":"val"' "$1/metrics.jsonl" | tail -1 | sed 's/.*"loss":\([0-9.]*\).*/\1/')
    awk -v a="$seen" -v b="$logged" 'BEGIN { exit !(a > 0 && (a - b) ^ 2 < 1e-10) }' || tell "eval says $seen, the run said $logged"
}

for kind in ema=0.95 optimizer=schedule_free; do
    rm -rf "$TMP/whole" "$TMP/run"
    case $kind in ema*) build --set "$kind" -o "$TMP/gpt" ;; *)
        sed 's/^ *optimizer = optimizer,/      optimizer = optim.schedule_free { lr = c.lr, decay = c.decay },/' models/gpt.lua >"$TMP/free.lua"
        # shellcheck disable=SC2086
        must "$LATHE" build "$TMP/free.lua" $small -o "$TMP/gpt" ;; esac
    trainer=$TMP/gpt/trainer steps=120 kills=2 start="$data --steps 120 --save-every 7 --eval-every 25 --seed 5"
    # shellcheck disable=SC2086
    must "$trainer" train $start --out "$TMP/whole" --threads 1
    killed_and_resumed
    cmp "$TMP/whole/checkpoints/step-$steps/trained.safetensors" "$TMP/run/checkpoints/step-$steps/trained.safetensors"
    cmp "$TMP/whole/checkpoints/step-$steps/trained.safetensors" "$TMP/whole/checkpoints/step-$steps/model.safetensors" >/dev/null &&
        tell "the model is what was trained"
    evaluated "$TMP/whole"
done

# ---- without the mean, a run goes on with what was trained; a run without it has none
build --set ema=0.95 -o "$TMP/gpt"
trainer=$TMP/gpt/trainer
# shellcheck disable=SC2086
must "$trainer" train $data --steps 20 --out "$TMP/mean"
# shellcheck disable=SC2086
must "$trainer" train $data --steps 20 --set ema=0 --out "$TMP/plain"
must "$trainer" train --resume="$TMP/mean" --set ema=0 --steps 40 --out "$TMP/mean"
must "$trainer" train --resume="$TMP/plain" --steps 40 --out "$TMP/plain"
cmp "$TMP/mean/checkpoints/step-40/model.safetensors" "$TMP/plain/checkpoints/step-40/model.safetensors"
refuse 3 'expected trained.safetensors: this run keeps a mean of the weights' "$trainer" train --resume="$TMP/plain" --set ema=0.9 --steps 50 --out "$TMP/plain"

# ---- in 16 bits; by turns; not both
build --precision bf16 --parameters bf16 --set ema=0.9 -o "$TMP/bf16"
trainer=$TMP/bf16/trainer
# shellcheck disable=SC2086
must "$trainer" train $data --steps 30 --out "$TMP/bf16-run"
evaluated "$TMP/bf16-run"
# Evaluations change nothing: norms count the padding between gradients, where weights are kept aside.
for every in 0 3; do
    # shellcheck disable=SC2086
    must "$trainer" train $data --steps 9 --set clip=0.1 --set eval_every=$every --out "$TMP/bf16-$every"
done
cmp "$TMP/bf16-0/checkpoints/step-9/trained.safetensors" "$TMP/bf16-3/checkpoints/step-9/trained.safetensors"
# A mean that is nearly what is trained evaluates alike, whatever the turns' optimizers keep.
mkdir "$TMP/folder"
npy "$TMP/folder/x.npy" '(90, 5)' "$(some_bytes 450)"
npy "$TMP/folder/z.npy" '(90, 3)' "$(some_bytes 270)"
must "$LATHE" build tests/models/turns.lua --set batch=8 --set steps=40 --set ema=0.000001 -o "$TMP/turns"
for ema in 0 0.000001; do
    must "$TMP/turns/trainer" train --data "$TMP/folder" --set ema=$ema --out "$TMP/turns-$ema"
    grep '"split":"val"' "$TMP/turns-$ema/metrics.jsonl" | tail -1 | tr ',' '\n' | grep -E 'generator|discriminator|encoder' >"$TMP/losses-$ema"
done
paste -d: "$TMP/losses-0" "$TMP/losses-0.000001" | awk -F: '{ if (($2 - $4) ^ 2 > 1e-6) bad = 1 } END { exit NR != 3 || bad }' || tell "turns: the mean is another"
refuse 1 'has a mean of the weights already' "$LATHE" check "$TMP/free.lua" --set ema=0.9
build -o "$TMP/without"
# shellcheck disable=SC2086
refuse 2 'rebuild with the optimizer in the description' "$TMP/without/trainer" train $data --steps 3 --set ema=0.9 --out "$TMP/no"
