# evaluation.sh: evaluations that ranks share have the scores of one process, digit for digit: a table with totals of its own and
# metrics by its task, a gpt on bytes, pairs with ROUGE, an LSTM that carries its state on; more ranks than batches.  The best
# checkpoint and patience follow them.  A signal in the midst ends and saves the run; a rank that stops there is named.
set -eu
. tests/models/common
export OMP_NUM_THREADS=1

# shared NAME RANKS DATA OPTION… -- OPTION-OF-EVAL…: the first evaluation of a run, which ranks share, and that of its checkpoint
shared() {
    name=$1 ranks=$2 data=$3 run=$TMP/$1-$2 options=
    shift 3
    while [ $# -gt 0 ] && [ "$1" != -- ]; do options="$options $1"; shift; done
    [ $# = 0 ] || shift
    # shellcheck disable=SC2086
    must "$TMP/$name/trainer" train --ranks "$ranks" --data "$data" --out "$run" --set val_fraction=0.3 --set lr=1e-2 --set warmup=0 \
        --seed 3 --steps 20 --eval-every 20 --json $options
    grep '"eval"' "$TMP/said" >"$run/shared.json"
    must "$TMP/$name/trainer" eval --out "$run" --data "$data" --json --seed 3 --set val_fraction=0.3 "$@"
    cp "$TMP/said" "$run/one.json"
    for score in $scores; do
        shared=$(value "$run/shared.json" "$score") one=$(value "$run/one.json" "$score")
        [ -n "$shared" ] && [ "$shared" = "$one" ] || tell "$name, $ranks ranks: $score is $shared, and $one by one process"
    done
}
# value FILE NAME: with all digits that are printed
value() { grep -o "\"$2\":\({\"f1\":\)\?[^,}]*" "$1" | awk -F : 'NR == 1 { printf "%.15g", $NF }'; }

# ---- a table: means, totals that `score` makes a score of, the metrics of the task; 605 rows in batches of 8
cat >"$TMP/table.lua" <<'END'
return {
  config = { features = 2, classes = 2, batch = 8 },
  forward = function(c, input)
    local logits = nn.linear(nn.tanh(nn.linear(input.features, { name = "up", out = 8 })), { name = "head", out = c.classes })
    return nn.cross_entropy(logits, input.targets), { logits = logits, accuracy = nn.accuracy(logits, input.targets) }
  end,
  metrics = function(c, outputs, input)
    local is, p = nn.one_hot(input.targets, c.classes), nn.softmax(outputs.logits)
    return { geometric = nn.exp(nn.log((p * is):sum(-1)):mean()) }
  end,
  train = { optimizer = optim.adamw { lr = 1e-2 }, steps = 20, best = "auc" },
  data = data.csv { target = "class", val_fraction = 0.2 },
}
END
awk 'BEGIN { srand(5); print "x,y,class"; for (i = 0; i < 2015; i++) { x = rand(); y = rand(); print x "," y "," (x + rand() > y + 0.5) } }' >"$TMP/table.csv"
must "$LATHE" build "$TMP/table.lua" -o "$TMP/table"
scores="loss accuracy geometric auc rows"
shared table 3 "$TMP/table.csv"
scores="loss accuracy geometric rows"
shared table 3 "$TMP/table.csv" --set eval_rows=6 --set best=loss -- --set eval_rows=6 # one batch, of copies too

# the metrics of RUN/eval.json, where the order of sums shows in the last digits
shared table 2 "$TMP/table.csv" --set best=loss
metrics() { sed 's/.*"metrics":\({.*\]\]}\).*/\1/' "$1"; }
[ "$(metrics "$run/one.json")" = "$(metrics "$run/eval.json")" ] || tell "metrics: $(cat "$run/eval.json")"

# the best checkpoint, and patience
must "$TMP/table/trainer" train --ranks 2 --data "$TMP/table.csv" --out "$TMP/patient" --steps 400 --eval-every 4 --set patience=3 --set lr=0.2
sed -n 's/.*"step":\([0-9]*\),"split":"val".*"auc":\([^,]*\).*/\1 \2/p' "$TMP/patient/metrics.jsonl" >"$TMP/aucs"
best=$(awk '$2 > most { most = $2; best = $1 } END { print best }' "$TMP/aucs")
last=$(awk 'END { print $1 }' "$TMP/aucs")
[ "$(readlink "$TMP/patient/checkpoints/best")" = "step-$best" ] && [ "$last" -lt 400 ] && [ $((last - best)) = 12 ] ||
    tell "best $(readlink "$TMP/patient/checkpoints/best"), ended after $last, but: $(tr '\n' ';' <"$TMP/aucs")"

# ---- texts
must "$LATHE" build models/gpt.lua --config char --set layers=1 --set width=16 --set heads=2 --set seq=16 --set batch=4 --set vocab=256 \
    --set tokenizer=bytes -o "$TMP/gpt"
scores="loss accuracy perplexity windows"
shared gpt 3 ARCHITECTURE.md

must "$LATHE" build models/char_rnn.lua --set hidden=24 --set width=12 --set seq=14 --set batch=4 --set vocab=16 --set carry=true -o "$TMP/rnn"
head -c 3000 ARCHITECTURE.md | tr -cd 'a-n \n' >"$TMP/letters.txt"
shared rnn 3 "$TMP/letters.txt"

# ---- pairs, and the texts written for them
sed 's/^  data = function/  generate = { rows = 2 },\n&/' tests/models/pairs.lua >"$TMP/pairs.lua"
must "$LATHE" build "$TMP/pairs.lua" --set vocab=259 --set width=16 --set source_seq=8 --set seq=10 --set batch=4 -o "$TMP/pairs"
awk 'BEGIN { print "source\ttarget"; for (i = 0; i < 303; i++) print i "\tno " (i % 2 ? "yes" : "no") }' >"$TMP/pairs.tsv"
scores="loss accuracy rouge1 rougeL pairs"
shared pairs 3 "$TMP/pairs.tsv" --set eval_generate=13 --set best=rougeL --set samples=a -- --generate --items 13
awk "BEGIN { x = $(value "$run/one.json" rouge1); exit !(x > 0 && x < 1) }" || tell "ROUGE $(value "$run/one.json" rouge1) tells nothing"

# ---- ended in the midst of a long evaluation
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do cat examples/*.md examples/*.md; done >"$TMP/long.txt"
# begins RUN SECONDS: the evaluation behind the first step, so long ago
begins() {
    "$TMP/gpt/trainer" train --ranks 3 --data "$TMP/long.txt" --out "$TMP/$1" --steps 2 --eval-every 1 --set val_fraction=0.9 >"$TMP/said" 2>&1 &
    called=$!
    until grep -q '^step 1/' "$TMP/said"; do kill -0 $called || tell "did not start"; sleep 0.05; done
    sleep "$2"
}
last_rank() { sed 's/ *$//; s/.* //' "/proc/$called/task/$called/children"; }
ends() { # CODE WORDS
    code=0
    wait $called || code=$?
    [ $code = "$1" ] && grep -q "$2" "$TMP/said" || tell "exit code $code, expected $1 and: $2"
}
begins signal 0.3
kill -TERM "$(last_rank)"
ends 143 'interrupted after step 1 of 2'
grep -q '"split":"val"' "$TMP/signal/metrics.jsonl" && tell "the evaluation went on"
[ -f "$TMP/signal/checkpoints/step-1/model.safetensors" ] || tell "nothing was saved"
export LATHE_RANK_PATIENCE=2
begins stopped 1.3
kill -STOP "$(last_rank)"
ends 6 'rank 2 of 3.*at step 1, evaluating'
