# unet.sh: maps of pixels: which class each has, learned from the pixels around it, and images without their noise; to the
# same bits by any number of threads.
set -eu
. tests/models/common
. tests/npy
must "$LATHE" build models/unet.lua --set side=8 --set scale=4.0 --set width=8 --set depth=2 --set batch=8 --set steps=300 --set lr=0.01 --set dropout=0 -o "$TMP/classes"
must "$LATHE" build models/unet.lua --set side=8 --set scale=8.0 --set width=4 --set depth=1 --set batch=8 --set classes=0 --set steps=200 --set lr=0.01 --set dropout=0 -o "$TMP/images"
refuse 1 'side must be a multiple of 2^depth' "$LATHE" check models/unet.lua --set side=12
cd "$TMP"

# A bright square of 3 x 3 somewhere: the class of a pixel is whether it is in it (1), or in its middle (2).  The noise is
# a number from 0 to 3 at each pixel.
pixels() { awk -v "what=$1" 'BEGIN { for (r = 0; r < 60; r++) for (y = 0; y < 8; y++) for (x = 0; x < 8; x++) {
    a = y - 1 - r % 6; b = x - 1 - (r * 5 + int(r / 6)) % 6
    inside = a * a <= 1 && b * b <= 1; noise = (r * 31 + y * 17 + x * 7 + x * y * 5) % 4
    print what == "map" ? inside + (a == 0 && b == 0) : what == "clean" ? 4 * inside : 4 * inside + (what == "noisy" ? noise : 0) } }'; }
npy image.npy '(60, 8, 8)' "$(pixels image | octal_of)"
npy map.npy '(60, 8, 8)' "$(pixels map | octal_of)"
npy noisy.npy '(60, 8, 8)' "$(pixels noisy | octal_of)"
npy clean.npy '(60, 8, 8)' "$(pixels clean | octal_of)"

must classes/trainer train --data image.npy map.npy --out run --threads 1
must classes/trainer train --data image.npy map.npy --out other --threads 2
cmp run/model.safetensors other/model.safetensors || tell "other bits with other threads"
must classes/trainer eval --out run --data image.npy map.npy --json
grep -q '"accuracy":\(1\.0\|0\.9[5-9]\)' said || tell "which pixels are in a square"
grep -q '"overlap":\(1\.0\|0\.[89]\)' said || tell "the overlap of classes"
must classes/trainer predict --data image.npy --weights run --only map --out p.npy
[ "$(head -c 128 p.npy | tail -c 118 | tr -d '\n' | sed 's/ *$//')" = \
    "{'descr': '<i4', 'fortran_order': False, 'shape': (60, 8, 8,), }" ] || tell "the header of p.npy"
# The evaluation's overlap, computed here from the predicted map of the last 12 rows.
tail -c $((12 * 64 * 4)) p.npy | od -A n -t d4 -v -w4 >said.map
pixels map | tail -n $((12 * 64)) | paste -d ' ' said.map - | awk '{ said[$1]++; is[$2]++; both[$1] += $1 == $2 }
    END { for (k = 0; k < 3; k++) sum += both[k] / (said[k] + is[k] - both[k]); printf "%.4f\n", sum / 3 }' >overlap
must classes/trainer eval --out run --data image.npy map.npy --json
sed 's/.*"overlap":\([0-9.]*\).*/\1/' said | awk 'NR == 1 { printf "%.4f\n", $1 }' >theirs
cmp overlap theirs || tell "an overlap of $(cat theirs), not $(cat overlap)"

must images/trainer train --data image=noisy.npy map=clean.npy --out quiet
must images/trainer predict --data image=noisy.npy --weights quiet --out p.csv
tail -n +2 p.csv | tr ',' '\n' >said.image
pixels clean | paste -d ' ' said.image - | awk '{ e += ($1 - $2) ^ 2 } END { print e / NR; exit !(e / NR < 0.7) }' >said ||
    tell "the mean square of what is left of noise of 3.5"
