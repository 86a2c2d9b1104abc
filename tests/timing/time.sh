# time.sh: `lathe plan --time` says a step's time and has a line for each kernel, as text and as JSON; of this machine, or of a GPU by
# name.
# How far times are off is a measurement: tests/bench/times.py.
# compiled: as for users
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
# The serial part: what its text has no PARALLEL for; without pass threads that is all but products and attention.
grep -Eq '^serial part: about [0-9.e-]* % of a step on one thread, [0-9]* of [0-9]* kernels.*; so 192 threads are at most about [0-9.]* times as fast$' "$TMP/text" ||
    wrong "no serial part"
share() { "$LATHE" plan models/gpt.lua --config char "$@" --json | sed -n 's/.*"serial": {"share": \([0-9.e-]*\), "times_as_fast_with_192_threads": \([0-9.e-]*\),.*/\1 \2/p'; }
awk -v shared="$(share)" -v alone="$(share --no-threads)" 'BEGIN { split(shared, s); split(alone, a); exit !(s[1] < 0.001 && s[2] > 100 && s[2] <= 192 && a[1] > 0.02 && a[2] < 1 / a[1]) }' ||
    wrong "serial parts: $(share); without threads $(share --no-threads)"
refuses() { # WORDS ARGUMENT…
    words=$1
    shift
    "$LATHE" plan models/gpt.lua --config char "$@" >"$TMP/out" 2>"$TMP/err"
    [ $? = 2 ] && grep -q -- "$words" "$TMP/err" || wrong "$*: $(cat "$TMP/err")"
}
refuses 'expected the --gpu whose times are predicted, a100-40, .*, rtx4090; found none' --time --target cuda
refuses 'rtx4090; found t4' --time --target cuda --gpu t4
refuses 'found h10-sxm; did you mean h100-sxm?' --time --target cuda --gpu h10-sxm
refuses 'that is for --time --target cuda' --gpu h200 --target cuda
refuses 'that is for --time --target cuda' --gpu h200 --time
refuses 'for one GPU' --time --target cuda --gpu h200 --gpus 2
"$LATHE" plan models/gpt.lua --config char --time --target cuda --gpu h200 >"$TMP/gpu" || wrong "--gpu h200"
grep -q 'No GPU has confirmed these times' "$TMP/gpu" || wrong "nothing says that no GPU has confirmed it"
grep -q 'H200 .* memory at 4800 GB/s, 50 MB of cache' "$TMP/gpu" || wrong "no rates of the GPU"
# What bounds the step adds up to all of it.
sed -n 's/^bound by .* of that time.*/&/p' "$TMP/gpu" | grep -o '[0-9]* %' | awk '{ all += $1 } END { exit !(NR >= 3 && all >= 98 && all <= 102) }' ||
    wrong "what bounds a step: $(grep '^bound' "$TMP/gpu")"
awk '$4 ~ /^[0-9]*$/ && $5 == "products" { sum += $2 } /^bound by products/ { for (i = 1; i < NF; i++) if ($i == "in") { told = $(i + 1); exit_ok = 1; break } }
    END { exit !(exit_ok && told - sum < 1.5 && sum - told < 1.5) }' "$TMP/gpu" || wrong "products bound another share than their kernels have"
grep -Eq ' %  +1  bytes     optimizer_step' "$TMP/gpu" || wrong "the update is missing"
grep -Eq ' %  +1  [a-z]*  *inputs' "$TMP/gpu" || wrong "the inputs are missing"
"$LATHE" plan models/gpt.lua --config char --time --target cuda --gpu h200 --json >"$TMP/json" || wrong "--gpu --json"
grep -q '"time": {"gpu": "h200", ' "$TMP/json" && grep -q '"bound": "products"' "$TMP/json" || wrong "JSON lacks the GPU"
[ $failures = 0 ] || { cat "$TMP/text" "$TMP/gpu"; exit 1; }
