# layers.sh: models whose layers differ (Gemma 2 and 3): config.json of older and newer files, and what is refused by name.
top=$PWD
. tests/trainer/common
lathe=${LATHE:-$BUILD/lathe}
[ -x "$lathe" ] || { echo "skipped: $lathe is not built"; exit 77; }
reference=$top/tests/reference

folder() { rm -rf "$2" && cp -r $reference/hf_$1 "$2" && chmod -R u+w "$2"; }
edit() { tr -d '\n' <$1/config.json | sed "s/$2/$3/" >config && echo >>config && cp config $1/config.json; }

# Each third layer sees all: by a list, or by a number as older files say it, with rotary positions at the top
works "$lathe" new new --from $reference/hf_gemma3
says 'c.full_every = 3$' new/model.lua
works "$lathe" build new/model.lua -o built
gemma3=built/trainer
folder gemma3 old
edit old '"layer_types": \[[^]]*\]' '"sliding_window_pattern": 3'
edit old '"rope_parameters": .*"sliding_window"' '"rope_theta": 1e6, "rope_local_base_freq": 100, "rope_scaling": {"rope_type": "linear", "factor": 8.0}, "sliding_window"'
works "$lathe" new older --from old
same older/model.lua new/model.lua
works $gemma3 init --init $reference/hf_gemma3 --out new.safetensors
works $gemma3 init --init old --out old.safetensors
same old.safetensors new.safetensors
folder gemma3 newer
for from in old newer; do
    edit $from bfloat16 float32                         # as the trainer writes it
    works $gemma3 export --to hf --weights $from --out $from-out
    same $from-out/config.json $from/config.json
    works $gemma3 init --init $from-out --out back.safetensors
    same back.safetensors new.safetensors
done

refused() { folder gemma3 odd && edit odd "$1" "$2" && refuses 3 "$3" $gemma3 init --init odd --out refused.safetensors; }
refused '"attn_logit_softcapping": null' '"attn_logit_softcapping": 50.0' 'attn_logit_softcapping: expected none, found 50.0'
refused '"final_logit_softcapping": null' '"final_logit_softcapping": 30.0' 'final_logit_softcapping: expected none, found 30.0'
refused '"use_bidirectional_attention": false' '"use_bidirectional_attention": true' 'use_bidirectional_attention: found true: attention also looks at later'
refused '"factor": 8.0' '"factor": 8.0, "partial_rotary_factor": 0.5' 'rope_parameters.full_attention.partial_rotary_factor: found 0.5'
refused '"rope_theta": 100\.0' '"rope_theta": 200.0' 'rope_local_base_freq: expected 100.0, found 200.0'
refused '"query_pre_attn_scalar": 10' '"query_pre_attn_scalar": 11' 'query_pre_attn_scalar: expected 10, found 11'
refused '"full_attention",' '"sliding_attention",' 'layer_types: expected \["sliding_attention","sliding_attention","full_attention"'
folder gemma3 odd && edit odd '\["sliding_attention", *"sliding' '["full_attention", "sliding'
edit odd '\[ *"sliding_attention"' '["full_attention"'
refuses 3 'layer_types: expected a list in which every so many-th layer is unlike the others' "$lathe" new refused --from odd

# null switches a cap off; without the key, Gemma 2 has one.
folder gemma2 free && edit free '"attn_logit_softcapping": 2.0' '"attn_logit_softcapping": null'
works "$lathe" new free-new --from free
says 'c.score_cap = 0.0$' free-new/model.lua
works "$lathe" build free-new/model.lua -o free-built
works free-built/trainer init --init free --out free.safetensors
refuses 3 'attn_logit_softcapping: expected none, found 2.0' free-built/trainer init --init $reference/hf_gemma2 --out refused.safetensors
edit free '"attn_logit_softcapping": null,' ''
refuses 3 'attn_logit_softcapping: expected none, found 50.0' free-built/trainer init --init free --out refused.safetensors
works free-built/trainer export --to hf --weights free.safetensors --out out-hf
says '"attn_logit_softcapping": null' out-hf/config.json

finish
