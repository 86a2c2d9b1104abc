# shards.sh: --shard-parameters: ranks that keep only their parts of parameters and gradients train to the same bits as ranks that
# have all of them; so do runs that are resumed with other ranks or without their mean, or begin with weights, also frozen ones; they
# write the same texts; the plan's bytes are taken, and fewer, also while a run begins; what does not go with it is refused.
# LATHE_LONG: more models.
set -eu
export LATHE_CACHE=off OMP_NUM_THREADS=1 LATHE_RANK_BUCKET=131072
tell() { cat "$TMP/said"; echo "FAILED: $*"; exit 1; }
must() { timeout 120 "$@" >"$TMP/said" 2>&1 || tell "exit code $?: $*"; }
. tests/sim/same
. tests/ranks/both
cat README.md compiler/base/*.c | head -c 20000 >"$TMP/text.txt"
table >"$TMP/table.csv"
cat >"$TMP/odd.lua" <<'END'
return {
  config = { features = 4, classes = 3, n = 6, width = 197, batch = 4, lr = 1e-3, steps = 6 },
  forward = function(c, input)
    local a, b, init = {}, {}, nn.init.normal(0.02)
    for i = 1, c.n do
      a[i] = nn.param { name = "a" .. i, shape = { c.width, c.width }, init = init }
      b[i] = nn.param { name = "b" .. i, shape = { c.width, c.width }, init = init }
    end
    local h = nn.relu(nn.linear(input.features, { name = "up", out = c.width }))
    for i = 1, c.n do h = nn.relu(nn.matmul(h, a[i])) end
    for i = 1, c.n do h = nn.relu(nn.matmul(h, b[i])) end
    local logits = nn.linear(h, { name = "head", out = c.classes })
    return nn.cross_entropy(logits, input.targets), { logits = logits, accuracy = nn.accuracy(logits, input.targets) }
  end,
  train = function(c) return { optimizer = optim.adamw { lr = c.lr }, steps = c.steps } end,
  data = function() return data.csv { target = "class", val_fraction = 0.2 } end,
}
END

# run NAME OUT OPTIONS…
run() {
    name=$1 out=$2
    shift 2
    # shellcheck disable=SC2086
    must $before "$TMP/$name/trainer" train $data --set log_every=1 --out "$TMP/$out" "$@"
}
before=
alike() {   # A B: the same bytes, scores, and last sample
    for file in "$TMP/$1"/checkpoints/latest/*.safetensors; do
        cmp "$file" "$TMP/$2/checkpoints/latest/${file##*/}" >"$TMP/said" 2>&1 || tell "$1 and $2: other bytes in ${file##*/}"
    done
    for run in "$1" "$2"; do
        grep '"split":"val"' "$TMP/$run/metrics.jsonl" >"$TMP/scores.$run" || :
        sed -n '/"split":"sample"/p' "$TMP/$run/metrics.jsonl" | tail -n 1 >>"$TMP/scores.$run"
    done
    [ -s "$TMP/scores.$1" ] || tell "$1 has not been evaluated"
    cmp "$TMP/scores.$1" "$TMP/scores.$2" >"$TMP/said" 2>&1 || tell "$1 and $2: other scores"
}
# kind NAME RANKS MODEL OPTIONS… -- OPTIONS OF TRAIN…
kind() {
    kind=$1 ranks=$2
    shift 2
    model=
    while [ "$1" != -- ]; do model="$model $1"; shift; done
    shift
    # shellcheck disable=SC2086
    { must "$LATHE" build $model -o "$TMP/$kind.all"; must "$LATHE" build $model --shard-parameters -o "$TMP/$kind"; }
    run "$kind.all" "$kind.a" --ranks "$ranks" "$@"
    run "$kind" "$kind.b" --ranks "$ranks" "$@"
    alike "$kind.a" "$kind.b"
}

