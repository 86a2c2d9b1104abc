# pictures.sh: a model is trained on pictures from folders, archives and lists to the same bits, for any number of threads
# and on resuming; classes keep their names and meaning; pictures and archives that cannot be read are told, with what to
# do.
set -eu
. tests/models/common
must "$LATHE" build tests/models/snapshots.lua -o "$TMP/built"
must "$LATHE" build tests/models/snapshots.lua --set classes=5 -o "$TMP/five"
must "$LATHE" build tests/models/snapshots.lua --set classes=2 --set channels=1 --set resize=14 -o "$TMP/two"
refuse 1 'data.images needs two inputs, the picture and its class' "$LATHE" check tests/models/snapshots.lua --set channels=2
must ${CC:-cc} tests/models/draw_pictures.c -o "$TMP/draw" -ljpeg -lpng
trainer="$TMP/built/trainer" two="$TMP/two/trainer"
top=$PWD
cd "$TMP"
./draw colours 20
ls colours/*/* | sed 's/^colours\///' >names

# Folders, with a file that is none; an archive; two archives; a list.
must "$trainer" train --data colours --out run --threads 1
grep -q '^data: pictures of 3 classes: deep blue 20, green 20, red 20$' said || tell "the classes"
grep -q 'data: 45 pictures to train on, 15 to evaluate; 8 pictures a step' said || tell "the number of pictures"
[ "$(cat run/classes.json)" = '{"format":1,"classes":["deep blue","green","red"]}' ] || tell "$(cat run/classes.json)"
cp -r colours more && echo text >more/red/notes.txt
must "$trainer" train --data more --out other --threads 2 --readers 3
grep -q 'note: 1 file that is no .jpg, .jpeg or .png is not read, such as more/red/notes.txt' said || tell "the text"
cmp run/model.safetensors other/model.safetensors || tell "other bits with other threads"
tar -cf all.tar -C colours .
tar --format=pax -cf red.tar -C colours red && tar -cf rest.tar -C colours green 'deep blue'
must "$trainer" train --data all.tar --out archive
cmp run/model.safetensors archive/model.safetensors || tell "other bits from an archive"
must "$trainer" train --data red.tar rest.tar --out archives
cmp run/model.safetensors archives/model.safetensors || tell "other bits from two archives"
{ echo 'label,path'; sed 's/^\([^/]*\).*/\1,&/' names; } >colours/list.csv
must "$trainer" train --data colours/list.csv --out list
cmp run/model.safetensors list/model.safetensors || tell "other bits from a list"
must "$trainer" train --data colours --out halves --steps 20 --set schedule_steps=60
must "$trainer" train --resume --out halves --steps 60 --readers 2
cmp run/model.safetensors halves/model.safetensors || tell "other bits after resuming"
must "$trainer" train --data colours --out plain --set flip=0 --set crop=centre
! cmp -s run/model.safetensors plain/model.safetensors || tell "pictures in training are not varied"

for readers in 1 100000; do
    must "$trainer" train --data colours --out zoomed-$readers --readers $readers --steps 20 --set crop=zoom --set jitter=0.3 --set cutout=4
done
cmp zoomed-1/model.safetensors zoomed-100000/model.safetensors || tell "other bits of varied pictures with other threads"

# Mixed in pairs: the same bits for any threads and on resuming; evaluation mixes nothing.
must "$trainer" train --data colours --out mixed-run --set mixup=0.4 --set cutmix=1 --threads 1
! cmp -s run/model.safetensors mixed-run/model.safetensors || tell "pictures are not mixed"
must "$trainer" train --data colours --out mixed-halves --set mixup=0.4 --set cutmix=1 --steps 20 --set schedule_steps=60 --readers 3
must "$trainer" train --resume --out mixed-halves --steps 60 --readers 2
cmp mixed-run/model.safetensors mixed-halves/model.safetensors || tell "other bits of mixed pictures after resuming"
must "$trainer" eval --data colours --weights run --json --set mixup=0.4
mv said mixed-eval
must "$trainer" eval --data colours --weights run --json --set mixup=0
cmp mixed-eval said || tell "evaluation mixes"

