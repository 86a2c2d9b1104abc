# growth.sh: accumulate_at: a run whose steps grow from one micro-batch to four equals, to the bit, three programs with fixed numbers that
# resume each other; killed and resumed across the growth, with other numbers of threads, it has the same bytes; each row of the
# data is used once; epochs, dry runs and replays count the rows used; wrong lists are refused at their line.
set -eu
. tests/models/common
. tests/models/killed
awk 'BEGIN { for (i = 0; i < 4000; i++) { x = (x * 1103515245 + 12345) % 2147483648; printf "%s", i % 29 ? substr("etaoin shrdlu", x % 13 + 1, 1) : "\n" } }' >"$TMP/text"
cat >"$TMP/small.lua" <<'END'
return {
  config = { vocab = 256, width = 12, layers = 2, seq = 9, batch = 3, accumulate = 4, grow = "0:1,40:2,80:4", dropout = 0.1 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    x = nn.stack(c.layers, x, function(h) return h + nn.dropout(nn.mlp(nn.layernorm(h), { hidden = 2 * c.width }), c.dropout) end)
    return nn.cross_entropy(nn.linear(x, { out = c.vocab, name = "head" }), input.targets)
  end,
  train = function(c)
    return { optimizer = optim.adamw { lr = 3e-3 }, steps = 120, clip = 1, accumulate = c.accumulate,
      accumulate_at = c.grow ~= "" and c.grow or nil }
  end,
  data = data.text { tokenizer = "bytes", val_fraction = 0.1 },
}
END

must "$LATHE" build "$TMP/small.lua" --check-stages -o "$TMP/grown"
for n in 1 2 4; do must "$LATHE" build "$TMP/small.lua" --set accumulate=$n --set grow= -o "$TMP/fixed$n"; done
trainer=$TMP/grown/trainer steps=120 kills=2

# ---- windows, and documents in epochs: the same as three programs; killed and resumed
for order in windows epochs; do
    rm -rf "$TMP/whole" "$TMP/run" "$TMP/pieces"
    first="--data $TMP/text --order $order --documents line --seed 5" start="$first --steps 120 --save-every 7"
    # shellcheck disable=SC2086
    must "$trainer" train $start --out "$TMP/whole" --threads 1
    # shellcheck disable=SC2086
    must "$TMP/fixed1/trainer" train $first --out "$TMP/pieces" --steps 40
    must "$TMP/fixed2/trainer" train --resume --out "$TMP/pieces" --steps 80
    must "$TMP/fixed4/trainer" train --resume --out "$TMP/pieces" --steps 120
    for file in model optimizer; do
        cmp "$TMP/whole/checkpoints/step-120/$file.safetensors" "$TMP/pieces/checkpoints/step-120/$file.safetensors"
    done
    killed_and_resumed
done
rm -rf "$TMP/whole"
must "$trainer" train --data "$TMP/text" --order windows --seed 5 --out "$TMP/whole"
tokens=$(sed -n 's/^{"step":120,"split":"train".*"tokens":\([0-9]*\).*/\1/p' "$TMP/whole/metrics.jsonl")
[ "$tokens" = $((40 * (1 + 2 + 4) * 3 * 9)) ] || tell "$tokens tokens are counted"

# ---- pictures, which threads read ahead
sed 's/steps = c.steps,/& accumulate = 4, accumulate_at = { [0] = 1, [7] = 2, [15] = 4 },/; s/batch = 8/batch = 3/' tests/models/snapshots.lua >"$TMP/snapshots.lua"
must "$LATHE" build "$TMP/snapshots.lua" -o "$TMP/pictures"
must ${CC:-cc} tests/models/draw_pictures.c -o "$TMP/draw" -ljpeg -lpng
(cd "$TMP" && ./draw colours 20)
must "$TMP/pictures/trainer" train --data "$TMP/colours" --out "$TMP/shown" --steps 20 --readers 1
for steps in 5 8 20; do
    must "$TMP/pictures/trainer" train --data "$TMP/colours" --out "$TMP/shown-again" --steps $steps --readers 3 $([ $steps = 5 ] || echo --resume)
done
cmp "$TMP/shown/model.safetensors" "$TMP/shown-again/model.safetensors"

# ---- each row of an epoch is used once: its gradient, of a sum over rows, is subtracted from weights of 0
awk 'BEGIN { print "a,b,class"; for (i = 0; i < 420; i++) print i % 7 - 2 "," i % 11 - 5 "," i % 2 }' >"$TMP/table.csv"
cat >"$TMP/sum.lua" <<'END'
return {
  config = { features = 2, classes = 2, batch = 6, accumulate = 4 },
  forward = function(c, input)
    local y = nn.linear(input.features, { name = "w", out = 1, bias = false, init = 0 })
    return y:sum() + 0 * input.targets:cast("f32"):sum()
  end,
  train = function(c)
    return { optimizer = optim.sgd { lr = 1 }, steps = 1000, accumulate = c.accumulate, accumulate_at = { [0] = 1, [10] = 2, [20] = 4 } }
  end,
  data = data.csv { target = "class", val_fraction = 0 },
}
END
must "$LATHE" build "$TMP/sum.lua" -o "$TMP/sum"
must "$TMP/sum/trainer" train --data "$TMP/table.csv" --out "$TMP/sum-run" --epochs 1 --log csv,tensorboard
grep -q '; 6 rows a step, 12 after step 10, 24 after step 20$' "$TMP/said" || tell "the growth is not told"
grep -q 'note: accumulate_at' "$TMP/said" && tell "all numbers are reached"
[ -d "$TMP/sum-run/checkpoints/step-30" ] || tell "an epoch of 420 rows is not 30 steps"
for step in 1:6 10:6 11:12 20:12 21:24 30:24; do
    grep -q "^{\"step\":${step%:*},\"split\":\"train\".*\"batch\":${step#*:},.*\"rows\":" "$TMP/sum-run/metrics.jsonl" || tell "step $step: its rows"
done
awk -F , 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "batch") k = i } $2 == "train" { print $k }' "$TMP/sum-run/metrics.csv" | sort -n | uniq -c >"$TMP/said"
[ "$(tr -s ' \n' ' ' <"$TMP/said")" = ' 10 6 10 12 10 24 ' ] || tell "metrics.csv has other rows"
grep -q train/batch "$TMP/sum-run"/events.out.* || tell "TensorBoard is told no rows"
grep -q '"batch":' "$TMP/pieces/metrics.jsonl" && tell "a batch that does not grow is told"
found=$(od -A n -t f4 -j $(($(wc -c <"$TMP/sum-run/model.safetensors") - 8)) "$TMP/sum-run/model.safetensors" | awk '{ print $1, $2 }')
wanted=$(awk -F , 'NR > 1 { a -= $1; b -= $2 } END { print a, b }' "$TMP/table.csv")
[ "$found" = "$wanted" ] || tell "the rows used add up to $found, and those of the data to $wanted"

