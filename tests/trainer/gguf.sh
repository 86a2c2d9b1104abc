# gguf.sh: a GGUF file is taken as the folder that transformers makes of it (tests/reference/gguf_files.py), and what does not fit is told.
top=$PWD
. tests/trainer/common
lathe=${LATHE:-$BUILD/lathe}
[ -x "$lathe" ] || { echo "skipped: $lathe is not built"; exit 77; }
gguf=$top/tests/reference/gguf

llama="$top/models/llama.lua --set layers=2 --set heads=4 --set kv_heads=2 --set width=64 --set hidden=96 --set seq=16 --set batch=2 --set context=64"
works "$lathe" build $llama --set vocab=283 --set rope_theta=50000.0 --set steps=4 -o llama
works "$lathe" build $llama --set vocab=300 --set rope_theta=50000.0 -o wide
works "$lathe" build $llama --set vocab=283 -o turned
adapted="$llama --set vocab=283 --set rope_theta=50000.0"
llama=$work/llama/trainer

# The same parameters, to the bit; the tokenizer gives the same ids, so the same losses.
works $llama init --init $gguf/llama.gguf --out own.safetensors
works $llama init --init $gguf/llama --out folder.safetensors
same own.safetensors folder.safetensors
printf 'What costs 12.50 and 1999?\n  It is said: “naïve” <|im_end|>\tcafé 37.\n' >text.txt
for k in 1 2 3 4; do cat text.txt text.txt >twice && mv twice text.txt; done
works $llama eval --data text.txt --val-fraction 1 --weights $gguf/llama.gguf && cp out own.txt
works $llama eval --data text.txt --val-fraction 1 --weights $gguf/llama && cp out folder.txt
sed -i 's/llama\.gguf/llama/g' own.txt
same own.txt folder.txt
works $work/wide/trainer init --init $gguf/llama.gguf --out wide.safetensors

# Training keeps what came with the file, through a resume, to the export.
works $llama train --data text.txt --init $gguf/llama.gguf --out run --steps 2
works $llama train --resume --out run --steps 4
works $llama train --data text.txt --init $gguf/llama --out again --steps 4
same run/model.safetensors again/model.safetensors
works $llama export --to hf --weights run --out out-folder
says '"chat_template": "{{ messages }}"' out-folder/tokenizer_config.json
says '"eos_token_id": 2' out-folder/generation_config.json
says '"rope_theta": 50000.0' out-folder/config.json
works $llama generate --weights $gguf/llama.gguf --prompt 'It is' --tokens 5

# Out: the same weights again from f32, whatever the file's types were; tokenizer, template and ends go along.
works $llama export --to gguf --weights run --out out.gguf
says 'read again: weights differ by at most 0.0e+00 of the largest' out
works $llama init --init out.gguf --out back.safetensors
works $llama init --init run --out now.safetensors
same back.safetensors now.safetensors
works $llama export --to hf --weights out.gguf --out out-again
same out-folder/model.safetensors out-again/model.safetensors
says '"chat_template": "{{ messages }}"' out-again/tokenizer_config.json
says '"eos_token_id": 2' out-again/generation_config.json
works $llama eval --data text.txt --val-fraction 1 --weights out.gguf && cp out own.txt
works $llama eval --data text.txt --val-fraction 1 --weights run && cp out folder.txt
grep ^loss own.txt >own.loss; grep ^loss folder.txt >folder.loss
same own.loss folder.loss

# Weights in 8 and 4 bits: a file of such blocks is read and written to the same bytes; other types are rounded as on export, but for
# the table of ids, which also makes the logits: a file gives it 8 bits, unless the trainer has it in 4.
for type in q8_0 q4_0; do
    works "$lathe" build $adapted --lora rank=2 --frozen $type -o $type
    for from in $type f32; do works $llama export --to gguf --type $from --weights run --out $from.gguf; done
    for from in $type f32; do works $work/$type/trainer export --to gguf --type $type --weights $from.gguf --out from-$from.gguf; done
    works $work/$type/trainer export --to gguf --type $type --weights from-$type.gguf --out again-$type.gguf
    same from-$type.gguf again-$type.gguf
    [ $type = q4_0 ] || { same $type.gguf from-$type.gguf; same $type.gguf from-f32.gguf; }
