# exchange.sh: folders as Hugging Face has them, out and in: what goes out comes back, and what does not fit is told.
top=$PWD
. tests/trainer/common
lathe=${LATHE:-$BUILD/lathe}
[ -x "$lathe" ] || { echo "skipped: $lathe is not built"; exit 77; }
hf=$top/tests/reference

gpt="$top/models/gpt.lua --set layers=2 --set heads=2 --set width=16 --set seq=12 --set batch=2 --set gelu=tanh"
llama="$top/models/llama.lua --set layers=2 --set heads=4 --set kv_heads=2 --set width=24 --set hidden=34 --set seq=12 --set batch=2"
works "$lathe" build $gpt --set vocab=61 -o gpt
works "$lathe" build $gpt --set vocab=64 --set tokenizer=chars -o padded
works "$lathe" build $gpt --set vocab=61 --set bias=false --set attention_bias=false -o plain
works "$lathe" build $gpt --set vocab=61 --set tied=false -o untied
works "$lathe" build $llama --set vocab=61 --set tied=false --set rope_theta=500.0 -o llama
works "$lathe" build $llama --set vocab=61 --set rope_theta=500.0 -o tied
gpt=$work/gpt/trainer padded=$work/padded/trainer plain=$work/plain/trainer llama=$work/llama/trainer

# A folder in, out, in: the same bytes; tied heads are left out, matrices lie the other way round.
there_and_back() {      # NAME TRAINER FOLDER
    works $2 init --init "$3" --out $1.safetensors
    works $2 export --to hf --weights $1.safetensors --out $1-folder
    works $2 init --init $1-folder --out $1-back.safetensors
    same $1.safetensors $1-back.safetensors
    works $2 export --weights $1-folder --out $1-again
    same $1-folder/model.safetensors $1-again/model.safetensors
    same $1-folder/config.json $1-again/config.json
}
there_and_back gpt $gpt "$hf/hf_gpt2"
there_and_back gpt_file $gpt "$hf/hf_gpt2/model.safetensors"
same gpt.safetensors gpt_file.safetensors
there_and_back llama $llama "$hf/hf_llama"
there_and_back llama_index $llama "$hf/hf_llama/model.safetensors.index.json"
head -c 4000 gpt-folder/model.safetensors | tr '\0' ' ' >head.txt
says '"transformer.h.1.mlp.c_fc.weight":{"dtype":"F32","shape":\[16,64\]' head.txt
grep -q lm_head head.txt && wrong 'a tied head is written' || ok 'a tied head is left out'
says '"n_head": 2' gpt-folder/config.json
says '"vocab_size": 61' gpt-folder/config.json
says '"model_type": "llama"' llama-folder/config.json

# What this model has no place for is zeros in the folder.
works $plain init --out plain-new.safetensors --seed 3
works $plain export --weights plain-new.safetensors --out plain-folder
head -c 4000 plain-folder/model.safetensors | tr '\0' ' ' >head.txt
says '"transformer.h.1.attn.c_attn.bias":{"dtype":"F32","shape":\[48\]' head.txt
works $plain init --init plain-folder --out plain-back.safetensors
same plain-new.safetensors plain-back.safetensors

# Masks are ignored; a tied head may be there as well, if it is the embedding.
LC_ALL=C sed 's/"transformer\.h\.0\.ln_1\.bias"/"h.0.attn.bias"            /' plain-folder/model.safetensors >plain-again.safetensors
mv plain-again.safetensors plain-folder/model.safetensors
works $plain init --init plain-folder --out plain-back.safetensors
same plain-new.safetensors plain-back.safetensors
works $work/untied/trainer init --out new.safetensors
works $work/untied/trainer export --weights new.safetensors --out tied-folder
sed -i 's/"tie_word_embeddings": false/"tie_word_embeddings": true/' tied-folder/config.json
refuses 3 'lm_head.weight: expected the same as wte.weight' $gpt init --init tied-folder --out refused.safetensors
bytes=$((61 * 16 * 4)) all=$(wc -c <tied-folder/model.safetensors) head=$(od -An -N8 -tu8 tied-folder/model.safetensors)
tail -c +$((9 + head)) tied-folder/model.safetensors | head -c $bytes >rows
dd if=rows of=tied-folder/model.safetensors bs=1 seek=$((all - bytes)) conv=notrunc 2>dd.log
works $gpt init --init tied-folder --out twice.safetensors

