# kills.sh: random ranks are killed, stopped or asked to end at random moments (starting, stepping, saving, evaluating, parting), and the run is
# started again by any of the launchers: each time it ends soon, says which rank, and leaves no process; in the end it has the bits of a run that nobody disturbed.
#
#   LATHE_KILLS=60 LATHE_SEED=3 tests/ranks/kills.sh      4 kills by default, 300 with LATHE_LONG=1
top=$PWD
. tests/trainer/common
command -v pgrep >/dev/null || { echo 'skipped: no pgrep (procps)'; exit 77; }
kills=${LATHE_KILLS:-${LATHE_LONG:+300}} kills=${kills:-4}
export OMP_NUM_THREADS=1 LATHE_RANK_PATIENCE=3 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
some_text t.txt 400
ways='wires tcp'
command -v mpirun.openmpi >/dev/null && ways="$ways openmpi" || echo 'without Open MPI, which is missing'
command -v mpirun.mpich >/dev/null && ways="$ways mpich" || echo 'without MPICH, which is missing'

# below N: a random number
state=${LATHE_SEED:-1}
below() {
    state=$(((state * 1103515245 + 12345) % 2147483648))
    drawn=$((state / 65536 % $1))
}
one_of() {      # WORD…
    below $#
    shift $drawn
    chosen=$1
}

train="train --data t.txt --set schedule=constant --steps 600 --keep-last 3 --no-report --no-profile --no-histograms --eval-every 10"
launch() {      # WAY: the words before the trainer, and after
    after=
    case $1 in
    wires) before= after='--ranks 3' ;;
    tcp) before="$top/tests/ranks/as_torchrun 3" ;;
    openmpi) before='mpirun.openmpi --oversubscribe -n 3' ;;
    mpich) before='mpirun.mpich -n 3' ;;
    esac
}
ranks_of_run() { pgrep -f -- "^[^ ]*toy_model train .*--out $work/$1 "; }
rank_process() {        # WAY RUN RANK
    if [ "$1" = wires ]; then
        pgrep -P "$launched" -f -- "--out $work/$2 " | sort -n | sed -n "$(($3 + 1))p"
    else
        for p in $(ranks_of_run "$2"); do
            tr '\0' '\n' 2>/dev/null <"/proc/$p/environ" | grep -q "^\(OMPI_COMM_WORLD_RANK\|PMI_RANK\|RANK\)=$3\$" && echo "$p"
        done
    fi
}

works "$toy" $train --out whole --save-every 50 --ranks 3
sums() { cat "$1/checkpoints/step-600/model.safetensors" "$1/checkpoints/step-600/optimizer.safetensors" | sha256sum; }
all=$(sums whole)

# named CODE: does it say which rank?  MPICH's mpirun kills the others before one can speak, and says so.  Before ranks have met
# over TCP only what started them can know that one has ended.
named() {
    if [ $began = 0 ]; then
        if [ $signal = STOP ]; then
            ! grep -q "the ranks have not found each other for 24 s\|rank 0 has waited .* for ranks\{0,1\} [0-9, ]*$rank[, ]\|error: rank $rank, on [^,]*, has not reached\|error: rank $rank of 3.*, on [^,]*, has not reached" said || return 0
            [ "$rank" != 0 ] || ! grep -q "error: rank 0, on [^,]*, has not let this rank begin" said || return 0
        fi
        grep -q '^run: ' said || ! grep -q "^as_torchrun: rank $rank (process $victim) ended" said || return 0
    fi
    case $signal in
    TERM) grep -q "interrupted after step\|rank $rank of 3.* has ended without a word\|process rank $rank with PID\|PID $victim RUNNING\|Terminated (signal 15)" said || [ "$1" = 143 ] ;;
    *) grep -q "rank $rank of 3.* has \(ended without a word\|given no sign\).* last heard of at step\|rank $rank of 3 (process $victim) was killed\|process rank $rank with PID\|PID $victim RUNNING\|STRING: Killed (signal 9)" said ;;
    esac
}

