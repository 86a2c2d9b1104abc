# runs.sh: lathe diff of runs: settings, data, machine, the step at which they part, results and time; the same run twice;
# odd runs, markup, damaged files, NaN; a run beside the program that made it.
lathe=${LATHE:-build/lathe}
case $lathe in /*) ;; *) lathe=$PWD/$lathe ;; esac
. tests/trainer/common
some_text t.txt 400

# differs_by CODE COMMAND…: the exit code, and what is printed into `out`
differs_by() {
    wanted=$1
    shift
    timeout 60 "$@" >out 2>err </dev/null
    got=$?
    [ "$got" = "$wanted" ] && ok "exit $got" || { wrong "exit $got, not $wanted: $*"; cat err; }
}

# Two runs as text: all sections, in their order.
run() { # NAME WARMUP SEED THREADS LAST-STEP
    mkdir -p "$1/checkpoints/latest"
    echo "{\"model\":\"gpt\",\"config\":\"char\",\"precision\":\"fp32\",\"source_hash\":\"1\",\"built_with\":{\"width\":\"64\",\"warmup\":\"10\"},\"recipe\":{\"lr\":0.001,\"warmup\":$2,\"best\":null},\"data\":[\"a.txt\"],\"weights\":null,\"seed\":$3,\"threads\":$4}" >"$1/config.json"
    echo "{\"form\":1,\"starts\":[{\"step\":0,\"processor\":\"P\",\"cores\":2,\"threads\":$4,\"began\":\"$1\"}],\"ended\":{\"how\":\"done\",\"step\":$5},\"parameters\":[{\"name\":\"w\",\"copies\":[2],\"shape\":[3,$3],\"trained\":true}],\"memory\":{\"planned\":1$3,\"categories\":{\"work\":1$3}},\"plan\":{\"kernels\":[{\"name\":\"k\",\"path\":\"h\",\"where\":\"gpt.lua:$4\",\"formula\":\"a = b\",\"flops\":1$3,\"bytes\":7}]}}" >"$1/run.json"
    echo "{\"provenance\":{\"data\":\"$2\"}}" >"$1/checkpoints/latest/state.json"
    awk -v last="$5" -v warmup="$2" 'BEGIN { for (i = 1; i <= last; i++) {
        printf "{\"step\":%d,\"split\":\"train\",\"loss\":%s,\"lr\":%g,\"tok_s\":%g,\"time\":%g}\n", i, i == 9 && warmup == 2 ? "NaN" : 5 - i / 10 - (i > 4 && warmup == 2) / 4, i / 1e3 / (i > 3 ? warmup : 1), 1e3 * i, i / warmup
        if (i % 4 == 0) printf "{\"step\":%d,\"split\":\"val\",\"loss\":%g,\"accuracy\":%g}\n", i, 5 - i / 10 + (warmup == 2 && i == 8), i / 100 } }' >"$1/metrics.jsonl"
}
run a 1 1 2 10
run b 2 3 1 12
differs_by 1 "$lathe" diff a b
cat >wanted <<'Y'
A  a: run of gpt char, done at step 10
B  b: run of gpt char, done at step 12

settings
  warmup  1  2
  seed    1  3

data
  files by name and size  1  2

machine and environment, of the last start
  threads  2  1

run
  steps  10  12

where they part, of 10 steps that both have
  train lr, from step 4 on    0.004  0.002  -50 %
  train loss, from step 5 on  4.5    4.25  -5.56 %
  val loss, from step 8 on    4.2    5.2  +24 %

at step 10, the last that both have
  train loss  4     3.75  -6.25 %
  train lr    0.01  0.005  -50 %

results
  train loss, last    4 (step 10)    3.55 (step 12)  -11 %
  val loss, best      4.2 (step 8)   3.8 (step 12)  -9.52 %
  val loss, last      4.2 (step 8)   3.8 (step 12)  -9.52 %
  val accuracy, best  0.08 (step 8)  0.12 (step 12)  +50 %
  val accuracy, last  0.08 (step 8)  0.12 (step 12)  +50 %

time, which is no difference by itself
  ms a step  1000  500  -50 %

parameters
  w  2 × [3, 1]  2 × [3, 3]

memory, bytes
  in all  11  13  +18 %
  work    11  13  +18 %

kernels of a step, by line and layer (+ added, - gone, ~ changed)
  gpt.lua:2 h
    ~ k: 11 flop, 7 bytes → 13 flop, 7 bytes
Y
cmp -s out wanted && ok 'all sections' || { wrong 'other sections'; diff wanted out; }
differs_by 1 "$lathe" diff --json a b
says '"settings":\[{"name":"warmup","a":1,"b":2},{"name":"seed","a":1,"b":3}\]' out
says '{"name":"train loss","a":4.5,"b":4.25,"step":5}' out
says '"same":false}' out

# The same but for time and dates; one that went on.
cp -r a again
sed 's/"time":\([0-9]*\)/"time":9\1/; s/"tok_s":[0-9]*/"tok_s":5/' a/metrics.jsonl >again/metrics.jsonl
sed 's/"began":"a"/"began":"c"/' a/run.json >again/run.json
differs_by 0 "$lathe" diff a again
says 'ms a step' out
differs_by 0 "$lathe" diff a a
[ ! -s out ] && grep -q 'nothing differs: settings' err && ok 'silent where nothing differs' || wrong "$(cat out err)"
sed '/"step":5,/s/"loss":4.5/"loss":4.50000001/' a/metrics.jsonl >again/metrics.jsonl
differs_by 1 "$lathe" diff a again
says 'train loss, from step 5 on  4.5  4.50000001  ' out
head -n 3 a/metrics.jsonl >again/metrics.jsonl
printf '{"step":4,"split":"train","loss":7' >>again/metrics.jsonl
differs_by 1 "$lathe" diff again a
! grep -q part out && ok 'half a line is no difference' || wrong "$(cat out)"

