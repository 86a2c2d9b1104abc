# time.sh: `lathe plan --time` says a step's time and has a line for each kernel, as text and as JSON; for a GPU it says nothing.
# How far times are off is a measurement: tests/bench/times.py.
failures=0
wrong() { echo "FAILED: $*"; failures=$((failures + 1)); }

"$LATHE" plan models/gpt.lua --config char --time >"$TMP/text" || wrong "plan --time"
grep -q '^a step will take about [0-9.]* ms$' "$TMP/text" || wrong "no time of a step"
kernels=$("$LATHE" plan models/gpt.lua --config char | sed -n 's/^train: \([0-9]*\) kernels.*/\1/p')
lines=$(grep -c ' %  ' "$TMP/text")
[ "$lines" -ge "$kernels" ] || wrong "$lines lines for $kernels kernels"
grep -Eq ' %  +4  attn_to_h_residual +gpt.lua:18$' "$TMP/text" || wrong "no line of attn_to_h_residual"
"$LATHE" plan models/gpt.lua --config char --time --json >"$TMP/json" || wrong "plan --time --json"
[ "$(grep -c '"entry": "train"' "$TMP/json")" -ge "$kernels" ] || wrong "JSON lacks kernels"
grep -q '"name": "optimizer_step"' "$TMP/json" || wrong "JSON lacks the update"
"$LATHE" plan models/gpt.lua --config char --time --target cuda >"$TMP/out" 2>"$TMP/err"
[ $? = 2 ] && grep -q 'predicted for --target cpu' "$TMP/err" || wrong "--time for a GPU"
[ $failures = 0 ] || { cat "$TMP/text"; exit 1; }
