# arrays.sh: a description that declares its inputs is trained on arrays by name, wherever they lie, to the same bits for
# any threads and on resuming; predictions in every format are the outputs of the model; what does not fit is told.
set -eu
. tests/models/common
. tests/npy
must "$LATHE" build tests/models/digits.lua -o "$TMP/built"
must "$LATHE" check models/vit.lua
! grep warning "$TMP/said" || tell "rows of a batch are apart in an image's tokens"
must "$LATHE" build models/vit.lua --set side=4 --set channels=3 --set layers=1 --set width=16 --set heads=1 -o "$TMP/vit"
must "$LATHE" build models/mlp.lua --set batch=7 -o "$TMP/mlp"
must "$LATHE" build models/vit.lua --set side=6 --set layers=1 --set width=16 --set heads=1 --set varied=true --set mixup=0.4 --set batch=8 --set steps=30 -o "$TMP/varied"
trainer="$TMP/built/trainer"
top=$PWD
cd "$TMP"

# 83 pictures of 6 x 6 bytes whose class shows in a quarter, classes 0 … 3, weights 1 as bytes.
pictures=$(awk 'BEGIN { for (r = 0; r < 83; r++) { c = (r * 7) % 4; for (i = 0; i < 36; i++) {
    q = 2 * (i >= 18) + (i % 6 >= 3); printf "\\%03o", (q == c ? 5 : 0) + (r * 31 + i * 17) % 4 } } }')
classes=$(awk 'BEGIN { for (r = 0; r < 83; r++) printf "\\%03o", (r * 7) % 4 }')
ones=$(awk 'BEGIN { for (r = 0; r < 83; r++) printf "\\001" }')
mkdir folder bad
npy_of folder/image.npy '|u1' '(83, 6, 6)' "$pictures"
npy_of folder/label.npy '|u1' '(83,)' "$classes"
npy_of folder/weight.npy '|u1' '(83,)' "$ones"
printf "\\0\\0\\010\\003\\0\\0\\0\\123\\0\\0\\0\\006\\0\\0\\0\\006$pictures" | gzip >train-images-ubyte.gz

must "$trainer" train --data folder --out run --threads 1
grep -q 'data: 66 rows to train on, 17 to evaluate' said || tell "the number of rows"
must "$trainer" train --data image=train-images-ubyte.gz folder/label.npy weight=folder/weight.npy --out files --threads 2
cmp run/model.safetensors files/model.safetensors || tell "other bits from other files"
if "$trainer" train --data "$top/tests/reference/arrays/rows.h5" --out hdf5 >said 2>&1; then
    cmp run/model.safetensors hdf5/model.safetensors || tell "other bits from HDF5"
else grep -q 'error: reading HDF5 files needs its library, which is not installed: apt install libhdf5-103-1$' said || tell "HDF5"; fi
must "$trainer" train --data folder --out halves --steps 30 --set schedule_steps=60
must "$trainer" train --resume --out halves --steps 60
cmp run/model.safetensors halves/model.safetensors || tell "other bits after resuming"
must "$trainer" eval --out run --json
grep -q '"accuracy":1.0' said || tell "the classes are easy"

# Predictions need no targets; the last batch has 3 rows, and none is written twice.
must "$trainer" predict --data folder/image.npy --weights run --out p.csv
[ "$(wc -l <p.csv)" = 84 ] || tell "a line a row, and the names"
head -n 1 p.csv | grep -q "^class,probability_0,.*,probability_3,most$" || tell "$(head -n 1 p.csv)"
must "$trainer" predict --data folder/image.npy --weights run --only logits,hidden,most --out all.csv
awk -F , 'NR > 1 { m = 0; for (i = 6; i <= 21; i++) if ($i > m) m = $i
    best = 2; sum = 0; for (i = 2; i <= 5; i++) { sum += $i; if ($i > $best) best = i }
    if (m != $22 || best - 2 != $1 || sum < 0.99999 || sum > 1.00001 || $1 != ((NR - 2) * 7) % 4) { print; exit 1 } }' \
    all.csv >said || tell "a row whose outputs do not agree, or a wrong class"
