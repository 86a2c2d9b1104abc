# replay.sh: a planted 0/0 in layer 3 of a gpt ends the run and is named: operation, line, layer, ranges of its inputs.
top=$PWD
. tests/trainer/common
lathe=${LATHE:-$BUILD/lathe}
[ -x "$lathe" ] || { echo "skipped: $lathe is not built"; exit 77; }
some_text text 400
small="--config char --set layers=5 --set width=32 --set heads=2 --set seq=16 --set batch=2 --set dropout=0.1 --set steps=6"

# block() of models/gpt.lua, with its residual divided by something that is zero in layer 3 alone.  plant LINE-OF-LUA
plant() {
    awk -v line="$1" '/residual = nn.stack\(c.layers/ { print "    residual = nn.stack(c.layers, residual, function(x, i)"; print line
        print "      return block(c, init, x) end, { name = \"h\" })"; next } { print }' "$top/models/gpt.lua" >planted.lua
    grep -n 'local z' planted.lua | cut -d: -f1
}

at=$(plant '      local z = nn.where(nn.eq(i, 3), 0.0, 1.0) x = x * z / z')
# shellcheck disable=SC2086
refuses 4 'step 1: expected a finite loss, found loss nan and gradient norm nan; there' "$lathe" train planted.lua $small -o g --data text --out run --seed 7
says 'there is no checkpoint' err
replay=$(sed -n 's/^  lathe replay/replay/p' err)
# shellcheck disable=SC2086
"$lathe" $replay >out 2>err
[ $? = 4 ] && ok "replay exits with 4" || wrong "exit code of replay: $replay"
sed -n 3,8p out >first
says 'operation  .* = .* / ' first
says "line       planted.lua:$at\$" first
says 'layer      h, layer 3 of 0 to 4' first
says 'tensor     .*\[2, 16, 32\]: 1,024 nan, 0 infinite of 1,024, the first at \[0\]\[0\]\[0\]' first
[ "$(grep -c 'input .*: 0 to 0$' first)" = 2 ] && ok "inputs" || { wrong "ranges of the inputs"; cat out; }
# shellcheck disable=SC2086
"$lathe" $replay --json >out 2>err
says '"path":"h".*"iterations":{"layer":3}' out

# Twice as large each time: what overflows is an exponential, in the first layer that it happens in.
at=$(plant '      local z = nn.where(nn.eq(i, 2), 100.0, 1.0) x = x + (nn.exp(x * 0 + z) - nn.exp(x * 0 + z))')
# shellcheck disable=SC2086
refuses 4 'expected a finite loss' "$lathe" train planted.lua $small -o g2 --data text --out run2
replay=$(sed -n 's/^  lathe replay/replay/p' err)
# shellcheck disable=SC2086
"$lathe" $replay >out 2>err
sed -n 3,8p out >first
says 'operation  .* = .*exp(' first
says 'layer 2 of 0 to 4' first
says 'infinite of 1,024, the first at \[0\]\[0\]\[0\] is inf' first
says 'input .*: 100 to 100' first

# From a checkpoint, with its settings and data: a rate that lets the weights grow until something overflows.
# shellcheck disable=SC2086
refuses 4 'expected a finite loss' "$lathe" train "$top/models/gpt.lua" $small -o wild --data text --out run4 --seed 3 --set optimizer=sgd \
    --set lr=9e8 --set warmup=0 --set clip=0 --set save_every=1 --set final_lr=9e8
step=$(sed -n 's/.*error: step \([0-9]*\) diverged.*/\1/p' err)
# shellcheck disable=SC2086
"$lathe" replay "$top/models/gpt.lua" $small --set optimizer=sgd --checkpoint run4/checkpoints/step-1 --step "$step" >out 2>err
[ $? = 4 ] && ok "from a checkpoint" || { wrong "replay from a checkpoint"; cat out err; }
says "step $step: loss" out
says '  operation  ' out
# shellcheck disable=SC2086
refuses 2 'is from after step 1' "$lathe" replay "$top/models/gpt.lua" $small --set optimizer=sgd --checkpoint run4/checkpoints/step-1 --step 1

# What is printed works as it stands, whatever the data: a token that one paragraph alone has ends the run in its step.
cat >rare.lua <<'END'
return {
  config = { vocab = 300, width = 16, seq = 16, batch = 4 },
  forward = function(c, input)
    local fine = nn.where(nn.eq(input.tokens, 90), 0.0, nn.where(nn.eq(input.tokens, 57), 0.0, 1.0))   -- Z: its byte, in BPE
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    local losses = nn.cross_entropy(nn.linear(x, { out = c.vocab, name = "head" }), input.targets)
    return losses * nn.mean(fine / fine)
  end,
  train = { optimizer = optim.adamw { lr = 1e-3 }, steps = 900 },
  data = data.text { tokenizer = "chars", val_fraction = 0.1 },
}
END
mkdir "some texts"
for k in 1 2 3; do awk -v k=$k '{ print $0 (NR == 40 && k == 2 ? " Z" : "") "\n" }' text >"some texts/it's $k.txt"; done
works "$lathe" build rare.lua -o rare
pasted() { # OPTION…: of a training that meets it; sets replay
    refuses 4 'diverged.  .*\.  To find the operation that caused it, run' rare/trainer train --out "a run" --seed 5 "$@"
    sed -n "s|^  lathe replay|'$lathe' replay|p" err >pasted
    sh pasted >out 2>err
    [ $? = 4 ] && ok "pasted: $(cat pasted)" || { wrong "replay: $(cat pasted)"; cat out err; }
    says '  operation  .* = .* / ' out
}
pasted --data "some texts" --documents blank --set shuffle_tokens=2000 --set val_fraction=0.05 --set stride=8 --set eos=10 --tokenizer bytes
works "$lathe" tokenize train --size 300 --out "own bpe" "some texts"/*.txt
pasted --data "some texts"/*2.txt --order epochs --documents line --tokenizer "own bpe"

# A sound model: the same losses as the run's, but for rounding; what the ordinary trainer says; damaged weights.
# shellcheck disable=SC2086
works "$lathe" train "$top/models/gpt.lua" $small -o sound --data text --out run3
loss=$(sed -n 's/^{"step":4,"split":"train","loss":\([0-9.]*\).*/\1/p' run3/metrics.jsonl)
# shellcheck disable=SC2086
works "$lathe" replay "$top/models/gpt.lua" $small --data text --step 4 --json
close "$(number loss out)" "$loss" 1e-4 "loss of step 4"
says '"born":\[\]' out
refuses 2 'built without --instrument; `lathe replay .*gpt.lua --config char --set layers=5' sound/trainer replay --step 1 --data text
# shellcheck disable=SC2086
refuses 2 'replay needs the number of a step' "$lathe" replay "$top/models/gpt.lua" $small --data text
finish
