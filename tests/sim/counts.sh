# counts.sh: losses that are divided by a count on several GPUs in the simulator: packed documents, pairs, a mask that the data says,
# weights of rows.  Two and three GPUs, whose parts count differently, have losses, norms and evaluations of one GPU with the whole
# batch: to 1e-10 in fp64, to rounding in fp32; with micro-batches; the plan's bytes; resumed to the same bytes.
# Mistakes put into the runtime are seen.  LATHE_LONG: one more model, 16 bits.
set -eu
. tests/sim/ranks

equal() {   # A B
    same "$TMP/$1" "$TMP/$2" 1e-10
    near "$1" "$2" 8 1e-10
}

# ---- a mask that the data says, of which some parts of a batch have nothing; numbers of rows in the loss beside it
table >"$TMP/table.csv"
cat >"$TMP/counted.lua" <<'END'
return { config = { features = 4, batch = 12, accumulate = 1 }, forward = function(c, input)
  local x, B = input.features, input.features:size(0)
  local y = nn.linear(nn.tanh(nn.linear(x, { name = "up", out = 5 })), { name = "down", out = 3 })
  local losses = nn.logsumexp(y, -1) - y:select(1, 0)
  local weights = nn.where(nn.eq(input.targets, 2), 3, nn.where(nn.lt(x:select(1, 0), 0.5), 1, 0))
  return (losses * (weights / nn.max(weights:sum(), 1))):sum() + 1e-3 * (y * y):sum() / (2 * B)
end,
train = function(c) return { optimizer = optim.sgd { lr = 0.1 }, steps = 8, accumulate = c.accumulate } end,
data = data.csv { target = "class" } }
END
data="--data $TMP/table.csv"
usual='--set eval_every=4 --steps 8'
# shellcheck disable=SC2086
{
    for rows in 12 6 4; do built counted$rows "$TMP/counted.lua" --set batch=$rows --precision fp64; done
    built halves "$TMP/counted.lua" --set batch=2 --set accumulate=3 --precision fp64
    run counted12 one $usual
    run counted6 two $usual --gpus 2
    equal one two
    SIM_TAKEN=1 run counted4 three $usual --gpus 3
    planned=$("$LATHE" plan "$TMP/counted.lua" --set batch=4 --precision fp64 --target cuda --gpus 3 | sed -n '1s/^[^:]*: \([0-9,]*\) bytes.*/\1/p' | tr -d ,)
    [ "$(grep -c "^sim: $planned bytes are taken" "$TMP/said")" = 3 ] || tell "not the $planned bytes of the plan, three times"
    equal one three
    run halves halves.two $usual --gpus 2
    equal one halves.two
    run counted4 parts $usual --gpus 3 --steps 4
    run counted4 parts --gpus 3 --steps 8 --resume
    alike three parts 8
    run counted6 other $usual --gpus 2 --steps 4
    run counted12 other --steps 8 --resume
    equal one other
}

# ---- packed documents, after which rows are empty to their end
awk 'BEGIN {
    for (i = 0; i < 400; i++) {
        x = (x * 1103515245 + 12345) % 2147483648
        print substr("etaoinshrdlucmfwypvbgkqjxz", x % 17 + 1, 3 + x % 7) "\n"
    }
}' >"$TMP/text.txt"
data="--data $TMP/text.txt"
small='models/gpt.lua --set layers=2 --set width=16 --set heads=2 --set seq=8 --set pack=true'
packed='--steps 6 --set eval_every=3 --set eval_rows=6 --set warmup=2 --order epochs --documents blank --set shuffle_tokens=2000'
# shellcheck disable=SC2086
{
    for rows in 6 3 2; do built gpt$rows $small --set batch=$rows --precision fp64; done
    built gpt.halves $small --set batch=1 --set accumulate=3 --precision fp64
    run gpt6 gpt.one $packed
    run gpt3 gpt.two --gpus 2 $packed
    equal gpt.one gpt.two
    run gpt2 gpt.three --gpus 3 $packed
    equal gpt.one gpt.three
    run gpt.halves gpt.parts --gpus 2 $packed
    equal gpt.one gpt.parts
    for bits in ${LATHE_LONG:+bf16 fp16}; do
        for rows in 6 2; do built $bits$rows $small --set batch=$rows --precision $bits; done
        run ${bits}6 $bits.one $packed
        run ${bits}2 $bits.three --gpus 3 $packed
        same "$TMP/$bits.one" "$TMP/$bits.three" 5e-3
    done
}

# ---- pairs: an encoder and a decoder, in fp32
awk 'BEGIN {
    print "source\ttarget"
    for (i = 0; i < 300; i++) {
        x = (x * 1103515245 + 12345) % 2147483648
        word = substr("etaoinshrdlucmfwypvbgkqjxz", x % 17 + 1, 1 + x % 9)
        print i % 10 i % 7 " " word "\t" word
    }
}' >"$TMP/pairs.tsv"
data="--data $TMP/pairs.tsv"
pairs='--steps 6 --set eval_every=3 --set eval_rows=6 --set warmup=2 --set shuffle_tokens=2000 --set buckets=0'
# shellcheck disable=SC2086
for model in seq2seq ${LATHE_LONG:+pointer_generator}; do
    for rows in 6 3 2; do built $model$rows models/$model.lua --config tiny --set vocab=259 --set source_seq=12 --set seq=10 --set batch=$rows; done
    run ${model}6 $model.one $pairs
    run ${model}3 $model.two --gpus 2 $pairs
    same "$TMP/$model.one" "$TMP/$model.two" 1e-5
    near $model.one $model.two 4 1e-5
    run ${model}2 $model.three --gpus 3 $pairs
    same "$TMP/$model.one" "$TMP/$model.three" 1e-5
    near $model.one $model.three 4 1e-5
done

# ---- mistakes: counts that stay each GPU's own, of every sort of data
# shellcheck disable=SC2086
mistake runtime/cuda/ranks.cu 'if (!ranks.grads) {' 'if (ranks.grads) {' seq2seq3 seq2seq.one $pairs
data="--data $TMP/text.txt"
# shellcheck disable=SC2086
mistake runtime/cuda/ranks.cu 'if (!ranks.grads) {' 'if (ranks.grads) {' gpt3 gpt.one $packed
data="--data $TMP/table.csv"
# shellcheck disable=SC2086
set -- counted6 one $usual
mistake runtime/cuda/ranks.cu 'if (!ranks.grads) {' 'if (ranks.grads) {' "$@"
mistake runtime/cuda/ranks.cu 'bytes / (size_t)ranks.element' 'bytes / (size_t)ranks.element - 1' "$@"
mistake runtime/cuda/ranks.cu 'ncclAllReduce(from, to' 'ncclAllReduce(from, (void *)from' "$@"
[ "$failed" = 0 ] || exit 1
