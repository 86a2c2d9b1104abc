#!/bin/sh
# overlap.sh: a step of two ranks over a network as slow as the backward pass: what of the network is not hidden?
#
#   tests/bench/overlap.sh [ROUNDS [OPTIONS of lathe build…]]
#
# Two processes with one thread each.  The wires between them let through so many bytes a second (LATHE_WIRE_RATE) that a
# gradient's way there and its parameter's way back take, for all of them, as long as the backward pass took without a
# limit.  Each round runs both, one after the other; medians over rounds.
set -eu
cd "$(dirname "$0")/../.."
export OMP_NUM_THREADS=1
rounds=${1:-5}
[ $# -eq 0 ] || shift
work=build/bench/overlap
mkdir -p "$work"
build/lathe build models/gpt.lua --set layers=6 --set width=256 --set heads=4 --set batch=8 "$@" -o "$work/model" >"$work/log"
cat README.md ARCHITECTURE.md compiler/*/*.c | head -c 200000 >"$work/text"

# run NAME RATE: sets step, backward, ranks (ms: median; of a step, in the mean)
run() {
    env ${2:+LATHE_WIRE_RATE=$2} "$work/model/trainer" train --data "$work/text" --ranks 2 --out "$work/$1" --trace "$work/$1.json" \
        --steps 14 --set log_every=1 --set eval_every=0 --val-fraction 0 >>"$work/log" 2>&1
    step=$(sed -n 's/.*"split":"train".*"time":\([0-9.]*\).*/\1/p' "$work/$1/metrics.jsonl" |
        awk 'NR > 3 { print 1000 * ($1 - before) } { before = $1 }' | sort -n | awk '{ at[NR] = $1 } END { print at[int((NR + 1) / 2)] }')
    for part in backward ranks; do
        eval "$part=$(sed -n "s/.*\"spent\":{[^}]*\"$part\":\([0-9.e-]*\).*/\1/p" "$work/$1/profile.json" | awk '{ print 1000 * $1 / 14 }')"
    done
}
bytes=$("$work/model/trainer" info --json | sed -n 's/.*"parameter_count": *\([0-9]*\).*/\1/p' | awk '{ print 4 * $1 }')
: >"$work/rows"
for round in $(seq "$rounds"); do
    run free ""
    free=$step rate=$(awk "BEGIN { print $bytes / ($backward / 1000) }") reduce=$backward waited=$ranks
    run slow "$rate"
    echo "$round $free $reduce $step $ranks $waited" | tee -a "$work/rows" | awk -v rate="$rate" '{
        most = $2 > $3 ? $2 : $3
        printf "round %d: %.0f ms without a limit (%.0f of it waiting), backward %.0f ms; at %.0f MB/s %.0f ms (%.0f of it waiting): %.3f of the larger\n",
            $1, $2, $6, $3, rate / 1e6, $4, $5, $4 / most }'
done
awk '{ most = $2 > $3 ? $2 : $3; print $4 / most }' "$work/rows" | sort -n | awk '{ at[NR] = $1 } END { print "median: " at[int((NR + 1) / 2)] }'
