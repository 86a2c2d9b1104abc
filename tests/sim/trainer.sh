# trainer.sh: the trainer that `lathe build --target cuda` writes the source of, whole, in the simulator beside the CPU's of the same
# model: losses of 20 steps, evaluations, what it writes; stopped and resumed to the same bytes; the plan's bytes and no other; what is
# told of GPUs that will not do.  LATHE_LONG: more models.
. tests/sim/both

cat compiler/*/*.c | head -c 20000 >"$TMP/text.txt"
awk 'BEGIN {
    print "source\ttarget"
    for (i = 0; i < 300; i++) {
        for (word = ""; length(word) < 3; x = (x * 1103515245 + 12345) % 2147483648) word = word substr("abcdefghijklmnop", int(x / 65536) % 16 + 1, 1)
        print "say " word "\t" word
    }
}' >"$TMP/pairs.tsv"

# second_ways REFUSALS OPTIONS…: the same training where CUDA or its libraries refuse so much, which is said
second_ways() {
    SIM_REFUSES=$1
    export SIM_REFUSES
    shift
    must "$gpu" train "$@" --steps 20 --out "$TMP/$name.e"
    cp "$TMP/said" "$TMP/notes"
    grep -q '^note: .* Lathe, many times slower' "$TMP/said" || tell "$name: nothing is said of products of ours"
    grep -q '^note: entries as graphs: ' "$TMP/said" || tell "$name: nothing is said of graphs that are refused"
    unset SIM_REFUSES
    same "$TMP/$name.a" "$TMP/$name.e" "${bound:-1e-4}"
    echo "note: $name trains by its second ways"
}

both gpt models/gpt.lua --set layers=2 --set width=16 --set heads=2 --set seq=8 --set batch=2 --set accumulate=2 --set dropout=0.1
text="--data $TMP/text.txt"
# shellcheck disable=SC2086
trained $text --eval-every 10 --set eval_rows=5 --set clip=0.5 --set warmup=5
# shellcheck disable=SC2086
second_ways 'algorithm:2 product:9 graph' $text --eval-every 10 --set eval_rows=5 --set clip=0.5 --set warmup=5
agree generate --out "$TMP/gpt.b" --prompt "To be" --set sample_tokens=12 --set temperature=0
agree eval --out "$TMP/gpt.b" --set eval_rows=7
agree generate --out "$TMP/gpt.b" --prompt "O" "Well" --samples 2 --set sample_tokens=9        # drawn; past the context

# Gradients for inputs from a file: [2][8] ids each.
ids() { awk -v k="$1" 'BEGIN { for (i = 0; i < 16; i++) printf "\\%03o\\000\\000\\000", i * k % 128 }'; }
head='{"tokens":{"dtype":"I32","shape":[2,8],"data_offsets":[0,64]},"targets":{"dtype":"I32","shape":[2,8],"data_offsets":[64,128]}}'
# shellcheck disable=SC2059
{ printf "\\$(printf %03o ${#head})\\000\\000\\000\\000\\000\\000\\000%s" "$head"; printf "$(ids 7)$(ids 11)"; } >"$TMP/in.safetensors"
weights="--weights $TMP/gpt.b/checkpoints/step-20/model.safetensors"
for side in cpu gpu; do
    eval "trainer=\$$side"
    # shellcheck disable=SC2086,SC2154
    must "$trainer" grad $weights --inputs "$TMP/in.safetensors" --out "$TMP/$side.safetensors"
    at=$(($(od -A n -t u8 -N 8 "$TMP/$side.safetensors") + 8))
    od -A n -v -t f4 -w4 -j "$at" "$TMP/$side.safetensors" >"$TMP/$side.txt"
done
paste "$TMP/cpu.txt" "$TMP/gpu.txt" | awk '{ off += ($1 - $2) ^ 2; all += $1 ^ 2 } END { print NR " numbers, off by " sqrt(off / all); exit !(NR > 8000 && off <= 1e-10 * all) }' >"$TMP/said" ||
    tell "gpt: gradients"

# Parts of a step in its graph, by the simulator's clock, in which it takes so long by itself; micro-batches have forward and
# backward each.
[ "$(grep -c 'backward_part();' "$TMP/gpt/model.cu")" -ge 1 ] || tell "gpt: no word of its parts"
must "$gpu" bench --steps 3 --json
awk '{ n = split($0, part, /[:,}]/); for (i = 1; i < n; i++) { gsub(/["{ ]/, "", part[i]); v[part[i]] = part[i + 1] + 0 }
       exit !(v["forward"] > 0.05 && v["backward"] > v["forward"] && v["update"] > 0 && v["update"] < v["backward"]) }' "$TMP/said" || tell "gpt: parts of a step"
must "$gpu" bench --steps 3
grep -q '^forward [0-9.]* ms, backward [0-9.]*, update [0-9.]*$' "$TMP/said" || tell "gpt: parts in words"

must "$gpu" profile --steps 1
grep -q 'mlp_c_fc_y .*gpt.lua:' "$TMP/said" && grep -q ' optimizer_step ' "$TMP/said" && grep -q 'on the GPU, kernel by kernel' "$TMP/said" || tell "gpt: profile"

planned=$(sed -n '1s/^[^:]*: \([0-9,]*\) bytes.*/\1/p' "$TMP/gpt/plan.txt" | tr -d ,)
SIM_DEVICE='count 0' refused 1 'for a GPU, and there is none here' bench
SIM_DEVICE='major 7' refused 1 'has compute capability 7.0, and this trainer.s kernels are for 8.0 and newer' bench
SIM_DEVICE='driver 12040' refused 1 'the driver here is for CUDA 12.4, and this trainer was built with CUDA 13.0' bench
SIM_DEVICE='memory 1000000' refused 1 "bench needs $planned bytes of the GPU.s memory" bench
refused 1 "bench needs $planned bytes of the GPU.s memory .*--memory-limit allows 1048576" bench --memory-limit 1M
SIM_DEVICE='image 0' refused 1 'the GPU failed: [a-z_0-9]*: gpt.lua:[0-9]* .*no kernel image' bench --steps 2
SIM_DEVICE='failing 300' LATHE_CUDA_CHECK=1 refused 1 'the GPU failed: [a-z_0-9]*: gpt.lua:[0-9]* ' bench --steps 9
SIM_DEVICE='failing 300' refused 1 'set LATHE_CUDA_CHECK=1 in the environment to find the kernel' bench --steps 9
SIM_DEVICE='image 0' refused 1 'the GPU failed: [a-z_0-9]*: gpt.lua:[0-9]* .*no kernel image' generate --out "$TMP/gpt.b"
refused 2 'replay runs only on the processor' replay --step 3 --data "$TMP/text.txt"
# shellcheck disable=SC2086
refused 4 'step [0-9]* diverged' train $text --steps 20 --set lr=1e30 --set warmup=0 --set clip=0 --out "$TMP/gpt.d"
must "$cpu" eval $text --weights "$TMP/gpt.d/diverged.safetensors"