must "$trainer" predict --data folder --weights run --only logits,most --out -
cmp p.csv said || tell "other predictions on standard output"
cp folder/image.npy new.npy
must "$trainer" predict --data new.npy --weights run --only logits,most --out -
cmp p.csv said || tell "an array of another name is the only input"
must "$trainer" predict --data folder --weights run --only logits,most --threads 1 --out again.csv
cmp p.csv again.csv || tell "other predictions with one thread"
must "$trainer" predict --data folder --weights run --only most,logits --out p.jsonl
[ "$(sed -n 83p p.jsonl | sed 's/.*"row":\([0-9]*\),"most":\([^,]*\),"class":\([0-9]*\).*/\1 \2 \3/')" = \
    "82 $(sed -n 84p p.csv | cut -d , -f 6) $(sed -n 84p p.csv | cut -d , -f 1)" ] || tell "$(sed -n 83p p.jsonl)"
must "$trainer" predict --data folder --weights run --only logits --out p.npy
[ "$(head -c 128 p.npy | tail -c 118 | tr -d '\n' | sed 's/ *$//')" = \
    "{'descr': '<f4', 'fortran_order': False, 'shape': (83, 4,), }" ] || tell "the header of p.npy"
must "$trainer" predict --data folder --weights run --only logits --out p.safetensors
tail -c $((83 * 4 * 4)) p.npy >a
tail -c $((83 * 4 * 4)) p.safetensors >b
cmp a b || tell "other logits in safetensors"

# A CSV without its class is predicted; with it, the column is not read.
awk 'BEGIN { print "a,class,b,c,d"; for (r = 0; r < 40; r++) print r % 3 "," r % 3 "," r % 5 "," (3 - r % 3) "," r / 40 }' >t.csv
must "$TMP/mlp/trainer" train --data t.csv --out table --steps 300
sed 's/,class//; s/^\([0-9]*\),[0-9]*,/\1,/' t.csv >new.csv
sed 's/^\([0-9]*\),[0-9]*,/\1,unknown,/' t.csv >odd.csv
for file in t new odd; do must "$TMP/mlp/trainer" predict --data $file.csv --weights table --out $file.out.csv; done
cmp t.out.csv new.out.csv && cmp t.out.csv odd.out.csv || tell "predictions depend on the target"
awk -F , 'NR > 1 && $1 != (NR - 2) % 3 { exit 1 }' new.out.csv || tell "the classes of the table"
npy_of x.npy '|u1' '(83, 4)' "$(awk 'BEGIN { for (r = 0; r < 83; r++) printf "\\%03o\\%03o\\%03o\\000", r % 3, r % 5, 3 - r % 3 }')"
must "$TMP/mlp/trainer" predict --data x.npy --weights table --out x.csv
awk -F , 'NR > 1 && $1 != (NR - 2) % 3 { exit 1 }' x.csv || tell "the classes of an array"

