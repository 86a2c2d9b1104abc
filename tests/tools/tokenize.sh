# tokenize.sh: `lathe tokenize`, and trainers of tokens that it makes: ids as GPT-2 gives them, there and back, what is kept in
# the cache, what goes into checkpoints and folders, and what does not fit is told.
top=$PWD
. tests/trainer/common
lathe=${LATHE:-$BUILD/lathe}
[ -x "$lathe" ] || { echo "skipped: $lathe is not built"; exit 77; }
data=${DATA:-$top/../shared/data}
export LATHE_CACHE=$work/cache

# GPT-2's ids of tinyshakespeare: 338,025, and their checksum.
if [ -e "$data/gpt2-bpe/vocab.bpe" ] && [ -e "$data/tinyshakespeare.txt" ]; then
    works "$lathe" tokenize encode --tokenizer "$data/gpt2-bpe" --out gpt2.bin "$data/tinyshakespeare.txt"
    says '^338,025 tokens of' err
    sum=$(tail -c +1025 gpt2.bin | sha256sum)
    [ "${sum%% *}" = 25c01b32b32f41897a6359dd222ec114992dc30c357bcafbfe6c56672f76cd31 ] && ok 'the ids of GPT-2' || wrong "ids with the checksum $sum"
    works "$lathe" tokenize decode --tokenizer "$data/gpt2-bpe/vocab.bpe" --out back.txt gpt2.bin
    same back.txt "$data/tinyshakespeare.txt"
else
    echo "note: no GPT-2 tokenizer or tinyshakespeare in $data: their ids are not compared"
fi

# Made from text, there and back.
some_text t.txt 400
works "$lathe" tokenize train --size 280 --special '<|end|>' --out tok t.txt
says 'tok/tokenizer.json: BPE of 280 tokens' out
works "$lathe" tokenize encode --tokenizer tok --out t.bin t.txt
works "$lathe" tokenize decode --tokenizer tok/tokenizer.json t.bin
same out t.txt
works "$lathe" tokenize encode --tokenizer tok --json --separator '<|end|>' t.txt t.txt
cp out two.json
head -c 40 two.json >first.json
says '^\[279, ' first.json
works "$lathe" tokenize decode --tokenizer tok two.json
printf '<|end|>' >two.txt; cat t.txt >>two.txt; echo >>two.txt
cat two.txt two.txt >four.txt
same out four.txt
works "$lathe" tokenize train --kind words --out words --lower --punctuation t.txt
works "$lathe" tokenize train --kind chars --out chars t.txt
works "$lathe" tokenize train --kind unigram --size 310 --special '<|end|>' --out uni t.txt
says 'uni/tokenizer.json: Unigram of [23][0-9]* tokens' out
works "$lathe" tokenize encode --tokenizer uni --out u.bin t.txt
works "$lathe" tokenize decode --tokenizer uni u.bin
same out t.txt
works "$lathe" tokenize encode --tokenizer chars --out c.bin t.txt
works "$lathe" tokenize decode --tokenizer chars c.bin
same out t.txt

# Read as training reads: folders, packed, pipes, fields; documents apart; several shards.
mkdir in && cp t.txt in/a.txt && gzip -nk in/a.txt && rm in/a.txt
works "$lathe" tokenize encode --tokenizer tok --out g.bin in
same g.bin t.bin
works "$lathe" tokenize encode --tokenizer tok --out g.bin 'in/*.gz'
same g.bin t.bin
"$lathe" tokenize encode --tokenizer tok --out g.bin - <in/a.txt.gz 2>err && same g.bin t.bin || wrong 'standard input'
printf '{"body": "the cat"}\n{"body": "sat down"}\n' >d.jsonl
works "$lathe" tokenize encode --tokenizer tok --json --text body --eos '<|end|>' d.jsonl
cp out d.json
works "$lathe" tokenize decode --tokenizer tok d.json
printf 'the cat<|end|>\nsat down<|end|>\n' >want
same out want
works "$lathe" tokenize encode --tokenizer tok --out all.bin --split line --eos '<|end|>' t.txt
works "$lathe" tokenize encode --tokenizer tok --out part.bin --split line --eos '<|end|>' --shard-tokens 500 t.txt
says 'tokens of .*, [0-9]* shards' err
for f in part-*.bin; do tail -c +1025 "$f"; done >parts.ids
tail -c +1025 all.bin >all.ids
same parts.ids all.ids
for f in part-*.bin; do tail -c 2 "$f" | od -An -tu2; done | sort -u >ends
says '^ *279$' ends
[ "$(wc -l <ends)" = 1 ] && ok 'shards end with documents' || wrong "shards end with $(cat ends)"
echo '{"source": "the cat", "target": "sat"}' >p.jsonl
refuses 3 'p.jsonl:1: error: has a source and a target' "$lathe" tokenize encode --tokenizer tok --json p.jsonl
refuses 3 'expected text, found' "$lathe" tokenize encode --tokenizer tok --out x.bin t.bin
works "$lathe" tokenize train --size 280 --special '<|end|>' --out tok-packed in
same tok-packed/tokenizer.json tok/tokenizer.json