# A run: padded rows are a part of what it computes, and go along as the tokenizer does; --ids leaves them out, and they
# come back as the mean.
some_text t.txt 100
works $padded train --data t.txt --steps 20 --out run --seed 2
works $padded export --to hf --weights run --out run-whole
says '"vocab_size": 64' run-whole/config.json
works $padded eval --data t.txt --weights run --json
loss=$(number loss out)
works $padded eval --data t.txt --weights run-whole --json
[ "$loss" = "$(number loss out)" ] && ok "loss $loss from both" || wrong "loss $(number loss out), before $loss"
works $padded export --to hf --weights run --ids 14 --out run-folder
says '"vocab_size": 14' run-folder/config.json
says '"WordLevel"' run-folder/tokenizer.json
works $padded export --weights run-folder --out run-again
for file in model.safetensors config.json tokenizer.json tokenizer_config.json; do same run-folder/$file run-again/$file; done
works $padded eval --data t.txt --weights run --json
cp out before
works $padded eval --data t.txt --weights run-folder --json
loss=$(number loss out)
awk "BEGIN { exit !($loss >= $(number loss before) - 0.3 && $loss <= $(number loss before) + log(64 / 14)) }" &&
    ok "loss $loss with padding by the mean, $(number loss before) before" || wrong "loss $loss, before $(number loss before)"
works $padded generate --weights run-folder --prompt 'the cat' --tokens 20 --seed 1
says '^the cat' out
works $padded train --init run-folder --data t.txt --steps 3 --out more
works $padded generate --weights run --prompt 'the cat' --tokens 20 --json
works $padded init --init "$hf/hf_gpt2" --out filled.safetensors
works $padded export --weights filled.safetensors --ids 61 --out filled-folder
same filled-folder/model.safetensors gpt-folder/model.safetensors

# A run's own config.json is for people: damaged, it stops nothing.
cp -R run damaged
head -c 20 run/config.json >damaged/config.json
works $padded eval --data t.txt --weights damaged
works $padded eval --data t.txt --weights damaged/model.safetensors
works $padded export --weights damaged --ids 14 --out damaged-folder
same damaged-folder/model.safetensors run-folder/model.safetensors
works $padded train --out damaged --resume --steps 21

# Refusals.  change FOLDER NAME FILE EXPRESSION: a copy of a recorded folder with a file changed
change() {
    rm -rf "$2"
    cp -r "$hf/$1" "$2"
    LC_ALL=C sed -i "$4" "$2/$3"
}
refuse() { words=$1; shift; refuses 3 "$words" "$@" --out refused.safetensors; }
change hf_gpt2 bad config.json 's/"n_head": 2/"n_head": 4/'
refuse 'bad/config.json: error: does not fit the model that this trainer was built for, gpt' $gpt init --init bad
says 'n_head: expected 2, found 4' err
change hf_gpt2 bad config.json '/"activation_function"/d; /"n_layer"/d'
works $gpt init --init bad --out absent.safetensors
same absent.safetensors gpt.safetensors
change hf_gpt2 bad config.json 's/gelu_new/relu/'
refuse 'activation_function: expected "gelu_new", found "relu"' $gpt init --init bad
refuse 'model_type: expected "llama", found "gpt2"' $llama init --init "$hf/hf_gpt2"
refuse 'tie_word_embeddings: expected false, found true' "$work/untied/trainer" init --init "$hf/hf_gpt2"
refuse 'tie_word_embeddings: expected true, found false' "$work/tied/trainer" init --init "$hf/hf_llama"
change hf_llama bad config.json 's/"rope_theta": 500.0/"rope_theta": 501.0/'
refuse 'rope_theta: expected 500.0, found 501.0' $llama init --init bad
change hf_llama bad config.json 's/"rope_parameters"/"rope_scaling"/'
refuse 'rope_theta: expected 500.0, found 10000.0 (the default if the key is absent)' $llama init --init bad
says 'rope_scaling: expected none' err
change hf_gpt2 bad config.json 's/"n_layer".*/"n_layer" 2/'
refuse 'bad/config.json:[0-9]*:[0-9]*: error: not JSON.*fetch it again, or, if a trainer wrote these weights, remove it' $gpt init --init bad
cp gpt.safetensors bad/model.safetensors
rm bad/config.json
works $gpt init --init bad --out absent.safetensors

