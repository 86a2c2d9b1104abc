# stream.sh: training on documents of files, epoch after epoch: killed at random steps and resumed with other numbers of
# readers and threads, the same bytes as without; what a thread cannot read ends the run with what was trained before saved;
# a pipe is trained on once.  3 kills; 20 with LATHE_LONG=1.
set -eu
kills=3
[ -z "${LATHE_LONG:-}" ] || kills=20
steps=$((150 + 30 * kills))
mkdir "$TMP/corpus"
awk -v to="$TMP/corpus/" 'BEGIN {
    for (i = 0; i < 900; i++) {
        x = (x * 1103515245 + 12345) % 2147483648
        print substr("etaoin shrdlu cmfwyp vbgkqj xz", x % 13 + 1, 12) " " x (i % 3 ? "" : "\n") >(to i % 7 ".txt")
    }
}'
"$LATHE" build models/gpt.lua --config char --set layers=1 --set width=32 --set heads=2 --set seq=40 --set batch=5 --set vocab=256 \
    --set tokenizer=bytes --set pack=true --set accumulate=2 -o "$TMP/gpt" >"$TMP/said" 2>&1 || { cat "$TMP/said"; exit 1; }
trainer="$TMP/gpt/trainer"
start="--data $TMP/corpus --set documents=blank --steps $steps --seed 7 --eval-every 25 --save-every 7 --set shuffle_tokens=3000"
. tests/models/common

# shellcheck disable=SC2086
"$trainer" train $start --out "$TMP/whole" --threads 1 --readers 1 >"$TMP/said" 2>&1 || tell "exit code $?"
grep -q '^epoch 2 |' "$TMP/said" || tell "no summary of an epoch"
grep -q '"split":"epoch","epoch":2' "$TMP/whole/metrics.jsonl" || tell "no epoch in metrics.jsonl"
grep -q '^epoch 2 | loss [1-9].* tok/s, .* sequences/s | data .* %, forward [0-9.]* %, backward [0-9.]* %, update .* %, evaluation .* %, saving .* %$' "$TMP/said" ||
    tell "the summary lacks something"
parts=$(sed -n '/"split":"epoch"/s/.*"forward":\([0-9.]*\),"backward":\([0-9.]*\),.*/\1 \2/p' "$TMP/whole/metrics.jsonl" | head -n 1)
awk "BEGIN { split(\"$parts\", s); exit !(s[1] > 0 && s[2] > 0) }" || tell "forward and backward took $parts"

. tests/models/killed
killed_and_resumed

# eval reads what train held back
"$trainer" eval --out "$TMP/whole" --data "$TMP/corpus" --set documents=blank --json >"$TMP/said" 2>&1 || tell "exit code $?"
own=$(sed -n 's/.*"loss":\([0-9.]*\),.*/\1/p' "$TMP/said") theirs=$(sed -n '/"split":"val"/s/.*"loss":\([0-9.]*\),.*/\1/p' "$TMP/whole/metrics.jsonl" | tail -n 1)
awk "BEGIN { d = $own - $theirs; exit !(d < 1e-6 && -d < 1e-6) }" || tell "eval says $own, train said $theirs"

