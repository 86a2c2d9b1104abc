# convnet.sh: a net with batch norms is trained to the same bits by any number of threads, killed and resumed or not,
# with micro-batches too; its running statistics are in its checkpoints, and what is evaluated and predicted reads them.
set -eu
. tests/models/common
. tests/npy
. tests/models/killed
must "$LATHE" build models/convnet.lua --set side=6 --set classes=4 --set scale=8.0 --set width=4 --set blocks=2 --set batch=16 \
    --set steps=60 --set lr=0.03 -o "$TMP/built"
must "$LATHE" build tests/models/batchnorm.lua -o "$TMP/cut"
cd "$TMP"

# 83 pictures of 6 x 6 bytes whose class shows in a quarter, classes 0 … 3
mkdir folder
npy folder/image.npy '(83, 6, 6)' "$(awk 'BEGIN { for (r = 0; r < 83; r++) for (i = 0; i < 36; i++) {
    q = 2 * (i >= 18) + (i % 6 >= 3); printf "\\%03o", (q == (r * 7) % 4 ? 4 : 0) + (r * 31 + i * 17) % 4 } }')"
npy folder/label.npy '(83,)' "$(awk 'BEGIN { for (r = 0; r < 83; r++) printf "\\%03o", (r * 7) % 4 }')"

awk 'BEGIN { print "a,b,class"; for (i = 0; i < 60; i++) print i % 10 ",1." i "," i % 3 }' >cut.csv
for name in built cut; do
    data=folder
    [ $name = built ] || data=cut.csv
    trainer=$TMP/$name/trainer steps=60 kills=2 start="--data $data --steps 60 --save-every 9"
    rm -rf whole run
    # shellcheck disable=SC2086
    must "$trainer" train $start --out whole --threads 1
    cp whole/model.safetensors "$name.safetensors"
    killed_and_resumed
done

# The last evaluation of the run, that of its checkpoint, and that of the predictions agree.
trainer=$TMP/built/trainer
must "$trainer" train --data folder --out whole
must "$trainer" eval --out whole --data folder --json
loss=$(sed 's/.*"loss":\([0-9.]\{9\}\).*/\1/' said)
grep '"val"' whole/metrics.jsonl | tail -n 1 | grep -qF "\"loss\":$loss" || tell "the evaluation of training is another than $loss"
grep -q '"accuracy": *1\.0' said || tell "the classes are easy"
must "$trainer" predict --data folder/image.npy --weights whole --only logits --out p.csv
awk -F , 'NR > 1 && $1 != ((NR - 2) * 7) % 4 { print; exit 1 }' p.csv >said || tell "a wrong class"

# Each norm has its statistics beside its weight, and a run begins with those of --init.
names() { head -c 20000 "$1" | tr -c '[:print:]' '\n' | grep -o '"[a-z0-9_.]*"' | tr -d '"' | sort; }
names built.safetensors >said
[ "$(grep -c 'running_mean$' said)" = 13 ] && [ "$(grep -c 'running_var$' said)" = 13 ] || tell "the statistics of 13 norms"
grep -q '^half.0.bn1.running_var$' said && grep -q '^to_quarter.bn2.running_mean$' said || tell "their names"
must "$trainer" init --init built.safetensors --out again.safetensors
cmp built.safetensors again.safetensors
# PyTorch's file of the same weights counts batches, too.
bytes=$(od -A n -t u8 -N 8 built.safetensors | tr -d ' ') all=$(wc -c <built.safetensors)
end=$((all - 8 - bytes))
count='"bn.num_batches_tracked":{"dtype":"I64","shape":[],"data_offsets":'"[$end,$((end + 8))]},"
head=$(head -c $((8 + bytes)) built.safetensors | tail -c "$bytes" | sed "s/^{/{$count/")
{ printf "\\$(printf %03o $((${#head} % 256)))\\$(printf %03o $((${#head} / 256)))\0\0\0\0\0\0%s" "$head"
    tail -c $end built.safetensors; printf '\7\0\0\0\0\0\0\0'; } >torch.safetensors
must "$trainer" init --init torch.safetensors --out again.safetensors
cmp built.safetensors again.safetensors
must "$trainer" info
grep -q 'half.\*.bn1.running_var  *1 × \[8\]' said || tell "info has no statistics"
must "$trainer" init --seed 1 --out new.safetensors
names new.safetensors >said
[ "$(grep -c running said)" = 26 ] || tell "a new model has statistics"
must "$trainer" train --data folder --init built.safetensors --steps 1 --set lr=0 --out more
! cmp -s more/model.safetensors built.safetensors || tell "a step changes the statistics, whatever the rate"
must "$trainer" eval --out more --data folder --json
grep -q '"loss":0\.00' said || tell "the statistics that training began with are gone"