refuse 1 'and --memory-limit is' "$trainer" train --data folder --out no --memory-limit $(($("$trainer" info --json | sed 's/.*"planned_bytes":\([0-9]*\).*/\1/') + 100))
refuse 2 'predict needs --data PATH…: arrays, without targets if there are none: .npz, .h5, .safetensors, a folder of NAME.npy' "$trainer" predict
refuse 2 'predict needs --data PATH…: a table of numbers, without targets if there are none: a .csv, or FEATURES.npy' "$TMP/mlp/trainer" predict
refuse 2 '--out folder/image.npy would replace the data' "$trainer" predict --data image=folder/image.npy --weights run --only logits --out folder/image.npy
refuse 3 'there is no array for input weight f32 []; expected image f32 [6, 6, 1], weight f32 [], label i32 [] below 4' "$trainer" train --data folder/image.npy
mkdir nameless && cp folder/image.npy nameless/arr_0.npy
refuse 3 'expected image f32 [6, 6, 1], weight f32 [], label i32 [] below 4, found arr_0; numpy.savez(FILE, image=array, …) gives arrays their names' "$trainer" train --data nameless
npy_of bad/label.npy '|u1' '(83,)' "$(printf %s "$classes" | sed 's/\\003/\\004/')"
refuse 3 'bad/label.npy: row 1: error: input label: expected ids from 0 to 3, found 4' "$trainer" train --data folder/image.npy folder/weight.npy bad/label.npy
npy_of bad/short.npy '|u1' '(82,)' "$(printf %s "$ones" | sed 's/\\001//')"
refuse 3 'expected as many rows as input image has, 83, found 82' "$trainer" train --data folder/image.npy folder/label.npy weight=bad/short.npy
npy_of bad/turned.npy '|u1' '(83, 4, 9)' "$pictures"
refuse 3 'expected rows of image f32 [6, 6, 1], an array [rows, …], found [83, 4, 9]' "$trainer" train --data folder/label.npy folder/weight.npy image=bad/turned.npy
npy_of bad/first.npy '|u1' '(83, 3, 4, 4)' "$(awk 'BEGIN { for (r = 0; r < 249 * 16; r++) printf "\\001" }')"
refuse 3 'expected rows of image f32 [4, 4, 3], an array [rows, …], found [83, 3, 4, 4]; channels come last here: in NumPy, a.transpose(0, 2, 3, 1)' "$TMP/vit/trainer" predict --data bad/first.npy --weights run
npy_of bad/hot.npy '|u1' '(83, 4)' "$(awk 'BEGIN { for (r = 0; r < 83; r++) printf "\\001\\000\\000\\000" }')"
refuse 3 "found [83, 4]; if its last axis is a one-hot of each id, NumPy's a.argmax(-1) makes ids" "$trainer" train --data folder/image.npy folder/weight.npy label=bad/hot.npy
npy_of bad/weight.npy '<f2' '(83,)' "$(printf %s "$ones" | sed 's/\\001/\\000\\176/g')"
refuse 3 'bad/weight.npy: row 0: error: input weight: expected finite numbers, found nan' "$trainer" train --data folder/image.npy folder/label.npy bad/weight.npy
refuse 3 'there is no input "picture"' "$trainer" train --data picture=folder/image.npy
refuse 3 'its name has none of these endings' "$trainer" train --data p.csv
refuse 2 '--only: there is no output loss; expected some of hidden, logits, most' "$trainer" predict --data folder --weights run --only loss
refuse 2 'expected a file whose name ends in .csv' "$trainer" predict --data folder --weights run --out p.txt
refuse 2 'a .npy holds one array, and there are 3 outputs' "$trainer" predict --data folder --weights run --out q.npy
refuse 1 'cannot be written: no such file or directory' "$trainer" predict --data folder --weights run --out nowhere/p.csv
[ ! -e q.npy ] && [ ! -e q.npy.part ] || tell "a refused file was begun"

# Arrays of pictures vary in training as files do, and are mixed in pairs; bytes alone can be.
varied="$TMP/varied/trainer"
mkdir two floats && cp folder/image.npy folder/label.npy two
must "$varied" train --data two --out two-run --threads 1
must "$varied" train --data two --out two-halves --steps 11 --set schedule_steps=30 --threads 2
must "$varied" train --resume --out two-halves --steps 30
cmp two-run/model.safetensors two-halves/model.safetensors || tell "other bits of varied rows after resuming"
for plain in "crop=centre flip=0" mixup=0; do
    must "$varied" train --data two --out two-plain $(printf ' --set %s' $plain)
    ! cmp -s two-run/model.safetensors two-plain/model.safetensors || tell "rows do not vary: $plain"
done
must "$varied" eval --data two --weights two-run --json
mv said varied-eval
must "$varied" eval --data two --weights two-run --json --set crop=centre --set flip=0 --set mixup=0
cmp varied-eval said || tell "rows vary in evaluation"
cp folder/label.npy floats && npy_of floats/image.npy '<i2' '(83, 6, 6)' "$(printf %s "$pictures" | sed 's/\\\([0-9]*\)/\\\1\\000/g')"
refuse 3 'floats/image.npy: error: input image: expected pixels as bytes, because pictures vary in training, found elements of another type; in NumPy, a.astype("uint8") of pixels that are 0 to 255, or train without that: --set flip=0' "$varied" train --data floats --out no
must "$varied" train --data floats --out floats-run --set crop=centre --set flip=0 --steps 2
refuse 2 'mixup and cutmix mix classes in pairs, but the loss of vit does not read both' "$TMP/vit/trainer" train --data two --out no --set mixup=0.2
refuse 2 'does not say which input they are; build it with data.arrays { pictures = "NAME"' "$trainer" train --data folder --out no --set flip=1
