# bad_text.sh: every way in which a text can be wrong: the file, the place, what was expected, exit code 3.
. tests/trainer/common
train="$toy train --out run"

refuses 3 'missing.txt: error: expected a text file, but it cannot be read: no such file' $train --data missing.txt
: >empty.txt
refuses 3 'empty.txt: error: expected text, found an empty file' $train --data empty.txt
mkdir folder
refuses 3 'folder: error: expected files to read, found none' $train --data folder
printf 'cat sat' >short.txt
refuses 3 'short.txt: error: expected at least 9 tokens to train on (a sequence of 8 and the token after it), found 6' $train --data short.txt
refuses 3 'found 7;' $train --data short.txt --val-fraction 0
if [ "$(id -u)" != 0 ]; then
    some_text secret.txt 9
    chmod 0 secret.txt
    refuses 3 'secret.txt: error: .*permission denied' $train --data secret.txt
fi

printf 'abcdef\nghijkl\nmnopqr\nstuvwxyz12345\n' >many.txt
refuses 3 "many.txt:4: error: 'x' (U+0078) is the first character beyond the model's vocabulary of 24: the text has 32 distinct" \
    $train --data many.txt
says 'rebuild with --set vocab=32' err
printf 'caf\303\251 \342\202\254\nand \377 then\n' >broken.txt
refuses 3 'broken.txt:2: error: expected UTF-8, found byte 0xff at offset 14' $train --data broken.txt
says 'use --tokenizer bytes' err
printf 'the cat\nsat\303' >cut.txt
refuses 3 'cut.txt:2: error: expected UTF-8, found byte 0xc3' $train --data cut.txt
for bytes in '\300\200' '\340\200\200' '\355\240\200' '\364\220\200\200' '\370\210\200\200\200' '\200'; do
    printf "ab $bytes" >form.txt
    refuses 3 'form.txt:1: error: expected UTF-8' $train --data form.txt
done
some_text t.txt 60
refuses 3 "t.txt:1: error: byte 0x74 is token 116, beyond the model's vocabulary of 24" $train --data t.txt --tokenizer bytes
refuses 3 'missing.txt: error:' $train --data t.txt missing.txt

# An evaluation of a text with other characters, or too little of it.
works $train --data t.txt
printf 'the cat sat on a zebra and then ran off\n' >zebra.txt
refuses 3 "zebra.txt:1: error: 'z' (U+007A) is not one of the 14 characters that the model was trained with" \
    "$toy" eval --out run --data zebra.txt --val-fraction 1
refuses 3 'expected at least 9 tokens (a sequence of 8 and the token after it) to evaluate, found 4' \
    "$toy" eval --out run --data short.txt --val-fraction 0.5
refuses 3 'prompt: error: .z. (U+007A) is not one of the 14 characters' "$toy" generate --out run --prompt 'a zebra'
mkdir plain     # parameters alone, without a checkpoint's checksums
cp run/model.safetensors plain
plain="$toy generate --weights plain/model.safetensors"
refuses 3 'plain/tokenizer.json: error: expected the characters that the model was trained with' $plain
works $plain --data t.txt
echo '{"type": "chars", "characters": ["a", "bc"]}' >plain/tokenizer.json
refuses 3 '"characters"\[1\]: expected a string of one character' $plain
echo '{"type": "chars", ' >plain/tokenizer.json
refuses 3 'plain/tokenizer.json:.*not JSON' $plain
finish
