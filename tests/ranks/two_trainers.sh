# two_trainers.sh: a trainer on two hosts (network namespaces) with Open MPI and MPICH trains as one process with as many rows, with the bits of two
# ranks of one machine; also over a cable of 50 ms that loses 1 %, and while an array takes longer than a rank may be silent.  When the cable is cut, rank 0
# names the other rank, all ends, and the resumed run has the bits of an undisturbed one.  LATHE_LONG: cuts in a step, a save and an evaluation, of both MPIs.
set -u
. tests/ranks/hosts
. tests/ranks/both
. tests/sim/same
hosts_possible || { echo "skipped: $why"; exit 77; }
mpis=$(for mpi in openmpi mpich; do ! command -v mpirun.$mpi >/dev/null 2>&1 || echo $mpi; done)
[ -n "$mpis" ] || { echo 'skipped: neither mpirun.openmpi nor mpirun.mpich is installed (Debian: openmpi-bin, mpich)'; exit 77; }
export LATHE_CACHE=off OMP_NUM_THREADS=1 LATHE_RANK_BUCKET=65536
unset LATHE_MPI
tell() { cat "$TMP/said"; echo "FAILED: $*"; exit 1; }
must() { timeout 120 "$@" >"$TMP/said" 2>&1 || tell "exit code $?: $*"; }
trap remove_hosts EXIT
trap 'exit 1' INT TERM
make_hosts || { echo 'failed: two hosts could not be made'; exit 1; }

