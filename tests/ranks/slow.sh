# slow.sh: what slow networks ask for: gradients sent as bf16 train as whole ones do, with half the bytes; steps that ranks take by
# themselves are those of one optimizer where they must be; both resume to the same bits, also after a signal; what cannot be is refused.
set -eu
export LATHE_CACHE=off OMP_NUM_THREADS=1 LATHE_RANK_BUCKET=65536
tell() { cat "$TMP/said"; echo "FAILED: $*"; exit 1; }
must() { timeout 120 "$@" >"$TMP/said" 2>&1 || tell "exit code $?: $*"; }
. tests/ranks/both
table >"$TMP/table.csv"

# build NAME OPTIONS…; run NAME OUT OPTIONS…
build() {
    name=$1
    shift
    must "$LATHE" build models/mlp.lua --set batch=8 "$@" -o "$TMP/$name"
}
run() {
    name=$1 out=$2
    shift 2
    must "$TMP/$name/trainer" train --data "$TMP/table.csv" --set log_every=1 --set eval_every=0 --out "$TMP/$out" "$@"
}
newest() { echo "$TMP/$1/checkpoints/latest"; }
alike() {
    for file in "$(newest "$1")"/*.safetensors; do
        cmp "$file" "$(newest "$2")/${file##*/}" >"$TMP/said" 2>&1 || tell "$1 and $2: other bytes in ${file##*/}"
    done
}
numbers() { od -A n -v -w8 -t f8 -j $((8 + $(od -A n -t u8 -N 8 "$1"))) "$1"; }
near() { # A B: parameters are the same to 1e-12
    numbers "$(newest "$1")/model.safetensors" >"$TMP/a"
    numbers "$(newest "$2")/model.safetensors" >"$TMP/b"
    paste "$TMP/a" "$TMP/b" | awk '
        { off = $1 - $2; if (off < 0) off = -off; size = $1 < 0 ? -$1 : $1; if (!(off <= 1e-12 * (1 + size))) { print NR ": " $0; bad = 1 } }
        END { exit bad || NR < 30 }' >"$TMP/said" || tell "$1 and $2: other parameters"
}
last_loss() { # the mean of the last 40 steps
    awk '/"split":"train"/ { match($0, /"loss":[-0-9.e]+/); x[n++] = substr($0, RSTART + 7, RLENGTH - 7) }
         END { for (i = n - 40; i < n; i++) sum += x[i]; print sum / 40 }' "$TMP/$1/metrics.jsonl"
}
build exact --set hidden=64 --precision fp64
build wide --set hidden=3000

# ---- bf16: the same training, the bytes, the same bits again
run exact whole --ranks 3 --steps 200
run exact bf16 --ranks 3 --steps 200 --set send_gradients=bf16
cmp -s "$(newest whole)/model.safetensors" "$(newest bf16)/model.safetensors" && tell "nothing was rounded"
a=$(last_loss whole) b=$(last_loss bf16)
echo "losses: whole $a, bf16 $b"
awk "BEGIN { off = $a - $b; if (off < 0) off = -off; exit !(off <= 0.01 * $a && $a < 0.5) }" || tell "losses: whole $a, bf16 $b"
run exact parts --ranks 3 --steps 120 --set send_gradients=bf16
run exact parts --ranks 3 --steps 200 --resume
alike bf16 parts
run exact parts --ranks 2 --steps 204 --resume

shim=$TMP/sent.so
${CC:-cc} -shared -fPIC -o "$shim" tests/ranks/shim_sent.c -ldl
sent() { # OPTIONS…: bytes that all ranks have sent in 20 steps
    rm -f "$TMP/sent"
    must env SENT="$TMP/sent" LD_PRELOAD="$shim" "$TMP/wide/trainer" train --data "$TMP/table.csv" --steps 20 --ranks 2 --no-report \
        --set save_every=1000 --set eval_every=0 --out "$TMP/counted" "$@"
    awk '{ sum += $1 } END { print sum }' "$TMP/sent"
}
whole=$(sent) half=$(sent --set send_gradients=bf16) local=$(sent --set local_steps=10)
echo "bytes: whole $whole, bf16 $half, local $local"
# Of 24,003 parameters, 20 gradients of 4 and of 2 bytes; two meetings, and moments, which are saved.  Ranks that add up send nothing to save.
awk "BEGIN { off = ($whole - $half) / (24003 * 2 * 20); exit !(off > 0.99 && off < 1.01 && $local < $whole / 5) }" ||
    tell "bytes: whole $whole, bf16 $half, local $local"

