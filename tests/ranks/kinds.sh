# kinds.sh: several ranks train as one does with as many rows: models of each kind of data, losses over counts, mixed pictures, draws
# and carried states; the same bits by wires and by each MPI that is here, and again where a run is resumed; the plan's bytes are taken.
# LATHE_LONG: more kinds of data and optimizers, and 3 and 4 ranks.
set -eu
export LATHE_CACHE=off OMP_NUM_THREADS=1 LATHE_RANK_BUCKET=65536
tell() { cat "$TMP/said"; echo "FAILED: $*"; exit 1; }
must() { timeout 120 "$@" >"$TMP/said" 2>&1 || tell "exit code $?: $*"; }
. tests/sim/same
. tests/ranks/both

# built NAME MODEL OPTIONS…: $TMP/NAME/trainer, in fp64
built() {
    name=$1
    shift
    must "$LATHE" build "$@" --precision fp64 -o "$TMP/$name"
}
# run NAME OUT OPTIONS…
run() {
    name=$1 out=$2
    shift 2
    # shellcheck disable=SC2086,SC2154
    must $before "$TMP/$name/trainer" train $data --set log_every=1 --out "$TMP/$out" "$@"
}
before=
unreadable() { sed -n "/could not be read\|cannot be read\|bad_records/p" "$TMP/said"; }
# kind NAME RANKS ROWS MODEL OPTIONS… -- OPTIONS OF TRAIN…: of ROWS in all, by one rank and by RANKS
kind() {
    kind=$1 ranks=$2 rows=$3
    shift 3
    model=
    while [ "$1" != -- ]; do model="$model $1"; shift; done
    shift
    # shellcheck disable=SC2086
    { built "$kind.one" $model --set "batch=$rows"; built "$kind" $model --set "batch=$((rows / ranks))"; }
    run "$kind.one" "$kind.1" "$@"
    unreadable >"$TMP/unreadable.1"
    run "$kind" "$kind.$ranks" --ranks "$ranks" "$@"
    unreadable >"$TMP/unreadable.2"
    cmp "$TMP/unreadable.1" "$TMP/unreadable.2" >"$TMP/said" 2>&1 || tell "$kind: others were not read"
    same "$TMP/$kind.1" "$TMP/$kind.$ranks" 1e-11
    near "$kind.1" "$kind.$ranks"
    cmp "$TMP/$kind.1/data.json" "$TMP/$kind.$ranks/data.json" >"$TMP/said" 2>&1 || tell "$kind: another data.json"
}

# ---- a table; norms of several chunks; a mean of the weights; parts of it by each MPI, and where it is resumed by others
table >"$TMP/table.csv"
data="--data $TMP/table.csv"
usual='--steps 6 --set eval_every=3 --set clip=0.5 --set decay=0.1'
# shellcheck disable=SC2086
{
    kind mlp 2 12 models/mlp.lua --set hidden=9000 --set ema=0.9 -- $usual
    run mlp mlp.again --ranks 2 $usual --trace "$TMP/trace.json"
    alike mlp.2 mlp.again
    planned=$("$LATHE" plan models/mlp.lua --set hidden=9000 --set ema=0.9 --set batch=6 --precision fp64 --ranks 2 | sed -n '1s/^[^:]*: \([0-9,]*\) bytes.*/\1/p' | tr -d ,)
    ! env -u LATHE_RANK_BUCKET "$TMP/mlp/trainer" train $data --ranks 2 --out "$TMP/none" --memory-limit 1M >"$TMP/said" 2>&1 || tell "1 MB is enough"
    [ "$(sed -n 's/.*(\([0-9,]*\) bytes).*/\1/p' "$TMP/said" | tr -d ,)" = $((2 * planned)) ] || tell "not twice the $planned bytes of the plan"
    # each bucket goes and comes in the trace, after its gradients are done; waiting is told
    tr '{' '\n' <"$TMP/trace.json" | awk '
        /"name": *"gradients done"/ { done++ }
        /"ph": *"b"/ { goes++ }
        /"ph": *"e"/ { comes++ }
        /"waits for other ranks"/ { waits++ }
        END { print done, goes, comes, waits; exit !(done >= 4 && goes >= 6 && goes == comes && waits >= 3) }' >"$TMP/said" || tell "the trace of two ranks"
    grep -q '"ranks_wait":0\.[0-9]' "$TMP/mlp.again/metrics.jsonl" || tell "no ranks_wait"
    grep -q '"ranks":[0-9.e-]*}' "$TMP/mlp.again/profile.json" || tell "what was waited for is not in profile.json"
    for mpi in openmpi mpich; do
        before=$(by $mpi 2) || { echo "note: $before"; continue; }
        run mlp mlp.$mpi $usual
        alike mlp.2 mlp.$mpi
    done
    before=
    must env -u LATHE_RANK_BUCKET "$TMP/mlp/trainer" train $data --ranks 2 --steps 1 --out "$TMP/planned"
    grep -q "\"ranks\":2.*\"memory\":{\"planned\":$planned," "$TMP/planned/run.json" || tell "another plan in run.json than $planned bytes"
    "$LATHE" diff "$TMP/mlp.1" "$TMP/mlp.2" >"$TMP/said" 2>&1 && tell "no difference"
    grep -q '^ *ranks  *1  *2$' "$TMP/said" || tell "the numbers of ranks do not differ"
    run mlp mlp.parts --ranks 2 $usual --steps 3 --set schedule_steps=6
    cp -r "$TMP/mlp.parts" "$TMP/mlp.alone"
    run mlp mlp.parts --ranks 2 --steps 6 --resume
    alike mlp.2 mlp.parts
    run mlp.one mlp.alone --steps 6 --resume
    near mlp.1 mlp.alone
    # with half the rows in a step the order goes on where it stood: three steps of 12 rows are six of 6, into the next epoch
    still='--set lr=0 --set eval_every=0'
    run mlp mlp.half $still --steps 40
    run mlp mlp.halved $still --steps 3 --ranks 2
    run mlp mlp.halved --resume --steps 37
    for half in mlp.half:7 mlp.halved:4; do
        sed -n "s/.*\"step\":\([0-9]*\),.*\"loss\":\([0-9.e-]*\),.*\"rows\":\([0-9]*\).*/\1 \2 \3/p" "$TMP/${half%:*}/metrics.jsonl" |
            awk -v from="${half#*:}" '$1 >= from { print $2, $3 }' >"$TMP/${half%:*}/goes.on"
    done
    [ "$(wc -l <"$TMP/mlp.half/goes.on")" = 35 ] && cmp "$TMP/mlp.half/goes.on" "$TMP/mlp.halved/goes.on" >"$TMP/said" 2>&1 || tell "other rows after a step of half as many"
}

