# turns.sh: a model that trains in turns is trained to the same bits by any number of threads, killed and resumed or not, with
# micro-batches too; every loss is reported; grad, bench and profile take the turn that --turn names; its inputs are filled once a
# step; what turns cannot do is refused.
set -eu
. tests/models/common
. tests/npy
. tests/models/killed
must "$LATHE" build tests/models/turns.lua --set normal=true --set drawn=true --set batch=8 --set steps=40 -o "$TMP/whole_batch"
must "$LATHE" build tests/models/turns.lua --set normal=true --set drawn=true --set batch=4 --set accumulate=2 --set steps=40 -o "$TMP/cut"
must "$LATHE" build models/gan.lua --set side=4 --set halvings=1 --set width=2 --set noise=3 --set batch=8 --set steps=3 --set scale=9000.0 -o "$TMP/gan"
refuse 1 'turns do not train in fp16, whose loss scale is one for all' "$LATHE" check tests/models/turns.lua --precision fp16
refuse 2 'each turn has its own lr; change it in train.turns' "$LATHE" check tests/models/turns.lua --set lr=1
must "$LATHE" check tests/models/turns.lua --precision bf16
cp tests/models/turns.lua "$TMP/turns.lua"
cd "$TMP"

mkdir folder pictures
npy folder/x.npy '(90, 5)' "$(some_bytes 450)"
npy folder/z.npy '(90, 3)' "$(some_bytes 270)"
npy pictures/image.npy '(40, 4, 4)' "$(some_bytes 640)"
npy pictures/label.npy '(40,)' "$(some_bytes 40)"

for name in whole_batch cut; do
    trainer=$TMP/$name/trainer steps=40 kills=2 start="--data folder --steps 40 --save-every 7"
    rm -rf whole run
    # shellcheck disable=SC2086
    must "$trainer" train $start --out whole --threads 1
    killed_and_resumed
done

# ---- reports: the losses of the turns that were taken, and their sum
grep -q '"split":"val".*"loss":[-0-9.e]*,"discriminator":[-0-9.e]*,"encoder":[-0-9.e]*,"generator":' whole/metrics.jsonl || tell "no losses in evaluations"
awk -F '[:,{}]+' '/"split":"train"/ {
    sum = turns = 0
    for (i = 1; i < NF; i++) {
        if ($i ~ /^"(discriminator|generator|encoding)"$/) { sum += $(i + 2); turns++ }
        if ($i == "\"loss\"" && !(NR in of)) of[NR] = $(i + 1)
    }
    steps++
    if (turns != (steps % 2 ? 2 : 3) || (sum - of[NR]) ^ 2 > 1e-10) { print; exit 1 }
}' whole/metrics.jsonl >said || tell "losses do not add up"
must "$trainer" eval --out whole --data folder --json
grep -q '"encoder":' said || tell "eval leaves losses out"

grep -q '"split":"train","loss":[-0-9.e]*,"lr"' whole/metrics.jsonl && tell "a rate that is no turn's"

# ---- several losses without turns, in the step line and in metrics.jsonl
must "$LATHE" build turns.lua --set together=true --set batch=8 --set steps=4 -o "$TMP/together"
must "$TMP/together/trainer" train --data folder --out together-run
grep -qE "^step 4/4 \| loss [-0-9.]+ \(discriminator [-0-9.]+, encoder [-0-9.]+, generator [-0-9.]+\) \| norm [-0-9.e]+ \| lr [-0-9.e+]+ \|" said || tell "the step line does not tell losses apart"
awk -F '[:,{}]+' '/"split":"train"/ { n++; sum = $6; for (i = 7; i < 13; i += 2) sum -= $(i + 1); if (sum ^ 2 > 1e-10) { print; bad = 1 } } END { exit bad || n != 4 }' together-run/metrics.jsonl >said || tell "losses do not add up to their sum"

# ---- best may follow one of the losses
must "$trainer" train --data folder --steps 10 --save-every 0 --eval-every 5 --set best=discriminator --out best
grep -qE "^step 10/10 \| loss [-0-9.]+ \(discriminator [-0-9.]+, generator [-0-9.]+, encoding [-0-9.]+\) \| norm [-0-9.e]+, [-0-9.e]+, [-0-9.e]+ \| lr [-0-9.e+]+, [-0-9.e+]+, [-0-9.e+]+ \|" said || tell "the step line does not tell turns apart"
grep -q '"best_metric": *"discriminator"' best/checkpoints/latest/state.json || tell "best follows another loss"

# ---- a resumed run says which turn differs; another optimizer's moments are refused
sed 's/every = 2/every = 3/' turns.lua >other.lua
must "$LATHE" build other.lua --set normal=true --set drawn=true --set batch=4 --set accumulate=2 -o "$TMP/other"
must "$TMP/other/trainer" train --resume --steps 12 --out best
grep -qF 'turn encoding: every is 3 in this trainer; it was 2 in the checkpoint' said || tell "a turn that differs is not told"
sed 's/optim.sgd {[^}]*}/optim.lion {}/' turns.lua >other.lua
must "$LATHE" build other.lua --set normal=true --set drawn=true --set batch=4 --set accumulate=2 -o "$TMP/other"
refuse 3 "cannot go on with the other's moments" "$TMP/other/trainer" train --resume --steps 14 --out best

