# checkpoints.sh: what a checkpoint holds; resuming gives the bits of a run that was never stopped; which ones are kept; and
# what is said of one that is damaged, hostile or of another model.
top=$PWD
. tests/trainer/common
lathe=${LATHE:-$BUILD/lathe}
some_text t.txt 400
train="$toy train --data t.txt"
steps() { (cd "$1/checkpoints" && ls -d step-* | tr '\n' ' '); }
lines() { cut -d, -f1-4 "$1/metrics.jsonl"; }       # but for times
cut_to() {      # RUN COPY STEP: the run as it was at that checkpoint, and killed a little later
    rm -rf "$2"
    cp -R "$1" "$2"
    for c in "$2"/checkpoints/step-*; do [ "${c##*-}" -le "$3" ] || rm -rf "$c"; done
    echo '{"step":999,"spl' >>"$2/metrics.jsonl"
}

works $train --out a --save-every 10 --eval-every 15
[ "$(steps a)" = 'step-10 step-15 step-20 step-30 step-40 step-45 step-50 step-60 ' ] && ok 'all and the best' || wrong "saved: $(steps a)"
[ "$(readlink a/checkpoints/latest) $(readlink a/checkpoints/best)" = 'step-60 step-60' ] && ok links || wrong "links: $(ls -l a/checkpoints)"
for file in model.safetensors optimizer.safetensors tokenizer.json state.json; do [ -s a/checkpoints/latest/$file ] || wrong "no $file"; done
for word in '"step": 60' '"seed": 1' '"position": 480' '"best_step": 60' '"plan": "' '"data": "' '"description": "0123456789abcdef"'; do
    says "$word" a/checkpoints/step-60/state.json
done
head -c 700 a/checkpoints/latest/optimizer.safetensors | tr '\0' ' ' >head.txt
says '"exp_avg_sq.h.1.bias":{"dtype":"F32","shape":\[24\]' head.txt

# From every checkpoint, with other threads, to the same bytes; also of the optimizer, and the metrics.
for step in 10 15 40 50; do
    cut_to a b $step
    works "$toy" train --out b --resume --threads $((step % 3 + 1))
    says "continues after step $step of 60" err
    for file in model optimizer; do same a/checkpoints/step-60/$file.safetensors b/checkpoints/step-60/$file.safetensors; done
    lines a >a.lines
    lines b >b.lines
    same a.lines b.lines
done
works $train --out s --save-every 10 --set optimizer=sgd --set momentum=0.9
cut_to s b 30
works "$toy" train --out b --resume
same s/model.safetensors b/model.safetensors
awk 'BEGIN { print "a,class,b,c"; for (i = 0; i < 120; i++) { x = (x * 1103515245 + 12345) % 2147483648; print x / 1e9 "," i % 4 "," i / 9 "," i % 7 } }' >good.csv
works "$table" train --data good.csv --out c --save-every 10 --set keep_last=0
half=$(($(sed -n 's/.*"steps": \([0-9]*\).*/\1/p' c/config.json) / 20 * 10))
cut_to c b $half
works "$table" train --out b --resume
same c/model.safetensors b/model.safetensors

# By path: into the same run, later checkpoints are set aside; into another one.
cut_to a b 60
works "$toy" train --resume=b/checkpoints/step-30 --steps 40
says 'steps is 40 as given; it was 60' err
says 'later checkpoints were moved to b/before-1' err
[ "$(steps b)" = 'step-10 step-15 step-20 step-30 step-40 ' ] && ok 'steps up to 40' || wrong "steps: $(steps b)"
[ "$(steps b/before-1)" = 'step-40 step-45 step-50 step-60 ' ] && ok 'later ones set aside' || wrong "set aside: $(steps b/before-1)"
works "$toy" train --resume=a/checkpoints/step-30 --out d
same a/model.safetensors d/model.safetensors
lines d >d.lines
same a.lines d.lines
works "$toy" train --resume=a --out e --data t.txt
works $train --out d --steps 5
says 'the earlier contents of the run folder were moved to d/before-1' err
same d/before-1/checkpoints/step-60/model.safetensors a/model.safetensors

