# precision.sh: runs under --precision bf16 and fp16: resumed with other threads: the same bytes; its checkpoints are those
# of fp32, and either program goes on with the other's; memory is what is planned; an unknown precision is refused.
set -eu
failed=0
complain() { echo "failed: $*"; failed=1; }

awk 'BEGIN { for (i = 0; i < 4000; i++) { x = (x * 1103515245 + 12345) % 2147483648; printf "%s", substr("etaoin shrdlu", x % 13 + 1, 1) } }' >"$TMP/text"
model="models/gpt.lua --config char --set layers=3 --set width=32 --set heads=2 --set seq=128 --set batch=12 --set dropout=0.1"

for p in fp32 bf16 fp16; do
    # shellcheck disable=SC2086  # the arguments are words
    "$LATHE" build $model --precision $p -o "$TMP/$p" >"$TMP/log" 2>&1 || { cat "$TMP/log"; exit 1; }
done
run() {         # PRECISION OUT ARGUMENTS…
    p=$1 out=$2
    shift 2
    "$TMP/$p/trainer" train --data "$TMP/text" --seed 3 --out "$TMP/$out" "$@" >"$TMP/log" 2>&1 || { cat "$TMP/log"; complain "$p $out"; }
}

run fp32 wide --steps 20 --save-every 9
run bf16 whole --steps 20 --save-every 9 --threads 1
run bf16 parts --resume="$TMP/whole/checkpoints/step-9" --threads 3
for file in model optimizer; do
    cmp "$TMP/whole/checkpoints/step-20/$file.safetensors" "$TMP/parts/checkpoints/step-20/$file.safetensors" || complain "resumed: another $file"
    [ "$(wc -c <"$TMP/wide/checkpoints/step-20/$file.safetensors")" = "$(wc -c <"$TMP/whole/checkpoints/step-20/$file.safetensors")" ] ||
        complain "$file of bf16 is not as large as of fp32"
done
cmp "$TMP/wide/model.safetensors" "$TMP/whole/model.safetensors" >/dev/null && complain "bf16 rounds nothing"
first_loss() { sed -n 's/.*"step":1,"split":"train","loss":\([^,]*\),.*/\1/p' "$TMP/$1/metrics.jsonl"; }
[ -n "$(first_loss wide)" ] && [ "$(first_loss wide)" = "$(first_loss whole)" ] || complain "first losses $(first_loss wide), $(first_loss whole)"

run fp32 on --resume="$TMP/whole/checkpoints/step-9"
grep -q 'its plan differs' "$TMP/log" || { cat "$TMP/log"; complain "fp32 goes on with a run of bf16 without a word"; }
run bf16 back --resume="$TMP/wide/checkpoints/step-9"

# What a run takes less than fp32's is what the plan says, within a quarter: the arena is of huge pages, of which any part
# is resident as a whole, so the model is one that saves several of them.
work() { sed -n 's/.*"planned_bytes": *\([0-9]*\),.*/\1/p' "$TMP/$1.json"; }
peak() { sed -n 's/.*"peak_rss_bytes": *\([0-9]*\).*/\1/p' "$TMP/$1.json"; }
for p in fp32 bf16; do
    # shellcheck disable=SC2086
    "$LATHE" build $model --set layers=6 --set width=64 --set seq=256 --precision $p -o "$TMP/large-$p" >"$TMP/log" 2>&1 || { cat "$TMP/log"; exit 1; }
    "$TMP/large-$p/trainer" bench --steps 1 --json >"$TMP/$p.json" 2>"$TMP/log" || { cat "$TMP/log"; complain "bench"; }
done
echo "note: planned $(work fp32) and $(work bf16) bytes, resident $(peak fp32) and $(peak bf16)"
saved=$(($(work fp32) - $(work bf16)))
differ=$(($(peak fp32) - $(peak bf16) - saved))
[ "$saved" -gt 16000000 ] || complain "the plan is smaller by only $saved bytes"
[ "${differ#-}" -lt $((saved / 4)) ] || complain "memory differs by $differ bytes from what the plans say"

# fp16: the loss scale is in checkpoints; a run resumed is the same; fp32 goes on with one.
run fp16 half --steps 20 --save-every 9
tr -d ' \n' <"$TMP/half/checkpoints/step-20/state.json" | grep -q '"loss_scale":{"scale":65536,"good":20,"skipped":0}' ||
    { cat "$TMP/half/checkpoints/step-20/state.json"; complain "fp16: no loss scale in the checkpoint"; }
