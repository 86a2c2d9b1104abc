# gguf_families.sh: GGUF files that llama.cpp's converter made of Hugging Face folders (tests/reference/gguf_families.py) give the
# parameters of those folders, and go out again as files that give them, too.
top=$PWD
. tests/trainer/common
lathe=${LATHE:-$BUILD/lathe}
[ -x "$lathe" ] || { echo "skipped: $lathe is not built"; exit 77; }
reference=$top/tests/reference

printf "ABBA12345'SAB!?AB" >text.txt
for kind in llama3 yarn qwen2 qwen3 gemma gemma2 gemma3 olmo2 neox smollm3 gpt2; do
    file=$reference/gguf/$kind.gguf trainer=$kind/built/trainer
    works "$lathe" new $kind --from $file
    works "$lathe" new $kind-folder --from $reference/hf_$kind
    same $kind/model.lua $kind-folder/model.lua
    works "$lathe" build $kind/model.lua -o $kind/built
    works $trainer init --init $reference/hf_$kind --out known.safetensors
    works $trainer init --init $file --out $kind.safetensors
    same $kind.safetensors known.safetensors
    works $trainer export --to gguf --weights $file --out own.gguf
    works $trainer init --init own.gguf --out back.safetensors
    same back.safetensors known.safetensors
    works $trainer export --to hf --weights own.gguf --out $kind-out
    works $trainer export --to gguf --weights $kind-out --out again.gguf
    same own.gguf again.gguf
    works "$lathe" tokenize encode --tokenizer $file --json text.txt && cp out theirs.ids
    works "$lathe" tokenize encode --tokenizer own.gguf --json text.txt
    same out theirs.ids
    cp own.gguf $kind.gguf
