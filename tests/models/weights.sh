# weights.sh: --parameters bf16: parameters without a copy in 32 bits.  Loss after 300 steps that of fp32's weights; resumed with other
# threads to the same bytes; the plan and the files have 2 bytes a parameter; weights of either kind start the other; out to
# Hugging Face's folder and back; texts; refused where it says nothing.
set -eu
failed=0
complain() { echo "failed: $*"; failed=1; }
must() { timeout 500 "$@" >"$TMP/log" 2>&1 || { cat "$TMP/log"; echo "failed: exit code $?: $*"; exit 1; }; }

cat compiler/*/*.c | head -c 60000 | tr -cd "a-z_ ();\n" >"$TMP/text"
model="models/gpt.lua --config char --set layers=3 --set width=32 --set heads=2 --set seq=64 --set batch=8 --set dropout=0 --set lr=0.001"
for w in fp32 bf16; do
    # shellcheck disable=SC2086  # the arguments are words
    must "$LATHE" build $model --precision bf16 --parameters $w -o "$TMP/$w"
    # shellcheck disable=SC2086
    must "$LATHE" plan $model --precision bf16 --parameters $w --json
    cp "$TMP/log" "$TMP/$w.plan"
done
run() {         # WEIGHTS OUT ARGUMENTS…
    w=$1 out=$2
    shift 2
    must "$TMP/$w/trainer" train --data "$TMP/text" --seed 3 --set warmup=20 --set schedule_steps=300 --out "$TMP/$out" "$@"
}

# ---- the plan: 2 bytes a parameter, 4 a gradient, 8 of moments, padded to 16 parameters
of() { tr -d '\n' <"$TMP/$1.plan" | grep -o "\"$2\": [0-9]*" | sed -n "${3:-1}s/.*: //p"; }
flat=$(($(of fp32 gradients) / 4))
[ "$flat" -ge "$(of bf16 parameters)" ] && [ "$(of bf16 gradients)" = $((4 * flat)) ] && [ "$(of bf16 optimizer)" = $((8 * flat)) ] ||
    complain "gradients $(of bf16 gradients), optimizer $(of bf16 optimizer), $flat parameters"
planned=$(of bf16 parameters 2)
[ "$planned" -ge $((2 * flat)) ] && [ "$planned" -lt $((2 * flat + 64)) ] || complain "$planned bytes for $flat parameters"

# ---- learning
last_losses() { sed -n 's/.*"step":2[0-9][0-9],"split":"train","loss":\([^,]*\),.*/\1/p' "$TMP/$1/metrics.jsonl" | awk '{ sum += $1; n++ } END { if (n == 100) print sum / n }'; }
for w in fp32 bf16; do run $w $w.300 --steps 300 --set log_every=1; done
awk -v a="$(last_losses fp32.300)" -v b="$(last_losses bf16.300)" 'BEGIN { print "note: losses of steps 200 to 299: " a " with weights of fp32, " b " of bf16"
    off = (b - a) / a; exit !(a > 0 && a < 3.2 && off < 0.02 && off > -0.02) }' || complain "it does not learn as fp32 does"

# ---- the same bytes
run bf16 whole --steps 20 --save-every 9 --threads 1
run bf16 parts --resume="$TMP/whole/checkpoints/step-9" --threads 3
for file in model optimizer; do
    cmp "$TMP/whole/checkpoints/step-20/$file.safetensors" "$TMP/parts/checkpoints/step-20/$file.safetensors" || complain "resumed: another $file"
done
bytes() { wc -c <"$TMP/$1"; }
run fp32 wide --steps 20
less=$(($(bytes wide/model.safetensors) - $(bytes whole/model.safetensors)))
[ "$less" -gt $((17 * flat / 10)) ] && [ "$less" -lt $((21 * flat / 10)) ] || complain "$less bytes less in the file"
head -c 3000 "$TMP/whole/model.safetensors" | grep -q '"dtype":"BF16"' || complain "the file holds no BF16"

# ---- from the one to the other
run bf16 from32 --init="$TMP/wide/model.safetensors" --steps 2
run fp32 from16 --init="$TMP/whole/model.safetensors" --steps 2
code=0
"$TMP/fp32/trainer" train --data "$TMP/text" --resume="$TMP/whole/checkpoints/step-9" --out "$TMP/other" >"$TMP/log" 2>&1 || code=$?
[ "$code" = 3 ] && grep -q 'expected F32, found BF16' "$TMP/log" || { cat "$TMP/log"; complain "resuming the other kind: exit code $code"; }

# ---- Hugging Face's folder and back: the same bytes; texts, evaluations
must "$TMP/bf16/trainer" export --to hf --out "$TMP/hf" --weights "$TMP/whole/model.safetensors"
grep -q '"torch_dtype": "bfloat16"' "$TMP/hf/config.json" || complain "config.json says another type"
must "$TMP/bf16/trainer" export --to hf --out "$TMP/hf2" --weights "$TMP/hf/model.safetensors"
cmp "$TMP/hf/model.safetensors" "$TMP/hf2/model.safetensors" || complain "other weights come back"
must "$TMP/bf16/trainer" generate --out "$TMP/bf16.300" --prompt "static" --tokens 40 --set temperature=0
cp "$TMP/log" "$TMP/text16"
must "$TMP/fp32/trainer" generate --weights "$TMP/bf16.300/model.safetensors" --prompt "static" --tokens 40 --set temperature=0
cmp "$TMP/text16" "$TMP/log" || { cat "$TMP/text16" "$TMP/log"; complain "other texts of the same weights"; }
must "$TMP/bf16/trainer" eval --out "$TMP/bf16.300" --data "$TMP/text"

# ---- a divergence leaves the weights of the step before
code=0
"$TMP/bf16/trainer" train --data "$TMP/text" --out "$TMP/lost" --steps 40 --set lr=1e38 --set warmup=0 >"$TMP/log" 2>&1 || code=$?
[ "$code" = 4 ] && head -c 3000 "$TMP/lost/diverged.safetensors" | grep -q BF16 || { tail -3 "$TMP/log"; complain "diverged: exit code $code"; }

refused() {     # TEXT ARGUMENTS…
    text=$1 code=0
    shift
    "$LATHE" plan models/gpt.lua --config char "$@" >"$TMP/log" 2>&1 || code=$?
    [ "$code" = 2 ] && grep -q -- "$text" "$TMP/log" || { head -3 "$TMP/log"; complain "$*: exit code $code"; }
}
refused 'parameters fp8: expected fp32, bf16, q8_0 or q4_0' --precision bf16 --parameters fp8
refused 'parameters bf16 goes with --precision bf16, and not with fp32' --parameters bf16
refused 'parameters bf16 goes with --precision bf16, and not with fp16' --parameters bf16 --precision fp16
refused 'with --precision fp64 they are in 64 bits' --parameters fp32 --precision fp64
exit $failed
