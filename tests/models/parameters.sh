# parameters.sh: models of a published shape have the published number of parameters, and trainers know them by the published names.
set -u
failed=0

count() {       # NUMBER MODEL ARGUMENTS…
    wanted=$1
    shift
    found=$("$LATHE" check "$@" --json | sed -n 's/.*"parameters": *\([0-9]*\).*/\1/p')
    [ "$found" = "$wanted" ] || { echo "failed: $* has $found parameters, not $wanted"; failed=1; }
}

# vocab width + layers (2 width + 2 width (width + kv_heads head) + 3 width hidden) + width, and the head where it is untied
llama() { echo $(($1 * $2 + $3 * (2 * $2 + 2 * $2 * ($2 + $4) + 3 * $2 * $5) + $2 + $6)); }

count 124439808 models/gpt.lua --config gpt2
count 134515008 models/llama.lua --config smollm
count 134515008 models/llama.lua --config smollm --set seq=64 --set context=0
count 162322944 models/neox.lua --config pythia
count 4662784 models/postnorm.lua --config small
count 50799616 models/postnorm.lua --config large
count 6829056 models/gpt.lua --config small
count 70365184 models/gpt.lua --config large
count 35549184 models/gpt.lua --config stream
count 35549184 models/gpt.lua --config stream_sgd
count 26929872 models/mu.lua --config large
count 11574160 models/mu.lua --config small
count 11739585 models/diffusion.lua
count 11739585 models/diffusion.lua --config doubled
count "$(llama 256 128 4 64 352 0)" models/llama.lua
count "$(llama 10000 256 2 128 704 2560000)" models/llama.lua --config small

# What decays in the first program's recipe: all but norms and positions.
"$LATHE" build models/gpt.lua --config stream_sgd --set layers=1 --set width=16 --set vocab=50 --set seq=8 -o "$TMP/sgd" >"$TMP/log" 2>&1 ||
    { cat "$TMP/log"; exit 1; }
"$TMP/sgd/trainer" info >"$TMP/info"
for kept in $(sed -n 's/^  \([a-z0-9_.*]*\) .*(no decay)$/\1/p' "$TMP/info"); do
    case $kept in wpe.weight | *ln_*) ;; *) echo "failed: $kept does not decay"; failed=1 ;; esac
done
[ "$(grep -c '(no decay)$' "$TMP/info")" = 7 ] || { echo "failed: six of norms and the positions do not decay"; grep decay "$TMP/info"; failed=1; }
for is in 'optimizer *sgd' 'lr *0.0001' 'schedule *constant' 'warmup *0' 'decay *0.01' 'momentum *0' 'clip *0' 'clip_value *5'; do
    grep -q "^  $is  " "$TMP/info" || { echo "failed: the recipe of stream_sgd has not: $is"; failed=1; }
done

# name [shape], sorted, of the weights that a trainer draws
"$LATHE" build models/llama.lua --set layers=2 --set tied=false --set width=32 --set hidden=48 --set vocab=20 --set seq=8 -o "$TMP/model" \
    >"$TMP/log" 2>&1 && "$TMP/model/trainer" init --out "$TMP/w.safetensors" --seed 1 >>"$TMP/log" 2>&1 || { cat "$TMP/log"; exit 1; }
head -c 8000 "$TMP/w.safetensors" | tr '\0' ' ' | grep -ao '"[a-z0-9_.]*":{"dtype":"F32","shape":\[[0-9,]*\]' |
    sed 's/"\(.*\)":{.*:\[\(.*\)\]/\1 \2/' | sort >"$TMP/found"
{
    echo model.embed_tokens.weight 20,32
    for l in 0 1; do
        for x in input_layernorm:32 post_attention_layernorm:32 self_attn.q_proj:32,32 self_attn.k_proj:16,32 self_attn.v_proj:16,32 \
            self_attn.o_proj:32,32 mlp.gate_proj:48,32 mlp.up_proj:48,32 mlp.down_proj:32,48; do
            echo "model.layers.$l.${x%:*}.weight ${x#*:}"
        done
    done
    echo model.norm.weight 32
    echo lm_head.weight 20,32
} | sort >"$TMP/wanted"
diff "$TMP/wanted" "$TMP/found" || { echo "failed: names and shapes, wanted against found"; failed=1; }
exit $failed
