# tcp.sh: ranks started by torchrun's variables, or Slurm's, without MPI (runtime/ranks/tcp.c): messages arrive whole; runs have the bytes of
# --ranks; strangers that connect do no harm; a rank that is killed is named, one that does not come, too; wrong variables, a port
# that is taken and ranks of another run are refused.  On two hosts, where they can be made (tests/ranks/hosts).
top=$PWD
. tests/trainer/common
drive=$BUILD/carrier_drive
ip link show lo 2>/dev/null | grep -q DOWN && { echo 'skipped: the loopback interface is down'; exit 77; }
for variable in RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE TORCHELASTIC_RUN_ID TORCHELASTIC_USE_AGENT_STORE LATHE_RANKS LATHE_RANKS_PORT; do unset $variable; done
port=$((20000 + $$ % 8000))
export OMP_NUM_THREADS=1 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port
some_text t.txt 400
train="train --data t.txt --set schedule=constant --no-report --no-profile --no-histograms"

# start N COMMAND…: as N ranks; out.K and err.K have what each says.  ended K CODE
start() {
    ranks=$1
    shift
    for k in $(seq 0 $((ranks - 1))); do
        [ "$k" = "${without:-}" ] || WORLD_SIZE=$ranks RANK=$k "$@" >out.$k 2>err.$k & eval "process_$k=$!"
    done
}
ended() {
    eval "wait \$process_$1"
    got=$?
    [ $got = "$2" ] && ok "rank $1 ends with $2" || { wrong "rank $1: exit code $got, not $2"; cat "err.$1"; }
}

# ---- messages; the last words of a rank that is killed; strangers that speak, or say nothing, before the ranks have met
without=2 start 3 "$drive" tcp
sleep 0.3
for words in 'GET / HTTP/1.0' lathe ''; do "$drive" stranger $port "$words" 2>stranger & done
sleep 0.2
without='' RANK=2 WORLD_SIZE=3 "$drive" tcp >out.2 2>err.2 || wrong "rank 2: exit code $?"
for k in 0 1; do ended $k 0; done
says '^rank 2 of 3, TCP on one machine' err.2
start 3 "$drive" tcp lose 1 kill
for k in 0 2; do
    ended $k 0
    says "^rank $k lost 1 within 1 s, and had its last word" err.$k
done

# ---- the same bytes; with a name; as torchrun does it, which itself may have been started by srun; by IPv6
for n in 2 3; do works "$toy" $train --ranks $n --steps 60 --out forked$n; done
for n in 2 3; do
    start $n "$toy" $train --steps 60 --out tcp$n
    for k in $(seq 0 $((n - 1))); do ended "$k" 0; done
    for part in model optimizer; do same tcp$n/checkpoints/step-60/$part.safetensors forked$n/checkpoints/step-60/$part.safetensors; done
    says "^$n ranks, .*; TCP on one machine\$" err.0
    export MASTER_ADDR=localhost TORCHELASTIC_RUN_ID=t TORCHELASTIC_USE_AGENT_STORE=True LOCAL_WORLD_SIZE=1 PMI_RANK=0 PMI_SIZE=7
done
grep -q OMP_NUM_THREADS=1 err.0 || [ "$(nproc)" = 1 ] && ok 'one thread is remarked' || wrong 'nothing is said of one thread'
unset TORCHELASTIC_RUN_ID TORCHELASTIC_USE_AGENT_STORE LOCAL_WORLD_SIZE PMI_RANK PMI_SIZE
if grep -q . /proc/net/if_inet6 2>/dev/null; then
    MASTER_ADDR=::1 start 2 "$drive" tcp
    for k in 0 1; do ended $k 0; done
fi

# ---- tasks of srun, if they are told to
step='env SLURM_STEP_NUM_TASKS=2 SLURM_JOB_ID=77 SLURM_STEP_ID=0 LATHE_RANKS=slurm'
tasks() { for k in 0 1; do $step SLURM_PROCID=$k SLURM_LOCALID=$k "$@" >out.$k 2>err.$k & eval "process_$k=$!"; done; }
tasks SLURM_STEP_NODELIST=localhost SLURM_STEP_RESV_PORTS=$port-$((port + 3)) "$toy" $train --steps 60 --out slurm2
for k in 0 1; do ended $k 0; done
for part in model optimizer; do same slurm2/checkpoints/step-60/$part.safetensors forked2/checkpoints/step-60/$part.safetensors; done
tasks SLURM_STEP_NUM_NODES=1 SLURM_STEP_NODELIST='nowhere[07-09]' "$drive" tcp
for k in 0 1; do ended $k 0; done
refuses 1 'rank 0 of 2 was not found at nowhere07-b.invalid port 20770 .*task 0 runs there' $step SLURM_PROCID=1 SLURM_STEP_NODELIST='nowhere[07-09,12]-b.invalid,c' \
    LATHE_RANK_PATIENCE=0.1 "$drive" tcp
env SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=0 "$toy" $train --steps 1 --out apart 2>apart.err || wrong 'tasks of srun that are not told to be ranks'
says 'srun has started 2 processes .*; LATHE_RANKS=slurm makes them ranks' apart.err
works env LATHE_RANKS=slurm "$toy" $train --steps 1 --out apart
refuses 2 'LATHE_RANKS=pbs: expected slurm' env LATHE_RANKS=pbs "$toy" $train --steps 1 --out faulty
refuses 2 'SLURM_PROCID=2, .*: expected the number of this task, 0 to 1' $step SLURM_PROCID=2 SLURM_STEP_NODELIST=localhost "$toy" $train --steps 1 --out faulty
refuses 2 'SLURM_STEP_NODELIST is not set' $step SLURM_PROCID=0 "$toy" $train --steps 1 --out faulty
refuses 2 'SLURM_NODEID=1, .*: expected 0 for task 0' $step SLURM_PROCID=0 SLURM_NODEID=1 SLURM_STEP_NODELIST=a,b "$toy" $train --steps 1 --out faulty
refuses 2 'srun has started 2 of .* eval.: .*unset LATHE_RANKS' $step SLURM_PROCID=0 SLURM_STEP_NODELIST=localhost "$toy" eval --data t.txt --out apart