# ---- text: draws of dropout by row, micro-batches; targets that are counted; epochs of documents; carried states
cat compiler/*/*.c | head -c 20000 >"$TMP/text.txt"
data="--data $TMP/text.txt"
usual='--steps 5 --set eval_every=2 --set eval_rows=3 --set warmup=2'
small='--set layers=3 --set width=16 --set heads=2 --set seq=8'
# shellcheck disable=SC2086
{
    kind gpt 2 4 models/gpt.lua $small --set dropout=0.1 -- $usual
    kind carried 2 4 models/char_rnn.lua --config tiny --set vocab=256 --set carry=true -- $usual --val-fraction 0
}
# ---- short documents, several to a row, none of which sees another
awk '{ print substr($0, 1, 3 + NR * 7 % 20) "\n" }' "$TMP/text.txt" >"$TMP/short.txt"
data="--data $TMP/short.txt"
# shellcheck disable=SC2086
{
    kind packed 2 4 models/llama.lua --config char --set pack=true --set vocab=95 --set layers=2 --set width=32 --set heads=2 --set kv_heads=1 --set hidden=48 --set seq=32 -- $usual --order epochs --documents blank --set shuffle_tokens=2000
    [ "$(sed -n 's/.*"of":"documents in packed rows","pieces":\([0-9]*\),.*/\1/p' "$TMP/packed.2/data.json")" -gt 40 ] || tell "not packed: rows have fewer than two documents"
}
data="--data $TMP/text.txt"
# ---- steps whose micro-batches grow; the noise scale of equal micro-batches, wherever they are computed
grows='--set accumulate=2 --set accumulate_at=0:1,2:2'
noise() { sed -n 's/.*"noise_scale":\([-0-9.e]*\).*/\1/p' "$TMP/$1/metrics.jsonl"; }
# shellcheck disable=SC2086
{
    kind grown 2 4 models/gpt.lua $small $grows -- $usual
    built noise.one models/gpt.lua $small --set batch=2 --set accumulate=4 --set noise_scale=true
    built noise models/gpt.lua $small --set batch=2 --set accumulate=2 --set noise_scale=true
    run noise.one noise.1 $usual
    run noise noise.2 --ranks 2 $usual
    same "$TMP/noise.1" "$TMP/noise.2" 1e-11
    noise noise.1 >"$TMP/near.a"
    noise noise.2 >"$TMP/near.b"
    paste "$TMP/near.a" "$TMP/near.b" | awk '{ off = ($1 - $2) / $1; if (off * off > 1e-10) { print; bad = 1 } } END { exit bad || NR < 3 }' >"$TMP/said" ||
        tell "another noise scale"
}

# ---- pictures, varied and mixed with the next one of the step: in files, some of which are damaged, and in arrays
. tests/npy
must ${CC:-cc} tests/models/draw_pictures.c -o "$TMP/draw" -ljpeg -lpng
must "$TMP/draw" "$TMP/colours" 20
for damaged in red/01.png red/07.png green/04.jpg green/11.png 'deep blue/02.jpg' 'deep blue/13.png'; do
    head -c 150 "$TMP/colours/$damaged" >"$TMP/part" && mv "$TMP/part" "$TMP/colours/$damaged"
