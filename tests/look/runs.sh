# runs.sh: lathe runs lists and sorts runs by what their folders say, a thousand in a second or two; lathe plot draws them;
# a run that goes on says so; a terminal's progress line has a bar.
lathe=${LATHE:-build/lathe}
case $lathe in /*) ;; *) lathe=$PWD/$lathe ;; esac
. tests/trainer/common
some_text t.txt 400

run() {     # NAME STEPS LR LOSS BEST [END]: a folder
    mkdir -p "all/$1"
    echo "{\"model\":\"toy\",\"config\":\"small\",\"recipe\":{\"steps\":100,\"lr\":$3}}" >"all/$1/config.json"
    printf '{"step":%d,"split":"train","loss":%s,"lr":%s,"time":12.5}\n{"step":%d,"split":"val","loss":%s}\n{"step":%d,"split":"val","loss":NaN}\n' "$2" "$4" "$3" "$2" "$5" "$2" >"all/$1/metrics.jsonl"
    [ -z "${6:-}" ] || echo "{\"ended\":{\"how\":\"$6\"}}" >"all/$1/run.json"
}
run a10 100 0.001 2.5 2.25 done
run a9 40 0.01 9 3.5 diverged
run a2 60 0.0001 3 1.5
run deep/er/a1 100 0.002 2 4
printf '{"step":101,"split":"tr' >>all/a2/metrics.jsonl
works "$lathe" runs all
tr -s ' ' <out | sed '1d' >listed
printf '%s\n' 'all/a2 toy small cut off 60/100 1.5000 3.0000 0.0001 0:00:12' 'all/a9 toy small diverged 40/100 3.5000 9.0000 0.01 0:00:12' \
    'all/a10 toy small done 100/100 2.2500 2.5000 0.001 0:00:12' 'all/deep/er/a1 toy small done 100/100 4.0000 2.0000 0.002 0:00:12' >wanted
same listed wanted
order() {   # WANTED OPTION…
    wanted=$1
    shift
    works "$lathe" runs all "$@"
    got=$(sed '1d; s/ .*//; s/.*a//' out | tr '\n' ' ')
    [ "$got" = "$wanted" ] && ok "$*: $got" || wrong "$*: $got, not $wanted"
}
order '2 10 9 1 ' --sort best
order '1 9 10 2 ' --sort best --reverse
order '2 10 1 9 ' --sort rate
order '9 2 10 1 ' --sort steps
# A narrow terminal: names are cut, then columns are left out; a pipe gets all.
run a-run-whose-name-is-longer-than-what-a-table-has-room-for/trial-007-seed-3 40 0.01 9 3.5 done
for columns in 100 80 60 50; do
    works env LC_ALL=C.UTF-8 COLUMNS=$columns "$lathe" runs all
    [ "$(LC_ALL=C.UTF-8 wc -L <out)" -le $columns ] && ok "$columns columns" || { wrong "wider than $columns"; cat out; }
    says '….*-seed-3  ' out
    says '3.5000' out
done
works env LC_ALL=C COLUMNS=80 "$lathe" runs all
says '~.*trial-007-seed-3  ' out
works "$lathe" runs all
says 'all/a-run-whose-name-is-longer-than-what-a-table-has-room-for/trial-007-seed-3  toy small  done' out
rm -r all/a-run*
works "$lathe" runs --json all
says '{"run":"all/a2","model":"toy small","state":"cut off","step":60.0,"steps":100.0,"best":1.5,"loss":3.0,"rate":0.0001,"seconds":12.5}' out
refuses 2 '--sort size: expected name, model' "$lathe" runs --sort size all
refuses 3 'nowhere: error: cannot be read' "$lathe" runs nowhere
mkdir none
works "$lathe" runs none
says 'no runs are below none' err

# A thousand runs of 500 lines.
awk 'BEGIN { for (i = 1; i <= 500; i++) printf "{\"step\":%d,\"split\":\"train\",\"loss\":%g,\"lr\":0.001,\"grad_norm\":1,\"tok_s\":1000,\"tokens\":%d,\"time\":%g}\n", i, 5 / i, i * 64, i }' >lines
mkdir many base
mv lines base/metrics.jsonl
cp all/a10/config.json base/
for i in $(seq 1000); do cp -rl base "many/$i"; done
before=$(date +%s)
works "$lathe" runs many
[ "$(wc -l <out)" = 1001 ] && [ $(($(date +%s) - before)) -lt 20 ] && ok 'a thousand runs' || wrong "$(wc -l <out) lines after $(($(date +%s) - before)) s"