# The other files that hold the same tokenizer.
mkdir pair
sed -n '/"vocab": {/,/^ *},*$/p' tok/tokenizer.json | sed '1s/.*/{/; s/^ *},*$/}/' >pair/vocab.json
sed -n '/"merges": \[/,/^ *\],*$/p' tok/tokenizer.json | sed -n 's/^ *"\(.*\)",*$/\1/p' >pair/merges.txt
works "$lathe" tokenize encode --tokenizer pair --out pair.bin t.txt
same pair.bin t.bin

# A trainer of these tokens.
small="$top/models/gpt.lua --set layers=1 --set heads=2 --set width=16 --set seq=12 --set batch=2 --set gelu=tanh"
works "$lathe" build $small --set vocab=320 -o gpt
gpt=$work/gpt/trainer
works $gpt train --tokenizer tok --data t.txt --steps 6 --out run --seed 3 --save-every 3
head -c -1 tok/tokenizer.json >want.json
same run/tokenizer.json want.json
ls cache/tokens-*.bin >kept && [ "$(wc -l <kept)" = 1 ] && ok 'the tokens are kept' || wrong "kept: $(cat kept)"
kept=$(cat kept)
works $gpt eval --data t.txt --out run --json
cp out first
head -c 2000 "$kept" >cut && mv cut "$kept"             # cut off: encoded again
works $gpt eval --data t.txt --out run --json
same out first
(LATHE_CACHE=off && export LATHE_CACHE && works $gpt eval --data t.txt --out run --json && same out first)
works $gpt generate --out run --prompt 'the cat' --tokens 30 --seed 1
says '^the cat' out
works $gpt generate --out run --prompt 'the cat' --tokens 30 --seed 1 --json
works $gpt train --resume --out run --steps 9
grep -q 'the tokenizer is not' err && wrong 'a tokenizer of its own is another' || ok 'the tokenizer is the same'
works $gpt train --tokenizer tok --data t.txt --steps 9 --out whole --seed 3 --save-every 3
same run/model.safetensors whole/model.safetensors
works $gpt train --tokenizer words --data t.txt --steps 3 --out run-words
works $gpt generate --out run-words --prompt 'The cat, sat' --tokens 5
says '^the cat <unk> sat ' out

# The description names it, from its own folder on; the command line wins.
mkdir named && cp "$top/models/gpt.lua" named && cp -r tok named
small="${small#*.lua} --set vocab=320"
works "$lathe" build named/gpt.lua $small --set tokenizer=tok -o of-file
works of-file/trainer train --data t.txt --steps 6 --out run-named --seed 3 --save-every 3
same run-named/tokenizer.json want.json
says '"tokenizer": ".*named/tok"' run-named/checkpoints/latest/state.json
works of-file/trainer generate --out run-named --prompt 'the cat' --tokens 5
works of-file/trainer train --data t.txt --steps 2 --out run-bytes --tokenizer bytes
says '"type": "bytes"' run-bytes/tokenizer.json
works of-file/trainer train --data t.txt --steps 2 --out run-other --tokenizer words
refuses 1 'gpt.lua:[0-9]*: error: the tokenizer must be .*found .tokk.; there is no named/tokk' "$lathe" check named/gpt.lua $small --set tokenizer=tokk
refuses 1 'did you mean .bytes.' "$lathe" check named/gpt.lua $small --set tokenizer=byts
rm -r named/tok
refuses 3 'gpt.lua:[0-9]*: error: the tokenizer .*named/tok no longer exists; add --tokenizer FILE' of-file/trainer train --data t.txt --steps 2 --out x
works of-file/trainer train --resume --out run-named --steps 8

works $gpt train --tokenizer uni --data t.txt --steps 3 --out run-uni
works $gpt generate --out run-uni --prompt 'the cat' --tokens 5
says '^the cat' out
head -c -1 uni/tokenizer.json >want.json
same run-uni/tokenizer.json want.json
works "$lathe" data info t.txt --tokenizer uni
says 'unknown     0 ' out

works $gpt train --resume --out run-words --tokenizer tok --steps 4
says 'the tokenizer is not the one that the checkpoint was trained with' err

# A folder of Hugging Face's takes it along.
works $gpt export --to hf --weights run --out folder
says '"vocab_size": 320' folder/config.json
says '"<|end|>"' folder/tokenizer.json
works $gpt train --init folder --data t.txt --steps 2 --out again
same again/tokenizer.json run/tokenizer.json
rm folder/tokenizer.json
cp pair/vocab.json pair/merges.txt folder
works $gpt eval --weights folder --data t.txt

