# models.sh: the trainer on models that the compiler built: mlp on a CSV, char_rnn and llama on text, through their whole life.
top=$PWD
. tests/trainer/common
lathe=${LATHE:-$BUILD/lathe}
[ -x "$lathe" ] || { echo "skipped: $lathe is not built"; exit 77; }

works "$lathe" build "$top/models/mlp.lua" -o mlp
awk 'BEGIN {
    print "a,b,c,d,class"
    for (i = 0; i < 300; i++) {
        for (k = 0; k < 4; k++) { x = (x * 1103515245 + 12345) % 2147483648; v[k] = x / 1073741824 - 1 }
        print v[0] "," v[1] "," v[2] "," v[3] "," (v[0] * v[1] > 0 ? 2 : (v[2] > 0))
    }
}' >table.csv
works mlp/trainer train --data table.csv --out m --json
close "$(number accuracy out)" 0.9 0.1 'accuracy of mlp (most frequent class: 0.5)'
refuses 3 'column "class": expected a class, 0 to 2, found 3' mlp/trainer train --data table.csv --set csv_target=class $(
    sed 's/,2$/,3/' table.csv >wrong.csv; echo --data wrong.csv)
refuses 1 'has no entry decode' mlp/trainer generate --out m

# of_text NAME LOSS: a model of 20 characters learns, evaluates, writes; the same with 3 threads
some_text t.txt 400
of_text() {
    works $1/trainer train --data t.txt --out $1-1 --steps 150 --threads 1 --json
    close "$(number loss out)" $2 0.2 "loss of $1 after 150 steps (uniform: 3.0)"
    cp out trained
    works $1/trainer eval --data t.txt --out $1-1 --json
    close "$(number loss out)" "$(number loss trained)" 1e-9 'eval as at the end of training'
    works $1/trainer train --data t.txt --out $1-3 --steps 150 --threads 3
    same $1-1/model.safetensors $1-3/model.safetensors
    works $1/trainer generate --out $1-1 --tokens 100 --set temperature=0 --prompt 'the cat'
    says '^the cat' out
}
sizes="--set vocab=20 --set width=16 --set seq=16 --set batch=8 --set lr=1e-2 --set warmup=0"
works "$lathe" build "$top/models/llama.lua" --config char --set layers=2 --set hidden=40 $sizes -o llama
of_text llama 1.0
works "$lathe" build "$top/models/char_rnn.lua" --set hidden=32 $sizes -o rnn
of_text rnn 0.9

# Resident memory is the plan and what any program needs.
works rnn/trainer bench --steps 3 --json
close "$(number planned_bytes out) / 1e6" "$(number peak_rss_bytes out) / 1e6" 16 'MB planned, resident'
works "$lathe" train "$top/models/mlp.lua" -o mlp --data table.csv --out again --steps 20
[ -s again/model.safetensors ] && ok 'lathe train' || wrong 'lathe train left no weights'
cp mlp/model.c before.c
refuses 3 'tabel.csv: error: cannot be read: No such file or directory; check the path (nothing was built)' \
    "$lathe" train "$top/models/mlp.lua" --set hidden=7 -o mlp --data tabel.csv --out no
cmp -s mlp/model.c before.c && ok 'the trainer in the folder stays' || wrong 'a trainer was replaced for data that is not there'
finish