# ---- a rank that is killed
LATHE_RANKS_PORT=$((port + 7)) start 3 "$toy" $train --steps 100000000 --save-every 50 --out run
for i in $(seq 300); do [ ! -e run/checkpoints/step-100 ] || break; sleep 0.05; done
kill -9 "$process_2"
ended 1 6
ended 0 6
says '^trainer: error: rank 2 of 3, on .*, has ended without a word; last heard of at step [0-9]*, [a-z]' err.0
says '^note: `RANK=… WORLD_SIZE=3 MASTER_ADDR=… MASTER_PORT=… .*toy_model train --resume --out run. continues after step [0-9]*$' err.0
ended 2 137

# ---- ranks that do not come; two of one number; another number of ranks; a port that is taken
export LATHE_RANK_PATIENCE=0.4
without=1 start 3 "$toy" $train --steps 9 --out never
sleep 0.5
refuses 1 'cannot be had: address already in use; give another MASTER_PORT' env RANK=0 WORLD_SIZE=2 "$drive" tcp
refuses 1 'cannot be had: address already in use; give another LATHE_RANKS_PORT to all ranks' $step SLURM_PROCID=0 SLURM_STEP_NODELIST=localhost SLURM_STEP_RESV_PORTS=$port "$drive" tcp
refuses 1 'rank 2 of this run is there already' env RANK=2 WORLD_SIZE=3 "$drive" tcp
refuses 1 'it is rank 1 of 2, and here is rank 0 of 3; ' env RANK=1 WORLD_SIZE=2 "$drive" tcp
ended 0 1
ended 2 1
says 'rank 0 has waited 3 s at port [0-9]* for rank 1 of 3; .*has been sent away: it is rank 1 of 2' err.0
[ ! -e never ] && ok 'nothing was begun' || wrong 'a run was begun'
refuses 1 'rank 0 of 2 was not found at nowhere.invalid port' env LATHE_RANK_PATIENCE=0.1 RANK=1 WORLD_SIZE=2 MASTER_ADDR=nowhere.invalid "$drive" tcp

# ---- variables
faulty() { words=$1; shift; refuses 2 "$words" env "$@" "$toy" $train --steps 1 --out faulty; }
faulty 'RANK=2, and WORLD_SIZE=2 .*: expected the number of this rank, 0 to 1' RANK=2 WORLD_SIZE=2
faulty 'RANK is not set, and WORLD_SIZE=2 ' WORLD_SIZE=2
faulty 'MASTER_ADDR is not set, .* unset WORLD_SIZE to train' -u MASTER_ADDR RANK=0 WORLD_SIZE=2
faulty 'MASTER_PORT=http, .*1 to 65535' RANK=0 WORLD_SIZE=2 MASTER_PORT=http
faulty 'LOCAL_RANK=1, .*below LOCAL_WORLD_SIZE' RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 LOCAL_WORLD_SIZE=1
faulty 'LATHE_RANKS_PORT=65535: expected' RANK=1 WORLD_SIZE=2 LATHE_RANKS_PORT=65535
faulty 'WORLD_SIZE=two: expected the number of ranks' RANK=0 WORLD_SIZE=two
works env -u MASTER_ADDR RANK=captain WORLD_SIZE=large "$toy" $train --steps 1 --out alone
works env RANK=1 WORLD_SIZE=4 "$toy" eval --data t.txt --out alone
refuses 2 'torchrun has started 4 of .* eval.: .*unset WORLD_SIZE' env TORCHELASTIC_RUN_ID=t RANK=0 WORLD_SIZE=4 "$toy" eval --data t.txt --out alone

# ---- two hosts
cd "$top" || exit 1
. tests/ranks/hosts
if ! hosts_possible; then
    echo "without two hosts: $why"
    finish
fi
trap 'remove_hosts; rm -rf "$work"' EXIT
TMP=$work make_hosts || wrong 'two hosts could not be made'
cd "$work" || exit 1
export MASTER_ADDR=node1
before=$(bytes_crossed)
for k in 0 1 2; do on_host $((1 + k / 2)) env RANK=$k WORLD_SIZE=3 LATHE_RANK_PATIENCE=8 "$drive" tcp 2>err.$k & eval "process_$k=$!"; done
for k in 0 1 2; do ended $k 0; done
says '^rank 2 of 3, .*, node2' err.2
crossed=$(($(bytes_crossed) - before)) sent=$(sed -n 's/^rank 2 sent \([0-9]*\) bytes and received \([0-9]*\)$/\1 \2/p' err.2 | awk '{ print $1 + $2 }')
[ "${sent:-0}" -gt 10000000 ] && [ $crossed -ge "$sent" ] && ok "$crossed bytes crossed" || wrong "of $sent bytes $crossed crossed the cable"
for k in 0 1 2; do on_host $((1 + k / 2)) $step SLURM_STEP_NUM_TASKS=3 SLURM_PROCID=$k SLURM_STEP_NODELIST='node[1-2]' "$drive" tcp 2>err.$k & eval "process_$k=$!"; done
for k in 0 1 2; do ended $k 0; done
says '^rank 2 of 3, TCP between .*, node2' err.2
finish