# What does not fit.
works "$lathe" build "$top/models/gpt.lua" ${small% --set vocab=*} --set vocab=270 -o narrow
refuses 3 'tok/tokenizer.json: error: the tokenizer has BPE of 280 tokens, the model a vocabulary of 270' narrow/trainer train --tokenizer tok --data t.txt --out x
refuses 2 'tokenizer=tokk: expected bytes, chars, or a file or folder of one' $gpt train --tokenizer tokk --data t.txt --out x
refuses 2 'the description says that the tokenizer is a file: add --tokenizer FILE' $gpt train --tokenizer file --data t.txt --out x
mkdir empty
refuses 3 'empty: error: expected a tokenizer in this folder' "$lathe" tokenize encode --tokenizer empty --out x.bin t.txt
mkdir bad
sed 's/"c a"/"c zz"/' tok/tokenizer.json >bad/tokenizer.json
cmp -s bad/tokenizer.json tok/tokenizer.json && sed -i '0,/"\(.\) \(.\)"/s//"\1 zz"/' bad/tokenizer.json
refuses 3 'bad/tokenizer.json: merges\[[0-9]*\]: error: a merge of "zz", which is not in the vocabulary' "$lathe" tokenize encode --tokenizer bad --out x.bin t.txt
echo '{"model": {"type": "Lattice", "vocab": {"a": 0}}}' >bad/tokenizer.json
refuses 3 'expected bytes, characters, words, a byte-level BPE, WordPiece or a Unigram, found Lattice of 1 tokens' "$lathe" tokenize encode --tokenizer bad --out x.bin t.txt
sed 's/"normalizer": null/"normalizer": {"type": "Nmt"}/' tok/tokenizer.json >bad/tokenizer.json
refuses 3 'found a tokenizer with the normalizer Nmt' "$lathe" tokenize encode --tokenizer bad --out x.bin t.txt
echo '{"normalizer": {"type": "Nmt"}, "model": {"type": "Unigram", "vocab": [["a", 0.5]]}}' >bad/tokenizer.json
refuses 3 'found a tokenizer with the normalizer Nmt' "$lathe" tokenize encode --tokenizer bad --out x.bin t.txt
echo '{"model": {"type": "Unigram", "vocab": [["t", -1], ["h"]]}}' >bad/tokenizer.json
refuses 3 '"vocab"\[1\]: expected \[token, log probability\]' "$lathe" tokenize encode --tokenizer bad --out x.bin t.txt
echo '{"model": {"type": "Unigram", "vocab": [["t", -1]]}}' >bad/tokenizer.json
refuses 3 't.txt: error: has .*for which the tokenizer bad/tokenizer.json has no token, nor one for the unknown' "$lathe" tokenize encode --tokenizer bad --out x.bin t.txt
sed 's/: 279/: 278/' tok/tokenizer.json >bad/tokenizer.json
refuses 3 'are both token 278' "$lathe" tokenize encode --tokenizer bad --out x.bin t.txt
echo 'a b c' >>pair/merges.txt
refuses 3 'pair/merges.txt:[0-9]*: error: expected two tokens with a space between them, found "a b c"' "$lathe" tokenize encode --tokenizer pair --out x.bin t.txt
rm pair/merges.txt
refuses 3 'pair/vocab.json: error: is a vocabulary, whose merges are missing: expected merges.txt beside it' "$lathe" tokenize encode --tokenizer pair/vocab.json --out x.bin t.txt
printf 'YQ== 0\nYg== 2\n' >bad/r.tiktoken
refuses 3 'r.tiktoken:2: error: expected rank 1, since ranks follow each other, found rank 2' "$lathe" tokenize encode --tokenizer bad/r.tiktoken --out x.bin t.txt
refuses 3 'error: expected a token in base 64' "$lathe" tokenize encode --tokenizer t.txt --out x.bin t.txt
echo '[1, 400]' >high.json
refuses 3 'high.json:1: token 1: error: is id 400, and' "$lathe" tokenize decode --tokenizer tok high.json
refuses 2 'tokenize train has no option --sise; did you mean --size' "$lathe" tokenize train --sise 3 --out x t.txt
refuses 2 '--size 20: a BPE has 257 to' "$lathe" tokenize train --size 20 --out x t.txt
refuses 2 '--size 20: a unigram model has 300 to' "$lathe" tokenize train --kind unigram --size 20 --out x t.txt
refuses 2 'tokenize encode needs --out FILE' "$lathe" tokenize encode --tokenizer tok t.txt
refuses 2 'tokenize: expected train, encode or decode, found trian' "$lathe" tokenize trian
refuses 2 '--pattern (: expected gpt2, gpt4, .* missing closing parenthesis' "$lathe" tokenize train --pattern '(' --out x t.txt
refuses 3 'missing.txt: error: expected a file, but there is none of that name' "$lathe" tokenize encode --tokenizer tok --out x.bin missing.txt
[ ! -e x.bin ] && ok 'nothing is left behind' || wrong 'x.bin is there'
printf '[PAD]\n[UNK]\n[CLS]\n[SEP]\nto \n\n' >bad/some-vocab.txt
works "$lathe" tokenize encode --tokenizer bad/some-vocab.txt --json t.txt
says 'some-vocab.txt:6: the last line is blank and counts as a piece' err
echo >>bad/some-vocab.txt
refuses 3 'some-vocab.txt:7: error: expected a piece, found a blank line, as an earlier one is, at the end of the file' "$lathe" tokenize encode --tokenizer bad/some-vocab.txt --json t.txt
works "$lathe" tokenize encode --help
says '--tokenizer FILE|DIR' out
finish