change hf_gpt2 bad model.safetensors 's/transformer.h.1.ln_1.weight/transformer.h.1.ln_9.weight/'
refuse 'bad/model.safetensors: error: does not fit the model' $gpt init --init bad
says 'transformer.h.1.ln_1.weight: missing; expected \[16\] (.*gpt.lua:' err
says 'transformer.h.1.ln_9.weight: not a tensor of this model' err
change hf_gpt2 bad model.safetensors 's/"dtype":"F32","shape":\[12,16\]/"dtype":"I32","shape":[12,16]/'
refuse 'transformer.wpe.weight: expected F32, F64, F16 or BF16, found I32' $gpt init --init bad
change hf_gpt2 bad model.safetensors 's/"shape":\[12,16\]/"shape":[16,12]/'
refuse 'transformer.wpe.weight: expected \[12, 16\], found \[16, 12\]' $gpt init --init bad
refuse 'transformer.h.0.attn.c_attn.bias: expected zeros, because this model has no such parameter' $plain init --init "$hf/hf_gpt2"
change hf_gpt2 bad model.safetensors 's/"transformer\.wte\.weight"/"wte.weight"            /'
works $gpt init --init bad --out absent.safetensors
same absent.safetensors gpt.safetensors
works "$lathe" build $top/models/gpt.lua --set layers=2 --set heads=2 --set width=16 --set seq=12 --set batch=2 --set gelu=tanh --set vocab=60 -o small
refuse 'transformer.wte.weight: expected \[60, 16\] or fewer rows.*, found \[61, 16\]' small/trainer init --init "$hf/hf_gpt2"

change hf_llama bad model.safetensors.index.json 's/model-00002-of/model-00009-of/'
refuse 'bad/model-00009-of-00004.safetensors: error: expected a safetensors file, but it cannot be read' $llama init --init bad
change hf_llama bad model.safetensors.index.json 's/model-00002-of/..\/model-00002-of/'
refuse 'names ../model-00002-of-00004.safetensors, but shards must be beside their index' $llama init --init bad
change hf_llama bad model.safetensors.index.json 's/weight_map/weight_mop/'
refuse 'expected {"weight_map"' $llama init --init bad
change hf_llama bad model.safetensors.index.json 's/"lm_head.weight"/"lm_tail.weight"/'
refuse 'tensor lm_tail.weight should be in model-0000.-of-00004.safetensors, which lacks it' $llama init --init bad
change hf_gpt2 bad config.json ''
mv bad/model.safetensors bad/pytorch_model.bin
refuse 'bad: error: expected model.safetensors, found pytorch_model.bin' $gpt init --init bad

# Tokenizers.
change hf_gpt2 bad config.json ''
echo '{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": ["a b"]}, "pre_tokenizer": {"type": "ByteLevel"}}' >bad/tokenizer.json
refuses 3 'bad/tokenizer.json: merges\[0\]: error: "a" and "b" merge to what is not in the vocabulary' $padded train --init bad --data t.txt --out x
works $padded train --init bad --data t.txt --tokenizer chars --steps 2 --out x

# Folders and words.
refuses 2 'run: error: has a trainer.s weights, which the export would replace' $padded export --weights run --out run
refuses 2 'has a trainer.s weights' $padded export --weights filled.safetensors --out run
refuses 2 '--to pickle: expected hf' $gpt export --to pickle --out x --weights gpt.safetensors
refuses 2 'export needs --out DIR' $gpt export --to hf --weights gpt.safetensors
refuses 2 'expected at most 61 ids' $gpt export --ids 62 --out x --weights gpt.safetensors
refuses 2 '--ids 5: the tokenizer has 14' $padded export --ids 5 --out x --weights run
refuses 1 'toy cannot be exchanged with Hugging Face' "$toy" export --out x --weights gpt.safetensors
works "$lathe" export "$top/models/gpt.lua" --set layers=2 --set heads=2 --set width=16 --set seq=12 --set batch=2 --set gelu=tanh --set vocab=61 -o gpt --to hf --weights gpt.safetensors --out by-lathe
same by-lathe/model.safetensors gpt-folder/model.safetensors
finish
