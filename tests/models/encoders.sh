# encoders.sh: a folder of BERT's becomes a description, learns classes of texts, vectors and hidden words from tables, and goes back
# as it came; heads that the weights lack are drawn; what does not fit is told.
set -eu
. tests/models/common
base=$PWD/tests/reference/encoders/base
families=$PWD/tests/reference/encoders
models=$PWD/models
mkdir "$TMP/work"
cd "$TMP/work"
says() { grep -q -- "$1" "$TMP/said" || tell "no: $1"; }
has() { grep -q -- "$1" "$2" || { cat "$2"; echo "FAILED: $2 lacks: $1"; exit 1; }; }

awk 'BEGIN { srand(2); split("the running don a then ran", w, " "); for (i = 0; i < 300; i++) { s = ""; run = 0
    for (k = 0; k < 3 + i % 5; k++) { j = 1 + int(6 * rand()); s = s w[j] " "; run += j == 2 }
    print "{\"text\": \"" s "\", \"label\": \"" (run ? "runs" : i % 7 ? "stands" : "waits") "\", \"second\": \"" s "a\"}" } }' >texts.jsonl

# classes: three, which the data has; the head is drawn
must "$LATHE" new classes --from "$base"
says 'head  *classes '
must "$LATHE" train classes/model.lua --set dropout=0.0 --set attention_dropout=0.0 -o classes/built --init "$base" --data texts.jsonl --out runs/classes --steps 300 --set lr=1e-3
says 'classifier.weight and 1 more are drawn from the seed'
says 'cls.predictions.bias and 6 more are not read'
says 'classes: runs, stands, waits'
trainer=$PWD/classes/built/trainer
must "$trainer" train --init "$base" --data texts.jsonl --out runs/again --steps 300 --set lr=1e-3 --threads 1
cmp runs/classes/model.safetensors runs/again/model.safetensors || tell "other bits with other threads"
must "$trainer" eval --out runs/classes
says "^accuracy 0.9"
printf '{"text": "a running don"}\n{"text": "the don", "label": "unknown"}\n' >new.jsonl
must "$trainer" predict --data new.jsonl --weights runs/classes --keep text --out new.csv
has 'text,class,probability of runs,probability of stands,probability of waits' new.csv
has 'a running don,runs,' new.csv
must "$trainer" export --to hf --weights runs/classes --out out
has '"1": "stands"' out/config.json
has 'BertForSequenceClassification' out/config.json
cmp out/tokenizer.json "$base/tokenizer.json" || tell "another tokenizer.json"

# what was written is read again: its classes are its own, though the data has fewer
must "$LATHE" new back --from out
has 'c.classes = 3' back/model.lua
must "$trainer" predict --data new.jsonl --weights out --keep text --out again.csv
cmp new.csv again.csv || tell "other predictions of the exported folder"
must "$trainer" export --to hf --weights out --out twice
for file in config.json model.safetensors tokenizer.json; do cmp "out/$file" "twice/$file" || tell "another $file"; done
grep -v waits texts.jsonl >fewer.jsonl
must "$LATHE" train back/model.lua -o back/built --init out --data fewer.jsonl --out runs/back --steps 1
says 'classes: runs, stands, waits'
sed 's/"waits"/"sits"/' texts.jsonl >other.jsonl
refuse 3 'other.jsonl:1: error: expected one of the 3 classes of training (runs, stands, waits), found "sits"' "$trainer" train --init out --data other.jsonl --out runs/other
must "$trainer" train --init out --init-except classifier --data other.jsonl --out runs/other --steps 1
says 'classes: runs, sits, stands'

# adapters below a head that is drawn: it is in no file of theirs
must "$LATHE" train classes/model.lua -o classes/low --lora rank=2 --init "$base/" --data texts.jsonl --out runs/low --steps 1
says 'classifier.weight and 1 more stay as they are drawn, but for adapters'
refuse 1 'classifier.weight was drawn from the seed' classes/low/trainer export --to peft --weights runs/low --out peft
must classes/low/trainer export --to hf --weights runs/low --out merged

