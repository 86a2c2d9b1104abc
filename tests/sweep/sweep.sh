# sweep.sh: `lathe sweep` killed with -9 at random moments ends with the table of one that was not, whatever runs at a time;
# trials share programs; those that cannot be, diverge or are too large are told, and the others go on; halving goes on
# from checkpoints; means over seeds; the command of the best trains it again; two sweeps are not mixed.
top=$PWD
. tests/trainer/common
lathe=${LATHE:-$BUILD/lathe}
[ -x "$lathe" ] || { echo "skipped: $lathe is not built"; exit 77; }
case $lathe in /*) ;; *) lathe=$top/$lathe ;; esac
some_text t.txt 400
cp "$top/tests/sweep/tiny.lua" .
timeless() { awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "seconds") k = i } { $k = ""; print }' "$1/sweep.csv"; }
alike() {       # A B
    timeless "$1" >one
    timeless "$2" >two
    same one two
}
count() { if [ "$1" = "$2" ]; then ok "$3: $1"; else wrong "$3: $1, expected $2"; fi; }
states() { awk -F, -v s="$2" '{ for (i = 1; i <= NF; i++) n += $i == s } END { print n + 0 }' "$1/sweep.csv"; }

# lr and clip need no program of their own, width does, and kind by what the plan counts; a width of 12 is refused by the
# description.
sweep="$lathe sweep tiny.lua --data t.txt --over lr=1e-4..1 --over width=8,12,16 --over clip=0.1,1 --over kind=adamw,sgd --trials 24 --halving --steps 72"
works $sweep --out a --jobs 3
cp out table
count "$(ls a/builds | grep -cv log)" 4 'programs'
count "$(states a failed)" "$(grep -c '^[0-9]*,[^,]*,12,' a/sweep.csv)" 'those with a width of 12 fail'
count "$(states a done)" "$(($(states a stopped) ? 2 : 0))" 'done'
says 'width must be a multiple of 8' a/sweep.csv
says 'the best is trial' table

# The first while it builds, the others as soon as so many results are there, and a moment later.
lines() { cat b/results.jsonl 2>/dev/null | wc -l; }
for want in 0 2 9 16 28; do
    setsid $sweep --out b --jobs 2 >out 2>err </dev/null &
    sweep_id=$!
    until [ "$(lines)" -ge $want ] || ! kill -0 $sweep_id 2>/dev/null; do sleep 0.01; done
    sleep "0.0$(($(od -An -N1 -tu1 /dev/urandom) % 90 + 10))"
    kill -9 -$sweep_id 2>/dev/null && echo "killed with $(lines) results"
    wait $sweep_id 2>/dev/null
done
works $sweep --out b --jobs 1
alike a b
tail -n 3 table | sed 's/a\/trial/b\/trial/' >one
tail -n 3 out >two
same one two
printf '{"trial": 1, "se' >>b/results.jsonl
works $sweep --out b
alike a b
refuses 3 '--trials was 24, and is 25 now' $sweep --out b --trials 25
sed -i 's/"state": "done"/"state": "great"/' b/results.jsonl
refuses 3 'results.jsonl:.*expected the result of a run' $sweep --out b
refuses 3 'this folder has no sweep, but' $sweep --out a/trial-001

# The best again, in one go.
best=$(sed -n 2p a/sweep.csv | cut -d, -f1)
command=$(tail -n 1 table)
eval "works \"$lathe\" ${command#*lathe} --out again -o again.built"
number loss "$(ls -d a/trial-*"$best")/metrics.jsonl" >/dev/null
tail -n 1 again/metrics.jsonl | sed 's/"time":[^,}]*//' >one
tail -n 1 "a/trial-$(printf %03d "$best")/metrics.jsonl" | sed 's/"time":[^,}]*//' >two
same one two

