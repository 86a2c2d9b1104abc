# vae.sh: a variational autoencoder is trained to the same bits by any number of threads and on resuming; its loss is rate
# and distortion; images come back, and are drawn by `generate`, others for each sample and the same for the same seed.
set -eu
. tests/models/common
. tests/npy
must "$LATHE" build models/vae.lua --set side=4 --set scale=1.0 --set latent=4 --set hidden=16 --set batch=16 --set steps=400 --set lr=0.01 -o "$TMP/bernoulli"
must "$LATHE" build models/vae.lua --set side=4 --set scale=1.0 --set latent=4 --set hidden=16 --set batch=16 --set steps=400 --set lr=0.01 \
    --set pixels=gaussian --set least_var=0.01 -o "$TMP/gaussian"
refuse 1 'pixels must be "bernoulli" or "gaussian"' "$LATHE" check models/vae.lua --set pixels=other
cd "$TMP"

# 90 images of 4 x 4 bits: one of the rows, or one of the columns, is 1.
npy image.npy '(90, 4, 4)' "$(awk 'BEGIN { for (r = 0; r < 90; r++) for (i = 0; i < 16; i++)
    printf "\\%03o", (r % 2 ? int(i / 4) : i % 4) == int(r / 2) % 4 }')"

for kind in bernoulli gaussian; do
    trainer="$TMP/$kind/trainer"
    must "$trainer" train --data image.npy --out $kind-1 --threads 1
    must "$trainer" train --data image.npy --out $kind-2 --threads 2 --steps 150
    must "$trainer" train --resume --out $kind-2 --steps 400
    cmp $kind-1/model.safetensors $kind-2/model.safetensors || tell "other bits of $kind"
    must "$trainer" eval --out $kind-1 --json
    sed -n 's/.*"loss":\([^,]*\),"distortion":\([^,]*\),"rate":\([^,]*\),.*/\1 \2 \3/p' said >numbers
    awk '{ d = $1 - $2 - $3 } d * d > 1e-6 { bad = 1 } END { exit bad || NR != 1 }' numbers || tell "loss is not rate and distortion"
    must "$trainer" predict --data image.npy --weights $kind-1 --only reconstruction --out p.csv
    awk -F , 'NR > 1 { r = NR - 2; for (i = 0; i < 16; i++) e += ($(i + 1) - ((r % 2 ? int(i / 4) : i % 4) == int(r / 2) % 4)) ^ 2 }
        END { print e / 90; exit !(e / 90 < 1) }' p.csv >said || tell "squares of what is lost of an image of 4 bits"
    must "$trainer" generate --out $kind-1 --samples 3 --seed 5 --json
    cp said first
    [ "$(grep -o '"shape":\[4,4,1\]' said | wc -l)" = 3 ] || tell "three images"
    must "$trainer" generate --out $kind-1 --samples 3 --seed 5 --json
    cmp first said || tell "another draw with the same seed"
    must "$trainer" generate --out $kind-1 --samples 3 --seed 6 --json
    ! cmp -s first said || tell "the same draw with another seed"
    [ "$(tr '{' '\n' <first | grep shape | sort -u | wc -l)" = 3 ] || tell "samples are alike"
done
