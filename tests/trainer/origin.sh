# origin.sh: what comes with imported weights and is no tensor: ends of texts, chat template, generation_config, the size of
# the vocabulary go through a run, its resumption and a run that starts from it into the folder that export writes; what
# a config.json says beside the description is neutral, harmless, or refused by name.
top=$PWD
. tests/trainer/common
lathe=${LATHE:-$BUILD/lathe}
[ -x "$lathe" ] || { echo "skipped: $lathe is not built"; exit 77; }
ends=$top/tests/reference/hf_ends
works "$lathe" build "$top/models/llama.lua" --set layers=1 --set heads=2 --set kv_heads=1 --set width=16 --set hidden=12 --set seq=64 --set batch=2 --set vocab=320 --set tied=false -o built
trainer=$work/built/trainer
yes 'the cat sat on a mat and ran far off' | head -n 200 >t.txt
kept="generation_config.json chat_template.jinja tokenizer_config.json tokenizer.json"
alike() { for file in $kept; do same "$1/$file" "$ends/$file"; done; }

# config.json is theirs but for the type of the numbers; 304 rows for 290 tokens and 320 rows here.
like_theirs() {
    sed 's/"bfloat16"/"float32"/; s/1e-05/1e-5/' "$ends/config.json" >config
    sed 's/1e-05/1e-5/' "$1/config.json" | cmp -s - config && ok "$1/config.json is theirs" || wrong "$1/config.json: $(diff config "$1/config.json")"
}
works $trainer export --weights "$ends" --out straight
alike straight
like_theirs straight
works $trainer train --init "$ends" --data t.txt --steps 2 --out run
works $trainer train --resume --steps 3 --out run
works $trainer export --weights run --out exported
alike exported
like_theirs exported
works $trainer train --init run --data t.txt --steps 1 --out other
works $trainer export --weights other/model.safetensors --out by-link
alike by-link
works $trainer export --weights exported --out again
for file in model.safetensors config.json $kept; do same exported/$file again/$file; done
works $trainer init --init exported --out back.safetensors

# Another tokenizer: what speaks of tokens goes.
works $trainer train --init "$ends" --data t.txt --steps 1 --tokenizer bytes --out bytes
says 'the tokenizer differs from that of' err
works $trainer export --weights bytes --out bytes-out
[ ! -e bytes-out/chat_template.jinja ] && ok 'no chat template' || wrong 'the chat template of another tokenizer'
grep -q '_token_id' bytes-out/config.json bytes-out/generation_config.json && wrong 'ids of another tokenizer' || ok 'no ids of tokens'
works $trainer train --init "$ends" --data t.txt --steps 1 --tokenizer "$ends/tokenizer.json" --out given
works $trainer export --weights given --out given-out
alike given-out

# Damage.
cp -r run damaged
sed -i 's/endoftext/endoftaxt/' damaged/checkpoints/step-3/huggingface.json
refuses 3 'step-3/huggingface.json: error: .*checksum' $trainer train --resume --steps 4 --out damaged
copy() { rm -rf bad; cp -r "$ends" bad; }
copy; printf '{"eos_token_id": ' >bad/generation_config.json
refuses 3 'bad: error: expected a JSON object in generation_config.json' $trainer generate --weights bad --tokens 1
copy; printf 'a\377' >bad/chat_template.jinja
refuses 3 'bad/chat_template.jinja: error: is not UTF-8 text' $trainer generate --weights bad --tokens 1
copy; printf '[2]' >bad/generation_config.json
refuses 3 'expected a JSON object in generation_config.json' $trainer export --weights bad --out x

# config.json: with KEY VALUE a key is added
with() { copy; sed -i "s/\"use_cache\"/\"$1\": $2,\n  &/" bad/config.json; }
refuse() { with "$1" "$2"; refuses 3 "$3" $trainer init --init bad --out x.safetensors; }
pass() { with "$1" "$2"; works $trainer init --init bad --out x.safetensors; }
refuse sliding_window 32 'sliding_window: found 32: attention sees only the last N positions'
refuse partial_rotary_factor 0.5 'partial_rotary_factor: found 0.5: rotary positions turn a part'
refuse final_logit_softcapping 30.0 'final_logit_softcapping: found 30.0: logits are capped'
refuse qkv_bias true 'qkv_bias: found true: projections of attention have biases'
refuse quantization_config '{"bits": 4}' 'quantization_config: found {"bits":4}: weights are quantised'
refuse layer_types '["sliding_attention"]' 'layer_types: found \["sliding_attention"\], an unknown key'
refuse norm_style '"odd"' 'norm_style: found "odd", an unknown key.* --ignore-config norm_style'
works $trainer init --init bad --out x.safetensors --ignore-config norm_style
says 'config.json: ignored because of --ignore-config: norm_style: found "odd"' err
works $trainer export --weights bad --out odd --ignore-config norm_style
says '"norm_style": "odd"' odd/config.json
refuse use_mrope true 'use_mrope: found true: rotary positions have three parts'
refuse shared_expert_intermediate_size 8 'shared_expert_intermediate_size: found 8: each token goes through one more expert'
pass use_mrope false
pass shared_expert_intermediate_size 0
pass lm_head_bias false
pass full_attn_mod 1
pass interpolate_factor 1
pass cache_implementation '"hybrid"'
pass sliding_window null
pass sliding_window 64
pass partial_rotary_factor 1.0
pass layer_types '["full_attention"]'
pass temperature 0.7
with sliding_window 32
sed -i 's/"use_cache"/"use_sliding_window": false,\n  &/' bad/config.json
works $trainer init --init bad --out x.safetensors
copy; sed -i 's/"rope_type"/"partial_rotary_factor": 0.5,\n  &/' bad/config.json
refuses 3 'rope_parameters.partial_rotary_factor: found 0.5' $trainer init --init bad --out x.safetensors
copy; sed -i 's/"rms_norm_eps": 1e-05/"rms_norm_eps": 1e-06/; s/"vocab_size": 304/"vocab_size": 300/' bad/config.json
refuses 3 'rms_norm_eps: expected 1e-0*5, found 1e-0*6' $trainer init --init bad --out x.safetensors
copy; sed -i 's/"vocab_size": 304/"vocab_size": 300/' bad/config.json
refuses 3 'config.json says 300 ids, but the tables of ids have 304 rows' $trainer init --init bad --out x.safetensors
finish
