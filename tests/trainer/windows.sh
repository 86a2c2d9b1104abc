# windows.sh: windows drawn from token shards: the same steps as from the text whose ids they are; what does not fit is told.
. tests/trainer/common
lathe=${LATHE:-$BUILD/lathe}
[ -x "$lathe" ] || { echo "skipped: $lathe is not built"; exit 77; }
train="$toy train --steps 40 --save-every 16 --eval-every 20 --seed 3"
some_text a.txt 60
some_text b.txt 25
works $train --data a.txt b.txt --out text
mkdir shards
for k in a b; do works "$lathe" tokenize encode --tokenizer text --out shards/$k.bin $k.txt; done

works $train --data shards --order windows --tokenizer text --out ids
same text/model.safetensors ids/model.safetensors
sed 's/"tok_s":[^,]*,//; s/,"time":.*//' text/metrics.jsonl >text.lines
sed 's/"tok_s":[^,]*,//; s/,"time":.*//' ids/metrics.jsonl >ids.lines
same text.lines ids.lines
works "$toy" eval --data shards --order windows --out ids --json
says "\"loss\":$(sed -n '/"step":40,"split":"val"/s/.*"loss":\([0-9.]*\),.*/\1/p' ids/metrics.jsonl | cut -c 1-8)" out

# nanoGPT's: ids alone, of 2 bytes
mkdir raw
for k in a b; do tail -c +1025 shards/$k.bin >raw/$k.bin; done
works $train --data raw/a.bin raw/b.bin --set raw_id_size=2 --order windows --tokenizer text --out raw.run
same text/model.safetensors raw.run/model.safetensors

# going on in the middle
cp -r ids/checkpoints/step-16 at-16
works "$toy" train --resume=at-16 --out again
same text/model.safetensors again/model.safetensors

works $train --data a.txt --set documents=blank --out plain
says 'note: documents is not used: windows are drawn from plain text files' err
refuses 3 'raw/a.bin: error: expected a token shard' $train --data raw/a.bin --order windows --out no
gzip -k shards/a.bin
refuses 2 'order=windows reads only plain text files, or token shards that are not compressed' $train --data shards/a.bin.gz --order windows --out no
printf '{"text": "the cat"}\n' >some.jsonl
refuses 2 'order=windows reads only plain text files' $train --data some.jsonl --order windows --out no
refuses 2 'token shards do not say which characters their ids are; give --tokenizer FILE' $train --data raw --set raw_id_size=2 --order windows --out no
head -c 101 raw/a.bin >raw/odd.bin
refuses 3 'raw/odd.bin: error: has 101 bytes, which is no whole number of ids of 2 bytes' $train --data raw/odd.bin --set raw_id_size=2 --order windows --tokenizer text --out no
{ cat raw/a.bin; printf '\377\000'; cat raw/b.bin; } >raw/beyond.bin
beyond=$(($(wc -c <raw/a.bin) / 2))
refuses 3 "raw/beyond.bin: token $beyond: error: expected ids below 24, the size of the vocabulary, found 255" \
    $train --data raw/beyond.bin --set raw_id_size=2 --order windows --tokenizer text --steps 2000 --out beyond
finish
