# bits.sh: a library trains to the bits of the trainer: with 1, 2 and 3 threads, its own or the caller's; saved in between and
# loaded into another instance; two instances at once; its evaluation and the scores of a text are those of the trainer.
# compiled: as for users
grep -q 'LATHE_SANITIZE:[A-Z]*=\(OFF\)\?$' "${BUILD:-build}/CMakeCache.txt" || { echo "skipped: calls.sh runs a library under sanitizers"; exit 77; }
set -eu
failed=0
complain() { echo "failed: $*"; failed=1; }
words="--set tokenizer=bytes --set vocab=256 --set hidden=24 --set width=16 --set seq=16 --set batch=4 --set dropout=0.2 \
 --set accumulate=2 --set warmup=3 --set steps=20 --set eval_every=0"
cc=${CC:-cc}

# One window: all rows of all batches are the same.
printf 'To be, or not to ' >"$TMP/text"
# shellcheck disable=SC2086
library=$("$LATHE" build models/char_rnn.lua $words --library -o "$TMP/library")
# shellcheck disable=SC2086
trainer=$("$LATHE" build models/char_rnn.lua $words -o "$TMP/trainer")
"$trainer" train --data "$TMP/text" --set val_fraction=0 --seed 5 --out "$TMP/run" --no-report >"$TMP/said" 2>&1 || complain "$(cat "$TMP/said")"
saved="$TMP/run/checkpoints/step-20/model.safetensors"

$cc -Wall -Wextra -Werror -O1 -I"$TMP/library" tests/library/text_driver.c "$library" -lm -lpthread -o "$TMP/driver"
for how in "own 1" "own 2" "own 3" "callers 3" "resumed 2" "together 2"; do
    # shellcheck disable=SC2086
    "$TMP/driver" $how "$TMP/text" "$TMP/weights" "$saved" >"$TMP/said" || complain "$how: $(cat "$TMP/said")"
    cmp -s "$TMP/weights" "$saved" || complain "$how: other weights than the trainer's"
done

# Twenty tokens, the likeliest each time.
"$TMP/driver" text 1 "$TMP/text" "$TMP/weights" "$saved" >"$TMP/written" || complain "text: $(cat "$TMP/written")"
"$trainer" generate --weights "$saved" --tokenizer bytes --prompt 'To be' --set temperature=0 --tokens 11 >"$TMP/expected" 2>"$TMP/said" ||
    complain "generate: $(cat "$TMP/said")"
[ "$(tr -d '\n' <"$TMP/written")" = "$(tr -d '\n' <"$TMP/expected")" ] || complain "another text: $(cat "$TMP/written" "$TMP/expected")"

# And drawn ones, up to an end.
"$TMP/driver" drawn 1 "$TMP/text" "$TMP/weights" "$saved" >"$TMP/written" || complain "drawn: $(cat "$TMP/written")"
"$trainer" generate --weights "$saved" --tokenizer bytes --prompt 'To be' --tokens 40 --seed 3 --stop-token 122 --set temperature=0.8 --set top_p=0.95 \
    --set min_p=0.001 --set repetition_penalty=1.2 --set top_k=9 >"$TMP/expected" 2>"$TMP/said" || complain "generate: $(cat "$TMP/said")"
[ "$(tr -d '\n' <"$TMP/written")" = "$(tr -d '\n' <"$TMP/expected")" ] || complain "another text: $(cat "$TMP/written" "$TMP/expected")"

# The evaluation of the same batch.
"$trainer" eval --weights "$saved" --tokenizer bytes --data "$TMP/text" --val-fraction 1 --json >"$TMP/eval" 2>"$TMP/said" ||
    complain "eval: $(cat "$TMP/said")"
"$TMP/driver" evaluate 1 "$TMP/text" "$TMP/weights" "$saved" >"$TMP/own" || complain "evaluate: $(cat "$TMP/own")"
grep -q "\"loss\": *$(cat "$TMP/own")" "$TMP/eval" || complain "another loss: $(cat "$TMP/own" "$TMP/eval")"
exit $failed
