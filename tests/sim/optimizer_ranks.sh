# optimizer_ranks.sh: optimizers written in Lua and means of the weights on several GPUs in the simulator: the same training as on one with
# a batch as large as theirs together; the same bits again and resumed, also on another number; the plan's bytes; mistakes put into
# the runtime.
set -eu
. tests/sim/ranks
. tests/npy
mkdir "$TMP/arrays"
npy "$TMP/arrays/x.npy" '(90, 8)' "$(some_bytes 720)"
data="--data $TMP/arrays"
usual='--set eval_every=4 --set warmup=2'

# of_ranks NAME BOUND OPTIONS…: on one GPU, two and three
of_ranks() {
    model=$1 bound=$2
    shift 2
    for rows in 12 6 4; do built "$model$rows" "$@" --set batch=$rows; done
    set -- "$model" "$bound" "$@"
    # shellcheck disable=SC2086
    {
        run "${1}12" "$1.one" $usual --steps 8
        run "${1}6" "$1.two" $usual --gpus 2 --steps 8
        same "$TMP/$1.one" "$TMP/$1.two" "$2"
        SIM_TAKEN=1 run "${1}4" "$1.three" $usual --gpus 3 --steps 8
        taken=$(grep '^sim: [0-9]* bytes are taken' "$TMP/said")
        same "$TMP/$1.one" "$TMP/$1.three" "$2"
        run "${1}4" "$1.parts" $usual --gpus 3 --steps 4
        cp -r "$TMP/$1.parts" "$TMP/$1.other"
        SIM_EARLY=1 run "${1}4" "$1.parts" --gpus 3 --steps 8 --resume
        alike "$1.three" "$1.parts" 8
        run "${1}12" "$1.other" --steps 8 --resume
        same "$TMP/$1.three" "$TMP/$1.other" "$2"
    }
    model=$1
    shift 2
    planned=$("$LATHE" plan "$@" --set batch=4 --target cuda --gpus 3 | sed -n '1s/^[^:]*: \([0-9,]*\) bytes.*/\1/p' | tr -d ,)
    [ "$(echo "$taken" | grep -c "^sim: $planned bytes are taken")" = 3 ] || { echo "$taken" >"$TMP/said"; tell "$model: not the $planned bytes of the plan, three times"; }
    echo "note: $model trains on one GPU, two and three"
}

of_ranks muon 1e-9 tests/models/directed.lua --precision fp64 --set ema=0.9
of_ranks adafactor 1e-9 tests/models/directed.lua --precision fp64 --set kind=adafactor
sed 's/^  muon = .*/  muon = function() return optim.schedule_free { lr = 0.02 } end,/' tests/models/directed.lua >"$TMP/free.lua"
of_ranks free 1e-4 "$TMP/free.lua"
of_ranks bf16 3e-2 tests/models/directed.lua --precision bf16 --parameters bf16 --set ema=0.9

# ---- another optimizer than the plan's, whose parts are larger: of 48 elements the last of three GPUs has none to spare
cat >"$TMP/small.lua" <<'X'
return {
  config = { batch = 4, wide = 4 },
  train = function(c) return { optimizer = optim.muon { lr = 0.02, others = optim.sgd { lr = 0.03 } }, ema = 0.9, steps = 20 } end,
  data = data.arrays {},
  inputs = { x = { "f32", "wide" } },
  forward = function(c, input)
    local x = nn.stack(3, input.x, function(x) return x + nn.tanh(nn.linear(x, { name = "up", out = 4, bias = false })) end)
    local y = nn.linear(x, { name = "head", out = 8, bias = false })
    return (y * y):mean()
  end,
}
X
data="--data $TMP/few"
mkdir "$TMP/few"
npy "$TMP/few/x.npy" '(90, 4)' "$(some_bytes 360)"
for rows in 12 4; do built small$rows "$TMP/small.lua" --set batch=$rows --precision fp64; done
# shellcheck disable=SC2086
{
    run small12 small.one $usual --set optimizer=adamw --set ema=0 --steps 8
    run small4 small.three $usual --set optimizer=adamw --set ema=0 --gpus 3 --steps 8
}
same "$TMP/small.one" "$TMP/small.three" 1e-9
data="--data $TMP/arrays"

# ---- mistakes
# shellcheck disable=SC2086
set -- muon6 muon.one $usual --steps 8
mistake runtime/cuda/ranks.cu 'if (lathe_is_directed(&ranks.shards, k))' 'if (lathe_is_directed(&ranks.shards, k) && !stream)' "$@"
mistake runtime/cuda/ranks.cu 'gpu_show_average(o, params, &own, stream);' 'if (!stream) gpu_show_average(o, params, &own, stream);' "$@"
mistake runtime/cuda/direction.cu 'write_to(to.scale, step->rates.scale);' 'write_to(to.scale, 1);' "$@"
[ "$failed" = 0 ] || exit 1
