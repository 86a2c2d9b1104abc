# plan_data.sh: what the plan says that data takes is what a run takes: pairs of bytes have no tables of a tokenizer and keep
# no ids; the trainer asks for nothing beside.
set -u
failed=0
wrong() { echo "failed: $*"; failed=1; }
sizes='--set layers=1 --set width=16 --set heads=2 --set batch=2'
"$LATHE" build models/seq2seq.lua $sizes -o "$TMP/s2s" >"$TMP/log" 2>&1 || { cat "$TMP/log"; exit 1; }
planned=$(sed -n 's/^ *data, at most *\([0-9,]*\) bytes/\1/p' "$TMP/s2s/plan.txt" | tr -d ,)
# Two blocks of 4,194,304 ids and one of 1,048,576, six parcels, the reader.
longest=$(sed -n 's/^ *source_seq = \([0-9]*\).*/\1/p' models/seq2seq.lua | head -n 1)
[ -n "$longest" ] || longest=$(grep -o 'source_seq = [0-9]*' models/seq2seq.lua | head -n 1 | grep -o '[0-9]*')
wanted=$(awk -v longest="$longest" 'function block(t) { return 4 * (t + 131072 + 3) + 20 * (int(t / 16) + 2) + 4 * (longest + 2) }
    BEGIN { printf "%d", 2 * block(4194304) + block(1048576) + 6 * 786432 + 4194304 }')
[ "$planned" = "$wanted" ] || wrong "planned $planned bytes for data, expected $wanted"
awk 'BEGIN { for (i = 0; i < 300; i++) printf "{\"source\":\"the cat %d\",\"target\":\"sat %d\"}\n", i % 17, i % 13 }' >"$TMP/pairs.jsonl"
"$TMP/s2s/trainer" train --data "$TMP/pairs.jsonl" --steps 1 --out "$TMP/run" >"$TMP/out" 2>&1 || { cat "$TMP/out"; wrong 'no run'; }
grep -q '(0 bytes beside it for the data' "$TMP/out" || { grep beside "$TMP/out"; wrong 'the data takes more than planned'; }

# Of what is resident nothing is beside the plan but the program itself, and what of its code is read later.
"$TMP/s2s/trainer" bench --steps 2 --threads 4 --json >"$TMP/bench.json"
beside=$(sed 's/.*"planned_bytes":\([0-9]*\).*"peak_rss_bytes":\([0-9]*\).*"program_bytes":\([0-9]*\).*/\2 \3 \1/' "$TMP/bench.json" | awk '{ print $1 - $2 - $3 }')
[ "$beside" -lt 3000000 ] || wrong "$beside bytes are resident beside the plan and the program"
exit $failed