# A run that goes on.
timeout 60 "$toy" train --data t.txt --out going --steps 100000000 --no-report >going.log 2>&1 &
pid=$!
for i in $(seq 50); do [ "$(wc -l <going/metrics.jsonl 2>/dev/null || echo 0)" -gt 1 ] && break; sleep 0.1; done
works "$lathe" runs going
says 'going .* running ' out
kill "$pid"
wait "$pid"
works "$lathe" runs going
says 'going .* stopped ' out

# Curves in a terminal, in UTF-8 and without.
works env LC_ALL=C.UTF-8 COLUMNS=60 "$lathe" plot many/1
says '⠤⠤ 1 train' out
[ "$(wc -l <out)" = 23 ] && ok 'as high as it should be' || wrong "$(wc -l <out) lines"
works env LC_ALL=C COLUMNS=60 "$lathe" plot many/1 all/a9 --log --over tokens
! LC_ALL=C grep -q '[^ -~]' out && ok 'plain ASCII' || wrong 'other than ASCII'
[ "$(awk 'length > n { n = length } END { print n }' out)" -le 60 ] && ok 'as wide as the terminal' || wrong 'wider than the terminal'
refuses 2 'there is no number lossy in many/1; there are: loss, lr, grad_norm, tok_s' "$lathe" plot many/1 --of lossy
refuses 2 '--over hours: expected steps' "$lathe" plot many/1 --over hours
refuses 3 "expected a run's folder" "$lathe" plot none

# Runs of a sweep are called by the settings in which they differ; one that explodes flattens no other.
mkdir sw
echo '{"--over":["lr=1e-4,1e-3,1e-2","kind=a,b",7,"lr"]}' >sw/sweep.json
trial() { # NAME LR KIND TOP
    mkdir "sw/$1"
    echo "{\"built_with\":{\"kind\":\"$3\",\"lr\":\"5\"},\"recipe\":{\"lr\":$2,\"steps\":99}}" >"sw/$1/config.json"
    awk -v top="$4" 'BEGIN { for (i = 1; i <= 40; i++) printf "{\"step\":%d,\"split\":\"train\",\"loss\":%g,\"time\":%d}\n", i, 3 - i / 20 + (i > 9) * top, i }' >"sw/$1/metrics.jsonl"
}
trial trial-001 0.0001 a 0
trial trial-002 0.001 a 0
trial trial-003 0.01 a 1e6
plot="env LC_ALL=C COLUMNS=60 $lathe plot"
works $plot sw
says '^ *a lr=0.0001 train$' out
says '^ *c lr=0.01 train$' out
says 'values far beyond are cut off; --whole draws them' out
says '^ *3 |\|^ *2\.[0-9]* |' out
! grep -q 'e+0' out && ok 'the others are not flattened' || { wrong 'flattened'; cat out; }
works $plot sw --whole
says '^ *1e+06 |' out
works $plot sw/trial-001 sw/trial-002
! grep -q 'far beyond' out && ok 'nothing is cut off where nothing is far' || wrong 'cut off'
works $plot sw/trial-002
says 'a lr=0.001 kind=a train' out
trial trial-004-seed-7 0.01 b 0
works $plot sw/trial-004-seed-7 sw/trial-002 many/1
says 'a lr=0.01 kind=b seed 7 train' out
says 'b lr=0.001 kind=a train' out
says 'c 1 train' out
echo nonsense >sw/sweep.json
works $plot sw
says 'a trial-001 train' out

# A terminal's line.
if command -v script >/dev/null; then
    LC_ALL=C.UTF-8 timeout 60 script -qec "'$toy' train --data t.txt --steps 300 --out live --no-report" /dev/null >shown 2>&1 </dev/null
    tr '\r' '\n' <shown | grep -q '^██████████ step 300/300 | loss .* ETA 0:00 █.* | [0-9.]* MB' && ok 'a bar, sparks, memory' || { wrong 'another line'; tr '\r' '\n' <shown | tail -n 5; }
fi
finish