# Odd ones: damaged, of other versions, with markup and control characters, empty; no crash, and all that can be told.
mkdir odd empty
echo '{"recipe":{"lr":"<b>\u001b[31m","warmup":[1,{"x":null}],"new":1e300},"built_with":7,"data":{"a":1}}' >odd/config.json
echo '{"starts":[7,null],"parameters":[{"name":5},{"name":"w\u0000x"},9],"memory":[],"plan":{"turn":"x: y","kernels":[3,{"name":[],"flops":1e200}]}}' >odd/run.json
printf '{"step":1,"split":"train","loss":-inf,"x":{"y":{"z":1}}}\nnonsense\n{"step":1e300,"split":"train","loss":1}\n{"step":2,"split":"val","loss":"Infinity"}\n{"step":{},"split":[]}\n' >odd/metrics.jsonl
differs_by 1 "$lathe" diff a odd
! grep -q "$(printf '\033')" out && ok 'no control characters' || wrong 'control characters'
differs_by 1 "$lathe" diff odd a
differs_by 0 "$lathe" diff odd odd
differs_by 0 "$lathe" diff odd odd --json
echo '{"model":' >odd/config.json
differs_by 1 "$lathe" diff a odd
says 'odd/config.json:[0-9]*: not JSON' err
: >empty/metrics.jsonl
differs_by 1 "$lathe" diff a empty
says 'they have no step in common' out
refuses 3 'expected a description (MODEL.lua), a folder that `lathe build` wrote or a run' "$lathe" diff a t.txt
refuses 3 'nowhere: error: cannot be read: no such file' "$lathe" diff nowhere a
refuses 2 'diff compares two things' "$lathe" diff a
refuses 2 'b: options are for descriptions' "$lathe" diff a b --set lr=1
refuses 2 'options are for descriptions' "$lathe" diff --config x a b

# Two real runs part where they should; a run and its program do not differ.
for seed in 1 2; do works "$toy" train --data t.txt --steps 6 --threads 2 --seed $seed --out r$seed --no-report; done
works "$toy" train --data t.txt --steps 6 --seed 1 --threads 1 --out r3 --no-report
differs_by 1 "$lathe" diff r1 r2
says '^  seed  1  2' out
says 'train loss, from step 1 on' out
differs_by 1 "$lathe" diff r1 r3
says '^  threads  ' out
! grep -q 'where they part' out && ok 'threads change no bit' || wrong 'other bits'
mkdir built
cp "$toy" built/trainer
differs_by 1 "$lathe" diff built r1
says '^  steps  ' out
! grep -q '^parameters\|^memory\|^kernels' out && ok 'a program and its run' || { wrong 'other parameters'; cat out; }
rm built/trainer
: >built/model.h
refuses 3 'it has the source of a program, and no trainer' "$lathe" diff built r1
printf '#!/bin/sh\necho "{}"\n' >built/trainer
chmod +x built/trainer
refuses 3 'its trainer is of another version' "$lathe" diff built r1
printf '#!/bin/sh\nexit 5\n' >built/trainer
refuses 3 'and it ended with 5' "$lathe" diff r1 built
finish
