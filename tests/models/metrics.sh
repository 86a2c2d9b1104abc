# metrics.sh: what eval says of classes and of numbers is what scikit-learn and NumPy say of the same predictions
# (tests/reference/metrics.py): a model whose logits are its features, one whose prediction is its feature.
set -eu
. tests/models/common
top=$PWD recorded=$PWD/tests/reference/metrics
case $LATHE in /*) ;; *) LATHE=$PWD/$LATHE ;; esac
cd "$TMP"

cat >same.lua <<'EOF'
return {
  config = { features = 2, classes = 2, batch = 32 },
  forward = function(c, input)
    local logits = input.features * nn.param { name = "scale", shape = { 1 }, init = 1 }
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,
  train = { optimizer = optim.sgd { lr = 0 }, steps = 1 },
  data = data.csv { target = "class", val_fraction = 0.2 },
}
EOF
cat >number.lua <<'EOF'
return {
  config = { numbers = 1, categories = 0, levels = 1, classes = 0, batch = 32 },
  forward = function(c, input)
    local prediction = (input.numbers * nn.param { name = "scale", shape = { 1 }, init = 1 }):squeeze(-1)
    return nn.mse(prediction, input.targets), { prediction = prediction }
  end,
  train = { optimizer = optim.sgd { lr = 0 }, steps = 1 },
  data = data.table { target = "y", val_fraction = 0.2 },
}
EOF

# found CASE: of `said`, the lines of expected.txt
found() {
    sed 's/.*"metrics":{//; s/"calibration":.*//' said | tr -d '"{}' | tr ',' '\n' | sed -n "s/^\([a-z_0-9]*\):/$1 \1 /p"
    sed 's/.*"calibration":\[//; s/\].*//; s/},{/\n/g' said | tr -d '{}' | awk -F '[:,]' -v case="$1" '/rows/ {
        print case, "bin" n + 0, $4; print case, "bin" n + 0 "_confidence", $6 + 0; print case, "bin" n++ "_accuracy", $8 + 0 }'
}
for case in 2 3 7 numbers; do
    case $case in numbers) model=number.lua set= ;; *) model=same.lua set="--set features=$case --set classes=$case" ;; esac
    # shellcheck disable=SC2086
    must "$LATHE" train $model $set --data "$recorded/$case.csv" -o built --out "run-$case"
    must built/trainer eval --out "run-$case" --data "$recorded/$case.csv" --val-fraction 1 --json
    found $case >found
    grep "^$case " "$recorded/expected.txt" | awk 'NR == FNR { has[$2] = $3; next }
        { n++; d = has[$2] - $3; if (!($2 in has) || d * d > 1e-10 * $3 * $3 + 1e-14) { print "expected " $0 ", found " has[$2]; bad = 1 } }
        END { exit bad || !n }' found - >said.wrong || { cat said.wrong; tell "case $case"; }
done
must built/trainer eval --out run-numbers --data "$recorded/numbers.csv" --val-fraction 1
grep -q '| mape [0-9.]*; over all 400 rows; mape without 11 targets of 0$' said || tell "the rows without mape"
