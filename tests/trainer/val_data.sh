# val_data.sh: --val-data: what is evaluated comes from files of its own, of text in windows and in epochs, of tables, arrays
# and pairs; nothing of --data is then; a run keeps it.
top=$PWD
. tests/trainer/common
some_text t.txt 400
some_text all 500
tail -n 100 all >v.txt
tail -n 37 all >w.txt
train="$toy train --data t.txt --set schedule=constant"

last() { grep '"split":"val"' "$1/metrics.jsonl" | tail -n 1; }
for order in windows epochs; do
    options="--tokenizer chars --set eval_every=20"
    [ $order = windows ] || options="$options --order epochs --documents line"
    run=run-$order
    # The run is that of all of --data; its evaluations are those of all of the other file.
    works $train $options --val-fraction 0 --out plain-$order
    works $train $options --val-data v.txt --out $run
    same plain-$order/model.safetensors $run/model.safetensors
    [ "$(grep -c '"split":"val"' $run/metrics.jsonl)" = 3 ] && ok 'three evaluations' || wrong "evaluations: $(grep -c '"split":"val"' $run/metrics.jsonl)"
    works "$toy" eval --data v.txt --val-fraction 1 ${options#* * * *eval_every=20} --weights $run/model.safetensors --json
    close "$(number loss out)" "$(last $run | sed 's/.*"loss":\([0-9.]*\).*/\1/')" 1e-7 "$order: loss of v.txt"
    value=$(number loss out)
    works "$toy" eval --out $run --json
    close "$(number loss out)" "$value" 1e-7 'eval without words: the run has it'
    says 'using the run.s own data: v.txt' err
    works "$toy" eval --data v.txt ${options#* * * *eval_every=20} --out $run --json
    close "$(number loss out)" "$value" 1e-7 'a run that kept nothing is evaluated on all of a file'
    works "$toy" eval --out $run --val-data w.txt ${options#* * * *eval_every=20} --json
    [ "$(number loss out)" != "$value" ] && ok 'another file' || wrong 'another file has the same loss'
    # Stopped and gone on with.
    works $train $options --val-data v.txt --out cut-$order --steps 30
    works "$toy" train --resume --out cut-$order --steps 60
    same cut-$order/model.safetensors $run/model.safetensors
    [ "$(last cut-$order | sed 's/,"time.*//')" = "$(last $run | sed 's/,"time.*//')" ] && ok 'the same evaluation' || wrong "resumed: $(last cut-$order), whole: $(last $run)"
    cp v.txt kept && cat w.txt >>v.txt
    works "$toy" train --resume --out cut-$order --steps 70
    says 'note: the data for evaluation is not the checkpoint.s' err
    cp kept v.txt
    works $train $options --val-data v.txt --dry-run
    says 'evaluation: loss' out
done
grep -q '"val_paths"' run-windows/checkpoints/step-60/state.json && ok 'in the state' || wrong 'not in the state'
says '"v.txt"' run-windows/config.json

awk -v OFS=, 'BEGIN { print "a,b,c,class"; for (i = 0; i < 60; i++) print i % 7, i % 5, i % 11, i % 3 }' >t.csv
awk -v OFS=, 'BEGIN { print "a,b,c,class"; for (i = 0; i < 21; i++) print i % 4, i % 6, i % 5, i % 2 }' >v.csv
works "$table" train --data t.csv --val-data v.csv --out table
works "$table" eval --out table --json
value=$(number loss out)
[ "$(number rows out)" = 21 ] && ok 'all rows' || wrong "rows: $(cat out)"
works "$table" eval --data v.csv --val-fraction 1 --out table --json
close "$(number loss out)" "$value" 1e-7 'table: loss of v.csv'
works "$table" eval --data v.csv --out table --json
close "$(number loss out)" "$value" 1e-7 'table: all of v.csv'
works "$table" eval --data t.csv --out table --json
[ "$(number rows out)" = 60 ] && ok 'all of its own data' || wrong "rows: $(cat out)"
says 'note: all of t.csv is evaluated, and the run was trained on all of it' err
works "$table" eval --data t.csv --out table --json --fold 2/3
[ "$(number rows out)" = 20 ] && ok 'a fold that is asked for' || wrong "rows: $(cat out)"

# npy SHAPE <BYTES: an array of bytes, given as numbers
npy() {
    awk -v shape="$1" '{ body = body sprintf("\\%03o", $1) }
        END {
            head = sprintf("{\047descr\047: \047|u1\047, \047fortran_order\047: False, \047shape\047: (%s), }", shape)
            while (length(head) < 117) head = head " "
            printf "\\223NUMPY\\001\\000\\166\\000%s\\n%s", head, body
        }' >bytes
    # shellcheck disable=SC2059
    printf "$(cat bytes)"
}
for which in t v; do
    n=60
    [ $which = t ] || n=21
    awk -v n=$n 'BEGIN { for (i = 0; i < 3 * n; i++) print i % 7 + (i * i) % (n % 5 + 3) }' | npy "$n, 3" >x$which.npy
    awk -v n=$n 'BEGIN { for (i = 0; i < n; i++) print (i * i) % (n % 2 + 2) }' | npy "$n," >y$which.npy
done
works "$table" train --data xt.npy yt.npy --val-data xv.npy yv.npy --out arrays
works "$table" train --data xt.npy yt.npy --val-fraction 0 --out arrays-plain
same arrays/model.safetensors arrays-plain/model.safetensors
works "$table" eval --out arrays --json
value=$(number loss out)
[ "$(number rows out)" = 21 ] && ok 'all rows of arrays' || wrong "rows: $(cat out)"
works "$table" eval --data xv.npy yv.npy --val-fraction 1 --weights arrays/model.safetensors --json
close "$(number loss out)" "$value" 1e-7 'arrays: loss of the others'
refuses 3 'xv.npy' "$table" train --data xt.npy yt.npy --val-data xv.npy --out no

lathe=${LATHE:-$BUILD/lathe}
if [ -x "$lathe" ]; then
    pairs() { awk -v n="$1" 'BEGIN { print "source\ttarget"; for (i = 0; i < n; i++) print i % 10 i % 7 "\t" substr("etaoinshrd", i % 5 + 1, 1 + i % 4) }'; }
    pairs 90 >t.tsv
    pairs 23 | sed '2,$s/e/z/g' >v.tsv
    works "$lathe" build "$top/tests/models/pairs.lua" --set vocab=259 --set width=24 --set source_seq=10 --set seq=14 --set batch=4 -o p
    works p/trainer train --data t.tsv --val-data v.tsv --steps 12 --eval-every 6 --out pairs
    works p/trainer train --data t.tsv --val-fraction 0 --steps 12 --out pairs-plain
    same pairs/model.safetensors pairs-plain/model.safetensors
    works p/trainer eval --data v.tsv --val-fraction 1 --weights pairs/model.safetensors --json
    close "$(number loss out)" "$(last pairs | sed 's/.*"loss":\([0-9.]*\).*/\1/')" 1e-7 'pairs: loss of v.tsv'
    works p/trainer train --data t.tsv --val-data v.tsv --steps 5 --eval-every 6 --out pairs-cut
    works p/trainer train --resume --steps 12 --out pairs-cut
    same pairs-cut/model.safetensors pairs/model.safetensors
    [ "$(last pairs-cut | sed 's/,"time.*//')" = "$(last pairs | sed 's/,"time.*//')" ] && ok 'pairs: the same evaluation' || wrong "resumed: $(last pairs-cut), whole: $(last pairs)"
fi

refuses 2 'val-data and --val-fraction both say which data is evaluated; give one' $train --val-data v.txt --val-fraction 0.1 --out no
refuses 2 'val-data -: standard input can be read only once' $train --val-data - --out no
refuses 3 'none.txt' $train --val-data none.txt --out no
: >empty
refuses 3 'empty: error: expected' $train --val-data empty --out no
echo 'QQQ the cat sat on a mat' >other.txt
refuses 3 "other.txt:1: error: 'Q' (U+0051) is not one of the" $train --tokenizer chars --val-data other.txt --out no
echo cat >short.txt
refuses 3 'short.txt: error: expected at least 9 tokens' $train --val-data short.txt --out no
finish