# The last two and the best stay, also over a resume: at this rate the loss is lowest at step 40.
works $train --out k --save-every 5 --keep-last 2 --eval-every 20 --set lr=5 --set schedule=constant
[ "$(steps k)" = 'step-40 step-55 step-60 ' ] && ok 'the last two and the best' || wrong "kept: $(steps k)"
works "$toy" train --out k --resume --steps 61
[ "$(steps k)$(readlink k/checkpoints/best)" = 'step-40 step-60 step-61 step-40' ] && ok 'the best stays' || wrong "kept: $(steps k)"
mkdir k/checkpoints/step-62.part k/checkpoints/step-5.gone
works "$toy" train --out k --resume --steps 62
[ -z "$(find k -name '*.part' -o -name '*.gone')" ] && ok 'leftovers are removed' || wrong "left: $(find k)"

# Stopped in the midst of an evaluation: the resumed run makes it, its checkpoint gets it, and each is made once.
evaluated() { grep -c '"split":"val"' "$1/metrics.jsonl"; }
cut="$train --save-every 5 --keep-last 2 --set lr=5 --set schedule=constant"
refuses 143 'interrupted after step 40 of 60' env TOY_STOP_IN_EVAL=1 $cut --out cut --eval-every 40
says '"best_step": -1' cut/checkpoints/step-40/state.json
works "$toy" train --out cut --resume --steps 40
says '"best_step": 40' cut/checkpoints/step-40/state.json
[ "$(readlink cut/checkpoints/best) $(evaluated cut)" = 'step-40 1' ] && ok 'the evaluation is made up for' || wrong "best: $(ls -l cut/checkpoints)"
cp cut/checkpoints/step-40/state.json once.json
works "$toy" train --out cut --resume --steps 40
same cut/checkpoints/step-40/state.json once.json
works "$toy" train --out cut --resume --steps 60
[ "$(steps cut)$(evaluated cut)" = 'step-40 step-55 step-60 2' ] && ok 'the best stays' || wrong "kept: $(steps cut)"
refuses 143 'interrupted after step 40 of 60' env TOY_STOP_IN_EVAL=1 $cut --out cut --eval-every 40
works "$toy" train --out cut --resume
[ "$(steps cut)$(readlink cut/checkpoints/best)" = 'step-40 step-55 step-60 step-40' ] && ok 'also in the midst' || wrong "kept: $(steps cut)"
refuses 143 'interrupted after step 60 of 60' env TOY_STOP_IN_EVAL=1 $train --out cut --eval-every 0
[ -L cut/checkpoints/best ] && wrong 'a best without an evaluation' || ok 'no best yet'
works "$toy" train --out cut --resume --json
says '"eval":{"loss":' out
[ "$(readlink cut/checkpoints/best)" = step-60 ] && ok 'the last evaluation' || wrong "best: $(ls -l cut/checkpoints)"
works "$toy" eval --data t.txt --out cut

# What is different is said.
refuses 2 'checkpoint a/checkpoints/step-60 has done 60 steps already' "$toy" train --out a --resume --steps 50
refuses 2 '--resume and --init both' $train --out a --resume --init x
refuses 2 '--resume takes its path after an equals sign: --resume=a' $train --out a --resume a
refuses 3 'none: error: has no checkpoint to resume from' $train --out none --resume
refuses 3 'expected a checkpoint, which has a state.json' $train --resume=t.txt
cut_to a b 30
some_text u.txt 300
works "$toy" train --out b --resume --data u.txt --set lr=0.01 --seed 3
says 'note: the data is not what the checkpoint was trained on' err
says 'note: lr is 0.01 as given; it was 0.05 in the checkpoint' err
says "note: using the checkpoint's settings instead of this trainer's defaults: eval_every=15 save_every=10$" err
says 'note: the seed is 3 as given; it was 1' err
cut_to a b 30
works env LATHE_GEMM=openblas "$toy" train --out b --resume
says 'note: this trainer adds in another order' err
cut_to a b 30
refuses 3 'mean.exp_avg.h.0.bias: missing\|does not hold' "$toy" train --out b --resume --set optimizer=sgd --set momentum=0.5
says 'momentum.h.0.bias: missing' err