done
size() { wc -c <"$1"; }
[ $((($(size q4_0.gguf) - $(size from-f32.gguf)) - 283 * 2 * (34 - 18))) -lt 32 ] && ok 'the table has 8 bits' || wrong "q4_0.gguf has $(size q4_0.gguf) bytes"

# Types by patterns: of the trainer's own blocks the bytes are kept, and a trainer in fp32 writes the same ones; what is refused.
works "$lathe" build $adapted --parameters 'q4_0,*embed_tokens*=q8_0,*.v_proj.*=q8_0' -o mixed
works $work/mixed/trainer export --to gguf --type 'q4_0,*.v_proj.*=q8_0' --weights run --out mixed.gguf
says 'read again: weights differ by at most 0.0e+00 of the largest' out
works $llama export --to gguf --type 'q4_0,*.v_proj.*=q8_0' --threads 1 --weights run --out one.gguf
same mixed.gguf one.gguf
works $work/mixed/trainer export --to gguf --type 'q4_0,*.v_proj.*=q8_0' --weights mixed.gguf --out again.gguf
same mixed.gguf again.gguf
[ $(($(size mixed.gguf) - $(size q4_0.gguf))) -eq $((2 * 32 * 64 / 32 * (34 - 18))) ] && ok 'v has 8 bits' || wrong "mixed.gguf has $(size mixed.gguf) bytes"
refuses 2 "no matrix that is written has such a name" $llama export --to gguf --type 'q4_0,*norm*=q8_0' --weights run --out refused.gguf
refuses 2 '--type q4_0,q8_0: expected f32' $llama export --to gguf --type q4_0,q8_0 --weights run --out refused.gguf

# Adapters alone: out, in, and out again to the same bytes; what is no adapter, or another's, is refused.
works "$lathe" build $adapted --lora rank=2,alpha=6,rslora -o low
low=$work/low/trainer
works $low train --data text.txt --init out.gguf --out low-run --steps 3
works $low export --to gguf-adapter --weights low-run --out adapter.gguf
works $low export --to gguf-adapter --weights out.gguf --adapter adapter.gguf --out again.gguf
same adapter.gguf again.gguf
for with in "low-run" "out.gguf --adapter adapter.gguf"; do
    works $low eval --data text.txt --val-fraction 1 --weights $with
    grep ^loss out >"${with%% *}.with"
done
same low-run.with out.gguf.with
works "$lathe" build $adapted --lora rank=2,alpha=3 -o other
refuses 3 'those of --lora rank=2,alpha=8.48' $work/other/trainer eval --data text.txt --weights out.gguf --adapter adapter.gguf
refuses 3 'expected an adapter (general.type' $low eval --data text.txt --weights out.gguf --adapter out.gguf
head -c 9000 adapter.gguf >cut.gguf
refuses 3 'cut.gguf' $low eval --data text.txt --weights out.gguf --adapter cut.gguf
refuses 2 'this model has no adapters' $llama export --to gguf-adapter --weights out.gguf --out none.gguf

# A folder says the base of rotary positions in another place, and one without head_dim means width / heads.
works $llama export --to gguf --weights again --out folder.gguf
works $llama init --init folder.gguf --out back.safetensors
same back.safetensors now.safetensors
cp -r $gguf/llama bare && sed '/"head_dim"/d' $gguf/llama/config.json >bare/config.json
works $llama export --to gguf --weights bare --out bare.gguf
works $llama init --init bare.gguf --out bare.safetensors
same bare.safetensors folder.safetensors
cp out.gguf run/checkpoints/step-4/beside.gguf
works $llama eval --data text.txt --val-fraction 1 --weights run/checkpoints/step-4/beside.gguf

