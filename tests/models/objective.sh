# objective.sh: a loss over targets that count is the same for every cut of a batch and every batch of an evaluation: train at
# a rate of 0 gives what eval gives, whatever accumulate and batch are; rows that depend on each other are left whole.
set -eu
. tests/models/common
must() { timeout 200 "$@" >"$TMP/said" 2>"$TMP/errors" || { cat "$TMP/errors"; tell "exit code $?: $*"; }; }

# fault 1, acc
cat >"$TMP/counted.lua" <<'END'
return {
  config = { vocab = 300, width = 4, source_seq = 3, seq = 8, batch = 4, accumulate = 1 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width, name = "embed", init = nn.init.normal(1) })
    local logits = nn.linear(x, { name = "head", out = c.vocab })
    local loss = nn.cross_entropy(logits, input.targets)
    local w = nn.where(nn.ne(input.targets, -1), 1, 0)
    local inside = (x:mean(-1):abs() * (w / w:sum())):sum()
    return loss, { inside = inside, accuracy = nn.accuracy(logits, input.targets), sum = (x * x):mean(), root = nn.sqrt((x * x):mean()), ppl = nn.exp(loss) }
  end,
  train = function(c) return { optimizer = optim.sgd { lr = 0.0 }, steps = 1, accumulate = c.accumulate } end,
  data = data.pairs {},
}
END
{   # pairs whose targets have 1 to 6 letters
    printf 'source\ttarget\n'
    for n in 5 4 3 2 1 6 5 2; do printf 'abc\t%s\n' "$(printf 'abcdef' | cut -c1-$n)"; done
} >"$TMP/pairs.tsv"
number() { sed -n "s/.*\"$1\":\([-0-9.e]*\).*/\1/p" "$2" | tail -n 1; }
near() { awk "BEGIN { d = ($1) - ($2); m = ($2); exit !((d < 0 ? -d : d) <= $3 * (m < 0 ? -m : m)) }" || tell "$4: $1, and not $2"; }

cut() {     # BATCH ACCUMULATE: $TMP/BATCH.json what eval says, $TMP/BATCH.loss what train says
    must "$LATHE" build "$TMP/counted.lua" --precision fp64 --set batch="$1" --set accumulate="$2" -o "$TMP/cut$1"
    rm -rf "$TMP/run"
    must "$TMP/cut$1/trainer" train --data "$TMP/pairs.tsv" --val-fraction 0 --out "$TMP/run" --set eval_every=0
    number loss "$TMP/run/metrics.jsonl" >"$TMP/$1.loss"
    must "$TMP/cut$1/trainer" eval --data "$TMP/pairs.tsv" --val-fraction 1 --weights "$TMP/run/model.safetensors" --json
    cp "$TMP/said" "$TMP/$1.json"
}
cut 8 1
near "$(number loss "$TMP/8.json")" "$(cat "$TMP/8.loss")" 1e-8 "eval beside train"
for cut in '4 2' '1 8' '3 1' '5 1'; do
    # shellcheck disable=SC2086
    cut $cut
    batch=${cut% *}
    for score in loss inside accuracy sum root ppl; do
        near "$(number $score "$TMP/$batch.json")" "$(number $score "$TMP/8.json")" 1e-12 "$score of eval, in batches of $batch"
    done
    [ "${batch#[35]}" = "" ] || near "$(cat "$TMP/$batch.loss")" "$(cat "$TMP/8.loss")" 1e-8 "train, in batches of $batch"
done
