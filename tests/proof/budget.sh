# budget.sh: --memory: what is taken fits and trains to the same bits; what cannot fit is refused with the bytes that it
# misses; sizes are read with care.
set -eu
failed=0
complain() { echo "failed: $*"; failed=1; }

awk 'BEGIN { for (i = 0; i < 4000; i++) { x = (x * 1103515245 + 12345) % 2147483648; printf "%s", substr("etaoin shrdlu", x % 13 + 1, 1) } }' >"$TMP/text"
model="models/gpt.lua --set layers=4 --set width=32 --set heads=2 --set seq=64 --set batch=8 --set dropout=0.1 --set accumulate=2"
planned() { sed -n 's/.*"planned_bytes": \([0-9]*\), "lower.*/\1/p' "$1"; }
activations() { sed -n 's/.*"inputs": \([0-9]*\), "outputs": \([0-9]*\), "work": \([0-9]*\),.*/\1 + \2 + \3/p' "$1"; }

# shellcheck disable=SC2086  # the arguments are words
train() {       # NAME ARGUMENTS…
    name=$1
    shift
    "$LATHE" build $model "$@" -o "$TMP/$name" >"$TMP/log" 2>&1 || { cat "$TMP/log"; exit 1; }
    "$TMP/$name/trainer" train --data "$TMP/text" --steps 5 --out "$TMP/run-$name" >"$TMP/log" 2>&1 ||
        { cat "$TMP/log"; exit 1; }
}

# shellcheck disable=SC2086
plan() { "$LATHE" plan $model --check-stages --json "$@"; }

plan >"$TMP/all.json"
plan --memory 60% >"$TMP/part.json"
limit=$(($(planned "$TMP/all.json") - ($(activations "$TMP/all.json")) * 40 / 100))
echo "note: $(planned "$TMP/all.json") bytes, with --memory 60% $(planned "$TMP/part.json") of $limit"
[ "$(planned "$TMP/part.json")" -le "$limit" ] || complain "60% of the activations take more than that"
grep -q '"taken": true' "$TMP/part.json" || complain "the plans that were tried are not in the JSON object"

train all
train part --memory 60%
train bytes --memory "$limit"
cmp "$TMP/run-all/model.safetensors" "$TMP/run-part/model.safetensors" || complain "60% trains to other bits"
cmp "$TMP/all/model.c" "$TMP/part/model.c" >/dev/null && complain "60% is the same program"
cmp "$TMP/part/model.c" "$TMP/bytes/model.c" || complain "60% and as many bytes are not the same program"

code=0
plan --memory 100K >"$TMP/out" 2>"$TMP/err" || code=$?
[ "$code" = 1 ] || complain "--memory 100K: exit code $code, not 1"
grep -q 'needs [0-9,]* bytes, [0-9,]* more' "$TMP/err" || { cat "$TMP/err"; complain "no word of how much is missing"; }
for size in 0 -1 x 2Q 1GG 60%%; do
    code=0
    plan --memory "$size" >"$TMP/out" 2>"$TMP/err" || code=$?
    [ "$code" = 2 ] || complain "--memory $size: exit code $code, not 2"
done
exit $failed
