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
config 's/"model_type": "llama"/"model_type": "qwen2"/'
refuses 3 'model_type: expected llama or gpt2, for which models/ has a description, found qwen2' "$lathe" new other --from odd
config 's/"num_hidden_layers": 2,//'
refuses 3 'num_hidden_layers: expected a whole number, 1 or more, found none' "$lathe" new other --from odd
config 's/"rope_type": "default"/"rope_type": "yarn"/'
works "$lathe" new other --from odd
works "$lathe" build other/model.lua -o other/built
cp $reference/hf_llama/*.safetensors* odd/
refuses 3 'rope' other/built/trainer init --init odd --out refused.safetensors
finish
