# gguf_encoders.sh: GGUF files of encoders that llama.cpp's converter made (tests/reference/gguf_encoders.py) give the parameters, ids and
# results of their folders and go out again; what llama.cpp has no place for, and files that are damaged, are told.
top=$PWD
. tests/trainer/common
lathe=${LATHE:-$BUILD/lathe}
[ -x "$lathe" ] || { echo "skipped: $lathe is not built"; exit 77; }
reference=$top/tests/reference/gguf_encoders

# near OUT.jsonl KNOWN.jsonl FAR: each number of a vector, or probability, within that part of the largest in its row
near() {
    sed 's/.*\[\([^]]*\)\].*/\1/; s/.*"probabilities":{\([^}]*\)}.*/\1/; s/"[^"]*": *//g' "$1" >own.rows
    sed 's/.*"result": \[\([^]]*\)\].*/\1/' "$2" >known.rows
    paste -d '|' own.rows known.rows | awk -F '|' -v most_far=$3 '{ n = split($1, a, /, */); if (n != split($2, b, /, */)) exit 1; most = far = 0
        for (i = 1; i <= n; i++) { d = a[i] - b[i]; if (d < 0) d = -d; if (d > far) far = d; x = b[i] < 0 ? -b[i] : b[i]; if (x > most) most = x }
        if (far > most_far * most) exit 1 } END { if (NR < 20) exit 1 }' && ok "$1 is as $2 says" || wrong "$1 is not as $2 says"
}

# Parameters to the bit; ids and results as llama.cpp's (of classes, as transformers'); out, in, and out again to the same bytes.
for kind in bert roberta modernbert; do
    file=$reference/$kind.gguf trainer=$kind/built/trainer
    works "$lathe" new $kind --from $file
    works "$lathe" build $kind/model.lua -o $kind/built
    works $trainer init --init $reference/$kind --out known.safetensors
    works $trainer init --init $file --out $kind.safetensors
    same $kind.safetensors known.safetensors
    works "$lathe" tokenize encode --tokenizer $file --json --format jsonl $reference/$kind.jsonl
    tr -d ' ' <out >own.ids; sed 's/.*"ids": \(\[[^]]*\]\).*/\1/; s/ //g' $reference/$kind.jsonl >known.ids
    same own.ids known.ids
    only=logits far=1e-5
    [ $kind = bert ] && only=embedding far=1e-3
    works $trainer predict --weights $file --data $reference/$kind.jsonl --only $only --out $kind.jsonl
    near $kind.jsonl $reference/$kind.jsonl $far
    works $trainer export --to gguf --weights $file --out own.gguf
    works $trainer init --init own.gguf --out back.safetensors
    same back.safetensors known.safetensors
    works $trainer predict --weights own.gguf --data $reference/$kind.jsonl --only $only --out again.jsonl
    same again.jsonl $kind.jsonl
    works $trainer export --to hf --weights own.gguf --out $kind-out
    works $trainer export --to gguf --weights $kind-out --out again.gguf
    same own.gguf again.gguf
    works "$lathe" new $kind-again --from own.gguf
    same $kind-again/model.lua $kind/model.lua
    for type in f16 q8_0; do
        works $trainer export --to gguf --type $type --weights $file --out $type.gguf
        works $trainer export --to gguf --type $type --weights $type.gguf --out again.gguf
        same $type.gguf again.gguf
    done
done
works "$lathe" new bert-folder --from $reference/bert
grep -v pooler bert-folder/model.lua >folder.lua; grep -v pooler bert/model.lua >file.lua
same folder.lua file.lua
says '^c.vector = "mean"$' bert/model.lua
says '^c.pooling = "cls"$' modernbert/model.lua
says '^c.activation = "silu"$' modernbert/model.lua
says '^c.context = 34$' roberta/model.lua
works modernbert/built/trainer predict --weights $reference/modernbert.gguf --data $reference/modernbert.jsonl --out named.csv
says 'probability of second' named.csv

