# failures.sh: ranks that are killed, stopped, asked to end, that cannot read their data or diverge: which rank it was, where and at which step is
# said once, with the command that goes on; the exit code is the failing rank's, or 6; no process is left, and the resumed run has the bits of an undisturbed one.
top=$PWD
. tests/trainer/common
command -v pgrep >/dev/null || { echo 'skipped: no pgrep (procps)'; exit 77; }
export OMP_NUM_THREADS=1
some_text t.txt 400
train="train --data t.txt --set schedule=constant --no-report --no-profile --no-histograms"
works "$toy" $train --ranks 3 --steps 300 --out whole --save-every 50

# disturb SIGNAL RANK CODE: while it trains; what it said is in err
disturb() {
    rm -rf run
    LATHE_RANK_PATIENCE=2 "$toy" $train --steps 100000000 --save-every 50 --ranks 3 --out run >out 2>err &
    called=$!
    for i in $(seq 300); do [ ! -e run/checkpoints/step-100 ] || break; sleep 0.05; done
    pgrep -P $called | sort -n >processes
    one=$called
    [ "$2" = called ] || one=$(sed -n "$(($2 + 1))p" processes)
    from=$(date +%s)
    kill -"$1" "$one"
    wait $called
    got=$?
    took=$(($(date +%s) - from))
    [ $got = "$3" ] && [ $took -le 12 ] && ok "$1 to $2: $got after $took s" || { wrong "$1 to $2: $got after $took s, expected $3 within 12"; cat err; }
    for i in $(seq 40); do pgrep -F processes >/dev/null 2>&1 || break; sleep 0.05; done
    ! pgrep -F processes >left 2>&1 && ok 'no process is left' || wrong "left: $(cat left)"
}
said_once() { [ "$(grep -c 'trainer: error' err)" = 1 ] && ok 'said once' || { wrong 'said more than once'; grep error err; }; }

disturb KILL 2 6
says '^trainer: error: rank 2 of 3, on .*, has ended without a word; last heard of at step [0-9]*, [a-z]' err
says '^note: `.*toy_model train --resume --out run --ranks 3` continues after step [0-9]*$' err
says '^note: process [0-9]*, rank 2 of 3, was killed by signal 9' err
said_once
eval "$(sed -n 's/^note: `\(.*\)` continues.*/\1/p' err) --steps 300" >out 2>err && same run/model.safetensors whole/model.safetensors || { wrong 'its command does not go on'; cat err; }
says '^note: the last run here did not end in good order' err
says '^note: rank 2 of 3, on .*, process [0-9]*: step [0-9]*, [a-z]' err
[ -z "$(ls run/logs/*.now 2>/dev/null)" ] && ok 'nothing is left to tell' || wrong "left: $(ls run/logs)"
disturb KILL 0 6
says '^trainer: error: rank 0 of 3, on .*, has ended without a word' err
said_once
disturb STOP 1 6
says '^trainer: error: rank 1 of 3, on .*, has given no sign for 2 s; last heard of at step' err
said_once
disturb TERM 1 143
says 'interrupted after step [0-9]* of 100000000; to continue: `.*toy_model train --resume --out run --ranks 3`' err
disturb INT called 130
says 'interrupted after step' err
[ "$(cut -d' ' -f1-3 run/logs/rank-2.txt | head -n 1)" = 'rank 2 of' ] && ok 'its own log' || wrong "its own log: $(cat run/logs/rank-2.txt)"

# What happens to all happens once.
export TOY_NAN_AT=30
refuses 4 'step 30 diverged\|step 31 diverged' "$toy" $train --steps 60 --ranks 3 --out wild
unset TOY_NAN_AT
said_once
refuses 3 'nothing.txt: error: ' "$toy" train --data nothing.txt --ranks 2 --out no
refuses 2 'standard input and pipes can be read only once, and each of the 2 ranks' "$toy" train --data - --tokenizer bytes --ranks 2 --out no

# A command that a scheduler starts again.
works "$toy" $train --steps 40 --out again --resume=auto --ranks 2
works "$toy" $train --steps 60 --out again --resume=auto --ranks 3
says 'continues after step 40 of 60' err
works "$toy" $train --steps 60 --out again --resume=auto
[ -e again/checkpoints/step-60 ] && [ ! -e again/before-1 ] && ok 'one run' || wrong 'another run was begun'

works "$toy" train --data t.txt --steps 2 --set local_steps=5 --out alone
says 'local_steps=5 changes nothing: there is one rank' err

# Commands that share no work are not started by launchers.
refuses 2 'mpirun has started 2 of .*toy_model eval.: ranks share the work of train alone; .* unset PMI_RANK' env PMI_RANK=0 PMI_SIZE=2 "$toy" eval --data t.txt --out again
works env PMI_RANK=0 PMI_SIZE=1 "$toy" eval --data t.txt --out again

# Ranks of another kind, by MPI.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
if command -v mpirun.openmpi >/dev/null; then
    some_text u.txt 401
    two() { refuses "$1" "$2" mpirun.openmpi --oversubscribe -n 1 "$toy" $train --steps 9 --out mixed : -n 1 "$toy" $3; said_once; }
    two 3 'rank 1 of 2, on .*, does not have the data of rank 0' "train --data u.txt --steps 9 --set schedule=constant --out mixed"
    two 3 'rank 1 of 2, .*before its first step: nothing.txt: error: ' "train --data nothing.txt --steps 9 --out mixed"
    two 2 'rank 1 of 2, on .*, has seed 5, and rank 0, on .*, has 1; give all' "$train --steps 9 --seed 5 --out mixed"
    two 2 'rank 1 of 2, on .*, has lr 0.025, and rank 0, on .*, has 0.05; give all' "$train --steps 9 --set lr=0.025 --out mixed"
else
    echo 'without Open MPI, which is missing'
fi
finish
