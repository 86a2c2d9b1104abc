# gpu.sh: tests/gpu.sh without a GPU: a bundle of two small models and a trainer, copied away, is checked in the simulator; a mistake
# put into a model's text, a gradient and losses of the CPU's that are others, and text that is no CUDA are told.
set -eu
command -v "${CXX:-g++}" >/dev/null || { echo "no C++ compiler: ${CXX:-g++} is not here"; exit 77; }
cat >"$TMP/cases.txt" <<'CASES'
mlp 1e-5 1e-5 models/mlp.lua
gpt 1e-5 1e-4 models/gpt.lua --set layers=1 --set width=32 --set heads=2 --set seq=12 --set batch=2 --set vocab=40 --set dropout=0.2
CASES
echo 'train gpt 1e-4 models/gpt.lua --set layers=1 --set width=16 --set heads=2 --set seq=8 --set batch=2 --set dropout=0.1' >"$TMP/trainers.txt"
. tests/sim/libraries
export LATHE_RT="$SIM_LIBRARIES"
sh tests/gpu.sh bundle "$TMP/made" --cases "$TMP/cases.txt" --trainers "$TMP/trainers.txt"
mkdir "$TMP/away"
mv "$TMP/made" "$TMP/away/bundle"
failed=0
complain() { echo "failed: $*"; cat "$TMP/said"; failed=1; }
check() { sh "$TMP/away/bundle/tests/gpu.sh" correctness --simulate --work "$TMP/work" "$@" >"$TMP/said" 2>&1; }

check || complain 'the bundle is not taken'
[ "$(grep -c '^  [a-z_]* *ok ' "$TMP/said")" = 4 ] || complain 'not four rows are ok'

model=$TMP/away/bundle/cases/mlp/model.cu
cp "$model" "$TMP/whole.cu"
mistake() { # FROM TO: the first line of mlp's text with FROM
    rm -rf "$TMP/work/model_mlp"
    awk -v from="$1" -v to="$2" '!done && (at = index($0, from)) {
        $0 = substr($0, 1, at - 1) to substr($0, at + length(from)); done = 1 } { print } END { exit !done }' "$TMP/whole.cu" >"$model" ||
        complain "no \"$1\" in mlp's text"
    ! check --only model_mlp || complain "nobody notices \"$2\" for \"$1\""
    grep -q "model_mlp  *FAILED" "$TMP/said" || complain "\"$2\" for \"$1\" is not in the table"
}
mistake 'log_f32(' '2 * log_f32('
mistake 'if (' 'if (('
cp "$TMP/whole.cu" "$model"
rm -rf "$TMP/work/model_mlp"
dump=$TMP/away/bundle/cases/mlp/entry.dump      # head of params, params, head of grads; the tenth of those becomes 1
at=$((80 + 4 * $(od -A n -t d8 -j 72 -N 8 "$dump") + 80 + 36))
printf '\000\000\200\077' | dd of="$dump" bs=1 seek="$at" conv=notrunc 2>/dev/null
! check --only model_mlp || complain 'another gradient is taken'
sed -i 's/"step":7,"split":"train","loss":5/"step":7,"split":"train","loss":6/' "$TMP/away/bundle/trainers/gpt/cpu.jsonl"
! check --only train_gpt || complain 'other losses are taken'
exit $failed
