# file_groups.sh: pictures of one person stay on one side, by folder, by a pattern of names or by a column of a list, to the
# same bits for any number of threads, from an archive and on resuming; a run remembers its groups, and groups that cannot be
# are told.
set -eu
. tests/models/common
must "$LATHE" build tests/models/snapshots.lua -o "$TMP/built"
must ${CC:-cc} tests/models/draw_pictures.c -o "$TMP/draw" -ljpeg -lpng
trainer="$TMP/built/trainer"
cd "$TMP"
./draw colours 20

# Six people; flat/CLASS/PERSON_NUMBER, deep/CLASS/PERSON/NUMBER, and a list with the column who.
mkdir flat deep && echo who,path,label >list.csv
for file in colours/*/*; do
    class=${file#colours/} name=${file##*/}
    class=${class%/*} number=${name%.*}
    who=$(printf 'p%s' $((${number#0} * ${number#0} % 6)))
    mkdir -p "flat/$class" "deep/$class/$who"
    cp "$file" "flat/$class/${who}_$name"
    cp "$file" "deep/$class/$who/$name"
    printf '%s\n' "$who,flat/$class/${who}_$name,$class" >>list.csv
done
tar -cf flat.tar -C flat .
rows=$(sed 1d list.csv | cut -d, -f1 | sort | uniq -c | tr -s ' \n' ' ')

run() { # OUT DATA GROUP ARGUMENTS…
    out=$1 data=$2 group=$3
    shift 3
    must "$trainer" train --data "$data" --out "$out" --set "group=$group" --steps 20 "$@"
}
run a flat '(*)_*' --threads 1
split=$(sed -n 's/^data: \(.* pictures to train on, .* to evaluate (by group (\*)_\*)\);.*/\1/p' said)
[ -n "$split" ] || tell "the split is told"
held=${split#*on, } held=${held%% to*}
# Whole people: some of their counts make the number evaluated.
printf '%s\n' "$rows" | awk -v held="$held" '{ for (i = 1; i <= NF; i += 2) n[++k] = $i
    for (m = 0; m < 2 ^ k; m++) { s = 0; for (i = 1; i <= k; i++) if (int(m / 2 ^ (i - 1)) % 2) s += n[i]; if (s == held) found = 1 }
    exit !found }' || tell "$held pictures are no whole people of $rows"
run b flat '(*)_*' --threads 2 --readers 3
cmp a/model.safetensors b/model.safetensors || tell "other bits with other threads"
run c flat.tar '(*)_*'
cmp a/model.safetensors c/model.safetensors || tell "other bits from an archive"
run d flat '(*)_*' --steps 8 --set schedule_steps=20
must "$trainer" train --resume --out d --steps 20 --readers 2
grep -qF 'to evaluate (by group (*)_*)' said || tell "the group is remembered"
cmp a/model.safetensors d/model.safetensors || tell "other bits after resuming"
must "$trainer" eval --out a
grep -qF "over $held pictures: by group (*)_*" said || tell "eval knows the groups"

# The same people by folder and by column; folds.
run deep-run deep folder --fold 2/3
grep -qF '(fold 2 of 3, by group folder)' said || tell "folds of folders"
fold=$(sed -n 's/^data: \(.* to evaluate\).*/\1/p' said)
run list-run list.csv who --fold 2/3
[ "$fold" = "$(sed -n 's/^data: \(.* to evaluate\).*/\1/p' said)" ] || tell "other folds by a column"
sed 's/^p1,/p2,/' list.csv >other.csv && mv other.csv list.csv
must "$trainer" train --resume --out list-run --steps 30
grep -q 'note: the data is not what the checkpoint was trained on' said || tell "other groups are other data"
must "$trainer" predict --data flat --weights a --out p.csv

# What cannot be.
refuse 2 'group is (*)/* as given, and (*)_* in the checkpoint' "$trainer" train --resume --out a --steps 30 --set 'group=(*)/*'
refuse 3 'expected groups other than the classes, found that the group of each picture is its class (group=folder)' \
    "$trainer" train --data flat --set group=folder --out no
refuse 3 'expected a name that the group'"'"'s pattern (*)-* fits, found ' "$trainer" train --data flat --set 'group=(*)-*' --out no
refuse 2 'expected one group in brackets in a pattern of names, such as (*)_* of anna_07.wav' "$trainer" train --data flat --set 'group=*_*' --out no
refuse 2 'found group=who, which would be a column of a .csv of paths' "$trainer" train --data flat --set group=who --out no
refuse 3 'list.csv: error: expected a column "whom", the group that pictures are split by, found none' "$trainer" train --data list.csv --set group=whom --out no
sed '3s/^[^,]*/,/; 3s/^,,/,/' list.csv >empty.csv
refuse 3 'empty.csv:3, column "who": error: expected the group of a picture, found none' "$trainer" train --data empty.csv --set group=who --out no
must "$trainer" train --data flat --set group=who --val-fraction 0 --out whole --steps 1
