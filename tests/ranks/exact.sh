# exact.sh: --exact-sums: losses and checkpoints of 1, 2 and 4 ranks, and of micro-batches, are the same bits, by wires and by an MPI,
# also where some ranks do not see the run folder;
# without it they are not; other numbers of ranks are refused.
set -eu
export LATHE_CACHE=off OMP_NUM_THREADS=1
tell() { cat "$TMP/said"; echo "FAILED: $*"; exit 1; }
must() { timeout 120 "$@" >"$TMP/said" 2>&1 || tell "exit code $?: $*"; }
. tests/ranks/both
cat compiler/*/*.c | head -c 20000 | awk '{ print substr($0, 1, 3 + NR * 7 % 20) "\n" }' >"$TMP/text.txt" # short documents

# built NAME BATCH OPTIONS…: a model with dropout, whose targets are counted, and whose parameters have several chunks
built() {
    name=$1 batch=$2
    shift 2
    must "$LATHE" build models/gpt.lua --set layers=2 --set width=48 --set heads=2 --set seq=16 --set pack=true --set dropout=0.1 --set ema=0.9 \
        --set "batch=$batch" "$@" -o "$TMP/$name"
}
# run NAME OUT OPTIONS…
before=
run() {
    name=$1 out=$2
    shift 2
    # shellcheck disable=SC2086
    must $before "$TMP/$name/trainer" train --data "$TMP/text.txt" --order epochs --documents blank --set shuffle_tokens=2000 --steps 5 \
        --set eval_every=0 --set log_every=1 --set clip=0.5 --out "$TMP/$out" "$@"
}
bits() {    # OUT: of what is saved, and of the losses and norms
    (cd "$TMP/$1" && sha256sum checkpoints/step-5/*.safetensors &&
        sed -n 's/.*"step":\([0-9]*\).*"loss":\([-0-9.e]*\).*"grad_norm":\([-0-9.e]*\).*/\1 \2 \3/p' metrics.jsonl)
}
same() { bits "$1" >"$TMP/a"; bits "$2" >"$TMP/b"; [ "$(wc -l <"$TMP/a")" = 8 ] && cmp "$TMP/a" "$TMP/b" >"$TMP/said" 2>&1; }
for batch in 8 4 2; do built exact$batch $batch --exact-sums 2; done
built exact4x2 4 --exact-sums 2 --set accumulate=2
run exact8 one
run exact4x2 micro
same one micro || tell "micro-batches: other bits"
run exact4 two --ranks 2
same one two || tell "2 ranks: other bits"
grep -q '"pieces":[1-9]' "$TMP/one/data.json" && cmp "$TMP/one/data.json" "$TMP/two/data.json" >"$TMP/said" 2>&1 || tell "2 ranks: another data.json"
run exact2 four --ranks 4
same one four || tell "4 ranks: other bits"
# resumed with as many rows by another number of ranks: the same bits, and no word of another order
run exact8 parts --steps 3
run exact4 parts --ranks 2 --steps 5 --resume
grep -q 'another order' "$TMP/said" && tell "sums in another order"
same one parts || tell "resumed by 2 ranks: other bits"
LATHE_RANKS_APART=2 run exact2 apart --ranks 4
same one apart || tell "two ranks without the run folder: other bits"
for mpi in openmpi mpich; do
    before=$(by $mpi 4) || { echo "note: $before"; continue; }
    run exact2 $mpi
    same one $mpi || tell "$mpi: other bits"
    break
done
before=
built plain8 8
built plain4 4
run plain8 plain
run plain4 plain.two --ranks 2
! same plain plain.two || tell "without --exact-sums the bits are the same, too"
code=0
"$TMP/exact2/trainer" train --data "$TMP/text.txt" --ranks 3 >"$TMP/said" 2>&1 || code=$?
[ "$code" = 2 ] && grep -q -- '3 ranks: this trainer was built with --exact-sums.*start 2, 4, 8' "$TMP/said" || tell "3 ranks: exit code $code"
