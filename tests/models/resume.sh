# resume.sh: a gpt with dropout and micro-batches, stopped at random steps, by turns with SIGTERM, SIGINT and kill -9, and
# resumed each time with another number of threads: parameters and moments of the uninterrupted run, byte for byte.
# 3 stops; 10 with LATHE_LONG=1.
# compiled: as for users
set -eu
stops=3
[ -z "${LATHE_LONG:-}" ] || stops=10
steps=$((200 + 40 * stops))      # so many that a poll that comes late still finds it running
awk 'BEGIN { for (i = 0; i < 4000; i++) { x = (x * 1103515245 + 12345) % 2147483648; printf "%s", substr("etaoin shrdlu", x % 13 + 1, 1) } }' >"$TMP/text"
"$LATHE" build models/gpt.lua --config char --set layers=2 --set width=48 --set heads=3 --set seq=40 --set batch=5 --set dropout=0.1 \
    --set accumulate=2 -o "$TMP/gpt" >"$TMP/said" 2>&1 || { cat "$TMP/said"; exit 1; }
train="$TMP/gpt/trainer train --out $TMP/run"
start="--data $TMP/text --tokenizer chars --steps $steps --seed 7 --eval-every 25 --save-every 7"
# shellcheck disable=SC2086
"$TMP/gpt/trainer" train $start --out "$TMP/whole" --threads 1 >"$TMP/said" 2>&1 || { cat "$TMP/said"; exit 1; }

random=12345 resumed=0 report=
for k in $(seq $stops); do
    case $((k % 3)) in 0) signal=INT code=130 ;; 1) signal=TERM code=143 ;; *) signal=KILL code=137 ;; esac
    before=$( { wc -l <"$TMP/run/metrics.jsonl"; } 2>/dev/null || echo 0)
    # shellcheck disable=SC2086
    $train $start --threads $((1 + (k + 1) % 3)) >"$TMP/said" 2>&1 &
    process=$!
    random=$(((random * 1103515245 + 12345) % 2147483648))
    wanted=$((before + 3 + random / 65536 % 38))
    while kill -0 $process 2>/dev/null; do      # a line of metrics is a step; those cut back on resuming are made again
        [ "$( { wc -l <"$TMP/run/metrics.jsonl"; } 2>/dev/null || echo 0)" -lt $wanted ] || break
        sleep 0.01
    done
    kill -$signal $process 2>/dev/null || { wait $process; break; }     # done: it was not looked at for long
    found=0
    wait $process || found=$?
    [ $found = $code ] || { cat "$TMP/said"; echo "exit code $found after SIG$signal, not $code"; exit 1; }
    at=$(sed -n 's/.*continues after step \([0-9]*\) .*/\1/p' "$TMP/said")
    report="$report ${at:-0}…$signal"
    if [ -d "$TMP/run/checkpoints/latest" ]; then start=--resume resumed=$((resumed + 1)); fi
done
$train $start --threads 2 >"$TMP/said" 2>&1 || { cat "$TMP/said"; exit 1; }
at=$(sed -n 's/.*continues after step \([0-9]*\) .*/\1/p' "$TMP/said")
echo "note: steps resumed at and what ended them:$report $at…$steps"
for file in model optimizer; do
    cmp "$TMP/whole/checkpoints/step-$steps/$file.safetensors" "$TMP/run/checkpoints/step-$steps/$file.safetensors"
done
for run in whole run; do sed 's/"tok_s":[^,]*,//; s/,"time":.*//' "$TMP/$run/metrics.jsonl" >"$TMP/$run.lines"; done
cmp "$TMP/whole.lines" "$TMP/run.lines"
[ $resumed -ge 1 ]