# ---- other commands
must "$TMP/grown/trainer" train --data "$TMP/text" --dry-run
must "$TMP/grown/trainer" train --data "$TMP/text" --dry-run --steps 80
grep -q 'note: accumulate_at has 4 micro-batches from step 80 on, and this run ends with step 80: it never' "$TMP/said" || tell "a number is never reached"
must "$TMP/grown/trainer" train --data "$TMP/text" --overfit --set warmup=0
must "$TMP/grown/trainer" bench --steps 2
must "$TMP/grown/trainer" info
for step in 5 45 100; do
    loss=$(sed -n "s/^{\"step\":$step,\"split\":\"train\",\"loss\":\([0-9.]*\).*/\1/p" "$TMP/whole/metrics.jsonl")
    must "$LATHE" replay "$TMP/small.lua" --seed 5 --step $step --order windows --data "$TMP/text" --json
    sed -n 's/.*"loss": *\([0-9.]*\).*/\1/p' "$TMP/said" | awk -v wanted="$loss" '{ found = $1 } END { exit !(found / wanted > 0.9999 && found / wanted < 1.0001) }' ||
        tell "step $step has a loss of $loss, and another when it is replayed"
done
must "$LATHE" dump "$TMP/small.lua" --after normal
grep -q '^graph train_2 training grads grown 2' "$TMP/said" || tell "no graph train_2"
cp "$TMP/said" "$TMP/small.graph"
must "$LATHE" dump "$TMP/small.graph" --after lower