# The first token's vector instead of the mean is another model.
works "$lathe" build bert/model.lua --set vector=cls -o bert/first
refuses 3 'bert.pooling_type: expected cls, found 1 (mean)' bert/first/trainer init --init $reference/bert.gguf --out no.safetensors
works bert/first/trainer export --to gguf --weights $reference/bert --out first.gguf
works "$lathe" new first --from first.gguf
says '^c.vector = "cls"$' first/model.lua
cp -r $reference/bert first-folder
sed -i 's/"pooling_mode_cls_token": false/"pooling_mode_cls_token": true/; s/"pooling_mode_mean_tokens": true/"pooling_mode_mean_tokens": false/' first-folder/1_Pooling/config.json
works "$lathe" new first-again --from first-folder
says '^c.vector = "cls"$' first-again/model.lua
sed -i 's/"pooling_mode_cls_token": true/"pooling_mode_max_tokens": true/' first-folder/1_Pooling/config.json
refuses 3 '1_Pooling/config.json: error: expected a vector of all tokens (mean) or of the first (cls)' "$lathe" new no --from first-folder

# Trained from a file, with vectors and with classes whose names go along; BERT's layer on the first token, too.
awk 'BEGIN { split("good bad odd", c, " "); for (i = 0; i < 64; i++) printf "{\"text\": \"a %s line of %d\", \"second\": \"%s\", \"label\": \"%s\"}\n", c[i % 3 + 1], i, c[i % 3 + 1], c[i % 3 + 1] }' >rows.jsonl
works bert/built/trainer train --init $reference/bert.gguf --data rows.jsonl --out vectors --steps 2
works bert/built/trainer export --to gguf --weights vectors --out vectors.gguf
works bert/built/trainer predict --weights vectors --data rows.jsonl --only embedding --out a.jsonl
works bert/built/trainer predict --weights vectors.gguf --data rows.jsonl --only embedding --out b.jsonl
same a.jsonl b.jsonl
works "$lathe" new classes --from $reference/bert --head classes
works "$lathe" train classes/model.lua -o classes/built --init $reference/bert --data rows.jsonl --out scores --steps 2
works classes/built/trainer export --to gguf --weights scores --out scores.gguf
works "$lathe" new scores-again --from scores.gguf
says '^c.classes = 3$' scores-again/model.lua
works classes/built/trainer predict --weights scores --data rows.jsonl --keep text --out a.csv
works classes/built/trainer predict --weights scores.gguf --data rows.jsonl --keep text --out b.csv
same a.csv b.csv
says 'probability of good' b.csv

# What llama.cpp has no place for, or computes otherwise.
words() { sed 's/"text": "\([^ ]*\) \([^ ]*\) [^"]*"/"text": ["\1", "\2"]/; s/"label": \("[a-z]*"\)/"label": ["a", \1]/' rows.jsonl; }
works "$lathe" new tokens --from $reference/bert --head tokens
words | sed 's/"text"/"tokens"/; s/"label"/"labels"/' >words.jsonl
works "$lathe" train tokens/model.lua -o tokens/built --init $reference/bert --data words.jsonl --out tokens-run --steps 1
refuses 3 'knows no head as that of BertForTokenClassification: only vectors of texts .* --to onnx' tokens/built/trainer export --to gguf --weights tokens-run --out no.gguf
trained() {     # NAME OPTION…: of classes, with another option
    name=$1; shift
    works "$lathe" train classes/model.lua -o $name/built --set layers=1 --set width=12 --set hidden=8 --set heads=1 "$@" --tokenizer $reference/bert --data rows.jsonl --out $name-run --steps 1
}
trained relu --set activation=relu
refuses 3 "computes gelu in a model of the architecture bert, and this one's activation is relu" relu/built/trainer export --to gguf --weights relu-run --out no.gguf
trained pairs --set pair=true --set second=second
refuses 3 'gives all tokens the type of a first text' pairs/built/trainer export --to gguf --weights pairs-run --out no.gguf
trained biases --set kind=modernbert --set norm_bias=true
refuses 3 'has no biases in a model of the architecture modern-bert, and this one has some (norm_bias)' biases/built/trainer export --to gguf --weights biases-run --out no.gguf
trained pieces --set kind=roberta
refuses 3 "models that are roberta have byte-level BPE that cuts text as GPT-2's, and this one has another tokenizer" pieces/built/trainer export --to gguf --weights pieces-run --out no.gguf
cp -r bert-out odd
edited() { tr -d '\n' <bert-out/tokenizer.json | sed "$1" >odd/tokenizer.json; }
edited 's/"handle_chinese_chars": *true/"handle_chinese_chars":false/'
refuses 3 'with clean_text and handle_chinese_chars, and this tokenizer does not' bert/built/trainer export --to gguf --weights odd --out no.gguf
edited 's/"##e":/"##":/'
refuses 3 'no place for the piece ## of this tokenizer' bert/built/trainer export --to gguf --weights odd --out no.gguf
edited 's/"post_processor": *{.*}, *"decoder"/"post_processor":null,"decoder"/'
refuses 3 'between two tokens, such as \[CLS\] and \[SEP\], and this tokenizer does not' bert/built/trainer export --to gguf --weights odd --out no.gguf
works "$lathe" build bert/model.lua --lora rank=2 -o low
works low/trainer train --init $reference/bert.gguf --data rows.jsonl --out low-run --steps 1
refuses 3 'adapters of encoders are not kept in GGUF yet' low/trainer export --to gguf-adapter --weights low-run --out no.gguf
works low/trainer export --to gguf --weights low-run --out merged.gguf

