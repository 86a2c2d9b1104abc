# profile.sh: `trainer profile` tells of every kernel of a step, and of nothing else.
# compiled: as for users
top=$PWD
. tests/trainer/common
lathe=${LATHE:-$BUILD/lathe}
[ -x "$lathe" ] || { echo "skipped: $lathe is not built"; exit 77; }

works "$lathe" build "$top/models/gpt.lua" --config char --set layers=3 --set width=32 --set heads=2 --set seq=16 --set batch=2 \
    --set accumulate=2 -o m
works m/trainer bench --steps 2 --json
says '"gemm_floor_ms":[0-9.]*[1-9]' out
number_of() { sed "s/.*\"$1\":\([0-9.e-]*\).*/\1/" out; }
awk "BEGIN { f = $(number_of forward); b = $(number_of backward); u = $(number_of update); all = f + b + u
    exit !(f > 0 && b > 0 && u > 0 && all > 0.5 * $(number_of min) && all < 1.01 * $(number_of max)) }" &&
    ok "bench: parts of a step" || wrong "bench: parts that are not a step"
flops=$(sed 's/.*"flops_per_step":\([0-9.e+]*\).*/\1/' out)
works m/trainer profile --steps 3 --trace trace.json --json

# One line a kernel, in the order printed: lap calls flops lost_ms.
sed 's/"kernels":\[/\n&\n/; s/}\(,{"lap"\)/}\n\1/g; s/\],"products"/\n&/' out | grep '^,*{"lap"' | tr -d '{}' | tr , '\n' | awk -F: '
    /"lap"/ { if (n++) print row; row = $2 } /"calls"|"flops"|"lost_ms"/ { kept[$1] = $2; row = row " " $1 " " $2 }
    END { print row }' | tr -d '"' >kernels
awk '{ for (i = 2; i < NF; i += 2) v[$i] = $(i + 1); print $1, v["calls"], v["flops"], v["lost_ms"] }' kernels >rows
rows=$(wc -l <rows)
lines=$(sed -n '/^void gpt_train/,/^}/p' m/model.c | grep -c 'LAP(')
[ "$rows" = $((lines + 2)) ] && ok "$rows rows" || wrong "$rows rows for $lines lines of the entry, the norm and the update"
awk '$2 < 1 { bad = 1; print "never called:", $0 } END { exit bad }' rows && ok "all called" || wrong "kernels without calls"
awk -v all="$flops" '{ sum += $2 * $3 } END { print sum, all; exit !(sum == all + 0) }' rows && ok "flop add up" || wrong "flop of rows"
awk 'NR > 1 && $4 > last { bad = 1 } { last = $4 } END { exit bad }' rows && ok "sorted" || wrong "not sorted by loss"

# A product forward has two backward, as wide; attention's are counted by a formula of its own.
tr '{' '\n' <out | awk -F'"part":"' '/"lap"/ && !/"heads(_back)?"/ {
        part = substr($2, 1, index($2, "\"") - 1)
        calls = $0; sub(/.*"calls":/, "", calls); flops = $0; sub(/.*"flops":/, "", flops)
        n[part]++; sum[part] += calls * (flops + 0)
    }
    END { for (p in n) print p, n[p], sum[p]; exit !(n["update"] == 2 && sum["forward"] > 0 && sum["backward"] == 2 * sum["forward"]) }' &&
    ok "forward and backward" || wrong "flop of forward and backward"
sum_of() { sed "s/.*\"$1\":{\"ms\":\([0-9.]*\).*/\1/" out; }
close "$(awk "BEGIN { print $(sum_of forward) + $(sum_of backward) + $(sum_of update) }")" "$(sum_of total)" 1e-3 "parts add up"

# The trace: as many events as calls, each beginning where the one before ended.
tr '{' '\n' <trace.json | grep '"ph":"X"' >events
calls=$(awk '{ n += $2 } END { print n }' rows)
[ "$(wc -l <events)" = "$calls" ] && ok "$calls events" || wrong "$(wc -l <events) events for $calls calls"
sed 's/.*"ts":\([^,]*\),"dur":\([^,}]*\).*/\1 \2/' events |
    awk '{ if ($1 - at > 0.001 || at - $1 > 0.001 || $2 < 0) bad = 1; at = $1 + $2 } END { exit bad || !NR }' &&
    ok "no gaps" || wrong "events with gaps"

refuses 3 'no/such/trace: error: the trace cannot be written' m/trainer profile --steps 1 --trace no/such/trace
works m/trainer profile --steps 1
says 'lost ms .*floor ms' out
says 'gpt.lua:[0-9]* h.attn' out
works m/trainer profile --steps 2 --sort time
awk '$2 ~ /^[0-9.]+$/ && NF > 7 { if (n++ && $2 > before) bad = 1; before = $2 } END { exit bad || n < 5 }' out && ok 'sorted by time' || { wrong 'not sorted by time'; cat out; }
refuses 2 '--sort size: expected lost or time' m/trainer profile --sort size
finish
