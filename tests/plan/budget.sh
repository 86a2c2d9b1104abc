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

# Of several ranks the plan of each is what fits.
plan --memory "$limit" --ranks 3 >"$TMP/rank.json"
[ "$(planned "$TMP/rank.json")" -le "$limit" ] || complain "a rank of three takes $(planned "$TMP/rank.json") bytes of $limit"

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
# The smallest plan is no larger than one with nn.checkpoint around each branch, written by hand.
cat >"$TMP/hand.lua" <<'END'
return {
  config = { layers = 4, width = 64, vocab = 256, seq = 64, batch = 1, hand = false },
  forward = function(c, input)
    local function branch(f, x) if c.hand then return x + nn.checkpoint(f, x) end return x + f(x) end
    local x = nn.embedding(input.tokens, { name = "wte", rows = c.vocab, width = c.width })
    x = nn.stack(c.layers, x, function(x)
      x = branch(function(x) return nn.attention(nn.layernorm(x, { name = "ln_1" }), { name = "attn", heads = 4, causal = true }) end, x)
      return branch(function(x) return nn.mlp(nn.layernorm(x, { name = "ln_2" }), { name = "mlp", hidden = 4 * c.width }) end, x)
    end)
    return nn.cross_entropy(nn.linear(x, { name = "head", out = c.vocab }), input.targets)
  end,
  train = function(c) return { optimizer = optim.sgd { lr = 0.1 }, steps = 3 } end,
  data = function(c) return data.text { tokenizer = "bytes" } end,
}
END
"$LATHE" plan "$TMP/hand.lua" --set seq=512 --set hand=true --json >"$TMP/hand.json"
"$LATHE" plan "$TMP/hand.lua" --set seq=512 --memory 1K >"$TMP/out" 2>"$TMP/err" && complain '1K is enough'
least=$(sed -n 's/.*needs \([0-9,]*\) bytes.*/\1/p' "$TMP/err" | tr -d ,)
echo "note: the smallest plan takes $least bytes, by hand $(planned "$TMP/hand.json")"
[ "$least" -le "$(planned "$TMP/hand.json")" ] || complain "the smallest plan, $least bytes, is larger than $(planned "$TMP/hand.json") by hand"
"$LATHE" plan "$TMP/hand.lua" --set seq=512 --memory "$least" | grep -q '\* recompute layers in parts' || complain 'the smallest is not that in parts'
model="$TMP/hand.lua --set seq=512"
train whole
train least --memory "$least"
cmp "$TMP/run-whole/model.safetensors" "$TMP/run-least/model.safetensors" || complain "layers in parts train to other bits"

for size in 0 -1 x 2Q 1GG 60%%; do
    code=0
    plan --memory "$size" >"$TMP/out" 2>"$TMP/err" || code=$?
    [ "$code" = 2 ] || complain "--memory $size: exit code $code, not 2"
done
exit $failed
