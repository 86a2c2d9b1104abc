# own_metrics.sh: metrics that a description defines are those of all rows, whatever the batches, as plain loops over the predictions
# compute them; they are in eval, in metrics.jsonl, and pick the best checkpoint.
set -eu
. tests/models/common
case $LATHE in /*) ;; *) LATHE=$PWD/$LATHE ;; esac
cd "$TMP"

# as_expected NAME…: these values in `said`, a line of JSON, are the numbers of `expected`.
as_expected() {
    for name in "$@"; do sed -n "s/.*\"$name\":\([^,]*\),.*/\1/p" said; done | paste -s -d ' ' >found
    paste -d ' ' found expected | awk -v n=$# '{ for (i = 1; i <= n; i++) if (!(($i - $(i + n)) ^ 2 < 1e-11)) bad = 1 } END { exit bad || NF != 2 * n }' ||
        tell "$*: $(cat found), expected $(cat expected)"
}

cat >classes.lua <<'EOF'
-- classes.lua: F2 weighted by the classes' rows, the rate of rows whose class is among the likeliest two, a geometric mean.
return {
  config = { features = 2, classes = 4, batch = 32, steps = 300 },
  forward = function(c, input)
    local h = nn.tanh(nn.linear(input.features, { name = "up", out = 16 }))
    local logits = nn.linear(h, { name = "head", out = c.classes })
    return nn.cross_entropy(logits, input.targets), { logits = logits, accuracy = nn.accuracy(logits, input.targets) }
  end,
  metrics = function(c, outputs, input)
    local is = nn.one_hot(input.targets, c.classes)
    local said = nn.one_hot(outputs.logits:argmax(-1), c.classes)
    local rows, hits = is:sum(0), (is * said):sum(0)
    local f2 = 5 * hits / nn.max(4 * rows + said:sum(0), 1.0)
    local own = (outputs.logits * is):sum(-1):unsqueeze(-1)
    local before = nn.lt(own, outputs.logits):cast("f32"):sum(-1)
    local p = (nn.softmax(outputs.logits) * is):sum(-1)
    return { f2 = (f2 * rows):sum() / rows:sum(), hit_rate_2 = nn.lt(before, 2):cast("f32"):mean(), geometric = nn.exp(nn.log(p):mean()) }
  end,
  train = function(c)
    return { optimizer = optim.adamw { lr = 3e-3 }, steps = c.steps, eval_every = 60, best = "f2", best_mode = "max", keep_last = 9 }
  end,
  data = data.csv { target = "class", val_fraction = 0.2 },
}
EOF
awk 'BEGIN { srand(9); print "x,y,class"; for (i = 0; i < 2065; i++) { x = 2 * rand() - 1; y = 2 * rand() - 1
    print x "," y "," (rand() < 0.2 ? int(4 * rand()) : x * x + y * y < 0.2 ? 3 : x > 0.3 ? 2 : y > 0) } }' >c.csv
must "$LATHE" train classes.lua --data c.csv -o built --out run
must built/trainer predict --data c.csv --weights run --out p.csv
must built/trainer eval --out run --json
tail -n 413 c.csv >held
tail -n 413 p.csv | paste -d , held - | awk -F , '{
        is = $3 + 1; p = $(4 + is); before = 0; sum += log(p); rows[is]++; said[$4 + 1]++; hit[is] += $4 + 1 == is
        for (k = 1; k <= 4; k++) before += $(4 + k) > p; near += before < 2 }
    END { for (k = 1; k <= 4; k++) f2 += rows[k] * 5 * hit[k] / (4 * rows[k] + said[k])
        printf "%.9f %.9f %.9f\n", f2 / NR, exp(sum / NR), near / NR }' >expected
awk '{ exit !($1 > 0.5 && $1 < 0.95 && $3 > $1 && $2 > 0.3) }' expected || tell "a model that has learned nothing: $(cat expected)"
as_expected f2 geometric hit_rate_2

# The best checkpoint is the evaluation with the highest f2.
grep '"split":"val"' run/metrics.jsonl | sed 's/.*"step":\([0-9]*\),.*"f2":\([^,]*\),.*/\1 \2/' |
    awk '$2 > most { most = $2; step = $1 } END { print NR, step }' >best
grep -q '^5 ' best || tell "evaluations: $(cat run/metrics.jsonl)"
[ "$(readlink run/checkpoints/best)" = "step-$(cut -d ' ' -f 2 best)" ] || tell "the best is $(ls -l run run/checkpoints), expected $(cat best)"