done
npy "$TMP/image.npy" '(83, 6, 6)' "$(some_bytes 2988)"
npy "$TMP/label.npy" '(83,)' "$(some_bytes 83)"
mixed='--steps 9 --set eval_every=3 --set mixup=0.4 --set cutmix=1'
# shellcheck disable=SC2086
{
    data="--data $TMP/colours"
    kind files 2 8 tests/models/snapshots.lua -- $mixed --set bad_records=6
    # memory for the data of all ranks of a machine, whoever has started them
    wanted() { ! $before "$TMP/files/trainer" train $data $mixed --set bad_records=6 "$@" --out "$TMP/none" >"$TMP/said" 2>&1 || tell "a small limit is enough"; sed -n 's/.*(\([0-9,]*\) bytes) for the 2 ranks of this machine.*/\1/p' "$TMP/said" | tr -d ,; }
    plan=$(wanted --ranks 2 --memory-limit 1M)
    all=$(wanted --ranks 2 --memory-limit "$plan")
    [ "$all" -gt "$((plan + 1000000))" ] || tell "the data takes $((all - plan)) bytes"
    run files files.fits --ranks 2 --steps 1 --memory-limit "$all" --set bad_records=6
    if before=$(by openmpi 2); then [ "$(wanted --memory-limit $((all - 1)))" = "$all" ] || tell "not $all bytes by Open MPI"; fi
    before=
    [ "$(wc -l <"$TMP/unreadable.1")" -ge 4 ] || tell "few files are damaged"
    # more than is allowed, of all ranks together: two ranks take the step in which they find it; where they step by themselves, they meet
    # after it, and rank 0 tells also of one in the step that it cannot fill (with this seed)
    for n in 1 2 apart; do
        name=files ranks="--ranks 2 --set bad_records=2"
        [ $n != 1 ] || name=files.one ranks="--set bad_records=2"
        [ $n != apart ] || ranks="--ranks 2 --set bad_records=3 --set local_steps=50 --seed 0"
        got=0
        timeout 60 "$TMP/$name/trainer" train $data $ranks $mixed --set eval_every=0 --out "$TMP/more.$n" >"$TMP/said" 2>&1 || got=$?
        [ $got = 3 ] && grep -q '^note: step [1-8] is saved' "$TMP/said" || tell "more damaged files than allowed, $n: exit code $got"
        grep 'error:\|leaves it out' "$TMP/said" >"$TMP/more.said.$n"
    done
    cmp "$TMP/more.said.1" "$TMP/more.said.2" >"$TMP/said" 2>&1 || tell "more damaged files than allowed: other words"
    data="--data $TMP/image.npy $TMP/label.npy"
    kind arrays 2 12 models/vit.lua --set side=6 --set layers=1 --set width=16 --set heads=1 --set varied=true --set mixup=0.4 -- $mixed
}

# ---- a trainer of clang's: with as many threads as there are cores LLVM's OpenMP would bind those of each rank
if ! grep -q 'LATHE_SANITIZE:[A-Z]*=\(OFF\)\?$' "$BUILD/CMakeCache.txt"; then
    echo 'without a trainer of clang: sanitizers are of one compiler'
elif ! echo 'int main(void) { return 0; }' | clang -fopenmp -x c - -o "$TMP/empty" >"$TMP/said" 2>&1; then
    echo 'without clang and its OpenMP, which are missing'
else
    (CC=clang && export CC && built clang models/mlp.lua --set batch=6)
    data="--data $TMP/table.csv"
    (unset OMP_NUM_THREADS && run clang clang.2 --ranks 2 --steps 2)
fi

# ---- in the long form: pairs in epochs, Muon, Lion, 3 and 4 ranks
[ -n "${LATHE_LONG:-}" ] || exit 0
awk 'BEGIN { print "source\ttarget"; for (i = 0; i < 303; i++) print i "\tno " (i % 2 ? "yes" : "no") }' >"$TMP/pairs.tsv"
# shellcheck disable=SC2086
{
    data="--data $TMP/text.txt"
    kind muon 2 4 models/gpt.lua $small --set optimizer=muon -- $usual
    data="--data $TMP/pairs.tsv"    # by SGD: biases of keys have no gradient, and AdamW makes updates of what rounding leaves
    kind pairs 2 4 tests/models/pairs.lua --set vocab=259 --set width=16 --set source_seq=8 --set seq=10 -- --steps 5 --set eval_every=2 --set optimizer=sgd --set momentum=0.9
    data="--data $TMP/table.csv"
    for ranks in 3 4; do kind mlp$ranks $ranks 12 models/mlp.lua --set hidden=9000 -- --steps 6 --set clip=0.5; done
    kind lion 2 12 models/mlp.lua --set hidden=9000 -- --steps 6 --set eval_every=3 --set optimizer=lion --set clip_value=0.01
}
