#!/bin/sh
# muon.sh: in how many steps, and in what part of the time, does Muon reach the loss that AdamW has after 1,000?
#
#   tests/bench/muon.sh FOLDER      goes on where it was stopped; some nine hours on two cores
#
# models/gpt.lua as `char_gpu` (6 layers, 6 heads, width 384, 64 windows of 256 characters) on tinyshakespeare, seeds 1 to 3:
# AdamW in 1,000 steps and Muon in 750, each with a cosine over its own steps, and nothing tuned. The loss is that of the
# held-out tenth. Times of steps: `trainer bench`, both in turn, medians of five. When other programs run, losses stay the
# same, and times do not: give the machine to the last part.
set -eu
mkdir -p "${1:?a folder for builds, runs and results}/runs"
work=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
lathe=${BUILD:-build}/lathe
data=${LATHE_DATA:-../shared/data}/tinyshakespeare.txt
[ -e "$data" ] || { echo "no $data"; exit 77; }

for optimizer in adamw muon; do
    steps=1000
    [ $optimizer = adamw ] || steps=750
    [ -e "$work/$optimizer/trainer" ] ||
        "$lathe" build models/gpt.lua --config char_gpu --set optimizer=$optimizer --set steps=$steps --set eval_every=125 -o "$work/$optimizer"
done
for seed in 1 2 3; do
    for optimizer in adamw muon; do
        run=$work/runs/$optimizer-$seed
        [ ! -e "$run/done" ] || continue
        "$work/$optimizer/trainer" train --data "$data" --tokenizer chars --seed $seed --out "$run" --resume=auto --save-every 25 --keep-last 1 \
            --no-report --no-profile --no-histograms >>"$run.log" 2>&1
        touch "$run/done"
    done
done

median() { sort -n | awk '{ at[NR] = $1 } END { print at[int((NR + 1) / 2)] }'; }
: >"$work/adamw.ms"
: >"$work/muon.ms"
for round in 1 2 3 4 5; do
    for optimizer in adamw muon; do
        "$work/$optimizer/trainer" bench --steps 3 --json | sed 's/.*"step_ms":{"median":\([0-9.]*\).*/\1/' >>"$work/$optimizer.ms"
    done
done
adamw=$(median <"$work/adamw.ms") muon=$(median <"$work/muon.ms")
awk "BEGIN { printf \"a step: AdamW %.0f ms, Muon %.0f ms; 750 of Muon take %.3f of the time of 1,000 of AdamW\n\", $adamw, $muon, 0.75 * $muon / $adamw }"
loss() { sed -n 's/.*"split":"val","loss":\([0-9.]*\).*/\1/p' "$work/runs/$1/metrics.jsonl" | tail -n 1; }
for seed in 1 2 3; do
    awk "BEGIN { a = $(loss adamw-$seed); m = $(loss muon-$seed); printf \"seed $seed: AdamW %.4f after 1,000 steps, Muon %.4f after 750: %s\n\", a, m, m <= a ? \"reached\" : \"not reached\" }"
done