one_kill() {    # RUN
    one_of $ways
    way=$chosen
    one_of KILL KILL STOP TERM
    signal=$chosen
    one_of 0 1 2 0 1 2 0 1 2 parent
    rank=$chosen
    [ "$rank$signal" != parentSTOP ] || signal=KILL
    [ "$rank$way" != parenttcp ] || rank=0 # as with torchrun, the ranks would go on
    launch $way
    : >said
    setsid $before "$toy" $train --out "$work/$1" --resume=auto --save-every $every $after >said 2>&1 </dev/null &
    launched=$!
    below 10
    began=$drawn patience=300   # 0: within its first second
    [ $began = 0 ] || for i in $(seq 200); do ! grep -q '^run: ' said || break; sleep 0.05; done
    grep -q '^run: ' said || began=0
    [ $began$signal != 0STOP ] || patience=700  # ranks that have not found each other say so after 8 times LATHE_RANK_PATIENCE
    below 900
    sleep "0.$(printf %03d $drawn)"
    if [ $rank = parent ]; then victim=$launched; else victim=$(rank_process $way "$1" $rank); fi
    if [ -z "$victim" ] || ! kill -$signal $victim 2>/dev/null; then
        wait $launched
        return 1
    fi
    from=$(date +%s)
    for i in $(seq $patience); do kill -0 $launched 2>/dev/null || break; sleep 0.05; done
    over=
    if [ $signal = STOP ] && kill -0 $launched 2>/dev/null && grep -q 'step 600: saved' said && kill -CONT $victim 2>/dev/null; then
        over=yes    # all was done, and no rank waited for the one that was stopped
        for i in $(seq 100); do kill -0 $launched 2>/dev/null || break; sleep 0.05; done
    fi
    took=$(($(date +%s) - from))
    if kill -0 $launched 2>/dev/null; then wrong "$way, $signal to $rank: still there after $took s"; sed 's/^/    | /' said; kill -KILL $launched; fi
    wait $launched
    code=$?
    for i in $(seq 40); do left=$(ranks_of_run "$1") || break; sleep 0.05; done
    what="$way, $signal to rank $rank, code $code, $took s"
    if [ -n "$left" ]; then wrong "$what: processes are left: $left"; kill -KILL $left; fi
    [ -z "$over" ] || [ $code = 0 ] || wrong "$what: all was saved"
    [ $signal$began != STOP0 ] || sed -i "/^as_torchrun: killed rank $rank /d" said
    ! grep '^as_torchrun: killed' said || wrong "$what: that rank hung"
    [ $rank = parent ] || [ $code = 0 ] || named $code || { wrong "$what: not named"; sed 's/^/    | /' said | tail -n 25; }
    [ "$way$signal" != wiresKILL ] || [ $rank = parent ] || [ $code = 6 ] || [ $code = 0 ] || wrong "$what: expected 6"
    [ "$(grep -c 'trainer: error' said)" -le 1 ] || { wrong "$what: said more than once"; sed 's/^/    | /' said | grep error; }
    echo "$way $signal $([ $rank = parent ] && echo launcher || echo rank) $code" >>counts
    return 0
}

: >counts
done=0 runs=0
while [ $done -lt "$kills" ] && [ $failures -lt 8 ]; do
    runs=$((runs + 1))
    one_of 1 2 7
    every=$chosen
    for try in $(seq 12); do
        [ $done -lt "$kills" ] && [ ! -e "run-$runs/checkpoints/step-600" ] || break
        ! one_kill run-$runs || done=$((done + 1))
    done
    one_of $ways
    launch $chosen
    works $before "$toy" $train --resume=auto --save-every 50 --out "$work/run-$runs" $after
    [ "$(sums run-$runs)" = "$all" ] && ok "run $runs has the bits of one that was never disturbed" || wrong "run $runs has other bits"
    rm -rf run-$runs
done
sort counts | uniq -c
echo "$done kills, $runs runs"
finish
