# faults.sh: a loss that is not finite, signals, too little memory, disks that fail, a clock that jumps: the exit code, and
# nothing saved is lost.
top=$PWD
. tests/trainer/common
some_text t.txt 400
train="$toy train --data t.txt"

export TOY_NAN_AT=30
refuses 4 'step 31: expected a finite loss, found loss nan .*there is no checkpoint' $train --out a --eval-every 0
says 'error: step 31 diverged.  Try a lower learning rate (--set lr=0.005) or a warm-up longer than 5 steps (--set warmup=N).  To' err
refuses 4 'or a warm-up (--set warmup=N).  To find' $train --out a --eval-every 0 --set warmup=0
refuses 4 '(--set lr=0.005), a warm-up longer than 5 steps (--set warmup=N) or clipping (--set clip=1).  To find' $train --out a --eval-every 0 --set clip=0
refuses 4 'or a warm_fraction above 0.3 (--set warm_fraction=X).  To' $train --out a --eval-every 0 --set warmup=0 --set schedule=one_cycle --set warm_fraction=0.3 --set start_div=25 --set final_div=1e4
[ -e a/model.safetensors ] && wrong 'a diverged run saved its weights' || ok 'nothing saved'
refuses 4 'the checkpoint of step 20 is in a/checkpoints/step-20' $train --out a --save-every 20
[ "$(tail -n 1 a/metrics.jsonl | sed 's/:[0-9][0-9.]*\([,}]\)/:N\1/g')" = '{"step":N,"split":"train","loss":null,"lr":N,"grad_norm":N,"time":N}' ] &&
    ok 'the last line is that of the step' || wrong "$(tail -n 1 a/metrics.jsonl)"
refuses 4 'step 31 diverged' $train --out logged --eval-every 10 --log csv,tensorboard
[ "$(tail -n 1 logged/metrics.csv | cut -d, -f1-3)" = '31,train,' ] && ok 'an empty cell' || wrong "$(tail -n 1 logged/metrics.csv)"
works "$BUILD/lathe" runs logged
says 'logged .* diverged .* 31/' out
works env LC_ALL=C "$BUILD/lathe" plot logged
works "$BUILD/lathe" diff logged logged
unset TOY_NAN_AT
works "$toy" eval --data t.txt --out a
works $train --out b --steps 20 --set schedule=constant
works $train --out c --steps 60 --set schedule=constant --save-every 20
says 'step 20: saved' err

# wait_until TEST…: at most half a minute
wait_until() {
    for i in $(seq 300); do
        [ "$@" ] && return
        sleep 0.1
    done
    wrong "after 30 s still not: $*"
}

# interrupt SIGNAL: sent while it trains; the step is finished and saved.
interrupt() {
    rm -rf run
    $train --out run --steps 1000000000 --eval-every 0 2>err &
    process=$!
    wait_until -s run/metrics.jsonl
    kill -s "$1" $process
    wait $process
    code=$?
    [ $code = "$2" ] && ok "exit $code after SIG$1" || wrong "exit $code after SIG$1, expected $2"
    says 'interrupted after step [0-9]* of 1000000000' err
    works "$toy" eval --data t.txt --out run
    works "$toy" generate --out run --tokens 5
    stopped=$(sed -n 's/^interrupted after step \([0-9]*\) .*/\1/p' err)
}
interrupt INT 130
interrupt TERM 143

# SIGUSR1 saves and goes on; what it saved is a checkpoint as any other.
rm -rf run
$train --out run --steps 1000000000 --eval-every 0 2>err &
process=$!
wait_until -s run/metrics.jsonl
kill -USR1 $process
wait_until -d run/checkpoints/latest
[ -f run/checkpoints/latest/state.json ] && ok 'SIGUSR1 saves' || wrong 'SIGUSR1 has saved nothing'
kill -0 $process && ok '… and goes on' || wrong '… and has ended'

# One trainer at a time.
refuses 3 "run: error: another trainer (process $process) is writing into this run folder" $train --out run
refuses 3 'another trainer' $train --out run --resume
kill -KILL $process
wait $process 2>/dev/null

# A text that is cut short while it is trained on.
some_text long.txt 4000
rm -rf run
"$toy" train --data long.txt --out run --steps 1000000000 --eval-every 0 2>err &
process=$!
wait_until -s run/metrics.jsonl
: >long.txt
wait $process
code=$?
[ $code = 3 ] && ok 'exit 3 when the text is cut' || wrong "exit $code when the text is cut, expected 3"
says 'a file shrank while being read' err

refuses 1 'train needs 18.4 KB (18,368 bytes), and --memory-limit is 10.2 KB; nothing was taken' $train --out d --memory-limit 10K
says 'lathe build MODEL.lua --set batch=N' err
works $train --out d --memory-limit 18368 --steps 1

refuses 3 'the run folder cannot be made' $train --out t.txt/run

