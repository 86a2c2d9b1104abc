# noise_scale.sh: the gradient noise scale of a run: where it is known (rows whose gradients are the rows themselves), it is told within
# 4 %; killed and resumed runs, and other numbers of threads, tell the same to the last digit; fp16 and --memory tell it, too; CSV has
# it; what cannot be measured is refused.
set -eu
. tests/models/common
. tests/models/killed

# ---- loss = the mean over rows of x · w: a row's gradient is x, whatever w is
awk 'BEGIN {
    srand(7); print "a,b,c,d,class"
    for (i = 0; i < 6000; i++) {
        for (k = 0; k < 4; k++) printf "%.6f,", (k + 1) / 4 + 2 * sqrt(-2 * log(1 - rand())) * cos(6.283185307 * rand())
        print i % 3
    }
}' >"$TMP/table.csv"
cat >"$TMP/linear.lua" <<'END'
return {
  config = { features = 4, classes = 3, batch = 8, accumulate = 5, noise = true },
  forward = function(c, input)
    local y = nn.linear(input.features, { name = "w", out = 1, bias = false })
    return y:mean() + 0 * input.targets:cast("f32"):mean()
  end,
  train = function(c)
    return { optimizer = optim.sgd { lr = 0 }, steps = 1000, accumulate = c.accumulate, noise_scale = c.noise }
  end,
  data = data.csv { target = "class", val_fraction = 0 },
}
END
true_scale=$(awk -F , 'NR > 1 { for (k = 1; k <= 4; k++) { s[k] += $k; q[k] += $k * $k } }
    END { n = NR - 1; for (k = 1; k <= 4; k++) { g += (s[k] / n) ^ 2; v += q[k] / n - (s[k] / n) ^ 2 } print v / g }' "$TMP/table.csv")
mean_of() { awk -F '"noise_scale":' '/"split":"train"/ { split($2, x, ","); if (x[1] != "null" && ++n > 200) { sum += x[1]; k++ } } END { print sum / k }' "$1/metrics.jsonl"; }
near() { # RUN
    awk -v found="$(mean_of "$1")" -v true="$true_scale" 'BEGIN { exit !(found / true > 0.96 && found / true < 1.04) }' ||
        tell "$1: a noise scale of $(mean_of "$1"), and it is $true_scale"
}
for options in '' '--precision fp16' '--set batch=4 --set accumulate=2'; do
    # shellcheck disable=SC2086
    must "$LATHE" build "$TMP/linear.lua" $options -o "$TMP/linear"
    must "$TMP/linear/trainer" train --data "$TMP/table.csv" --out "$TMP/linear-run" --log csv --no-report
    near "$TMP/linear-run"
    rm -rf "$TMP/linear-run.first" && cp -r "$TMP/linear-run" "$TMP/linear-run.first" && rm -rf "$TMP/linear-run"
done
told=$(sed -n 's/.*| noise scale \([0-9.]*\) |.*/\1/p' "$TMP/said" | tail -n 1)
sed -n 's/^{"step":1000,.*"noise_scale":\([0-9.]*\).*/\1/p' "$TMP/linear-run.first/metrics.jsonl" |
    awk -v told="$told" '{ off = told / $1 - 1 } END { exit !(NR == 1 && off < 0.006 && off > -0.006) }' || tell "the progress line has $told as the noise scale"
head -n 1 "$TMP"/linear-run.first/metrics.csv | grep -q noise_scale || tell "metrics.csv has no noise_scale"

# ---- a gpt, killed and resumed, with other numbers of threads
awk 'BEGIN { for (i = 0; i < 4000; i++) { x = (x * 1103515245 + 12345) % 2147483648; printf "%s", substr("etaoin shrdlu", x % 13 + 1, 1) } }' >"$TMP/text"
small="--config char --set layers=2 --set width=24 --set heads=2 --set seq=20 --set batch=2 --set accumulate=3 --set noise_scale=true"
# shellcheck disable=SC2086
must "$LATHE" build models/gpt.lua $small -o "$TMP/gpt"
must "$TMP/gpt/trainer" profile --json --steps 1
parts() { tr '{' '\n' <"$TMP/said" | grep -c "\"part\":\"$1\""; }
[ "$(parts backward)" -gt "$(parts forward)" ] || tell "most kernels are of the forward part: squares of gradients are not"
trainer=$TMP/gpt/trainer steps=120 kills=2 start="--data $TMP/text --tokenizer chars --steps 120 --save-every 7 --seed 5"
# shellcheck disable=SC2086
must "$trainer" train $start --out "$TMP/whole" --threads 1
killed_and_resumed
grep -c '"noise_scale":[0-9]' "$TMP/whole/metrics.jsonl" | awk '{ exit !($1 > 100) }' || tell "the noise scale is not known"

# ---- refused; a flag is true or false wherever it is given
refuse 2 'noise_scale must be true or false (or 1 or 0)' "$LATHE" check "$TMP/linear.lua" --set noise_scale=yes
refuse 2 'noise_scale is fixed when built' "$trainer" train --data "$TMP/text" --set noise_scale=false
refuse 2 'nesterov=2: expected true or false, or 1 or 0' "$trainer" train --data "$TMP/text" --set nesterov=2
refuse 1 'linear.lua:8: error: noise_scale compares the gradients of micro-batches' "$LATHE" check "$TMP/linear.lua" --set accumulate=1
refuse 1 'noise_scale is measured on the processor only' "$LATHE" check "$TMP/linear.lua" --target cuda
refuse 1 'noise_scale is for descriptions without turns' "$LATHE" check tests/models/turns.lua --set batch=4 --set accumulate=3 --set noise_scale=1
sed 's/noise_scale = c.noise/&, groups = { { match = "layers.0.*", frozen = true } }/; s/local y = /local x = nn.stack(2, input.features, function(h) return nn.linear(h, { name = "in", out = 4 }) end, { name = "layers" }); local y = /' "$TMP/linear.lua" >"$TMP/partly.lua"
refuse 1 'freeze some of' "$LATHE" check "$TMP/partly.lua"