# A grid with seeds: three runs of each.
works $lathe sweep tiny.lua --data t.txt --over lr=1e-3,1e-2 --seeds 3 --steps 30 --seed 5 --out g
count "$(ls -d g/trial-*-seed-[567] | wc -l)" 6 'runs'
awk '/"trial": 2,/ { sub(/.*"value": /, ""); n++; s += $0; q += $0 * $0 } END { printf "%.5f %.5f\n", s / n, sqrt((q - s * s / n) / (n - 1)) }' g/results.jsonl >one
awk -F, '$1 == 2 { printf "%.5f %.5f\n", $4, $5 }' g/sweep.csv >two
same one two

# A law of five sizes; of one size the better rate counts.  Asked again with another budget, nothing is trained.
scale="$lathe scale tiny.lua --data t.txt --over width=8,16,24,32,40 --over lr=1e-2,3e-2 --out s"
works $scale --budget 1e9
says '^law: loss = [0-9.]* + [-0-9.e+]* / parameters^[0-9.]*, after as many steps as here' out
says '^1e+09 flop: a model of about [0-9.e+]* parameters, loss [0-9.]* ± [0-9.]*' out
count "$(grep -c '^ *[0-9,]*  *[0-9]\.[0-9]* ' out)" 5 'sizes'
works $scale --budget 2h
[ "$(grep -c after err)" = 0 ] && ok 'nothing is trained again' || wrong 'it is trained again'
refuses 1 '3 sizes have a result, and a law needs 4' $lathe scale tiny.lua --data t.txt --over width=8,16,24 --out s3
refuses 2 'expected a time such as 30m' $scale --budget 2y
refuses 2 '--halving is not for scale' $scale --halving

# What diverges, what does not fit, what is wrong with all.
works $lathe sweep tiny.lua --data t.txt --set kind=sgd --over lr=1e-2,1e38 --out d
count "$(states d diverged)" 1 'diverged'
says 'step [0-9]* diverged' d/sweep.csv
says '^trial [12]: .*error: step [0-9]* diverged.  Try a lower learning rate (--set lr=.*clip=1).  To find the operation' out
says '^   *lathe replay .* --step ' out
says '^2  *1e38 .* diverged  *[0-9.]*$' out
works $lathe sweep tiny.lua --data t.txt --over lr=1e-3..1e-1/3 --over width=8..12 --method grid --steps 5 --out e
count "$(sed -n 's/^[0-9]*,\([^,]*,[^,]*\),.*/\1/p' e/sweep.csv | sort -u | grep -c .)" 15 'points of ranges'
says ',0.01,9,' e/sweep.csv
refuses 1 'no trial has a result; of trial 1: it plans .* MB, and there are 2.05 KB' $lathe sweep tiny.lua --data t.txt --over lr=1e-3,1e-2 --memory-limit 2K --out l
count "$(states l 'too large')" 2 'too large'
refuses 1 'no option --frob' $lathe sweep tiny.lua --data t.txt --over lr=1e-3,1e-2 --frob 3 --out w
works $lathe sweep tiny.lua --data t.txt --over lr=1e-3,1e-2 --out w
refuses 3 'cannot be read.*nothing was built' $lathe sweep tiny.lua --data nowhere.txt --over lr=1e-3,1e-2 --out n

# Two at once; SIGTERM: what there is, and the same command goes on.
long="$lathe sweep tiny.lua --data t.txt --over lr=1e-3,1e-2 --steps 30000000 --jobs 1 --out i"
setsid $long >out.i 2>err.i </dev/null &
sweep_id=$!
until [ -e i/trial-001/metrics.jsonl ] || ! kill -0 $sweep_id; do sleep 0.1; done
refuses 3 'another sweep is at work in this folder' $long
kill -TERM $sweep_id
wait $sweep_id
count $? 143 'exit code when interrupted'
says 'the same command goes on' err.i
[ -e i/trial-001/checkpoints/latest ] && ok 'the run has saved' || wrong 'the run has not saved'
finish