done
for kind in mixtral qwen3_moe; do   # in a file, the matrices of all experts of a layer are one tensor
    file=$reference/gguf/$kind.gguf trainer=$kind.gguf.built/trainer
    for from in $reference/hf_$kind $file; do
        works "$lathe" new $kind.new --from $from
        works "$lathe" build $kind.new/model.lua -o ${from##*/}.built
        works ${from##*/}.built/trainer init --init $from --out ${from##*/}.safetensors
        rm -r $kind.new
    done
    same $kind.gguf.safetensors hf_$kind.safetensors
    works $trainer export --to gguf --type q8_0 --weights $file --out own.gguf      # whose rows are no whole blocks
    works $trainer init --init own.gguf --out back.safetensors
    same back.safetensors hf_$kind.safetensors
    works $trainer export --to hf --weights own.gguf --out $kind-out
    cp $reference/hf_$kind/* $kind-out
    refuses 3 "llama.cpp's .*, and this" hf_$kind.built/trainer export --to gguf --weights $kind-out --out no.gguf
    at=$(grep -abo expert_count $file | cut -d: -f1)
    cp $file lies.gguf && printf '\4' | dd of=lies.gguf bs=1 seek=$((at + 16)) conv=notrunc 2>/dev/null
    refuses 3 'tensor blk.0.ffn_.*: expected the matrices of 4 experts (expert_count), of at most 512, found 3 axes, the first of 5' \
        $trainer init --init lies.gguf --out no.safetensors
done
for set in gpt2:layout=out_in gpt2:layout=in_out llama3:tied=true; do # weights in blocks, in whatever order they lie
    kind=${set%%:*}
    works "$lathe" build $kind/model.lua --parameters q8_0 --set ${set#*:} -o $kind/eight
    works $kind/eight/trainer init --init $reference/gguf/$kind.gguf --out own.safetensors
    works $kind/eight/trainer init --init $reference/hf_$kind --out known.safetensors
    same own.safetensors known.safetensors
done
says 'c.rope_context = 16$' llama3/model.lua
says 'c.rotary_share = 0.5$' neox/model.lua
works neox/built/trainer export --to gguf --type q8_0 --weights neox.gguf --out small.gguf      # rows of q, k and v in another order
says 'llama.cpp computes gelu by tanh' err
works gpt2/built/trainer export --to gguf --type q8_0 --weights gpt2.gguf --out small.gguf      # rows of transposed matrices
says 'at most [34]\..e-03' out
sed 's/"normalizer": null/"normalizer": {"type": "NFC"}/' gpt2-out/tokenizer.json >normal.json && cp normal.json gpt2-out/tokenizer.json
works gpt2/built/trainer export --to gguf --weights gpt2-out --out normal.gguf
says 'normalises text to NFC, which llama.cpp leaves out' err
sed 's/"NFC"/"NFKC"/' normal.json >gpt2-out/tokenizer.json
refuses 3 'normalises text to NFKC, which llama.cpp cannot' gpt2/built/trainer export --to gguf --weights gpt2-out --out refused.gguf
sed 's/"NFC"/"Nmt"/' normal.json >gpt2-out/tokenizer.json
refuses 3 'in the file, found a tokenizer with the normalizer Nmt' gpt2/built/trainer export --to gguf --weights gpt2-out --out refused.gguf
for pre in llama3:llama-bpe qwen2:qwen2 qwen3:qwen2 olmo2:dbrx neox:gpt-2 smollm3:llama-bpe gpt2:gpt-2; do
    LC_ALL=C grep -aq "tokenizer.ggml.pre.*${pre#*:}" ${pre%:*}.gguf && ok "cut as ${pre#*:}" || wrong "$pre"
done

# SentencePiece's byte pairs: ids as Hugging Face's tokenizers and as llama.cpp give them, which puts a blank also before a text
# that begins with one; merges become scores, and scores merges.
spm=$reference/hf_spm
ids() { works "$lathe" tokenize encode --tokenizer "$1" --json --format jsonl $spm/texts.jsonl; tr -d ' ' <out >ids.jsonl; same ids.jsonl $spm/$2.jsonl; }
ids $spm ids
ids $reference/gguf/spm.gguf llama_cpp
works "$lathe" new spm --from $reference/gguf/spm.gguf
works "$lathe" build spm/model.lua -o spm/built
works spm/built/trainer init --init $spm --out known.safetensors
for from in $reference/gguf/spm.gguf $spm; do
    works spm/built/trainer export --to gguf --weights $from --out spm.gguf
    works spm/built/trainer init --init spm.gguf --out back.safetensors
    same back.safetensors known.safetensors
    ids spm.gguf llama_cpp
done
works spm/built/trainer export --to hf --weights spm.gguf --out spm-out
ids spm-out llama_cpp
works spm/built/trainer generate --weights spm.gguf --prompt 'It is' --tokens 5
printf 'It is  so: naïve\n' >text.txt
works "$lathe" tokenize encode --tokenizer spm.gguf --out text.bin text.txt
works "$lathe" tokenize decode --tokenizer spm.gguf text.bin
same out text.txt
cp -r $spm odd && tr -d '\n' <$spm/tokenizer.json | sed 's/\("merges": \[\) *\(\[[^]]*\]\), *\(\[[^]]*\]\),/\1/' >odd/tokenizer.json
refuses 3 "or SentencePiece's BPE, found another" spm/built/trainer export --to gguf --weights odd --out refused.gguf

# llama.cpp has no name of Mistral's: a file is read as what the description says; a short window has no place.
build() { works "$lathe" build $top/models/llama.lua --set vocab=61 --set seq=8 --set batch=1 --set layers=2 --set heads=4 --set kv_heads=2 \
    --set head_width=8 --set width=24 --set hidden=34 --set tied=false --set rope_theta=1e6 --set context=64 "$@"; }
build --set kind=mistral -o wide
build --set kind=mistral --set window=5 -o narrow
cp -r $reference/hf_mistral mistral && cp qwen2-out/tokenizer.json mistral/
sed -i 's/"sliding_window": 5/"sliding_window": null/' mistral/config.json
works wide/trainer export --to gguf --weights mistral --out mistral.gguf
works wide/trainer init --init mistral --out known.safetensors
works wide/trainer init --init mistral.gguf --out back.safetensors
same back.safetensors known.safetensors
cp $reference/hf_mistral/config.json mistral/
refuses 3 "sees all positions in a model of the architecture llama, and this one's a window" narrow/trainer export --to gguf --weights mistral --out refused.gguf
refuses 3 'sliding_window: expected 5, found' narrow/trainer init --init mistral.gguf --out refused.safetensors

# llama.cpp has no OLMo 2 whose logits share the embedding's matrix.
works "$lathe" build olmo2/model.lua --set tied=true -o tied
for i in 1 2 3 4 5 6 7 8 9 10; do printf "ABBA12345BABAB54321BAAB"; done >long.txt
works tied/trainer train --data long.txt --val-fraction 0 --tokenizer olmo2.gguf --out tied-run --steps 1
refuses 3 'llama.cpp wants a matrix for the logits in a model of this architecture' tied/trainer export --to gguf --weights tied-run --out refused.gguf

# Norms of Gemma are 1 more there, which rounds them.
works gemma/built/trainer train --data long.txt --val-fraction 0 --init gemma.gguf --out gemma-run --steps 1
works gemma/built/trainer export --to gguf --weights gemma-run --out gemma-run.gguf
says 'read again: weights differ by at most [1-9].*e-0[67]' out
gemma() { works "$lathe" build gemma2/model.lua --set width=64 --set hidden=96 --set heads=2 --set kv_heads=1 --set head_width=32 --set query_width=32 "$@"; }
gemma -o wide-gemma
gemma --parameters q8_0 -o eight-gemma
works wide-gemma/trainer train --data long.txt --val-fraction 0 --tokenizer gemma2.gguf --out wide-gemma-run --steps 1
works wide-gemma/trainer export --to gguf --type q8_0 --weights wide-gemma-run --out small.gguf
works eight-gemma/trainer export --to gguf --type q8_0 --weights small.gguf --out again.gguf       # matrices in blocks, norms are none
same again.gguf small.gguf

# Where heads of q, k and v lie apart there must be whole ones; a model without biases has no place.
changed() { LC_ALL=C sed "s/$2/$3/" $reference/gguf/$1.gguf >changed.gguf; }
changed neox '\(gptneox.attention.head_count....\)\x03' '\1\x05'
refuses 3 'expected a width that heads divide, found 24 and 5' neox/built/trainer init --init changed.gguf --out refused.safetensors
changed neox '\(gptneox.attention.head_count....\)\x03' '\1\x04'
refuses 3 'num_attention_heads: expected 3, found 4' neox/built/trainer init --init changed.gguf --out refused.safetensors
changed neox '\(gptneox.use_parallel_residual....\)\x01' '\1\x00'
refuses 3 'use_parallel_residual: expected true, found false' neox/built/trainer init --init changed.gguf --out refused.safetensors
works "$lathe" build neox/model.lua --set attention_bias=false -o plain
works plain/trainer train --data long.txt --val-fraction 0 --tokenizer neox.gguf --out plain-run --steps 1
refuses 3 'projections of attention have biases in a model of this architecture' plain/trainer export --to gguf --weights plain-run --out refused.gguf

# Of a llama the tensors alone say that projections have biases; in others they have no place.
cp -r $reference/hf_biases biases && cp qwen2-out/tokenizer.json biases/
works "$lathe" new of-folder --from biases
works "$lathe" build of-folder/model.lua -o of-folder/built
works of-folder/built/trainer export --to gguf --weights biases --out biases.gguf
works "$lathe" new of-file --from biases.gguf
says '^c.attention_bias = true$' of-file/model.lua
says '^c.mlp_bias = true$' of-file/model.lua
works of-folder/built/trainer init --init biases --out known.safetensors
works of-folder/built/trainer init --init biases.gguf --out back.safetensors
same back.safetensors known.safetensors
works "$lathe" build smollm3/model.lua --set mlp_bias=true -o biased
works biased/trainer train --data long.txt --val-fraction 0 --tokenizer smollm3.gguf --out biased-run --steps 1
refuses 3 "projections have no biases in a model of this architecture, and this one's have" biased/trainer export --to gguf --weights biased-run --out refused.gguf

# llama.cpp leaves out the rotary positions of every fourth layer of SmolLM 3, and of no others.
works "$lathe" build smollm3/model.lua --set no_rope_interval=2 -o second
works second/trainer train --data long.txt --val-fraction 0 --tokenizer smollm3.gguf --out second-run --steps 1
refuses 3 'leaves out rotary positions of every 4th layer in a model of the architecture smollm3' second/trainer export --to gguf --weights second-run --out refused.gguf
refuses 3 'no_rope_layers: expected \[1,0,1,0\], found \[1,1,1,0\]' second/trainer init --init smollm3.gguf --out refused.safetensors

# llama.cpp reads no window of Phi-3's; 0 is none.
LC_ALL=C sed 's/\(phi3\.attention\.sliding_window....\)\x05/\1\x00/' $reference/gguf/phi3.gguf >wide.gguf
for kind in phi3 wide; do
    file=$reference/gguf/phi3.gguf
    [ $kind = phi3 ] || file=wide.gguf
    works "$lathe" new $kind-phi --from $file
    works "$lathe" build $kind-phi/model.lua -o $kind-phi/built
    works $kind-phi/built/trainer init --init $file --out $kind.safetensors
done
works phi3-phi/built/trainer init --init $reference/hf_phi3 --out known.safetensors
same phi3.safetensors known.safetensors
same wide.safetensors known.safetensors
refuses 3 "sees all positions in a model of the architecture phi3, and this one's a window" phi3-phi/built/trainer export --to gguf --weights $reference/gguf/phi3.gguf --out refused.gguf
works wide-phi/built/trainer export --to gguf --weights wide.gguf --out own.gguf
works wide-phi/built/trainer init --init own.gguf --out back.safetensors
same back.safetensors known.safetensors

# Two lists by which rates of Phi-3 are divided, and what cosines are multiplied by.
longrope=$reference/gguf/longrope.gguf
works "$lathe" new longrope --from $longrope
says '^c.rope_long = "1.5 3.0 5.0"$' longrope/model.lua
says '^c.rope_amplitude = 1.41' longrope/model.lua
works "$lathe" build longrope/model.lua -o longrope/built
works longrope/built/trainer init --init $longrope --out longrope.safetensors
works longrope/built/trainer init --init $reference/hf_longrope --out known.safetensors
same longrope.safetensors known.safetensors
works longrope/built/trainer export --to gguf --weights $longrope --out own.gguf
works "$lathe" new longrope-again --from own.gguf
same longrope-again/model.lua longrope/model.lua
LC_ALL=C sed 's/rope_factors_short/rope_factors_shirt/' $longrope >changed.gguf
refuses 3 'expected the tensor rope_factors_short.weight' "$lathe" new other --from changed.gguf
sed 's/"longrope"/"su"/' $reference/hf_longrope/config.json >su.json
mkdir su && cp $reference/hf_longrope/model.safetensors su/ && cp su.json su/config.json
works longrope/built/trainer init --init su --out su.safetensors
same su.safetensors known.safetensors
works "$lathe" build longrope/model.lua --set kind=llama --set rotary_share=1.0 --set 'rope_short=1 1 1 1' --set 'rope_long=1 1 1 1' -o other-kind
for i in 1 2 3 4 5 6 7 8 9 10; do printf "ABBA12345BABAB54321BAAB"; done >long.txt
works other-kind/trainer train --data long.txt --val-fraction 0 --tokenizer $longrope --out other-run --steps 1
refuses 3 'only in the architecture phi3' other-kind/trainer export --to gguf --weights other-run --out refused.gguf

# Stretched positions that are no model's, keys of the architecture that nothing knows, and what other programs noted.
changed qwen3 qwen3.rope.freq_base qwen3.rope.freq_bass
refuses 3 'qwen3.rope.freq_bass: found 1000000.0, an unknown key' qwen3/built/trainer init --init changed.gguf --out refused.safetensors
LC_ALL=C sed 's/general.finetune/quantize.imatrix/; s/general.size_label/mradermacher.label/' $reference/gguf/qwen3.gguf >changed.gguf
works qwen3/built/trainer init --init changed.gguf --out back.safetensors
changed llama3 rope.freq_base rope.freq_bass
refuses 3 'rope_freqs.weight: expected rates stretched as Llama 3' llama3/built/trainer init --init changed.gguf --out refused.safetensors
changed qwen2 blk.0.attn_q.bias blk.0.attn_r.bias
refuses 3 'blk.0.attn_r.bias: not a tensor of this model' qwen2/built/trainer init --init changed.gguf --out refused.safetensors
changed gpt2 'gpt-2' 'gpt-9'
refuses 3 'found model gpt2, pre gpt-9, which is not read' "$lathe" tokenize encode --tokenizer changed.gguf --json $top/README.md
refuses 3 'long_token.gguf: error: the vocabulary is not one of SentencePiece.s: expected tokens of at most 1000 bytes' \
    "$lathe" tokenize encode --tokenizer $reference/gguf/long_token.gguf --json $top/README.md
finish
