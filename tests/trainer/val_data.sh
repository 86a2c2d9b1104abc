# val_data.sh: --val-data: what is evaluated comes from files of its own, of text in windows and in epochs, and of tables;
# nothing of --data is then; a run keeps it.
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
    says 'the data is the run.s own: v.txt' err
    works "$toy" eval --out $run --val-data w.txt ${options#* * * *eval_every=20} --json
    [ "$(number loss out)" != "$value" ] && ok 'another file' || wrong 'another file has the same loss'
    # Stopped and gone on with.
    works $train $options --val-data v.txt --out cut-$order --steps 30
    works "$toy" train --resume --out cut-$order --steps 60
    same cut-$order/model.safetensors $run/model.safetensors
    [ "$(last cut-$order | sed 's/,"time.*//')" = "$(last $run | sed 's/,"time.*//')" ] && ok 'the same evaluation' || wrong "resumed: $(last cut-$order), whole: $(last $run)"
    cp v.txt kept && cat w.txt >>v.txt
    works "$toy" train --resume --out cut-$order --steps 70
    says 'note: the data for evaluation is not the one' err
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

refuses 2 'val-data and --val-fraction both say what is evaluated; give one' $train --val-data v.txt --val-fraction 0.1 --out no
refuses 2 'val-data -: standard input can be read once' $train --val-data - --out no
refuses 3 'none.txt' $train --val-data none.txt --out no
: >empty
refuses 3 'empty: error: expected' $train --val-data empty --out no
echo 'QQQ the cat sat on a mat' >other.txt
refuses 3 "other.txt:1: error: 'Q' (U+0051) is not one of the" $train --tokenizer chars --val-data other.txt --out no
echo cat >short.txt
refuses 3 'short.txt: error: expected at least 9 tokens' $train --val-data short.txt --out no
finish