# from nothing, of bytes, whose number the model says
must "$LATHE" train "$models/bert.lua" -o bytes --set layers=1 --set width=16 --set hidden=16 --set seq=64 --data texts.jsonl --out runs/bytes --steps 2
says 'texts of '
refuse 2 'the characters of the tokenizer are not known' bytes/trainer train --tokenizer chars --data texts.jsonl --out runs/chars --steps 1

# a tokenizer whose rows would have no text
cp -r "$base" wrong
sed 's/"id": "A"/"id": "B"/' "$base/tokenizer.json" >wrong/tokenizer.json
refuse 3 'wrong/tokenizer.json: error: "post_processor": expected "single" with sequence A alone' "$trainer" train --init wrong --data texts.jsonl --out runs/wrong --steps 1

# vectors, of pairs; and of one side alone
must "$LATHE" new vectors --from "$base" --head embedding
must "$LATHE" train vectors/model.lua -o vectors/built --init "$base" --data texts.jsonl --out runs/vectors --steps 40 --set lr=1e-3
must vectors/built/trainer predict --data new.jsonl --weights runs/vectors --only embedding --out vectors.csv
awk -F , 'NR > 1 { s = 0; for (k = 1; k <= NF; k++) s += $k * $k; if (NF != 24 || s < 0.999 || s > 1.001) exit 1 }' vectors.csv || { cat vectors.csv; echo "FAILED: not 24 numbers of length 1"; exit 1; }
must vectors/built/trainer eval --out runs/vectors --data texts.jsonl --val-fraction 1
says 'loss, accuracy: over the first 288 texts, in batches of 16, whose rows meet; the last 12 fill none'
must vectors/built/trainer bench --steps 2
must vectors/built/trainer export --to hf --weights "$base" --out bare
has '"BertModel"' bare/config.json

# hidden words
must "$LATHE" new masked --from "$base" --head masked
has 'c.mask = 4' masked/model.lua
must "$LATHE" train masked/model.lua -o masked/built --init "$base" --data texts.jsonl --out runs/masked --steps 40 --set lr=1e-3
says 'and 3 more are not read'
must masked/built/trainer export --to hf --weights "$base" --out words
has 'BertForMaskedLM' words/config.json

# empty rows fill the last batch, which has random draws of its own: it is as with rows of which no word can be hidden
printf '{"text": "a running don"}\n{"text": "the don ran a then"}\n{"text": "then ran"}\n' >few.jsonl
{ cat few.jsonl && for i in 1 2 3 4 5; do echo '{"text": "[SEP]"}'; done; } >filled.jsonl
must "$LATHE" build masked/model.lua -o masked/eight --set batch=8
must masked/eight/trainer eval --weights runs/masked --data filled.jsonl --val-fraction 1
grep '^loss' "$TMP/said" >filled
must masked/eight/trainer eval --weights runs/masked --data few.jsonl --val-fraction 1
grep '^loss' "$TMP/said" >few
cmp few filled || tell "few rows have another loss than with rows that do not count"

