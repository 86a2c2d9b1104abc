# new.sh: `lathe new` writes descriptions of published models, which read their weights; what it cannot, it says.
top=$PWD
. tests/trainer/common
lathe=${LATHE:-$BUILD/lathe}
[ -x "$lathe" ] || { echo "skipped: $lathe is not built"; exit 77; }
case $lathe in /*) ;; *) lathe=$top/$lathe ;; esac
reference=$top/tests/reference

# From the file or the folder to a trainer that takes its weights.
begun() {       # NAME PATH
    works "$lathe" new $1 --from "$2"
    works "$lathe" build $1/model.lua -o $1/built
    works $1/built/trainer init --init "$2" --out $1.safetensors
}
begun gguf $reference/gguf/llama.gguf
says '^c.rope_theta = 50000.0$' gguf/model.lua
says '^c.eps = 1e-05$' gguf/model.lua
same gguf/llama.lua $top/models/llama.lua
begun folder $reference/gguf/llama
same gguf/model.lua folder/model.lua
same gguf.safetensors folder.safetensors
begun llama $reference/hf_llama
says '^c.rope_theta = 500.0$' llama/model.lua
llama=llama/built/trainer
for kind in llama3 mistral mixtral qwen2 qwen3 qwen3_moe gemma gemma2 gemma3 olmo2 phi3 smollm3 biases neox neox_serial; do
    begun $kind $reference/hf_$kind
    works $kind/built/trainer export --to hf --weights $reference/hf_$kind --out $kind-out
    works $kind/built/trainer init --init $kind-out --out back.safetensors
    same back.safetensors $kind.safetensors
    grep -v '"dtype"\|norm_eps' $kind-out/config.json >ours; grep -v '"dtype"\|norm_eps' $reference/hf_$kind/config.json >theirs
    same ours theirs
done
# In the type of the numbers, all goes out byte for byte; so does a window that is none.
bytes() {       # NAME FOLDER
    works "$lathe" build $1/model.lua --precision bf16 --parameters bf16 -o $1/bytes
    works $1/bytes/trainer export --to hf --weights $2 --out $1-bytes
    for file in model.safetensors config.json; do same $1-bytes/$file $2/$file; done
}
for kind in llama3 mixtral biases; do bytes $kind $reference/hf_$kind; done
cp -r $reference/hf_mistral seeing
sed 's/"sliding_window": 5/"sliding_window": null/' $reference/hf_mistral/config.json >seeing/config.json
begun all seeing
bytes all seeing
says '^c.attention_bias = true$' biases/model.lua
says '^c.mlp_bias = true$' biases/model.lua
says '^c.window = 5$' mistral/model.lua
says '^c.balance = 0.5$' mixtral/model.lua
says '^c.normalised = false$' qwen3_moe/model.lua
says '^c.rope_context = 16$' llama3/model.lua
begun gpt $reference/hf_gpt2/model.safetensors
says '^c.gelu = "tanh"$' gpt/model.lua

# Nothing is written over; values of another kind are refused, and nothing is left.
refuses 3 'gguf/model.lua: error: is there already' "$lathe" new gguf --from $reference/gguf/llama.gguf
mkdir own && touch own/llama.lua
refuses 3 'own/llama.lua: error: is there already' "$lathe" new own --from $reference/gguf/llama.gguf
[ ! -e own/model.lua ] && ok 'nothing is left' || wrong 'a refused folder has a model.lua'
refuses 3 'expected a Hugging Face folder or a GGUF file' "$lathe" new other --from nothing
refuses 2 'new needs --from PATH' "$lathe" new other
mkdir odd
config() { sed "$1" $reference/hf_llama/config.json >odd/config.json; }
config 's/"hidden_size": 24/"hidden_size": "24"/'
refuses 3 'odd/config.json: error: hidden_size: expected a whole number, 1 or more, found "24"' "$lathe" new other --from odd
config 's/"model_type": "llama"/"model_type": "gamma"/'
refuses 3 'model_type: expected llama, mistral, mixtral, qwen2, qwen3, qwen3_moe, gemma, gemma2, gemma3_text, olmo2, phi3, smollm3, gpt_neox, gpt2, bert, roberta or modernbert, for which models/ has a description, found gamma' "$lathe" new other --from odd
config 's/"num_hidden_layers": 2,//'
refuses 3 'num_hidden_layers: expected a whole number, 1 or more, found none' "$lathe" new other --from odd
config 's/"rope_type": "default"/"rope_type": "spiral"/'
refuses 3 'rope_type: expected "default", "linear", "llama3", "yarn", "dynamic" or "longrope", found "spiral"' "$lathe" new other --from odd

# What is in the file decides, and what it means by saying nothing.
cp $reference/hf_llama/*.safetensors* odd/
works $llama init --init $reference/hf_llama --out whole.safetensors
config 's/"rope_type": "default"/"type": "linear"/'
refuses 3 'rope' $llama init --init odd --out refused.safetensors
config 's/"rope_theta"/"attention_factor": 2.0, &/'
refuses 3 'rope_parameters.attention_factor: found 2.0, an unknown key' $llama init --init odd --out refused.safetensors
rm -r odd && cp -r $reference/hf_mistral odd
config() { sed "$1" $reference/hf_mistral/config.json >odd/config.json; }
config 's/"sliding_window": 5/"sliding_window": 6/'
refuses 3 'sliding_window: expected 5, found 6' mistral/built/trainer init --init odd --out refused.safetensors
works "$lathe" build $top/models/llama.lua --set kind=mistral --set layers=2 --set heads=4 --set kv_heads=2 --set width=24 --set hidden=34 \
    --set head_width=8 --set context=64 --set vocab=61 --set tied=false --set rope_theta=1e6 --set seq=5000 --set batch=1 -o long
config '/"sliding_window"/d'
refuses 3 'sliding_window: expected 64, found 4096 (the default' long/trainer init --init odd --out refused.safetensors
rm -r odd && cp -r $reference/hf_olmo2 odd
sed 's/"attention_bias": false/"attention_bias": true/' $reference/hf_olmo2/config.json >odd/config.json
refuses 3 'attention_bias: expected false, found true' olmo2/built/trainer init --init odd --out refused.safetensors
rm -r odd && cp -r $reference/hf_phi3 odd
says '^c.rotary_share = 0.75$' phi3/model.lua
config() { sed "$1" $reference/hf_phi3/config.json >odd/config.json; }
config 's/"rope_type": "default"/"rope_type": "round"/'
refuses 3 'rope_type: expected "default", "linear", "llama3", "yarn", "dynamic" or "longrope", found "round"' "$lathe" new other --from odd
config 's/"rope_type": "default"/"rope_type": "longrope", "short_factor": [1, 0]/'
refuses 3 'short_factor: expected a list of numbers above 0, found \[1,0\]' "$lathe" new other --from odd
refuses 3 'rope_parameters: expected .* found .*longrope' phi3/built/trainer init --init odd --out refused.safetensors
config 's/"partial_rotary_factor": 0.75/"partial_rotary_factor": 0.5/'
refuses 3 'partial_rotary_factor: expected 0.75, found 0.5' phi3/built/trainer init --init odd --out refused.safetensors
config '/"sliding_window"/d'
refuses 3 'sliding_window: expected 5, found false (the default' phi3/built/trainer init --init odd --out refused.safetensors
# Older releases say it outside, and name code beside the weights, which is that of transformers.
config '/"rope_parameters": {/,/}/d'
sed -i 's/"rms_norm_eps"/"rope_theta": 50000.0, "partial_rotary_factor": 0.75, "auto_map": {"AutoConfig": "configuration_phi3.Phi3Config"}, "rope_scaling": null, &/' odd/config.json
works "$lathe" new old --from odd
same old/model.lua phi3/model.lua
works phi3/built/trainer init --init odd --out old.safetensors
same old.safetensors phi3.safetensors
rm -r odd && cp -r $reference/hf_smollm3 odd
says '^c.no_rope_interval = 4$' smollm3/model.lua
config() { tr -d '\n' <$reference/hf_smollm3/config.json | sed "s/\"no_rope_layers\": \[[^]]*\],/$1/" >odd/config.json; }
config '"no_rope_layers": [0, 1, 0, 1],'
refuses 3 'no_rope_layers: expected a list in which every so many-th layer is unlike the others, found \[0,1,0,1\]' "$lathe" new other --from odd
refuses 3 'no_rope_layers: expected \[1,1,1,0\], found \[0,1,0,1\]' smollm3/built/trainer init --init odd --out refused.safetensors
config '"no_rope_layers": [1, 0, 1, 0],'
works "$lathe" new second --from odd
says '^c.no_rope_interval = 2$' second/model.lua
config ''
sed -i 's/"no_rope_layer_interval": 4/"no_rope_layer_interval": 2/' odd/config.json
works "$lathe" new number --from odd
same number/model.lua second/model.lua
refuses 3 'no_rope_layers: expected \[1,1,1,0\], found \[1,0,1,0\]' smollm3/built/trainer init --init odd --out refused.safetensors
config ''
sed -i 's/"no_rope_layer_interval": 4,//; s/"tie_word_embeddings": true,//' odd/config.json
works "$lathe" new silent --from odd
same silent/model.lua smollm3/model.lua
works smollm3/built/trainer init --init odd --out silent.safetensors
same silent.safetensors smollm3.safetensors
config '"no_rope_layers": [1, 1, 1, 0],'
sed -i 's/"use_sliding_window": false/"use_sliding_window": true/; s/"sliding_window": null/"sliding_window": 8/' odd/config.json
refuses 3 'sliding_window: found 8: attention sees only the last N positions' smollm3/built/trainer init --init odd --out refused.safetensors
rm -r odd && cp -r $reference/hf_neox odd
says '^c.activation = "gelu_fast"$' neox_serial/model.lua
config() { sed "$1" $reference/hf_neox/config.json >odd/config.json; }
config 's/"use_parallel_residual": true/"use_parallel_residual": false/'
refuses 3 'use_parallel_residual: expected true, found false' neox/built/trainer init --init odd --out refused.safetensors
config 's/"rope_type": "default"/"rope_type": "linear", "factor": 2.0/'
refuses 3 'rope_parameters: expected .* found .*linear' neox/built/trainer init --init odd --out refused.safetensors
config 's/"hidden_act": "gelu"/"hidden_act": "relu"/'
refuses 3 'hidden_act: expected "gelu", "gelu_new", "gelu_fast" or "gelu_pytorch_tanh", found "relu"' "$lathe" new other --from odd
config '/"rope_parameters": {/,/}/d'
refuses 3 'rotary_pct: expected 0.5, found 0.25 (the default' neox/built/trainer init --init odd --out refused.safetensors
sed -i 's/"vocab_size"/"rotary_emb_base": 10000, "rotary_pct": 0.5, "hidden_dropout_prob": 0, &/; /"attention_bias"/d' odd/config.json
works "$lathe" new old_neox --from odd
same old_neox/model.lua neox/model.lua
works neox/built/trainer init --init odd --out old.safetensors
same old.safetensors neox.safetensors
rm -r odd && cp -r $reference/hf_llama3 odd

# Older releases call stretched positions rope_scaling.
tr -d '\n' <$reference/hf_llama3/config.json | sed 's/"rope_parameters": {/"rope_theta": 500.0, "rope_scaling": {/; s/"rope_theta": 500.0,    "rope_type"/"rope_type"/' >odd/config.json
works llama3/built/trainer init --init odd --out old.safetensors
same old.safetensors llama3.safetensors
sed -i 's/"factor": 8.0/"mscale": 1.0, &/' odd/config.json
refuses 3 'rope_scaling.mscale: found 1.0, an unknown key' llama3/built/trainer init --init odd --out refused.safetensors
sed -i 's/"factor": 8.0/"factor": 4.0/' odd/config.json
refuses 3 'rope_parameters: expected' llama3/built/trainer init --init odd --out refused.safetensors
finish