must "$trainer" eval --out run --json
grep -q '"accuracy":1.0' said || tell "the classes are easy"
must "$trainer" eval --out run
grep -q '^over 15 pictures, chosen by their names$' said && grep -q '; over all 15 pictures$' said || tell "what was evaluated"
must "$trainer" eval --data colours --val-fraction 1 --out run
grep -q '^over all 60 pictures$' said || tell "what was evaluated"
must "$trainer" predict --data colours --weights run --out p.csv
head -n 1 p.csv | grep -q '^file,class,probability of deep blue,probability of green,probability of red$' || tell "$(head -n 1 p.csv)"
awk -F , 'NR > 1 && !index($1, "/" $2 "/") { print; exit 1 }' p.csv >said || tell "a wrong class"
[ "$(wc -l <p.csv)" = 61 ] || tell "a line a picture, and the names"
cp colours/red/01.png new.png
must "$trainer" predict --data new.png colours/green/00.jpg --weights run --out p.jsonl
[ "$(sed 's/,"probabilities.*//' p.jsonl | tr '\n' ' ')" = \
    '{"row":0,"file":"new.png","class":"red" {"row":1,"file":"colours/green/00.jpg","class":"green" ' ] || tell "$(cat p.jsonl)"
grep -q '"class":"red","probabilities":{"deep blue":[^,]*,"green":[^,]*,"red":0.[0-9]*}}$' p.jsonl || tell "$(cat p.jsonl)"

# What is in files.
must "$LATHE" data info colours
grep -q '^pictures    60, .* KB, of 3 classes: deep blue 20, green 20, red 20$' said || tell "the classes"
! grep damaged said || tell "all can be read"
head -c 150 colours/red/01.png >other-01.png
mkdir cut && cp -r colours/red colours/green "colours/deep blue" cut && cp other-01.png cut/red/01.png
refuse 3 '; `lathe data info FOLDER` counts the damaged ones' "$trainer" eval --data cut --weights run --set val_fraction=1
must "$LATHE" data info new.png other-01.png
grep -q '^pictures    2, .*, without classes: they are in no folder$' said && grep -q '^damaged     1 cannot be read; the first: other-01.png: the PNG was cut short' said || tell "a damaged one"
must "$LATHE" data info all.tar --json
grep -q '^{"pictures":60,"file_bytes":[0-9]*,"classes":{"deep blue":20,"green":20,"red":20},"width":{"min":[0-9]*,"median":[0-9]*,"max":[0-9]*},"height":{.*},"damaged":0}$' said || tell "as JSON"