# what is kept for evaluation is read up to eval_tokens, in one block
for k in $(seq 50); do cat "$TMP"/corpus/*.txt; done >"$TMP/long.txt"
"$trainer" train --data "$TMP/long.txt" --order epochs --set documents=line --steps 1 --out "$TMP/held" >"$TMP/said" 2>&1 || tell "exit code $?"
grep -q '^data: documents of .* tokens, all there are)' "$TMP/said" || tell "not all documents are evaluated"

# in the middle of an epoch a file cannot be read
cp -r "$TMP/corpus" "$TMP/bad"
i=0; while [ $i -lt 300 ]; do printf 'some more text to train on\n\n'; i=$((i + 1)); done >"$TMP/bad/8.txt"
printf '{"text": "fine"}\n{"text": 7}\n' >"$TMP/bad/9.jsonl"
"$trainer" train --data "$TMP/bad" --set documents=blank --steps 5000 --set shuffle_tokens=3000 --out "$TMP/bad-run" --set val_fraction=0 \
    >"$TMP/said" 2>&1 && tell "a malformed record was taken" || code=$?
[ $code = 3 ] && grep -q '9.jsonl' "$TMP/said" || tell "exit code $code"

# malformed records are allowed in each epoch, and told; so are bytes that are not UTF-8
awk 'BEGIN { for (i = 0; i < 400; i++) print i % 150 == 7 ? "{\"text\": 7}" : "{\"text\": \"record " i " of a few words\"}" }' >"$TMP/some.jsonl"
printf '{"text": "not \377 fine"}\n' >>"$TMP/some.jsonl"
"$LATHE" tokenize train --kind words --size 200 --out "$TMP/words" "$TMP/corpus/0.txt" >"$TMP/said" 2>&1 || tell "exit code $?"
"$trainer" train --data "$TMP/some.jsonl" --steps 60 --set bad_records=3 --tokenizer "$TMP/words" --out "$TMP/some-run" --set val_fraction=0 --set shuffle_tokens=3000 >"$TMP/said" 2>&1 ||
    tell "exit code $?"
grep -q '^epoch 3 |' "$TMP/said" || tell "fewer than three epochs"
grep -q 'note: 3 malformed records are skipped in an epoch, the first: .*some.jsonl:8: the field "text" is neither' "$TMP/said" || tell "no word of malformed records"
grep -q 'note: U+FFFD replaces bytes that are not UTF-8 1 times in an epoch' "$TMP/said" || tell "no word of bytes"
"$trainer" train --data "$TMP/some.jsonl" --steps 60 --set bad_records=2 --tokenizer "$TMP/words" --out "$TMP/some-run" --set val_fraction=0 >"$TMP/said" 2>&1 &&
    tell "three of two malformed records were taken" || code=$?
[ $code = 3 ] && grep -q 'some.jsonl:308: error: .*(2 were allowed' "$TMP/said" || tell "exit code $code"

# standard input
cat "$TMP"/corpus/*.txt "$TMP"/corpus/*.txt | "$trainer" train --data - --set documents=blank --steps 5000 --out "$TMP/pipe" >"$TMP/said" 2>&1 ||
    tell "exit code $?"
grep -q 'the data ends after step' "$TMP/said" || tell "no word of the end"
"$trainer" train --resume --out "$TMP/pipe" </dev/null >"$TMP/said" 2>&1 && tell "a pipe was resumed" || code=$?
grep -q 'read only once' "$TMP/said" || tell "exit code $code"

# a pipe that falls silent: a signal ends the run with what was trained saved
mkfifo "$TMP/silent"
"$trainer" train --data "$TMP/silent" --set documents=blank --steps 5000 --out "$TMP/waits" >"$TMP/said" 2>&1 &
process=$!
exec 3>"$TMP/silent"
for k in $(seq 40); do cat "$TMP"/corpus/*.txt; done >&3
lines=-1 idle=0 looks=0
while [ $idle -lt 5 ] && [ $looks -lt 300 ] && kill -0 $process; do
    looks=$((looks + 1))
    now=$( { wc -l <"$TMP/waits/metrics.jsonl"; } 2>/dev/null || echo 0)
    if [ "$now" -gt 0 ] && [ "$now" = "$lines" ]; then idle=$((idle + 1)); else idle=0; fi
    lines=$now
    sleep 0.2
done
kill -INT $process
(sleep 30 && kill -KILL $process 2>/dev/null) &
killer=$!
wait $process && tell "exit code 0 of an interrupted run" || code=$?
kill $killer
exec 3>&-
[ $code = 130 ] && grep -q 'interrupted after step [1-9]' "$TMP/said" && [ -s "$TMP/waits/model.safetensors" ] || tell "exit code $code"

# so many targets that count: not padding
"$trainer" train --data "$TMP/corpus" --set documents=blank --tokens 20000 --out "$TMP/counted" >"$TMP/said" 2>&1 || tell "exit code $?"
trained=$(grep '"split":"train"' "$TMP/counted/metrics.jsonl" | tail -n 1 | sed 's/.*"tokens":\([0-9]*\).*/\1/')
[ "$trained" -ge 20000 ] && [ "$trained" -lt 20400 ] || tell "--tokens 20000 trained on $trained"

# so many epochs
"$trainer" train --data "$TMP/corpus" --set documents=blank --epochs 2 --out "$TMP/two" --set shuffle_tokens=100000 >"$TMP/said" 2>&1 || tell "exit code $?"
grep -q '^epoch 1 |' "$TMP/said" || tell "no first epoch"
