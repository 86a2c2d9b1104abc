# pairs.sh: training on pairs of source and target: an encoder and a decoder, killed at random steps and resumed with other
# readers and threads, the same bytes as without; what is long, empty or misnamed; a gpt whose loss counts targets alone, on
# pairs and on chats; real pairs where they are at hand.  2 kills; 20 with LATHE_LONG=1.
set -eu
kills=2
[ -z "${LATHE_LONG:-}" ] || kills=20
steps=$((100 + 30 * kills))
awk 'BEGIN {
    print "id\tsource\ttarget"
    for (i = 0; i < 1500; i++) {
        x = (x * 1103515245 + 12345) % 2147483648
        word = substr("etaoinshrdlucmfwypvbgkqjxz", x % 17 + 1, 1 + x % 9)
        print i "\t" i % 10 i % 7 " " word "\t" word word
    }
}' >"$TMP/pairs.tsv"
. tests/models/common
must "$LATHE" build tests/models/pairs.lua --set vocab=259 --set width=24 --set source_seq=10 --set seq=14 --set batch=4 --set accumulate=2 -o "$TMP/pairs"
trainer="$TMP/pairs/trainer"
start="--data $TMP/pairs.tsv --steps $steps --seed 7 --eval-every 25 --save-every 7 --set shuffle_tokens=3000"

# shellcheck disable=SC2086
must "$trainer" train $start --out "$TMP/whole" --threads 1 --readers 1
grep -q 'bos 257, eos 256, pad 258' "$TMP/said" || tell "no word of the special tokens"
grep -q 'data: the first .* pairs, sources of .* padding' "$TMP/said" || tell "no statistics"

. tests/models/killed
killed_and_resumed

# an evaluation is the same however pairs that are held back share batches
must "$trainer" eval --out "$TMP/whole" --data "$TMP/pairs.tsv" --json
own=$(sed -n 's/.*"loss":\([0-9.]*\),.*/\1/p' "$TMP/said")
must "$trainer" eval --out "$TMP/whole" --data "$TMP/pairs.tsv" --json --set buckets=0
awk "BEGIN { d = $own - $(sed -n 's/.*"loss":\([0-9.]*\),.*/\1/p' "$TMP/said"); exit !(d < 1e-6 && -d < 1e-6) }" || tell "in buckets $own"

# what the user says, and what does not fit
must "$trainer" train --data "$TMP/pairs.tsv" --epochs 1 --set on_long=skip --set buckets=0 --out "$TMP/skip"
grep -q '^epoch 1 | .* left out because they are too long' "$TMP/said" || tell "nothing is said of what was left out"

# `lathe data info` says before what the summary of an epoch says after it
must "$trainer" train --data "$TMP/pairs.tsv" --epochs 1 --set val_fraction=0 --seed 3 --set shuffle_tokens=3000 --out "$TMP/all-pairs"
grep '^epoch 1 | [0-9,]* pairs' "$TMP/said" | sed 's/^epoch 1 | //' >"$TMP/after"
must "$LATHE" data info "$TMP/pairs.tsv" --source-seq 10 --seq 14 --batch 4 --seed 3 --shuffle-tokens 3000
grep '^training' "$TMP/said" | sed 's/^training *//' >"$TMP/forecast"
[ -s "$TMP/after" ] && cmp "$TMP/forecast" "$TMP/after" || tell "said before: $(cat "$TMP/forecast"), after: $(cat "$TMP/after")"
printf '{"source": "ab", "target": "cd"}\n{"source": "ab"}\n{"source": "a", "target": ""}\n' >"$TMP/bad.jsonl"
refuse 3 'bad.jsonl:2: error: there is no field "target"' "$trainer" train --data "$TMP/bad.jsonl" --steps 1 --set val_fraction=0 --out "$TMP/bad"
must "$trainer" train --data "$TMP/bad.jsonl" --steps 9 --set val_fraction=0 --set bad_records=1000 --out "$TMP/bad"
refuse 3 'did you mean "source"' "$trainer" train --data "$TMP/pairs.tsv" --steps 1 --set text_field=sauce --set target_field=target --out "$TMP/bad"
refuse 2 'a decoder needs a token to begin with' "$trainer" train --data "$TMP/pairs.tsv" --steps 1 --set bos=none --out "$TMP/bad"
refuse 3 'expected a pair' "$trainer" train --data ARCHITECTURE.md --steps 1 --set val_fraction=0 --out "$TMP/bad"

# one sequence: the loss counts targets, or all, or there is a word
must "$LATHE" build models/gpt.lua --config char --set layers=1 --set width=32 --set heads=2 --set seq=40 --set batch=8 --set vocab=256 \
    --set tokenizer=bytes --set pack=true -o "$TMP/gpt"