model='models/llama.lua --config char --set vocab=95 --set layers=2 --set width=32 --set heads=2 --set kv_heads=1 --set hidden=48 --set seq=32 --precision fp64'
# shellcheck disable=SC2086
{ must "$LATHE" build $model --set batch=4 -o "$TMP/one"; must "$LATHE" build $model --set batch=2 -o "$TMP/two"; }
cat compiler/*/*.c | head -c 20000 >"$TMP/text.txt"
data="--data $TMP/text.txt --order epochs --documents blank --set shuffle_tokens=2000 --set warmup=2 --no-report"
usual="$data --steps 8 --set eval_every=4 --set eval_rows=3 --set log_every=1"
# over MPI OUT OPTIONS…: two ranks, one on each host
over() {
    mpi=$1 out=$2
    shift 2
    mpirun_hosts "$mpi" 2 "$TMP/two/trainer" train --out "$TMP/$out" "$@" >"$TMP/said" 2>&1 </dev/null
}

# ---- as one process; the bits of two of one machine
# shellcheck disable=SC2086
{
    must "$TMP/one/trainer" train $usual --out "$TMP/one.1"
    must "$TMP/two/trainer" train $usual --out "$TMP/two.2" --ranks 2
    for mpi in $mpis; do
        over "$mpi" "two.$mpi" $usual || tell "$mpi: exit code $?"
        same "$TMP/one.1" "$TMP/two.$mpi" 1e-11
        near one.1 "two.$mpi"
        alike two.2 "two.$mpi"
        grep -q 'rank 1 of 2, on node2' "$TMP/two.$mpi/logs/rank-1.txt" || tell "$mpi: rank 1 was not on node2"
    done
}

# ---- a slow cable; a message that takes longer than a rank may be silent
cable 50 1 0
for mpi in $mpis; do
    # shellcheck disable=SC2086
    over "$mpi" "slow.$mpi" $usual || tell "$mpi, a slow cable: exit code $?"
    alike two.2 "slow.$mpi"
done
must "$LATHE" build models/gpt.lua --config char --set vocab=95 --set batch=1 -o "$TMP/wide"
cable 5 0 8
for mpi in $mpis; do
    (export LATHE_RANK_PATIENCE=2 && mpirun_hosts "$mpi" 2 "$TMP/wide/trainer" train --data "$TMP/text.txt" --tokenizer chars \
        --steps 1 --set eval_every=0 --no-report --out "$TMP/wide.$mpi" >"$TMP/said" 2>&1 </dev/null) || tell "$mpi, 3 MB in 3 s: exit code $?"
    [ -n "${LATHE_LONG:-}" ] || break
done

# ---- a cut
endless="$data --no-profile --no-histograms --set schedule=constant --steps 100000000"
# cut MPI MOMENT OPTIONS…: once there is a checkpoint after step 20; then both hosts must be quiet soon
cut() {
    mpi=$1 moment=$2
    shift 2
    cable 5 0 "${RATE:-0}"
    # shellcheck disable=SC2086
    (export LATHE_RANK_PATIENCE=3 && over "$mpi" "cut.$mpi" $endless "$@") &
    run=$!
    for i in $(seq 400); do [ ! -e "$TMP/cut.$mpi/checkpoints/step-20" ] || break; sleep 0.05; done
    [ -e "$TMP/cut.$mpi/checkpoints/step-20" ] || tell "$mpi, $moment: no checkpoint after step 20"
    case $moment in *step) does='\(adding\|updating\)' ;; *evaluation) does=evaluating ;; *save) does=saving ;; esac
    for i in $(seq 2000); do ! grep -q ", $does" "$TMP/cut.$mpi/logs/rank-0.now" || break; done
    from=$(date +%s)
    cable 5 100 0
    for i in $(seq 240); do kill -0 $run 2>/dev/null || break; sleep 0.05; done
    took=$(($(date +%s) - from))
    ! kill -0 $run 2>/dev/null || tell "$mpi, $moment: mpirun is still there $took s after the cut"
    grep -q "^trainer: error: rank 1 of 2, on node2, has \(given no sign for 3 s\|ended without a word\); last heard of at step [0-9]*, [a-z]" "$TMP/said" ||
        tell "$mpi, $moment: rank 1 was to be named"
    again=
    if ! grep -q ", $does" "$TMP/cut.$mpi/logs/rank-0.now"; then # what the other had sent may still have arrived: another try
        grep -q ', computing gradients' "$TMP/cut.$mpi/logs/rank-0.now" && [ "${missed:=0}" -lt 3 ] || tell "$mpi, $moment: $(cat "$TMP/cut.$mpi/logs/rank-0.now")"
        missed=$((missed + 1)) again=yes
    fi
    [ "$(grep -c '^trainer: error' "$TMP/said")" = 1 ] || tell "$mpi, $moment: said more than once"
    for node in 1 2; do
        for process in $(ip netns pids "lathe-$$-$node"); do
            ! tr '\0' ' ' <"/proc/$process/cmdline" | grep '^[^ ]*two/trainer' >>"$TMP/said" || tell "$mpi, $moment: a rank is left on node$node"
        done
    done
    echo "$mpi, $moment: all has ended $took s after the cut; $(sed -n 's/.*last heard of //p' "$TMP/said" | head -n 1)"
    # shellcheck disable=SC2046  # the daemon of mpirun, until its connection is given up
    kill -9 $(ip netns pids "lathe-$$-2") 2>/dev/null
    cable 5 0 0
    last=$(basename "$(readlink "$TMP/cut.$mpi/checkpoints/latest")") && last=${last#step-}
    steps=$((last + 20))
    # shellcheck disable=SC2086
    {
        cp -r "$TMP/cut.$mpi" "$TMP/alone"
        must "$TMP/two/trainer" train $data --set schedule=constant --steps $steps "$@" --out "$TMP/whole" --ranks 2
        over "$mpi" "cut.$mpi" --resume --steps $steps || tell "$mpi, $moment: the command that goes on: exit code $?"
        alike whole "cut.$mpi"
        must "$TMP/two/trainer" train --resume --steps $steps --out "$TMP/alone"
    }
    rm -rf "$TMP/alone" "$TMP/whole" "$TMP/cut.$mpi"
    [ -z "$again" ] || cut "$mpi" "$moment" "$@"
}
saves='--set save_every=20 --keep-last 2'
if [ -z "${LATHE_LONG:-}" ]; then
    # shellcheck disable=SC2086
    cut "$(echo "$mpis" | tail -n 1)" 'in a step' $saves --set eval_every=0
    exit
fi
for mpi in $mpis; do
    # shellcheck disable=SC2086
    {
        cut "$mpi" 'in a step' $saves --set eval_every=0
        cut "$mpi" 'in an evaluation' $saves --set eval_every=1
        RATE=4 cut "$mpi" 'in a save' --set save_every=1 --keep-last 40 --set eval_every=0
    }
done
