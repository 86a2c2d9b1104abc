# speech.sh: a model learns to spell recordings of tones, to the same bits for any number of threads and on resuming;
# predict writes the texts, eval their error rates; folders are classes; recordings that cannot be read are told, with
# what to do.
set -eu
. tests/models/common
tiny="--set n_mels=16 --set width=16 --set layers=1 --set batch=8 --set lr=0.01 --set warmup=20 --set freq_mask=2 --set time_mask=4 --set dropout=0.0"
texts="$tiny --set frames=100 --set letters=5 --set steps=400"
must ${CC:-cc} tests/models/draw_sounds.c -o "$TMP/draw" -lm
top=$PWD
cd "$TMP"
mkdir -p tones/words/a tones/words/b tones/words/c && ./draw tones 80

# The size of the alphabet is found in the data.
must "$LATHE" train "$top/models/speech.lua" $texts --data tones/list.csv -o built --out run --threads 1
trainer=built/trainer
grep -q '^note: texts: 3 different characters$' said || tell "the number of characters"
grep -q '^data: recordings of 0.0.* hours, texts of 3 characters$' said || tell "what the data is"
grep -q 'data: 72 recordings to train on, 8 to evaluate; 8 recordings a step' said || tell "the number of recordings"
[ "$(cat run/classes.json)" = '{"format":1,"classes":["","a","b","c"]}' ] || tell "$(cat run/classes.json)"
must "$trainer" train --data tones/list.csv --out other --threads 2 --readers 3
cmp run/model.safetensors other/model.safetensors || tell "other bits with other threads"
must "$trainer" train --data tones/list.csv --out halves --steps 70 --set schedule_steps=400
must "$trainer" train --resume --out halves --steps 400 --readers 2
cmp run/model.safetensors halves/model.safetensors || tell "other bits after resuming"
must "$trainer" train --data tones/list.csv --out few --steps 20
must "$trainer" train --data tones/list.csv --out plain --steps 20 --set freq_mask=0 --set time_mask=0
! cmp -s few/model.safetensors plain/model.safetensors || tell "features in training are not varied"
must "$trainer" train --data tones/list.csv --out moved --steps 20 --set gain=6 --set shift=0.02
must "$trainer" train --data tones/list.csv --out moved-again --steps 20 --set gain=6 --set shift=0.02 --readers 3
cmp moved/model.safetensors moved-again/model.safetensors || tell "other bits of varied recordings with other threads"
mkdir shards && sed 1d tones/list.csv | while IFS=, read -r file text; do
    cp "tones/$file" shards/ && echo "$text" >"shards/${file%.wav}.txt"
done
tar --sort=name -cf shards.tar -C shards .
must "$trainer" train --data shards.tar --out archive --steps 20
cmp few/model.safetensors archive/model.safetensors || tell "other bits from an archive"

# What it spells.
must "$trainer" eval --out run --json
grep -q '"metrics":{"cer":0.0,"wer":0.0}' said || tell "the tones are easy"
must "$trainer" eval --out run
grep -q '^over 8 recordings, chosen by their names$' said && grep -q '^cer 0 | wer 0; over all 8 recordings$' said || tell "what was evaluated"
sed 's/,a\{1,\}$/,é/' tones/list.csv >tones/foreign.csv
n=$(grep -c 'é$' tones/foreign.csv)
must "$trainer" eval --data tones/foreign.csv --val-fraction 1 --weights run
grep -q "note: $n characters in $n of the 80 texts are not among the 3 of training: é; the model cannot write them" said || tell "unknown characters"
grep -q '^cer 0.[0-9]* | wer 0.[0-9]*; over all 80 recordings$' said || tell "they are errors"
must "$trainer" predict --data tones/list.csv --weights run --out p.csv
[ "$(head -n 1 p.csv)" = file,text ] || tell "$(head -n 1 p.csv)"
sed 1d p.csv | sed 's/^tones.//' | diff - tones/list.csv | grep -c '^<' >wrong || :
[ "$(wc -l <p.csv)" = 81 ] && [ "$(cat wrong)" -lt 6 ] || tell "$(cat wrong) of 80 texts are wrong"
must "$trainer" predict --data tones/000.wav --weights run --out p.jsonl
[ "$(cat p.jsonl)" = '{"row":0,"file":"tones/000.wav","text":"'"$(sed -n 's/^000.wav,//p' tones/list.csv)"'"}' ] || tell "$(cat p.jsonl)"
must "$trainer" predict --data tones/000.wav --weights run --only logits --out p.npy
[ "$(head -c 100 p.npy | grep -ac "'shape': (1, 25, 4,)")" = 1 ] || tell "arrays have the scores"

# Classes by folder.
must "$LATHE" train "$top/models/speech.lua" --config classes $tiny --set sample_rate=8000 --set frames=17 --set steps=400 --set shift=0.02 --data tones/words -o named --out words
grep -q '^note: the data has 3 classes, and the description says 2; --set classes=2 keeps that$' said || tell "the classes replaced"
[ "$(cat words/classes.json)" = '{"format":1,"classes":["a","b","c"]}' ] || tell "$(cat words/classes.json)"
must named/trainer eval --out words
grep -q '^accuracy 1 ' said || tell "the words are easy"
must named/trainer predict --data tones/words/b/1.wav --weights words --out w.csv
head -n 1 w.csv | grep -q '^file,class,probability of a,probability of b,probability of c$' && grep -q '^tones/words/b/1.wav,b,' w.csv || tell "$(cat w.csv)"
grep -q 'note: left out of the table: embedding (16 numbers a row); --only NAME' said || tell "what is left out"
must named/trainer predict --data tones/words/b/1.wav --weights words --only embedding,logits --out w.csv
head -n 1 w.csv | grep -q '^file,embedding_0,.*,embedding_15,class,probability of a,' || tell "$(cat w.csv)"