# Damaged files, and those of other programs: each byte that is changed has its message.
changed() { LC_ALL=C sed "s/$2/$3/" $reference/$1.gguf >changed.gguf; }
damaged() { refuses 3 "$1" "$lathe" new no --from changed.gguf; }
changed bert '\(bert.pooling_type....\)\x01' '\1\x4d'
damaged '"bert.pooling_type": expected 0 (none), 1 (mean), 2 (cls), 3 (last) or 4 (rank), found 77'
changed bert '\(bert.pooling_type....\)\x01' '\1\x03'
damaged 'found 3, of the last, which models/bert.lua does not compute'
changed bert '\(bert.attention.causal....\)\x00' '\1\x01'
damaged '"bert.attention.causal": expected false, as of an encoder, found true'
changed bert bert.attention.causal bert.attention.casual
damaged 'found none, which means true'
changed bert 'tokenizer.ggml.model\(............\)bert' 'tokenizer.ggml.model\1bart'
damaged '"tokenizer.ggml.model": expected bert or gpt2 in a file of the architecture bert, found bart'
changed bert 'tokenizer.ggml.token_type_count' 'tokenizer.ggml.token_type_coins'
damaged '"tokenizer.ggml.token_type_count": expected a whole number, found none'
changed modernbert 'modern-bert.classifier.pooling_type\(....\)\x02' 'modern-bert.classifier.pooling_type\1\x09'
damaged '"modern-bert.classifier.pooling_type": expected .* found 9'
changed modernbert 'first' 'fir\xfft'
damaged 'UTF-8'
changed modernbert '\x04\x00\x00\x00\x00\x00\x00\x00silu' '\x04\x00\x00\x00\x00\x00\x00\x00mish'
damaged '"modern-bert.hidden_activation": expected gelu or silu, found "mish"'
spoiled() { refuses 3 "$1" "$lathe" tokenize encode --tokenizer changed.gguf --json $top/README.md; }
changed bert '\(tokenizer.ggml.bos_token_id....\)..' '\1\xff\x0f'
spoiled '"tokenizer.ggml.bos_token_id": expected the id of \[CLS\], below the .* tokens, found 4095'
changed bert 'tokenizer.ggml.seperator_token_id\(....\)..' 'tokenizer.ggml.separator_token_id\1\xff\x0f'
works "$lathe" tokenize encode --tokenizer changed.gguf --json $top/README.md     # the usual id, which it has
changed roberta 'tokenizer.ggml.eos_token_id' 'tokenizer.ggml.eon_token_id'
spoiled '"tokenizer.ggml.eos_token_id": expected the id of \[SEP\], below the .* tokens, found none'
changed roberta '\(tokenizer.ggml.add_eos_token....\)\x01' '\1\x00'
spoiled '"tokenizer.ggml.add_eos_token": expected true: a text of an encoder stands between two tokens'
changed bert 'normalizer.lowercase\x07\x00\x00\x00\x01' 'normalizer.lowercase\x00\x00\x00\x00\x01'
spoiled '"tokenizer.ggml.normalizer.lowercase": expected true or false'
changed bert 'token_embd_norm.bias' 'token_embd_norm.bios'
refuses 3 'token_embd_norm.bios\|embeddings.LayerNorm.bias: missing' bert/built/trainer init --init changed.gguf --out no.safetensors
changed roberta '\(bert.context_length....\)\x20' '\1\x21'
refuses 3 'max_position_embeddings: expected 34, found 35' roberta/built/trainer init --init changed.gguf --out no.safetensors
finish