cat >number.lua <<'EOF'
-- number.lua: R² with weights, and the geometric mean of errors, which are in deviations of the target.
return {
  config = { numbers = 1, categories = 0, levels = 1, classes = 0, batch = 50, steps = 200 },
  forward = function(c, input)
    local prediction = nn.linear(input.numbers, { name = "head", out = 1 }):squeeze(-1)
    return nn.weighted_mean(nn.mse(prediction, input.targets, { reduction = "none" }), input.weight), { prediction = prediction }
  end,
  metrics = function(c, outputs, input)
    local y, w, error = input.targets, input.weight, outputs.prediction - input.targets
    local mean = (w * y):sum() / w:sum()
    local spread = (w * y * y):sum() - w:sum() * mean * mean
    local of_means = 1 - (error * error):mean() / ((y * y):mean() - y:mean() ^ 2)
    return { weighted_r2 = 1 - (w * error * error):sum() / spread, geometric_error = nn.exp(nn.log(nn.abs(error)):mean()), of_means = of_means,
      within = nn.le(nn.abs(error) * input.target_deviation, 0.04 * nn.abs(y * input.target_deviation + input.target_mean)):cast("f32"):mean(),
      own_rmse = nn.sqrt((error * error):mean()) * input.target_deviation,
      of_data = nn.exp(w:mean()) / (y:sum() ^ 2 / w:sum()), heavy = w:sum(), beside = 1 + (w * w):sum() / 2 }
  end,
  train = function(c) return { optimizer = optim.adamw { lr = 2e-2 }, steps = c.steps } end,
  data = data.table { target = "y", weight = "w", val_fraction = 0.3 },
}
EOF
awk 'BEGIN { srand(2); print "x,w,y"; for (i = 0; i < 777; i++) { x = rand(); print x "," int(1 + 5 * rand()) "," 70 + 40 * x + 12 * rand() } }' >n.csv
must "$LATHE" train number.lua --data n.csv -o number --out numbers
must number/trainer predict --data n.csv --weights numbers --out p.csv
must number/trainer eval --out numbers --json
deviation=$(sed 's/.*"name":"y","kind":"target"[^]]*\],"deviation":\[\([^]]*\)\].*/\1/' numbers/table.json)
tail -n 234 n.csv >held
tail -n 234 p.csv | paste -d , held - | awk -F , -v deviation="$deviation" '{ e = $4 - $3; within += (e < 0 ? -e : e) <= 0.04 * $3; log_sum += log((e < 0 ? -e : e) / deviation)
        w += $2; y += $2 * $3; squares += $2 * $3 * $3; errors += $2 * e * e; heavy += $2 * $2; plain += $3; plain_squares += $3 * $3; plain_errors += e * e }
    END { printf "%.9f %.9f\n", within / NR, sqrt(plain_errors / NR) >"own"
        printf "%.9f %.9f %.9f %d %.1f\n", exp(log_sum / NR), 1 - errors / (squares - y * y / w), 1 - plain_errors / (plain_squares - plain ^ 2 / NR), w, 1 + heavy / 2 }' >expected
as_expected geometric_error weighted_r2 of_means heavy beside
mv own expected
awk '{ exit !($1 > 0.2 && $1 < 0.9) }' expected || tell "a share of rows that says nothing: $(cat expected)"
as_expected within own_rmse

# Of data alone too, whatever the batch: means are means, and sums are sums.
sed -n 's/.*"of_data":\([^,]*\),.*/\1/p' said >by_50
must "$LATHE" build number.lua --set batch=234 -o whole
must whole/trainer eval --data n.csv --weights numbers --json
sed -n 's/.*"of_data":\([^,]*\),.*/\1/p' said | paste -d ' ' by_50 - | awk '{ bad = !(($1 / $2 - 1) ^ 2 < 1e-10) } END { exit bad || NR != 1 }' || tell "of data: $(cat by_50) by 50, $(cat said)"

# What eval adds by the task is in the evaluations of a run too, if the best checkpoint is chosen by it: more R² is better.
sed 's/steps = c.steps }/steps = c.steps, best = "rmse", eval_every = 10, keep_last = 9 }/' number.lua >best.lua
must "$LATHE" train best.lua --data n.csv -o by_task --out by_rmse --steps 40 --set lr=1.0
must by_task/trainer train --data n.csv --out by_r2 --steps 40 --set lr=1.0 --set best=r2
must by_task/trainer train --resume --out by_r2 --steps 50 --set schedule_steps=40
for best in rmse r2; do
    grep '"split":"val"' by_$best/metrics.jsonl | sed "s/.*\"step\":\([0-9]*\),.*\"$best\":\([^,]*\),.*/\1 \2/" | sort -k 2 -g >found
    [ $best = rmse ] && step=$(head -n 1 found) || step=$(tail -n 1 found)
    [ "$(readlink by_$best/checkpoints/best)" = "step-${step% *}" ] || tell "the best by $best is $(ls -l by_$best/checkpoints), expected $(cat found)"
    must by_task/trainer eval --weights by_$best/checkpoints/best --data n.csv --json
    sed "s/.*\"metrics\":{.*\"$best\":\([^,]*\),.*/\1/" said | awk -v want="${step#* }" '{ exit !(($1 / want - 1) ^ 2 < 1e-12) }' || tell "$best at its best: $step"
done
must built/trainer train --data c.csv --out few --steps 60 --set best=macro_f1 --set eval_rows=100
grep -q 'eval 60/60 |.* | macro_f1 0\.[0-9]*$' said || tell "macro F1 of some rows"
refuse 2 'best=auc: there is no such metric; this model has loss, ' by_task/trainer train --data n.csv --out no --set best=auc
grep -q 'rmse, mae, r2, mape' said || tell "which there are"
