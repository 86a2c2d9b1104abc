# pointer_generator.sh: an attention decoder as it is written: published numbers of parameters; what is not recurrent is outside of
# its loop (the vocabulary's product, W_h, weight gradients), which the flops of forward and step and the loops' kernels say.
set -u
failed=0
model="models/pointer_generator.lua --set accumulate=1 --set rows=1"

count() {       # NUMBER ARGUMENTS…
    wanted=$1
    shift
    found=$("$LATHE" check $model --no-panels "$@" --json | sed -n 's/.*"parameters": *\([0-9]*\).*/\1/p')
    [ "$found" = "$wanted" ] || { echo "failed: $* has $found parameters, not $wanted"; failed=1; }
}
count 22459137
count 22459393 --set coverage=1.0
count 19216497 --config medium
count 16098785 --config small

"$LATHE" plan $model --no-panels >"$TMP/plan" || exit 1
flops() { sed -n "s/^$1: .*steps, \(.*\) flop\$/\1/p" "$TMP/plan" | tr -d ,; }
forward=$(flops eval) step=$(flops train)
[ "$forward" -le 10600000000 ] || { echo "failed: forward is $forward flop"; failed=1; }
[ $((step * 10)) -le $((forward * 32)) ] || { echo "failed: a step is $step flop, forward $forward"; failed=1; }

# a line of a kernel inside `time x N` is indented deeper; an iteration's products are those with the state alone
awk '/^ +[0-9]+  / { depth = index($0, $2); if ($2 == "time") { inside = depth; next } }
     inside && depth <= inside { inside = 0 }
     inside && / flop$/ { f = $(NF - 1); gsub(",", "", f); n++; if (f + 0 > 1100000) { print "failed: in a loop:" $0; bad = 1 } }
     END { if (n < 20) { print "failed: " n " products in loops"; bad = 1 }; exit bad }' "$TMP/plan" || failed=1
echo "note: forward $forward flop, step $step"
exit $failed