# Of smaller types the differences are told, and a second time nothing is lost.
for type in f16 bf16 q8_0 q4_0; do
    works $llama export --to gguf --type $type --weights run --out $type.gguf
    cp out $type.told
    works $llama export --to gguf --type $type --weights $type.gguf --out again.gguf
    same $type.gguf again.gguf
    works $llama init --init $type.gguf --out $type.safetensors
done
says 'at most [1-4]\..e-04' f16.told
says 'at most [1-4]\..e-03' bf16.told
says 'at most [34]\..e-03' q8_0.told
says 'at most [67]\..e-02\|at most 1\..e-01' q4_0.told
refuses 2 'out.gguf: error: is the file that the weights are in' $llama export --to gguf --type q8_0 --weights out.gguf --out out.gguf
refuses 2 'run: error: is there and no GGUF file' $llama export --to gguf --weights out.gguf --out run
refuses 2 '--type q4_1: expected f32, f16, bf16, q8_0 or q4_0' $llama export --to gguf --type q4_1 --weights run --out refused.gguf

# What does not fit: another base of rotary positions, another tokenizer, other kinds of files.
refuses 3 'rope_theta' $work/turned/trainer init --init $gguf/llama.gguf --out refused.safetensors
changed() {     # FROM TO: llama.gguf with a text of the same length in its place
    LC_ALL=C sed "s/$1/$2/" $gguf/llama.gguf >changed.gguf
}
head -c 5000 $gguf/llama.gguf >cut.gguf
refuses 3 'cut.gguf: error: expected .* found the file.s end; it is cut off' $llama init --init cut.gguf --out refused.safetensors
head -c 90000 $gguf/llama.gguf >cut.gguf
refuses 3 'cut.gguf: error: tensor .* the file is cut off' $llama init --init cut.gguf --out refused.safetensors
LC_ALL=C sed '0,/llama/s//gamma/' $gguf/llama.gguf >changed.gguf
refuses 3 '"general.architecture": expected llama, qwen2, qwen3, qwen3moe, gemma, gemma2, gemma3, olmo2, phi3, smollm3, gptneox, gpt2, bert or modern-bert, found gamma' $llama init --init changed.gguf --out refused.safetensors
changed smollm smallm
refuses 3 'found model gpt2, pre smallm, which is not read from GGUF yet; --tokenizer FILE' $llama eval --data text.txt --weights changed.gguf
works $llama eval --data text.txt --val-fraction 1 --weights changed.gguf --tokenizer $gguf/llama/tokenizer.json
works $llama train --data text.txt --init changed.gguf --tokenizer $gguf/llama/tokenizer.json --out given --steps 1
grep -q 'the tokenizer differs' err && wrong 'the same tokens pass for others' || ok 'the tokens are the same'
works $llama train --data text.txt --init $gguf/llama.gguf --tokenizer bytes --out bytes --steps 1
says 'the tokenizer differs from that of' err
refuses 3 'expected byte-level BPE that cuts text as one of gpt-2 .* found another' $llama export --to gguf --weights bytes --out refused.gguf
ls refused.gguf* 2>/dev/null && wrong 'a refused export left a file' || ok 'a refused export leaves nothing'
changed 'blk\.1\.ffn_up' 'blk.1.ffn_uq'
refuses 3 'model.layers.1.mlp.up_proj.weight: missing' $llama init --init changed.gguf --out refused.safetensors
says 'blk.1.ffn_uq.weight: not a tensor of this model' err
LC_ALL=C sed 's/tokenizer\.ggml\.add_bos_token\(....\)./tokenizer.ggml.add_eos_token\1\x01/' $gguf/llama.gguf >changed.gguf
refuses 3 'a token at the end of each text is not read here' $llama init --init changed.gguf --out refused.safetensors
LC_ALL=C sed 's/general\.architecture/general_architecture/' $gguf/llama.gguf >changed.gguf
refuses 3 'does not say its "general.architecture"' $llama init --init changed.gguf --out refused.safetensors
changed 'llama\.rope\.dimension_count' 'llama.rope.dimension_couns'
refuses 3 'llama.rope.dimension_couns' $llama init --init changed.gguf --out refused.safetensors
finish