# Algorithms are timed once, and again where the file is another GPU's.
both mlp models/mlp.lua
export LATHE_CACHE="$TMP/cache" LATHE_CUDA_TUNE=on
must "$gpu" bench --steps 1
[ "$(wc -l <"$TMP/cache/products")" -gt 3 ] || tell "mlp: no algorithms are kept"
cp "$TMP/cache/products" "$TMP/products"
must "$gpu" bench --steps 1
! grep -q 'timed again' "$TMP/said" && cmp "$TMP/products" "$TMP/cache/products" || tell "mlp: its own file is not taken"
sed -i '1s/Simulated GPU/Other GPU/' "$TMP/cache/products"
must "$gpu" bench --steps 1
grep -q 'products is of another GPU or library .*Other GPU.*timed again' "$TMP/said" || tell "mlp: another GPU's file"
grep -q '^lathe products [0-9]*, Simulated GPU' "$TMP/cache/products" || tell "mlp: the file is not made anew"
export LATHE_CACHE=off LATHE_CUDA_TUNE=off

# Ids out of range: found in training, a step late, and in evaluation.
table() {   # ROW VALUE: 60 rows, the column of ids going round
    awk -v row="$1" -v x="$2" 'BEGIN { print "a,b,class"; for (i = 0; i < 60; i++) print (i == row ? x : i % 10) ",1." i "," i % 3 }'
}
both ids tests/models/ids.lua
table 7 10 >"$TMP/high.csv"
table 58 12 >"$TMP/late.csv"
refused 3 'ids.lua:8: error: gather in embedding .entry train.: expected ids 0 to 9, found 10, .*the data' train --data "$TMP/high.csv" --out "$TMP/none" --steps 40
must "$cpu" init --out "$TMP/w.safetensors"
refused 3 'ids.lua:8: .*entry eval.*: expected ids 0 to 9, found 12' eval --data "$TMP/late.csv" --weights "$TMP/w.safetensors"