# ---- disks that fail: preloaded into the trainer
shim=$work/shim.so
${CC:-cc} -shared -fPIC -o "$shim" "$top/tests/trainer/shim_faults.c" || { echo 'skipped: no C compiler'; exit 77; }
# with FAULT COMMAND…: the fault of tests/trainer/shim_faults.c
printf '%s\n' 'fault=$1' shift 'exec env FAULT="$fault" LD_PRELOAD='"$shim"' "$@"' >with.sh
with="sh with.sh"
EIO=5 EROFS=30 ENOSPC=28
works $train --out keep --steps 20 --set schedule=constant --save-every 20
cp keep/checkpoints/step-20/model.safetensors old
broken() {      # WORDS FAULT: a resumed run cannot save; what was saved stays
    rm -rf broken
    cp -R keep broken
    refuses 3 "$1" $with "$2" $train --out broken --resume --steps 30
    same broken/checkpoints/step-20/model.safetensors old
    [ -z "$(find broken -name '*.part')" ] && ok 'nothing half done' || wrong "left: $(find broken -name '*.part')"
    works $train --out broken --resume --steps 30
}
broken 'step-30.part/model.safetensors: error: cannot be written: no space left.*step 30 is not saved.*free some space' \
    "write $ENOSPC step-30.part/model 1000"
broken 'step-30.part/optimizer.safetensors: error: cannot be written: no space left' "write $ENOSPC step-30.part/opt"
broken 'step-30.part/state.json: error: cannot be written' "write $ENOSPC step-30.part/state 10"
broken 'step-30.part/tokenizer.json: error: cannot be made: read-only file system.*make the folder writable' \
    "open $EROFS step-30.part/tok"
broken 'step-30.part: error: cannot be made: read-only file system' "mkdir $EROFS step-30.part"
broken 'model.safetensors: error: cannot be synced to the disk: input/output error.*look at the disk' \
    "fsync $EIO step-30.part/model"
broken 'state.json: error: cannot be synced' "fsync $EIO step-30.part/state"
broken 'step-30: error: cannot be put in its place' "rename $EIO step-30"
works $with "symlink $EIO latest" $train --out broken --resume --steps 40
says 'step 40: saved' err
says 'note: broken/checkpoints/latest cannot be made: input/output error' err
works $with "symlink 1 broken" $train --out broken --resume --steps 50
works "$toy" eval --data t.txt --out broken
refuses 3 'lock: error: cannot be made: read-only' $with "open $EROFS keep/lock" $train --out keep
refuses 3 'the run folder cannot be made: permission denied' $with 'mkdir 13 newrun' $train --out newrun

# A save in the midst of a run fails: it is said, the run goes on, and a later one succeeds.
rm -rf late
works $with "fsync $EIO step-20.part" $train --out late --save-every 20
says 'step 20 is not saved, there is no checkpoint yet.  The run continues' err
says 'kill -USR1' err
says 'step 40: saved late/checkpoints/step-40' err
works $train --out c
same late/model.safetensors c/model.safetensors

# A checkpoint is of one step, also where the disk takes long and the run could go on: each as in a run without delays.
works $train --out quick --save-every 10
works $with 'write -60 .part' $train --out slow --save-every 10
for step in 10 20 30 40 50 60; do
    for file in model optimizer; do
        same slow/checkpoints/step-$step/$file.safetensors quick/checkpoints/step-$step/$file.safetensors
    done
done

# The first signal waits for the disk, which here takes for ever; the second one does not.
rm -rf run
$train --out run --save-every 20 2>err
$with 'fsync -1000000 step-70.part' $train --out run --resume --steps 70 2>err &
process=$!
wait_until -d run/checkpoints/step-70.part
kill -TERM $process
sleep 0.3
kill -0 $process && ok 'the first signal waits' || wrong 'the first signal has ended it'
kill -TERM $process
wait $process
code=$?
[ $code = 143 ] && ok 'exit 143 at the second signal' || wrong "exit $code at the second signal, expected 143"
works "$toy" train --out run --resume --steps 70
says 'continues after step 60 of 70' err

# The folder vanishes while the run trains.
rm -rf run
$train --out run --steps 1000000000 --eval-every 0 2>err &
process=$!
wait_until -s run/metrics.jsonl
rm -rf run
kill -TERM $process
wait $process
code=$?
[ $code = 3 ] && ok 'exit 3 without its folder' || wrong "exit $code without its folder, expected 3"
says 'error: cannot be made: no such file or directory.*the run folder is gone' err

# No bit depends on a clock, nor does what is kept or resumed from; times in the metrics only on one that nobody sets.
works env FAULT_CLOCK=any LD_PRELOAD="$shim" $train --out clock --save-every 7 --steps 30
works env FAULT_CLOCK=any LD_PRELOAD="$shim" $train --out clock --resume --steps 60
says 'continues after step 30 of 60' err
works $train --out calm --save-every 7 --steps 30
works $train --out calm --resume --steps 60
for file in model optimizer; do same clock/checkpoints/latest/$file.safetensors calm/checkpoints/latest/$file.safetensors; done
[ "$(ls clock/checkpoints)" = "$(ls calm/checkpoints)" ] && ok 'the same kept' || wrong "kept: $(ls clock/checkpoints)"
works env FAULT_CLOCK=day LD_PRELOAD="$shim" $train --out day
sed -n 's/.*"time":\([-0-9.]*\).*/\1/p' day/metrics.jsonl |
    awk '$1 < last || $1 > 600 { bad = 1 } { last = $1 } END { exit bad || NR != 60 }' && ok 'times ascend' || wrong 'times in the metrics jump'

# Where nothing says when to save, a quarter of an hour is enough; the clock jumps by more.
works env FAULT_CLOCK=any LD_PRELOAD="$shim" $train --out hourly --set keep_last=0
[ "$(find hourly/checkpoints -name 'step-*' | wc -l)" -gt 2 ] && ok 'saves by time' || wrong "saves by time: $(ls hourly/checkpoints)"
same hourly/model.safetensors c/model.safetensors
finish