# older names of norms
mkdir old
cp "$base"/*.json old
LC_ALL=C sed 's/LayerNorm.weight"/LayerNorm.gamma" /g; s/LayerNorm.bias"/LayerNorm.beta"/g' "$base/model.safetensors" >old/model.safetensors
must masked/built/trainer init --init old --out old.safetensors
must masked/built/trainer init --init "$base" --out new.safetensors
cmp old.safetensors new.safetensors || tell "other weights by older names"

# each family comes back as it was
for family in bert roberta modernbert; do
    must "$LATHE" new "$family" --from "$families/$family"
    has 'c.classes = 4' "$family/model.lua"
    must "$LATHE" build "$family/model.lua" -o "$family/built"
    must "$family/built/trainer" export --to hf --weights "$families/$family" --out "$family/back"
    must "$family/built/trainer" init --init "$families/$family" --out "$family/own.safetensors"
    must "$family/built/trainer" init --init "$family/back" --out "$family/again.safetensors"
    cmp "$family/own.safetensors" "$family/again.safetensors" || tell "$family: other weights"
done

# numbers of classes: nearly all must occur, and several rows must share one
awk '{ sub(/"label": "[a-z]*"/, "\"label\": " (NR == 5 ? 900000 : NR % 3)); print }' texts.jsonl >numbers.jsonl
refuse 3 'numbers.jsonl:5: error: expected labels that are numbered 0, 1, 2, …, since all are numbers, found 900000, and only 4 of the 900,001 numbers up to it: none of 3, 4' "$LATHE" train classes/model.lua -o no --data numbers.jsonl --out runs/no
awk '{ sub(/"label": "[a-z]*"/, "\"label\": " NR % 3 + 1); print }' texts.jsonl >gap.jsonl
must "$LATHE" train classes/model.lua -o classes/gap --set dropout=0.0 --init "$base" --data gap.jsonl --out runs/gap --steps 1
says 'labels are numbers up to 3, so there are 4 classes, of which no row has 0'
awk '{ sub(/"label": "[a-z]*"/, "\"label\": " NR); print }' texts.jsonl >ids.jsonl
refuse 3 'expected classes that many rows share, found 300 different labels of 300: ' "$LATHE" train classes/model.lua -o no --data ids.jsonl --out runs/no
sed 's/"text": "[a-z ]*"/"text": ["a", "b"]/' texts.jsonl >lists.jsonl
refuse 3 'lists.jsonl:1, column "text": error: expected a text, found a list' "$trainer" train --init out --data lists.jsonl --out runs/no

# what does not fit
config() { rm -rf odd && cp -r "$families/$1" odd && sed "$2" "$families/$1/config.json" >odd/config.json; }
config bert 's/"hidden_act": "gelu_new"/"hidden_act": "mish"/'
refuse 3 'hidden_act: expected "gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "relu" or "silu", found "mish"' "$LATHE" new no --from odd
config bert 's/"hidden_act": "gelu_new"/"hidden_act": "gelu"/'
refuse 3 'hidden_act: expected "gelu_new", found "gelu"' bert/built/trainer init --init odd --out no.safetensors
config bert 's/"hidden_size"/"position_embedding_type": "relative_key", "hidden_size"/'
refuse 3 'position_embedding_type: found "relative_key": positions are by distance' bert/built/trainer init --init odd --out no.safetensors
config bert 's/"problem_type": [^,]*/"problem_type": "regression"/'
refuse 3 'problem_type: expected "single_label_classification", found "regression"' bert/built/trainer init --init odd --out no.safetensors
config bert 's/BertForSequenceClassification/BertForNothing/'
refuse 3 'architectures: expected ["BertForSequenceClassification"], found ["BertForNothing"]' bert/built/trainer init --init odd --out no.safetensors
config modernbert 's/"local_attention": 6/"local_attention": 8/'
refuse 3 'local_attention: expected 6, found 8' modernbert/built/trainer init --init odd --out no.safetensors
refuse 2 '--head: expected classes, tokens, masked or embedding, found odd' "$LATHE" new no --from "$base" --head odd
refuse 2 '--head is of encoders, and llama is a decoder' "$LATHE" new no --from "$families/../hf_llama" --head classes
refuse 3 'classifier.weight: missing' "$trainer" export --to hf --weights "$base" --out no
sed 's/"text"/"words"/' texts.jsonl >unnamed.jsonl
refuse 3 'expected the text in a column "text" (--set text_column=COLUMN names another), found none among the 3' "$trainer" train --init "$base" --data unnamed.jsonl --out runs/no
must "$trainer" train --init "$base" --data unnamed.jsonl --set text_column=words --out runs/unnamed --steps 1
awk 'BEGIN { print "text,label"; for (i = 0; i < 40; i++) print "the don ran a the don ran a the don ran a the don ran a the don ran a the don ran a the don ran a the don ran a," (i % 2 ? "runs" : "") }' >empty.csv
refuse 3 'empty.csv:2, column "label": error: expected a class, found an empty cell' "$trainer" train --init "$base" --data empty.csv --out runs/no
sed 's/,$/,stands/' empty.csv >long.csv
must "$trainer" train --init "$base" --data long.csv --out runs/long --steps 1 --set split=last
says '40 cut'

refuse 1 'mask 103 is no id below vocab 40' "$LATHE" check "$models/bert.lua" --set head=masked --set vocab=40