# Statistics of batch norms are states beside the weights.
both norms tests/models/batchnorm.lua --precision fp64
table 60 0 >"$TMP/norms.csv"
trained --data "$TMP/norms.csv" --eval-every 5
agree eval --out "$TMP/norms.b" --data "$TMP/norms.csv"

both rnn models/char_rnn.lua --config tiny --precision fp64 --set vocab=256 --set carry=true --set accumulate=2
# shellcheck disable=SC2086
trained $text --set eval_every=10 --set eval_rows=6
# shellcheck disable=SC2086
second_ways 'start captured cooperative' $text --set eval_every=10 --set eval_rows=6
grep -q '^note: lstm_time[a-z0-9_]*: char_rnn.lua:[0-9]*.*blocks together are refused' "$TMP/notes" || tell "rnn: nothing is said of its loops"
# Its loops are refused in the second step, while that is captured, which breaks the graph: the next one is whole.
# shellcheck disable=SC2086
SIM_REFUSES='cooperative:6 invalidates' must "$gpu" train $text --set eval_every=10 --set eval_rows=6 --steps 20 --out "$TMP/rnn.f"
grep -q '^note: lstm_time[a-z0-9_]*: .*blocks together are refused' "$TMP/said" || tell "rnn: no loop is refused"
! grep -q 'entries as graphs' "$TMP/said" || tell "rnn: a broken graph is not made anew"
for file in "$TMP/rnn.b/checkpoints/step-20"/*.safetensors; do
    cmp "$file" "$TMP/rnn.f/checkpoints/step-20/${file##*/}" || tell "rnn: other bytes where loops are launched kernel by kernel"
done

both pairs models/pointer_generator.lua --config tiny --set vocab=259 --set source_seq=8 --set seq=5 --set batch=4 --set rows=3 --set layers=1
trained --data "$TMP/pairs.tsv" --set eval_every=0 --set eval_epochs=1 --set eval_rows=8 --set val_fraction=0.8
second_ways 'start capture together' --data "$TMP/pairs.tsv" --set eval_every=0 --set eval_epochs=1 --set eval_rows=8 --set val_fraction=0.8
grep -c '"split":"val"' "$TMP/pairs.b/metrics.jsonl" | grep -q '^2$' || tell "pairs: not evaluated behind its epoch and at the end"
agree generate --out "$TMP/pairs.b" --prompt "say abc" "say p" --beams 3 --tokens 4
agree generate --out "$TMP/pairs.b" --prompt "say abc" "say p" "say ooo" "say" --tokens 4

[ -n "${LATHE_LONG:-}" ] || exit 0
small='--set layers=2 --set width=32 --set heads=2 --set seq=16 --set batch=2'
bound=2e-2
# shellcheck disable=SC2086
both bf16 models/gpt.lua $small --precision bf16
# shellcheck disable=SC2086
trained $text --eval-every 10 --set eval_rows=5 --set warmup=5
bound=
# shellcheck disable=SC2086
both windows models/gpt.lua $small --set batch=4
# shellcheck disable=SC2086
trained $text --order epochs --documents blank --eval-every 10 --set eval_rows=5 --set warmup=5 --set shuffle_tokens=2000
both seq2seq models/seq2seq.lua --config tiny --set vocab=259 --set source_seq=8 --set seq=5 --set batch=4
trained --data "$TMP/pairs.tsv" --set eval_every=20 --set eval_rows=8 --set val_fraction=0.1
agree generate --out "$TMP/seq2seq.b" --prompt "say abc" "say p" --tokens 4
both llama models/llama.lua --set layers=2 --set width=32 --set heads=4 --set kv_heads=2 --set hidden=48 --set seq=7 --set batch=2 --set vocab=256 --set tokenizer=bytes
# shellcheck disable=SC2086
trained $text --eval-every 20 --set eval_rows=5
both diffusion models/diffusion.lua --set layers=1 --set width=24 --set heads=2 --set cond=6 --set seq=9 --set batch=3 --set chain=4 --set vocab=256 --set tokenizer=bytes
must "$cpu" init --out "$TMP/diffusion.safetensors"
agree generate --weights "$TMP/diffusion.safetensors" --samples 2