awk -F '\t' '{ print $2 "\t" (NR > 1 ? "yes" : $3) }' "$TMP/pairs.tsv" >"$TMP/yes.tsv" # what is said to it is not to be foreseen
must "$TMP/gpt/trainer" train --data "$TMP/yes.tsv" --steps 60 --set warmup=0 --set lr=5e-3 --out "$TMP/target"
grep -q '% of positions do not count' "$TMP/said" || tell "no word of what does not count"
must "$TMP/gpt/trainer" train --data "$TMP/yes.tsv" --steps 60 --set warmup=0 --set lr=5e-3 --set loss_on=all --out "$TMP/all"
loss() { sed -n '/"split":"val"/s/.*"loss":\([0-9.]*\),.*/\1/p' "$TMP/$1/metrics.jsonl" | tail -n 1; }
awk "BEGIN { exit !($(loss target) < 0.5 && $(loss all) > 1) }" || tell "targets $(loss target), all $(loss all)"
must "$TMP/gpt/trainer" eval --out "$TMP/target" --json
own=$(sed -n 's/.*"loss":\([0-9.]*\),.*/\1/p' "$TMP/said")
awk "BEGIN { d = $own - $(loss target); exit !(d < 1e-6 && -d < 1e-6) }" || tell "eval says $own, train said $(loss target)"
for i in 1 2 3 4 5 6 7 8 9; do
    printf '{"messages": [{"role": "user", "content": "%s?"}, {"role": "assistant", "content": "%s!"}]}\n' $i$i$i $i$i$i
done >"$TMP/chat.jsonl"
must "$TMP/gpt/trainer" train --data "$TMP/chat.jsonl" --steps 150 --set val_fraction=0 --set lr=3e-3 --out "$TMP/chat"
must "$TMP/gpt/trainer" generate --out "$TMP/chat" --prompt 'user:
555?

assistant:
' --tokens 5 --set temperature=0
grep -q '^555!' "$TMP/said" || tell "the chat was not learnt"

# the same as ChatML: the tokenizer has its tokens.  Of each chat NNN! and <|im_end|> count, whatever the user says
must "$LATHE" tokenize train --kind bpe --size 259 --special '<|im_start|>' --special '<|im_end|>' --out "$TMP/chatml" "$TMP/chat.jsonl"
must "$LATHE" build models/gpt.lua --config char --set layers=1 --set width=32 --set heads=2 --set seq=64 --set batch=3 --set vocab=259 \
    --set pack=true -o "$TMP/ml"
sed 's/"content": "111?"/"content": "111?<|im_end|>"/' "$TMP/chat.jsonl" >"$TMP/ml.jsonl"
must "$TMP/ml/trainer" train --data "$TMP/ml.jsonl" --tokenizer "$TMP/chatml" --steps 300 --set val_fraction=0 --set lr=3e-3 --out "$TMP/ml-run"
grep -q '"split":"epoch","epoch":1,.*"documents":9,.*"predicted":45,' "$TMP/ml-run/metrics.jsonl" || tell "not 5 targets a chat"
must "$TMP/ml/trainer" generate --out "$TMP/ml-run" --prompt '<|im_start|>user
555?<|im_end|>
<|im_start|>assistant
' --tokens 5 --set temperature=0
grep -q '^555!' "$TMP/said" || tell "the chat was not learnt"
must "$LATHE" build models/gpt.lua --config char --set layers=1 --set width=32 --set heads=2 --set seq=40 --set batch=8 --set vocab=256 \
    --set tokenizer=bytes -o "$TMP/plain"
refuse 3 'build it with --set loss_on=target' "$TMP/plain/trainer" train --data "$TMP/pairs.tsv" --steps 1 --out "$TMP/bad"
refuse 2 'was built to count every token' "$TMP/plain/trainer" train --data "$TMP/pairs.tsv" --steps 1 --set loss_on=target --out "$TMP/bad"
must "$TMP/plain/trainer" train --data "$TMP/pairs.tsv" --steps 3 --set loss_on=all --out "$TMP/plain-all"

data=$DATA/e2e-cleaned
[ -e "$data/devel-fixed.no-ol.csv" ] || { echo "note: no e2e-cleaned: not trained on"; exit 0; }
must "$LATHE" build tests/models/pairs.lua --set vocab=259 --set width=48 --set heads=4 --set source_seq=96 --set seq=96 --set batch=8 \
    --set source=mr --set target=ref -o "$TMP/e2e"
must "$TMP/e2e/trainer" train --data "$data/devel-fixed.no-ol.csv" --steps 100 --out "$TMP/e2e-run"
awk "BEGIN { exit !($(loss e2e-run) < 2.7) }" || tell "loss $(loss e2e-run)"