# What is in files.
must "$LATHE" data info tones/list.csv
grep -q '^recordings  80, .* hours, .*, with texts of 3 different characters$' said && grep -q '^rate        8000 to 11025 Hz, median 8000$' said || tell "what there is"
! grep damaged said || tell "all can be read"
must "$LATHE" data info tones/words --json
grep -q '^{"recordings":80,.*"classes":{"a":27,"b":27,"c":26},.*"damaged":0}$' said || tell "as JSON"

# What cannot be.
one() { { echo path,text; echo "${2:-bad.wav},$1"; echo 000.wav,a; echo 001.wav,b; } >tones/one.csv; }
try() { refuse 3 "$1" "$trainer" train --data tones/one.csv --out no --val-fraction 0 --set too_long=refuse; }
one a; try 'tones/bad.wav cannot be read'
head -c 500 tones/000.wav >tones/bad.wav; try 'tones/bad.wav: error: the WAV was cut short: its header promises'
refuse 3 '`lathe data info FOLDER` counts the damaged ones' "$trainer" train --data tones/one.csv --out no
must "$trainer" train --data tones/one.csv --out left --val-fraction 0 --steps 1 --set bad_records=1
grep -q 'bad.wav: the WAV was cut short.*; bad_records leaves it out$' said && grep -q 'note: 1 recording could not be read, the first: tones/bad.wav' said || tell "a damaged one is left out"
must "$LATHE" data info tones/one.csv
grep -q '^damaged     1 cannot be read; the first: tones/bad.wav: the WAV was cut short' said || tell "a damaged one"
: >tones/bad.wav; try 'tones/bad.wav: error: expected a WAV, FLAC, OGG or MP3 recording, found an empty file'
echo '<svg/>' >tones/bad.wav; try 'tones/bad.wav: error: expected a WAV, FLAC, OGG or MP3 recording, found a file that begins with the bytes 3c 73 76 67'
head -c 44 tones/000.wav >tones/bad.wav; printf 'RIFF\044\0\0\0WAVEfmt \020\0\0\0\001\0\001\0\100\037\0\0\200\076\0\0\002\0\020\0data\0\0\0\0' >tones/bad.wav
try 'tones/bad.wav: error: expected samples, found none'
one a list.csv; try 'tones/one.csv:2, column "path": error: expected the path of a .wav, .flac, .ogg, .opus or .mp3, found "list.csv"'
one '' 002.wav; try 'tones/one.csv:2, column "text": error: expected a text, found none'
one abcabc 002.wav; try 'tones/002.wav: error: expected a text of at most 5 characters, found 6; build the model with --set letters=6'
one abcd 002.wav; try 'expected texts of at most 3 different characters (input text is below 4, and 0 is the blank), found 4, such as d; build the model with --set vocab=5'
one "$(printf '\351')" 002.wav; try 'expected a text in UTF-8'
must "$LATHE" build "$top/models/speech.lua" $texts --set vocab=4 --set frames=40 --set too_long=refuse -o short
refuse 3 'expected at most 40 frames (0.4 s), found ' short/trainer train --data tones/list.csv --out no
grep -q 'build the model with --set frames=[0-9]*; this is the longest of [0-9]* that do not fit; or leave them out: --set too_long=drop' said || tell "what to do"
must short/trainer train --data tones/list.csv --out dropped --steps 1 --set too_long=drop
grep -q 'note: [0-9]* of 80 recordings are left out, as too_long=drop says; the longest: ' said || tell "what is left out"
long=$(sed -n 's/.*note: \([0-9]*\) of 80 recordings.*/\1/p' said)
refuse 3 'leave it out (too_long=drop)' short/trainer predict --data tones/list.csv --weights dropped
must short/trainer predict --data tones/list.csv --weights dropped --out d.jsonl --set too_long=drop
grep -q "note: $long of 80 rows have no prediction, because their recordings could not be used" said || tell "$long are too long"
[ "$(grep -c '"error":"expected at most 40 frames' d.jsonl) $(grep -c '"text":' d.jsonl)" = "$long $((80 - long))" ] || tell "$(cat d.jsonl)"
must short/trainer predict --data tones/list.csv --weights dropped --only logits --out d.npy --set too_long=drop
refuse 3 'expected the columns path and text in its first line, found no "text"' "$trainer" train --data "$(sed 's/,text/,words/' tones/list.csv >tones/words.csv; echo tones/words.csv)" --out no
refuse 3 'expected the text of a recording: a CSV with the columns path and text, or in an archive NAME.txt beside NAME.wav' "$trainer" train --data tones/words --out no
refuse 3 'expected at most 2 classes, as input label of the model has, found 3: a, b, c; leave some out, or build the model for 3' \
    "$(must "$LATHE" build "$top/models/speech.lua" --config classes $tiny --set frames=17 -o pair && echo pair/trainer)" train --data tones/words --out no
mkdir mixed && cp tones/00*.wav mixed && echo '<svg/>' >mixed/004.wav && head -c 500 tones/005.wav >mixed/005.wav
refuse 3 'note: q.csv was not written; to go on past up to N such recordings' "$trainer" predict --data mixed --weights run --out q.csv --set bad_records=1
must "$trainer" predict --data mixed --weights run --out q.csv --set bad_records=2
[ "$(grep -c ',$' q.csv)" = 2 ] && grep -q '^mixed/004.wav,$' q.csv || tell "$(cat q.csv)"
refuse 3 'These are recordings: models/speech.lua reads them' "$LATHE" train "$top/models/vit.lua" --set side=16 --set width=16 --set layers=1 --data tones/words --out no