run fp16 halves --resume="$TMP/half/checkpoints/step-9"
for file in model.safetensors optimizer.safetensors; do
    cmp "$TMP/half/checkpoints/step-20/$file" "$TMP/halves/checkpoints/step-20/$file" || complain "fp16 resumed: another $file"
done
cmp "$TMP/wide/model.safetensors" "$TMP/half/model.safetensors" >/dev/null && complain "fp16 rounds nothing"
run fp32 on16 --resume="$TMP/half/checkpoints/step-9"

# What overflows whatever the scale: halved to 1, step by step, and then it has diverged; no parameter has moved.
cat >"$TMP/loud.lua" <<'END'
return { config = { batch = 4, seq = 8, vocab = 256, width = 8 },
  forward = function(c, input)
    local x = nn.embedding { name = "in", rows = c.vocab, width = c.width } (input.tokens) * 1e9
    x = nn.linear { name = "mid", out = c.width } (x)
    x = nn.linear { name = "out", out = c.vocab } (nn.tanh(x * x * 1e-16))
    return nn.cross_entropy(x, input.targets)
  end,
  train = function(c) return { optimizer = optim.sgd { lr = 0.1 }, steps = 30 } end,
  data = function(c) return data.text { tokenizer = "bytes" } end }
END
"$LATHE" build "$TMP/loud.lua" --precision fp16 -o "$TMP/loud" >"$TMP/log" 2>&1 || { cat "$TMP/log"; exit 1; }
code=0
"$TMP/loud/trainer" train --data "$TMP/text" --seed 3 --out "$TMP/louder" >"$TMP/log" 2>&1 || code=$?
[ "$code" = 4 ] && [ "$(grep -c 'the step is skipped' "$TMP/log")" = 16 ] && grep -q 'step 16 | loss scale 2: .*(16 so far), and the scale is now 1' "$TMP/log" &&
    grep -q 'step 17: expected a finite gradient norm, found norm [infa]* (the loss is [0-9.]*)' "$TMP/log" && grep -q -- '--precision bf16 has fp32.s range' "$TMP/log" && ! grep -q -- -nan "$TMP/log" || { cat "$TMP/log"; complain "what overflows: exit code $code"; }
"$TMP/loud/trainer" init --seed 3 --out "$TMP/drawn.safetensors" >"$TMP/log" 2>&1
cmp "$TMP/drawn.safetensors" "$TMP/louder/diverged.safetensors" || complain "steps that were not taken changed parameters"

# A loss scale among the inputs of grad is a number above 0.
head='{"tokens":{"dtype":"I32","shape":[4,8],"data_offsets":[0,128]},"targets":{"dtype":"I32","shape":[4,8],"data_offsets":[128,256]}'
head="$head,\"loss_scale\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[256,260]}}"
scaled() {      # BYTES: the exit code of grad with these as the scale
    # shellcheck disable=SC2059
    { printf "\\$(printf %03o ${#head})\\000\\000\\000\\000\\000\\000\\000%s" "$head"; head -c 256 /dev/zero; printf "$1"; } >"$TMP/in.safetensors"
    code=0
    "$TMP/loud/trainer" grad --weights "$TMP/drawn.safetensors" --inputs "$TMP/in.safetensors" --out "$TMP/grad" >"$TMP/log" 2>&1 || code=$?
    echo "$code"
}
[ "$(scaled '\000\000\000\101')" = 0 ] || { cat "$TMP/log"; complain "a loss scale of 8 is refused"; }
for bad in '0 \000\000\000\000' '-8 \000\000\000\301' 'inf \000\000\200\177' 'nan \000\000\300\177'; do
    [ "$(scaled "${bad#* }")" = 3 ] && grep -q "in.safetensors: error: loss_scale is ${bad%% *}: expected a number above 0, or leave it out" "$TMP/log" ||
        { cat "$TMP/log"; complain "a loss scale of ${bad%% *}"; }
done

code=0
"$LATHE" build models/gpt.lua --precision tf32 -o "$TMP/refused" >"$TMP/out" 2>"$TMP/err" || code=$?
[ "$code" = 2 ] && grep -q 'precision tf32: how a GPU multiplies' "$TMP/err" || { cat "$TMP/err"; complain "tf32 on a CPU: exit code $code"; }

for p in fp8 fp64-bf16; do
    code=0
    "$LATHE" build models/gpt.lua --precision $p -o "$TMP/refused" >"$TMP/out" 2>"$TMP/err" || code=$?
    [ "$code" = 2 ] && grep -q 'expected fp32, tf32, bf16, fp16 or fp64' "$TMP/err" || { cat "$TMP/err"; complain "--precision $p: exit code $code"; }
done
exit $failed
