# coded.sh: AdamW with moments in 8 bits (bits = 8): a run that is killed and resumed with other threads ends with the bytes of
# the uninterrupted one, codes and scales included; its memory is the plan; what does not go with it is refused.
set -eu
. tests/models/common
. tests/models/killed
awk 'BEGIN { for (i = 0; i < 4000; i++) { x = (x * 1103515245 + 12345) % 2147483648; printf "%s", substr("etaoin shrdlu", x % 13 + 1, 1) } }' >"$TMP/text"
small="--config char --set layers=2 --set width=48 --set heads=2 --set seq=20 --set batch=4 --set lr=0.01 --set warmup=0"
# shellcheck disable=SC2086
build() { must "$LATHE" build models/gpt.lua $small "$@"; }
data="--data $TMP/text --tokenizer chars"

build --set bits=8 --set ema=0.9 -o "$TMP/gpt"
trainer=$TMP/gpt/trainer steps=120 kills=2 start="$data --steps 120 --save-every 7 --eval-every 25 --seed 5"
# shellcheck disable=SC2086
must "$trainer" train $start --out "$TMP/whole" --threads 1
killed_and_resumed

# ---- the plan has the bytes of the tensors in the file, in whole lines of 64; less than half of those of 32 bits, though half of the tensors are small
build --set bits=8 -o "$TMP/small"
# shellcheck disable=SC2086
planned() { must "$LATHE" plan models/gpt.lua $small "$@" && sed -n 's/^ *optimizer *\([0-9,]*\) bytes.*/\1/p' "$TMP/said" | tr -d ,; }
file=$TMP/whole/checkpoints/step-120/optimizer.safetensors
stored=$(($(wc -c <"$file") - 8 - $(od -An -tu8 -N8 "$file")))
eight=$(planned --set bits=8)
[ "$eight" = $(((stored + 63) / 64 * 64)) ] || tell "$eight bytes are planned, $stored are stored"
plain=$(planned)
[ $((2 * eight)) -lt "$plain" ] || tell "$eight bytes of moments, $plain in 32 bits"
echo "note: $eight bytes of moments in 8 bits, $plain in 32"

# ---- a run goes on as it began, also where the trainer was built for 32 bits, and not with other bits
steady="--set schedule=constant"
# shellcheck disable=SC2086
must "$TMP/small/trainer" train $data --steps 20 $steady --out "$TMP/eight"
build -o "$TMP/plain"
must "$TMP/plain/trainer" train --resume="$TMP/eight" --steps 30 --out "$TMP/eight"
grep -q 'bits=8' "$TMP/said" || tell "the checkpoint's bits are not said"
must "$TMP/small/trainer" train --resume="$TMP/eight" --steps 40 --out "$TMP/eight"
# shellcheck disable=SC2086
must "$TMP/small/trainer" train $data --steps 40 $steady --out "$TMP/eight-whole"
for file in optimizer model; do
    cmp "$TMP/eight/checkpoints/step-40/$file.safetensors" "$TMP/eight-whole/checkpoints/step-40/$file.safetensors" || tell "$file: a resumed run differs"
done
refuse 3 'its moments are in 8 bits and those of this run in 32' "$TMP/plain/trainer" train --resume="$TMP/eight" --set bits=32 --steps 50 --out "$TMP/eight"
refuse 2 'rebuild with the optimizer in the description' "$TMP/small/trainer" train --resume="$TMP/eight" --set bits=32 --steps 50 --out "$TMP/eight"
# shellcheck disable=SC2086
refuse 2 'expected 8 or 32' "$TMP/plain/trainer" train $data --steps 3 --set bits=16 --out "$TMP/no"
# shellcheck disable=SC2086
refuse 2 'only adamw keeps its moments in 8 bits' "$TMP/plain/trainer" train $data --steps 3 --set bits=8 --set optimizer=lion --out "$TMP/no"

# ---- damaged; of another model
cp -R "$TMP/eight" "$TMP/damaged"
printf x | dd of="$(realpath "$TMP/damaged/checkpoints/latest")/optimizer.safetensors" bs=1 seek=5000 conv=notrunc 2>/dev/null
refuse 3 'the file is damaged' "$TMP/small/trainer" train --resume --steps 50 --out "$TMP/damaged"

# ---- refused in a description
sed 's/optim.adamw { lr = c.lr,/optim.adamw { lr = c.lr, bits = 12,/' models/gpt.lua >"$TMP/twelve.lua"
refuse 1 'twelve.lua:160: error: bits is 8 or 32' "$LATHE" check "$TMP/twelve.lua"
refuse 1 'are for one GPU' "$LATHE" plan models/gpt.lua --set bits=8 --target cuda --gpus 2
refuse 1 'only optim.adamw keeps its moments in 8 bits' "$LATHE" check models/gpt.lua --set optimizer=sgd --set bits=8
refuse 2 'each turn has its own bits' "$LATHE" check models/gan.lua --set bits=8
sed 's/optim.adam {/optim.adamw { bits = 8,/' models/gan.lua >"$TMP/turns.lua"
refuse 1 'are for descriptions without turns' "$LATHE" check "$TMP/turns.lua"