# ---- refused
refuse 2 'expected pairs STEP:NUMBER of whole numbers, such as 0:1,200:2,1000:8; or give none' "$LATHE" check "$TMP/small.lua" --set accumulate_at=0:1,1:
refuse 1 'accumulate_at goes up to 2' "$LATHE" check "$TMP/small.lua" --set accumulate_at=0:1,5:2
must "$LATHE" check "$TMP/small.lua" --set accumulate_at=none --set accumulate=7
refuse 1 'small.lua:10: error: accumulate_at goes up to 4 micro-batches, and accumulate' "$LATHE" check "$TMP/small.lua" --set accumulate=8
refuse 1 'accumulate_at goes up to 4' "$LATHE" check "$TMP/small.lua" --set accumulate=2
wrong() { # FAULT LIST…: of a text, and with --set
    fault=$1
    shift
    for grow in "$@"; do
        refuse 1 "small.lua:10: error: accumulate_at = '$grow': $fault" "$LATHE" check "$TMP/small.lua" --set grow=$grow
        refuse 2 "error: --set accumulate_at=$grow: $fault" "$LATHE" check "$TMP/small.lua" --set accumulate_at=$grow
    done
}
wrong 'expected pairs STEP:NUMBER of whole numbers' 0:x 0 0:1,,9:4 4 0:1,9:4,
wrong 'its first step must be 0, found 1; begin with the number of micro-batches that step 0 has' 1:1,9:4
wrong 'its first step must be 0, found -1' -1:4
wrong 'its steps must rise, found 9 after 9' 0:1,9:2,9:4
wrong 'its steps must rise, found 5 after 9; give each step once' 0:1,9:2,5:4
wrong 'a step has one micro-batch or more, found 0 from step 5 on' 0:1,5:0,9:4
refuse 2 ',16:4: it may have 16 numbers, found more; leave some out' "$LATHE" check "$TMP/small.lua" --set accumulate_at=$(seq -s : 0 16 | sed 's/:/:1,/g'):4
table() { # FAULT VALUE: a list in Lua
    sed "s/accumulate_at = {.*} }/accumulate_at = $2 }/" "$TMP/sum.lua" >"$TMP/wrong.lua"
    refuse 1 "wrong.lua:8: error: accumulate_at: $1" "$LATHE" check "$TMP/wrong.lua"
}
table 'expected a whole number as the number of micro-batches, found 2.5' '{ [0] = 1, [10] = 2.5 }'
table "expected a whole number as the number of a step, found 'late'" '{ [0] = 1, late = 4 }'
table 'expected a table of steps and their numbers of micro-batches, { [0] = 1, [200] = 2, [1000] = 8 }, found 7' 7
table 'expected the number of micro-batches from step 0 on, { [0] = 1, … }, found an empty table' '{}'
table 'its first step must be 0, found 1' '{ 1, 2, 4 }'
table 'a step has one micro-batch or more, found -2 from step 5 on' '{ [0] = 1, [5] = -2, [9] = 4 }'
sed 's/accumulate = c.accumulate/accumulate = 4, accumulate_at = "0:1,9:4"/; s/carry = false/carry = true/' models/char_rnn.lua >"$TMP/carried.lua"
sed 's/accumulate = c.accumulate/accumulate = 4, accumulate_at = "0:1,9:4"/' tests/models/turns.lua >"$TMP/turns.lua"
refuse 1 'accumulate_at runs on the processor only' "$LATHE" check "$TMP/small.lua" --target cuda
refuse 1 'accumulate_at is for descriptions without turns' "$LATHE" check "$TMP/turns.lua"
refuse 2 'accumulate_at is fixed when built' "$TMP/grown/trainer" train --data "$TMP/text" --set accumulate_at=0:4
refuse 1 'so their number cannot grow' "$LATHE" check "$TMP/carried.lua" --config tiny
refuse 2 'so their number cannot grow' "$TMP/grown/trainer" train --data "$TMP/text" --order contiguous
