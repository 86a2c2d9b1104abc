# bad_files.sh: bad_records says how many pictures or recordings may be unreadable: each is told once, others take their
# places in training, to the same bits for any number of threads and on resuming, and evaluation leaves them out; one more
# ends the run.
set -eu
. tests/models/common
must "$LATHE" build tests/models/snapshots.lua -o "$TMP/built"
must "$LATHE" build tests/models/snapshots.lua --set ema=0.9 -o "$TMP/averaging"
must ${CC:-cc} tests/models/draw_pictures.c -o "$TMP/draw" -ljpeg -lpng
trainer="$TMP/built/trainer"
cd "$TMP"
./draw colours 20
cp -r colours bad && cp -r colours without
must "$trainer" train --data colours --out clean --threads 1
# A hundred bytes of each: three to train on and one to evaluate, as the order of the names has it.
for file in red/01.png red/04.jpg green/07.png 'deep blue/10.jpg' green/13.png; do
    head -c 100 "colours/$file" >"bad/$file"
    rm "without/$file"
done
refuse 3 '--set bad_records=N leaves out up to N of them' "$trainer" train --data bad --out no
refuse 3 'bad_records allows only 4 such pictures' "$trainer" train --data bad --out no --set bad_records=4

must "$trainer" train --data bad --out a --set bad_records=5 --threads 1
[ "$(grep -c '; bad_records leaves it out$' said)" = 5 ] || tell "each is told once"
grep -q 'note: 5 pictures could not be read, the first: bad/.* (bad_records allows up to 5)$' said || tell "the total"
left=$(sed -n 's/^note: \([0-9]*\) of the 15 pictures to evaluate cannot be read, and are left out$/\1/p' said)
[ -n "$left" ] || tell "those to evaluate"
! cmp -s a/model.safetensors clean/model.safetensors || tell "nothing stands in the places of five pictures"
must "$trainer" train --data bad --out b --set bad_records=5 --threads 2 --readers 3
cmp a/model.safetensors b/model.safetensors || tell "other bits with other threads"
must "$trainer" train --data bad --out c --set bad_records=5 --steps 20 --set schedule_steps=60
must "$trainer" train --resume --out c --steps 60 --readers 2
cmp a/model.safetensors c/model.safetensors || tell "other bits after resuming"

# An evaluation is one of the others, to the last digit.
must "$trainer" eval --data bad --weights a --val-fraction 1 --set bad_records=5 --json
grep '^{' said >with && grep -q 'note: 5 of the 60 pictures to evaluate cannot be read' said || tell "five are left out"
must "$trainer" eval --data without --weights a --val-fraction 1 --json
grep '^{' said | cmp - with || tell "another evaluation than without them: $(cat with)"
must "$trainer" eval --out a --set bad_records=5
grep -q "^over $((15 - left)) pictures, chosen by their names$" said || tell "how many are evaluated"
must "$trainer" train --data colours --val-data bad --out d --set bad_records=5 --steps 20
grep -q 'note: 5 of the 60 pictures to evaluate cannot be read' said || tell "those of --val-data"
# One too many of those to evaluate ends the run; what it has trained is saved, not the mean that is evaluated.
mean='--data colours --val-data bad --set eval_every=10 --steps 20'
# shellcheck disable=SC2086
{
    must averaging/trainer train $mean --set bad_records=5 --out mean
    refuse 3 'bad_records allows only 4 such pictures' averaging/trainer train $mean --set bad_records=4 --out few
}
grep -q 'note: step 10 is saved; to continue' said || tell "its steps are lost"
must averaging/trainer train --resume --out few --set bad_records=5
for file in model trained optimizer; do
    cmp mean/checkpoints/step-20/$file.safetensors few/checkpoints/step-20/$file.safetensors || tell "other bits after an evaluation that failed"
done
cp -r bad/red none && for file in none/*; do head -c 100 "$file" >x && cp x "$file"; done
mkdir all && mv none all/red
refuse 3 'no other of this batch can be read either' "$trainer" train --data all --val-fraction 0 --out no --set bad_records=100
refuse 3 'expected pictures to evaluate, none can be read' "$trainer" eval --data all --weights a --val-fraction 1 --set bad_records=100