# ---- local steps: by one step, the optimizers that they are
sgd='--ranks 2 --steps 12 --set optimizer=sgd'
# shellcheck disable=SC2086
{
    run exact sgd $sgd --set lr=0.1
    run exact mean $sgd --set lr=0.1 --set local_steps=1 --set outer=mean
    near sgd mean
    run exact nesterov $sgd --set lr=0.07 --set momentum=0.9 --set nesterov=1
    run exact outer $sgd --set lr=0.1 --set local_steps=1
    near nesterov outer
    run exact plain $sgd --set lr=0.1 --set local_steps=1 --set outer_lr=1 --set outer_momentum=0
    near sgd plain
    cmp -s "$(newest sgd)/model.safetensors" "$(newest outer)/model.safetensors" && tell "momentum changes nothing"
}

# ---- … by several, with moments of each rank; saved where ranks meet, and resumed there
local='--ranks 3 --set local_steps=5 --set send_gradients=bf16'
# shellcheck disable=SC2086
{
    run exact local $local --steps 200 --set save_every=7
    awk "BEGIN { exit !($(last_loss local) < 0.5) }" || tell "local steps do not train: $(last_loss local)"
    # a trace shows a meeting, and names its rows
    run exact traced $local --steps 24 --set local_steps=12 --trace "$TMP/trace.json"
    tr '{' '\n' <"$TMP/trace.json" | awk '
        /"thread_name"|"process_name"/ { names++ }
        /"rank 0 of 3|"between ranks"/ || /trainer, rank 0 of 3/ { named++ }
        /"ph":"X"/ && /"cat":"kernel"/ { kernels++ }
        /"name":"gradients".*"ph":"b"/ { goes++ }
        /"name":"parameters".*"ph":"b"/ { comes++ }
        /"ts":-/ { early++ }
        END { print names, named, kernels, goes, comes, early; exit !(names == 3 && named == 2 && kernels && goes && comes && !early) }' >"$TMP/said" ||
        tell "the trace of local steps"
    run exact begun $local --steps 100
    run exact begun $local --steps 200 --resume
    alike local begun
    run exact begun --ranks 2 --steps 210 --resume
    grep -q 'moments of the checkpoint' "$TMP/said" || tell "nothing is said of other ranks' moments"
    "$TMP/exact/trainer" train --data "$TMP/table.csv" --out "$TMP/ended" $local --set local_steps=1000 --steps 100000 >"$TMP/said" 2>&1 &
    trainer=$!
    for i in $(seq 600); do
        [ ! -s "$TMP/ended/metrics.jsonl" ] || break
        [ "$i" -lt 600 ] || tell "no step in 60 s"
        sleep 0.1
    done
    kill -TERM $trainer
    code=0
    wait $trainer || code=$?
    [ $code = 143 ] || tell "exit code $code after SIGTERM"
    at=$(basename "$(readlink "$(newest ended)")")
    case $at in step-*000) ;; *) tell "saved at $at, not where ranks meet" ;; esac
}

refused() { # CODE WORDS OPTIONS…
    code=$1 words=$2
    shift 2
    status=0
    timeout 60 "$TMP/exact/trainer" train --data "$TMP/table.csv" --out "$TMP/refused" "$@" >"$TMP/said" 2>&1 || status=$?
    { [ $status = "$code" ] && grep -q "$words" "$TMP/said"; } || tell "exit code $status, without \"$words\": $*"
}
refused 3 'no/such/trace: error: the trace cannot be written: no such file' --ranks 2 --trace "$TMP/no/such/trace"
[ ! -e "$TMP/refused" ] || tell "a run was begun without its trace"
LATHE_RANK_PATIENCE=abc refused 2 'LATHE_RANK_PATIENCE=abc: expected a number of seconds above 0' --ranks 2
LATHE_WIRE_RATE=-1 refused 2 'LATHE_WIRE_RATE=-1: expected a number of bytes a second above 0' --ranks 2
refused 2 'local_steps=4: this run keeps a mean' --ranks 2 --set local_steps=4 --set ema=0.9
refused 2 'eval_epochs' --ranks 2 --set local_steps=4 --set eval_epochs=1
refused 2 'did you mean bf16' --ranks 2 --set send_gradients=bf15