# WebDataset: NAME.cls beside NAME.jpg; numbers are ids.  Other colours of one folder are evaluated as their classes.
mkdir web && i=0
ls colours/red/* colours/green/* | while read -r file; do
    i=$((i + 1)); name=$(printf 'web/%04d' $i)
    cp "$file" "$name.${file##*.}"
    case $file in */red/*) echo 1 ;; *) printf 0 ;; esac >"$name.cls"
    echo '{}' >"$name.json"
done
(cd web && tar --sort=name -cf ../web.tar *)
must "$two" train --data web.tar --val-data web.tar --out web
[ "$(cat web/classes.json)" = '{"format":1,"classes":["0","1"]}' ] || tell "$(cat web/classes.json)"

# A model of more classes than the data has.
must "$TMP/five/trainer" train --data colours --steps 1 --out five-run --init run/checkpoints/latest/model.safetensors --init-except head
grep -q 'note: the data has 3 classes, and the model has 5 (input label is below that), so the last 2 never occur' said || tell "classes that never occur are not told"

# What cannot be.
mkdir -p bad/red empty
refuse 3 'colours: error: expected at most 2 classes, as input label of the model has, found 3: deep blue, green, red; leave some out, or build the model for 3' "$two" train --data colours --out no
cp -r colours/red bad/teal
refuse 3 'expected one of the 3 classes of training (deep blue, green, red), found "teal"' "$trainer" eval --data bad --weights run
rm -r bad/teal
mkdir split && cp -r colours split/train && mkdir split/val && cp -r colours/red split/val
refuse 3 'split: error: expected a folder for each class, with pictures in it, found train, val, whose pictures lie in folders below, such as deep blue; if those are the classes, give split/train' \
    "$LATHE" train "$top/models/vit.lua" --config pictures --data split --out no
cp new.png split/cover.png # a picture beside them hides nothing
refuse 3 'found train, val, whose pictures lie in folders below' "$trainer" train --data split --out no
mv split/cover.png split/train
refuse 3 'found train, val, whose pictures lie in folders below' "$trainer" train --data split --out no
mv split/train/cover.png split/cover.png # also the first of an archive
(cd split && tar -cf ../split.tar cover.png train val)
rm split/cover.png
refuse 3 'split.tar: error: expected a folder for each class, found the folder train with folders in it (train/' "$trainer" train --data split.tar --out no
mkdir zip && mv split/train zip/pets
refuse 3 'found pets, whose pictures lie in folders below, such as deep blue; if those are the classes, give zip/pets' "$trainer" train --data zip --out no
cp -r zip/pets/red more/deep && mkdir days && mv more/deep days/red && mkdir days/red/monday days/green
mv days/red/*.* days/red/monday && cp -r colours/green days/green/friday
must "$trainer" train --data days --out days-run --steps 1
grep -q 'note: days: the classes are green, red, whose pictures lie in folders of theirs, such as friday' said || tell "folders in classes"
refuse 3 'empty: error: expected pictures (.jpg, .jpeg, .png), found none' "$trainer" train --data empty --out no
cp new.png colours && refuse 3 'colours/new.png: error: expected the class of a picture' "$trainer" train --data colours --out no
rm colours/new.png
tar -cf stray.tar new.png -C colours red green
refuse 3 'stray.tar: member new.png: error: expected the class of a picture' "$trainer" train --data stray.tar --out no
refuse 3 'new.png: error: expected the class of a picture' "$trainer" train --data new.png --out no
refuse 3 'p.csv: error: expected the columns path and label in its first line, found no "path"' "$trainer" train --data p.csv --out no
refuse 3 'its name has none of these endings' "$trainer" train --data p.jsonl --out no
head -c 300 colours/red/00.jpg >bad/red/00.jpg
refuse 3 'bad/red/00.jpg: error: the JPEG was cut short; get it again, or leave it out' "$trainer" predict --data bad --weights run
mkdir mixed && cp colours/green/* mixed && cp bad/red/00.jpg mixed/06.jpg && echo '<svg/>' >mixed/12.png
for end in csv jsonl safetensors; do
    refuse 3 "note: q.$end was not written; to go on past up to N such pictures" "$trainer" predict --data mixed --weights run --out q.$end --set bad_records=1
    [ -z "$(ls | grep '^q')" ] || tell "what is left: $(ls)"
done
for end in csv jsonl npy safetensors; do
    must "$trainer" predict --data mixed --weights run --only logits --out q.$end --set bad_records=2
    [ "$(grep -c 'its predictions stay empty$' said)" = 2 ] || tell "two pictures cannot be read"
done
[ "$(sed 1d q.csv | grep -v ',green,' | tr '\n' ' ')" = 'mixed/06.jpg,,,, mixed/12.png,,,, ' ] || tell "$(cat q.csv)"
grep -q '^{"row":6,"file":"mixed/06.jpg","error":"the JPEG was cut short' q.jsonl || tell "$(cat q.jsonl)"
for end in npy safetensors; do
    [ "$(tail -c $((21 * 12)) q.$end | od -An -v -w12 -tf4 | grep -n nan | tr -d '\n -')" = '7:nannannan14:nannannan' ] || tell "numbers of pictures that cannot be read: $end"
done
cp colours/green/* bad/red/ && head -c 150 colours/red/01.png >bad/red/01.png
tar -cf bad.tar -C bad .
for readers in 1 100000; do
    refuse 3 'bad.tar: member red/01.png: error: the PNG was cut short' "$trainer" train --data bad.tar --out failed --readers $readers
done
echo '<svg/>' >bad/red/01.png
refuse 3 'bad/red/01.png: error: expected a JPEG or PNG picture, found a file that begins with the bytes 3c 73 76 67' "$trainer" predict --data bad --weights run
: >bad/red/01.png
refuse 3 'found an empty file' "$trainer" predict --data bad --weights run
head -c 20000 all.tar >cut.tar
refuse 3 'to the end of the archive; it was cut short: get it again' "$trainer" train --data cut.tar --out no
gzip -k all.tar
refuse 3 'all.tar.gz: error: is compressed; unpack it' "$trainer" train --data all.tar.gz --out no
tar -P --transform 's|^colours|x/../..|' -cf climbs.tar colours/red
refuse 3 'climbs.tar: member x/../../red/' "$trainer" train --data climbs.tar --out no
cp run/model.safetensors alone.safetensors
refuse 3 'expected classes.json beside the weights' "$trainer" eval --data colours --weights alone.safetensors

refuse 3 'found none. These are pictures: models/vit.lua and models/convnet.lua read them with --config pictures' \
    "$LATHE" train "$top/models/vit.lua" --set side=16 --set width=16 --set layers=1 --data colours --out no

# lathe counts the classes, or takes those of the run that it begins with.
tiny="--config pictures --set side=16 --set width=16 --set layers=1 --steps 1"
must "$LATHE" train "$top/models/vit.lua" $tiny --data colours --out counted
grep -q '"classes":\["deep blue","green","red"\]' counted/classes.json || tell "the classes"
must "$LATHE" train "$top/models/vit.lua" $tiny --data colours --init counted --out again

# Other classes on the same body: the head is drawn anew, all else is taken, and the classes are those of the data.
mkdir shades && cp -r colours/red colours/green shades/ && cp -r colours/red shades/pink && cp -r colours/green shades/teal
refuse 3 'found "pink"; leave its pictures out, or train a new model (from --init PATH with --init-except LAYER, such as head or classifier)' \
    "$LATHE" train "$top/models/vit.lua" $tiny --data shades --init counted --out no
must "$LATHE" train "$top/models/vit.lua" $tiny --data shades --init counted --init-except head --out head -o shades-built --set lr=0
grep -q '"classes":\["green","pink","red","teal"\]' head/classes.json || tell "the classes of the data"
shades-built/trainer init --init counted --init-except head --seed 1 --out first.safetensors
cmp first.safetensors head/model.safetensors || tell "init and train take the same weights"
refuse 3 'head.weight: expected [4, 16], found [3, 16]' shades-built/trainer init --init counted --out no.safetensors
grep -q '^note: --init takes all parameters from counted.*; --init-except head draws those anew' said || tell "what to do"
refuse 3 '2 tensors do not fit' shades-built/trainer init --init counted --init-except patches --out no.safetensors
refuse 2 '--init-except haed: there is no such layer or parameter' shades-built/trainer init --init counted --init-except haed --out no.safetensors
refuse 2 '--init-except head needs --init PATH' shades-built/trainer train --data shades --init-except head
must shades-built/trainer init --seed 1 --out drawn.safetensors
tensor() { # FILE NAME: its bytes
    n=$(od -An -tu8 -N8 "$1" | tr -d ' ')
    set -- "$1" $(tail -c +9 "$1" | head -c "$n" | sed 's/.*"'"$2"'":{[^}]*"data_offsets":\[\([0-9]*\),\([0-9]*\)\].*/\1 \2/')
    tail -c +$((9 + n + $2)) "$1" | head -c $(($3 - $2))
}
for name in head.weight patches.weight layers.0.attn.qkv.weight positions; do
    case $name in head*) from=drawn.safetensors ;; *) from=counted/model.safetensors ;; esac
    tensor first.safetensors $name >a; tensor $from $name >b
    [ -s a ] && cmp a b || tell "$name is not that of $from"
done