data="--data $TMP/text.txt"
gpt='models/gpt.lua --set layers=4 --set width=64 --set heads=2 --set seq=16 --set batch=2 --set vocab=256'
usual='--steps 4 --set eval_every=2 --set clip=0.5 --val-fraction 0.1'
# shellcheck disable=SC2086
{
    # layers come and go, forward and backward; a last batch that not all ranks have
    usual="$usual --set samples=1 --set sample_tokens=6"
    kind gpt 3 $gpt --set dropout=0.1 -- $usual
    run gpt gpt.half --ranks 3 $usual --set steps=2 --set schedule_steps=4
    run gpt gpt.half --ranks 3 $usual --set schedule_steps=4 --resume="$TMP/gpt.half/checkpoints/step-2"
    alike gpt.b gpt.half
    before=$(by openmpi 3) && { run gpt gpt.mpi $usual; alike gpt.b gpt.mpi; }
    before=
    run gpt gpt.half --ranks 2 $usual --steps 5 --resume="$TMP/gpt.half/checkpoints/step-4"
    run gpt gpt.half $usual --steps 6 --resume="$TMP/gpt.half/checkpoints/step-5"
    # a run that kept a mean goes on without it, from what was trained: each takes its part of that
    must "$LATHE" build $gpt --set dropout=0.1 --set ema=0.9 -o "$TMP/mean"
    run mean mean.run --ranks 2 $usual --set steps=2
    for of in gpt.all gpt; do run $of $of.mean --ranks 2 $usual --set ema=0 --set steps=3 --resume="$TMP/mean.run/checkpoints/step-2"; done
    alike gpt.all.mean gpt.mean
    # each reads its part of what others wrote
    must "$TMP/gpt/trainer" export --to hf --weights "$TMP/gpt.a" --out "$TMP/hf"
    for of in gpt.all gpt; do run $of $of.hf --ranks 3 $usual --init "$TMP/hf" --set steps=2; done
    alike gpt.all.hf gpt.hf
    if two=$(by openmpi 1); then
        cp -r "$TMP/hf" "$TMP/hf.other"
        head -c 400000 /dev/zero | dd of="$TMP/hf.other/model.safetensors" bs=1000 seek=100 conv=notrunc 2>"$TMP/said"
        one="$TMP/gpt/trainer train $data $usual --out $TMP/none --init"
        got=0
        timeout 120 $two $one "$TMP/hf" : -n 1 $one "$TMP/hf.other" >"$TMP/said" 2>&1 || got=$?
        [ $got = 3 ] && grep -q 'rank 1 of 2, on .*, does not have the weights of rank 0' "$TMP/said" || tell "other weights, exit code $got"
    fi
    # frozen parameters stay whole
    lora="$gpt --lora rank=8,train=h.*.mlp.*"
    kind lora 3 $lora -- $usual --init "$TMP/hf"
    run lora.all lora.a --ranks 3 $usual --set steps=5 --resume="$TMP/lora.a/checkpoints/step-4"
    run lora lora.b --ranks 3 $usual --set steps=5 --resume="$TMP/lora.b/checkpoints/step-4"
    alike lora.a lora.b
    # micro-batches read the same parameters again; states make evaluations go along
    kind rnn 2 models/char_rnn.lua --config tiny --set vocab=256 --set carry=true --set accumulate=2 -- $usual
    # rows that no bucket divides; neighbours whose gradients are far apart in time
    data="--data $TMP/table.csv"
    LATHE_RANK_BUCKET=65536
    kind odd 2 "$TMP/odd.lua" -- --steps 3 --set eval_every=3
    unset LATHE_RANK_BUCKET
    # texts that are written for an evaluation, as long as each is
    sed 's/^  data = function/  generate = { rows = 2 },\n&/' tests/models/pairs.lua >"$TMP/pairs.lua"
    awk 'BEGIN { print "source\ttarget"; for (i = 0; i < 303; i++) print i "\tno " (i % 2 ? "yes" : "no") }' >"$TMP/pairs.tsv"
    data="--data $TMP/pairs.tsv"
    kind pairs 3 "$TMP/pairs.lua" --set vocab=259 --set width=32 --set source_seq=8 --set seq=10 --set batch=4 -- --steps 4 --set eval_every=4 --set eval_generate=5 --set samples=a
    grep -q rouge "$TMP/scores.pairs.b" || tell "no texts were evaluated"
    deep='models/gpt.lua --set layers=16 --set width=128 --set heads=2 --set seq=16 --set batch=2 --set vocab=256'
    bytes_of() { sed -n '1s/^[^:]*: \([0-9,]*\) bytes.*/\1/p' | tr -d ,; }
    as_planned() { # TRAINER MODEL…: the plan's bytes are those that it wants
        trainer=$TMP/$1/trainer
        shift
        planned=$("$LATHE" plan "$@" --shard-parameters --ranks 4 | bytes_of)
        ! "$trainer" train $data --ranks 4 --out "$TMP/none" --memory-limit 1M >"$TMP/said" 2>&1 || tell "1 MB is enough"
        [ "$(sed -n 's/.*(\([0-9,]*\) bytes).*/\1/p' "$TMP/said" | tr -d ,)" = $((4 * planned)) ] || tell "not four times the $planned bytes of the plan"
    }
    must "$LATHE" build $deep --shard-parameters -o "$TMP/deep"
    must "$LATHE" plan $deep --shard-parameters
    grep -q '^one rank keeps all parameters; --ranks N' "$TMP/said" || tell "the plan of one rank as if it were one of several"
    data="--data $TMP/text.txt"
    as_planned lora $lora
    as_planned deep $deep
    whole=$("$LATHE" plan $deep --ranks 4 | bytes_of)
    [ "$planned" -lt "$whole" ] || tell "parts take $planned bytes, all parameters $whole"
    for steps in 2 3; do # the second time it is resumed; rank 0 asks, and has saved in between; 4 MB: the program
        run deep deep.run --ranks 4 --resume=auto $usual --set samples= --set eval_rows=8 --set eval_every=1 --set save_every=1 --set steps=$steps --on-eval "grep VmHWM /proc/\$PPID/status >>$TMP/most"
    done
    ! grep -q 'LATHE_SANITIZE:[A-Z]*=\(OFF\)\?$' "$BUILD/CMakeCache.txt" || # sanitizers take more
        [ "$(sed -n 's/[^0-9]*\([0-9]*\) kB/\1/p' "$TMP/most" | sort -n | tail -n 1)" -lt $((planned / 1024 + 4096)) ] || tell "rank 0 took $(cat "$TMP/most"), and the plan has $planned bytes"
    if [ -n "${LATHE_LONG-}" ]; then
        data="--data $TMP/table.csv"
        kind table 4 models/mlp.lua --set hidden=90000 --set batch=4 -- --steps 6 --set eval_every=2
        data="--data $TMP/text.txt"
        export LATHE_RANK_BUCKET=131072
        kind packed 2 models/llama.lua --config char --set pack=true --set vocab=256 --set layers=3 --set width=64 --set heads=2 --set kv_heads=1 --set hidden=96 \
            --set seq=32 --set batch=2 -- $usual --order epochs --documents blank --set shuffle_tokens=2000
        kind bf16 2 $gpt --precision bf16 --parameters bf16 -- $usual
        kind exact 4 $gpt --exact-sums 2 -- $usual
    fi
    # ---- refused
    refused() {
        words=$1 code=$2
        shift 2
        got=0
        timeout 60 "$@" >"$TMP/said" 2>&1 || got=$?
        [ $got = "$code" ] || tell "exit code $got, not $code: $*"
        grep -q -e "$words" "$TMP/said" || tell "$words: $*"
    }
    refused 'needs whole matrices (optim.muon)' 2 "$LATHE" check $gpt --shard-parameters --set optimizer=muon
    refused 'leave ema and schedule_free out' 2 "$LATHE" check $gpt --shard-parameters --set ema=0.9
    refused 'leave dora out' 2 "$LATHE" check $gpt --shard-parameters --lora rank=2,dora
    refused 'does not go with local_steps' 2 "$TMP/gpt/trainer" train --data "$TMP/text.txt" --ranks 2 --set local_steps=2 --out "$TMP/none"
}