# ---- RMSprop with all its moments, and clipped weights: resumed to the same bytes
sed 's/optim.adam { lr = 1e-2, beta1 = 0.5 }, clip = 0.3/optim.rmsprop { lr = 1e-2, momentum = 0.5, centered = true }, clip_weights = 0.05/' turns.lua >critic.lua
must "$LATHE" build critic.lua -o "$TMP/critic"
must "$TMP/critic/trainer" train --data folder --steps 20 --out critic-whole
must "$TMP/critic/trainer" train --data folder --steps 20 --save-every 11 --keep-last 0 --out critic-run
must "$TMP/critic/trainer" train --resume=critic-run/checkpoints/step-11 --out critic-rest
for file in model optimizer; do
    cmp critic-whole/checkpoints/step-20/$file.safetensors critic-rest/checkpoints/step-20/$file.safetensors || tell "resumed to other bytes"
done
[ "$(head -c 8000 critic-whole/checkpoints/step-20/optimizer.safetensors | tr ',' '\n' | grep -aoE '"(exp_avg_sq|momentum|exp_avg)\.discriminator.up.weight"' | sort -u | wc -l)" = 3 ] || tell "not three moments"

# ---- the turn of a command; others have no gradients
must "$trainer" init --out w.safetensors
awk 'BEGIN { printf "{\"x\":{\"dtype\":\"F32\",\"shape\":[4,5],\"data_offsets\":[0,80]},\"z\":{\"dtype\":\"F32\",\"shape\":[4,3],\"data_offsets\":[80,128]}}" }' >head
size=$(printf '\\%03o\\0\\0\\0\\0\\0\\0\\0' "$(wc -c <head)")
{ printf "$size"; cat head; head -c 128 /dev/zero; } >in.safetensors
for turn in discriminator generator encoding; do
    must "$trainer" grad --turn $turn --weights w.safetensors --inputs in.safetensors --out "$turn.safetensors"
    must "$trainer" bench --turn $turn --steps 3
    must "$trainer" profile --turn $turn --steps 2
done
must "$trainer" grad --weights w.safetensors --inputs in.safetensors --out first.safetensors
cmp first.safetensors discriminator.safetensors || tell "the first turn is another"
cmp -s generator.safetensors discriminator.safetensors && tell "two turns have the same gradients"
refuse 2 'there is no such turn; did you mean generator?' "$trainer" grad --turn genertor --weights w.safetensors --inputs in.safetensors --out no.safetensors
must "$trainer" info
grep -q 'turn encoding: loss encoder, parameters of encoder, adamw at rate 0.01, in every step whose number is a multiple of 2' said || tell "info says nothing of turns"
must "$trainer" selftest
must "$trainer" train --dry-run --data folder --out none
refuse 2 'has turns, whose losses need not' "$trainer" train --overfit --data folder --out none
refuse 2 'each turn of turns has its own beta1' "$trainer" train --set beta1=0.1 --data folder --out none
refuse 2 'has turns' "$trainer" replay --step 1 --data folder

# ---- a turn that diverges is named, and what was saved stays
sed 's/lr = 0.05/lr = 1e30/' turns.lua >wild.lua
must "$LATHE" build wild.lua -o "$TMP/wild"
refuse 4 'expected a finite loss of turn' "$TMP/wild/trainer" train --data folder --out wild-run --steps 40
[ -e wild-run/diverged.safetensors ] || tell "no parameters of the step that diverged"

# ---- the page's: samples are pictures in the data's scale, drawn by their seed
must "$TMP/gan/trainer" train --data pictures --out g
must "$TMP/gan/trainer" generate --out g --samples 9
cp said a
[ "$(grep -c '^image \[4, 4\]$' a)" = 9 ] && [ "$(grep -cE '^([0-9]+ ){3}[0-9]+$' a)" = 36 ] || tell "not 9 pictures of 4 lines"
must "$TMP/gan/trainer" generate --out g --samples 9 --threads 1
cmp a said || tell "other pictures by one thread"
must "$TMP/gan/trainer" generate --out g --samples 9 --to made.npy
grep -q '^made.npy: image \[4, 4\] of 9 samples$' said || tell "nothing is said of the file"
head -c 128 made.npy | grep -q "'<i4', 'fortran_order': False, 'shape': (9, 4, 4,)" || tell "$(head -c 128 made.npy)"
[ "$(wc -c <made.npy)" = $((128 + 9 * 16 * 4)) ] || tell "$(wc -c <made.npy) bytes"
od -A n -v -t d4 -w16 -j 128 made.npy | tr -s ' ' | sed 's/^ //' >numbers
grep -E '^([0-9]+ ){3}[0-9]+$' a | cmp - numbers || tell "other numbers in the file than those printed"
refuse 2 '--to made.txt: expected a file whose name ends in .npy' "$TMP/gan/trainer" generate --out g --to made.txt
refuse 2 'name one of the outputs image with --only' "$TMP/gan/trainer" generate --out g --to made.npy --only picture
must "$TMP/gan/trainer" generate --out g --samples 9 --seed 2
cmp -s a said && tell "the same pictures by another seed"
exit 0