# A checkpoint of another model: the first tensor that differs is named; of another plan: it is said.
refuses 3 'does not hold the parameters of toy tiny' "$toy" train --resume="c/checkpoints/step-$half" --out x --data t.txt --set save_every=0
sed -n '/not fit/{n;p;}' err >first
says '    h.0.bias: missing; expected \[24\] (toy.lua:3)' first
if [ -x "$lathe" ]; then
    build() { folder=$1; shift; "$lathe" build "$top/models/mlp.lua" --set features=3 --set classes=4 --set batch=8 --set hidden=16 "$@" -o "$folder" >out 2>&1 || { wrong "build of $folder"; cat out; }; }
    build one
    build wide --set hidden=24
    build fp64 --precision fp64
    build unfused --no-fuse
    works one/trainer train --data good.csv --out one.run --steps 20 --save-every 10
    refuses 3 ': expected \[24, 3\], found \[16, 3\] (.*mlp.lua' wide/trainer train --resume=one.run --out x
    refuses 3 ': expected F64, found F32' fp64/trainer train --resume=one.run --out x
    works unfused/trainer train --resume=one.run/checkpoints/step-10 --out x
    says 'note: this trainer adds in another order' err
    works one/trainer train --resume=one.run/checkpoints/step-10 --out y
    grep -q 'note: this trainer' err && wrong 'the same plan is said to differ' || ok 'the same plan'
    same one.run/model.safetensors y/model.safetensors
fi

# ---- damage: message, exit code 3, and the checkpoint before it is named
at=b/checkpoints/step-30
damaged() {     # WORDS FILE: the file has been changed
    refuses 3 "$2: error: $1" "$toy" train --out b --resume
    says 'note: the previous checkpoint is b/checkpoints/step-20' err
    cp a/checkpoints/step-30/"$2" $at/
}
flip() { old=$(od -An -tu1 -j"$2" -N1 "$1"); printf "\\$(printf %03o $((old ^ 16)))" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null; }
cut_to a b 30
for file in model optimizer; do
    from=a/checkpoints/step-30/$file.safetensors to=$at/$file.safetensors
    n=$(wc -c <$from)
    for size in 0 5 9 100 $((n / 2)) $((n - 1)); do
        head -c $size $from >$to
        damaged 'expected a safetensors file.*\|.*cut off' $file.safetensors
    done
    for place in $((n - 1)) $((n - 1000)) $((n / 2)); do
        flip $to $place
        damaged 'expected the checksum [0-9a-f]*, as b/.*state.json says, found' $file.safetensors
    done
    { cat $from; echo; } >$to
    damaged '1 bytes at the end belong to no tensor' $file.safetensors
    printf '\000\000\000\200\000\000\000\000' | dd of=$to bs=1 conv=notrunc 2>/dev/null
    damaged "the first 8 bytes give the header's length, here 2147483648\|.*header's length, here 2147483648" $file.safetensors
    store $to '{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}}' 6
    damaged 'tensor b overlaps another' $file.safetensors
    store $to '{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}' 4
    damaged 'tensor a is at bytes 4 to 8 of 4 bytes' $file.safetensors
    store $to '{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}' 4
    damaged 'the header is not valid JSON.*duplicate' $file.safetensors
    rm $to
    damaged 'expected a safetensors file, but it cannot be read' $file.safetensors
done
n=$(wc -c <$at/state.json)
for size in 0 30 $((n / 2)) $((n - 1)); do
    head -c $size a/checkpoints/step-30/state.json >$at/state.json
    damaged '.*cut off' state.json
done
for place in 40 $((n / 2)) $((n - 10)) $((n - 1)); do
    flip $at/state.json $place
    damaged 'its text does not have the checksum' state.json
done
rm $at/state.json
damaged 'expected the state of a checkpoint, but it cannot be read' state.json
flip $at/tokenizer.json 40
damaged 'expected the checksum' tokenizer.json
head -c 20 a/checkpoints/step-30/tokenizer.json >$at/tokenizer.json
damaged 'expected 139 bytes.*found 20; it is cut off' tokenizer.json
cp a/checkpoints/step-20/model.safetensors $at/
damaged 'expected the checksum' model.safetensors
works "$toy" train --out b --resume
same a/model.safetensors b/model.safetensors

# eval and generate look as closely.
n=$(wc -c <b/checkpoints/step-60/model.safetensors)
flip b/checkpoints/step-60/model.safetensors $((n - 5))
refuses 3 'expected the checksum' "$toy" eval --data t.txt --out b
refuses 3 'expected the checksum' "$toy" generate --out b
finish
