# token_labels.sh: words with labels: folders of transformers' give its loss, accuracy and labels of rows of words (recorded by
# tests/reference/token_labels.py), learn, and go back as they came; what does not fit is told with its place.
set -eu
. tests/models/common
top=$PWD/tests/reference/token_labels
base=$PWD/tests/reference/encoders/base
mkdir "$TMP/work"
cd "$TMP/work"
says() { grep -q -- "$1" "$TMP/said" || tell "no: $1"; }
has() { grep -q -- "$1" "$2" || { cat "$2"; echo "FAILED: $2 lacks: $1"; exit 1; }; }

# near A B LEAST: within LEAST
near() { awk -v a="$1" -v b="$2" -v e="$3" 'BEGIN { exit !(a - b < e && b - a < e) }' || tell "$1 is not near $2"; }
number() { sed -n 's/.*"'"$1"'": *\([0-9.e-]*\).*/\1/p' "$TMP/said"; }

for family in bert roberta modernbert; do
    must "$LATHE" new "$family" --from "$top/$family"
    says 'head  *tokens '
    has 'c.classes = 5' "$family/model.lua"
    must "$LATHE" build "$family/model.lua" -o "$family/built" --set seq=24 --set batch=8
    trainer=$PWD/$family/built/trainer
    must "$trainer" eval --weights "$top/$family" --data "$top/words.jsonl" --val-fraction 1 --json
    read -r loss accuracy <"$top/$family/scores.txt"
    near "$(number loss)" "$loss" 2e-6
    near "$(number accuracy)" "$accuracy" 1e-6
    must "$trainer" predict --weights "$top/$family" --data "$top/words.jsonl" --out "$family.jsonl"
    sed 's/.*"labels":\(\[[^]]*\]\).*/\1/' "$family.jsonl" >own
    cmp own "$top/$family/labels.jsonl" || { diff own "$top/$family/labels.jsonl" || :; echo "FAILED: $family: other labels"; exit 1; }
    must "$trainer" export --to hf --weights "$top/$family" --out "$family/back"
    cmp "$family/back/tokenizer.json" "$top/$family/tokenizer.json" || tell "another tokenizer.json"
    has 'ForTokenClassification' "$family/back/config.json"
    has '"1": "B-ORG"' "$family/back/config.json"
    must "$trainer" init --init "$top/$family" --out "$family/own.safetensors"
    must "$trainer" init --init "$family/back" --out "$family/again.safetensors"
    cmp "$family/own.safetensors" "$family/again.safetensors" || tell "$family: other weights"
done

# batches of rows have the bits of rows alone
head -n 11 "$top/words.jsonl" >some.jsonl
must bert/built/trainer predict --weights "$top/bert" --data some.jsonl --out together.csv
: >alone.csv
for i in 1 2 3 4 5 6 7 8 9 10 11; do
    sed -n "${i}p" some.jsonl >one.jsonl
    must bert/built/trainer predict --weights "$top/bert" --data one.jsonl --out one.csv
    sed "1d; s/^0,/$((i - 1)),/" one.csv >>alone.csv
done
sed 1d together.csv | cmp - alone.csv || tell "other bits in a batch"
has '^row,word,label,probability' together.csv
has '^[0-9]*,\[SEP\],' together.csv

# learned from names that the data has, and from numbers; --keep stands beside words
must "$LATHE" new ner --from "$base" --head tokens
awk 'BEGIN { srand(5); split("EU the running don then ran", w, " "); split("B-ORG O I-LOC B-LOC O I-ORG", l, " "); for (i = 0; i < 120; i++) { t = ""; s = ""
    for (k = 0; k < 2 + i % 6; k++) { j = 1 + int(6 * rand()); t = t (k ? ", " : "") "\"" w[j] "\""; s = s (k ? ", " : "") "\"" l[j] "\"" }
    print "{\"id\": 7, \"tokens\": [" t "], \"labels\": [" s "]}" } }' >named.jsonl
must "$LATHE" train ner/model.lua --set dropout=0.0 --set attention_dropout=0.0 --set seq=24 --set batch=8 -o ner/built --init "$base" --data named.jsonl --out runs/ner --steps 150 --set lr=3e-3
says 'classifier.weight and 1 more are drawn from the seed'
says 'classes: B-LOC, B-ORG, I-LOC, I-ORG, O'
trainer=$PWD/ner/built/trainer
must "$trainer" eval --out runs/ner --data named.jsonl --val-fraction 1
says 'accuracy \(1\|0\.9\)'
must "$trainer" predict --weights runs/ner --data named.jsonl --keep id --out kept.csv
has '^row,id,word,label,probability' kept.csv
has '^0,7,' kept.csv
must "$trainer" export --to hf --weights runs/ner --out out
has '"0": "B-LOC"' out/config.json
has 'BertForTokenClassification' out/config.json
sed 's/"B-LOC"/0/g; s/"B-ORG"/1/g; s/"I-LOC"/2/g; s/"I-ORG"/3/g; s/"O"/4/g' "$top/words.jsonl" >numbers.jsonl
must "$trainer" eval --weights "$top/bert" --data "$top/words.jsonl" --val-fraction 1
cp "$TMP/said" by_name
must "$trainer" eval --weights "$top/bert" --data numbers.jsonl --val-fraction 1
cmp "$TMP/said" by_name || tell "numbers of named classes are others"

# what does not fit
bad() { { head -n 3 named.jsonl && printf '%s\n' "$1"; } >bad.jsonl; }
train_bad() { refuse 3 "bad.jsonl:4$1" "$trainer" train --init "$base" --data bad.jsonl --out runs/bad --steps 1; }
bad '{"tokens": ["a", "b"], "labels": ["O"]}'
train_bad ', column "labels": error: expected a label for each of the 2 words, found 1'
bad '{"tokens": [], "labels": []}'
train_bad ', column "tokens": error: expected a list of one or more, found an empty one'
bad '{"tokens": ["a", ""], "labels": ["O", "O"]}'
train_bad ', column "tokens", number 2: error: expected a word, found an empty text'
bad '{"tokens": ["a", 3], "labels": ["O", "O"]}'
train_bad ', column "tokens", number 2: error: expected a word, found no text'
bad '{"tokens": ["a"], "labels": [null]}'
train_bad ', column "labels", number 1: error: expected a label, a text or a whole number, found another value'
bad '{"tokens": "a b", "labels": "O O"}'
train_bad ', column "tokens": error: expected a list, such as ["EU", "rejects"], found another value'
bad '{"labels": ["O"]}'
train_bad ', column "tokens": error: expected a list, such as ["EU", "rejects"], found nothing'
bad '{"tokens": ["a"], "labels": ["B-MISC"]}'
refuse 3 'bad.jsonl:4: error: expected one of the 5 classes of training (B-LOC, B-ORG, I-LOC, I-ORG, O), found "B-MISC"' "$trainer" eval --weights runs/ner --data bad.jsonl --val-fraction 1
refuse 3 'or train a new model (from --init PATH with --init-except LAYER, such as head or classifier)' "$trainer" eval --weights runs/ner --data bad.jsonl --val-fraction 1
bad '{"tokens": ["a", "b"], "labels": ["O", -1]}'
train_bad ', column "labels", number 2: error: expected a label, a text or a number from 0 on, found -1; -100 is of words without one'
bad '{"tokens": ["a"], "labels": ["-100"]}'
train_bad ', column "labels", number 1: error: expected a label, a text or a number from 0 on, found "-100"; -100 (a number) is of words without one'
bad '{"tokens": ["a", "b"], "labels": ["O", 3]}'
train_bad ', column "labels", number 2: error: expected labels that are all whole numbers or all names, found 3 after names'
numbered() { printf '{"tokens": ["EU", "ran"], "labels": [%s, %s]}\n' "$@" >numbered.jsonl; }
numbered 0 2 4 6 900000000 0
refuse 3 'numbered.jsonl:3: error: expected labels that are numbered 0, 1, 2, …, since all are numbers, found 900000000, and only 5 of the numbers up to it; number' "$trainer" train --init "$base" --data numbered.jsonl --out runs/bad --steps 1
refuse 2 'are of one text, so there is no second_column' "$trainer" train --init "$base" --data named.jsonl --set second_column=id --out runs/bad --steps 1

# words without labels: in some rows they are told, in all there is nothing to learn
numbered -100 -100 -100 -100
refuse 3 'numbered.jsonl: error: expected words with labels, found none: all have -100' "$trainer" train --init "$base" --data numbered.jsonl --out runs/bad --steps 1
refuse 3 'numbered.jsonl: error: expected words with labels, found none: all have -100' "$trainer" eval --weights runs/ner --data numbered.jsonl --val-fraction 1
awk 'BEGIN { for (i = 0; i < 30; i++) { t = t "\"EU\", "; s = s "-100, " } for (i = 0; i < 16; i++) print "{\"tokens\": [" t "\"ran\"], \"labels\": [" s "\"O\"]}" }' >late.jsonl
refuse 3 'late.jsonl: error: expected words with labels among the first tokens of texts, found all 16 of them cut: rows have 24 tokens; build the model for longer ones (--set seq=N)' "$trainer" train --init "$base" --data late.jsonl --out runs/bad --steps 1
must "$trainer" predict --weights runs/ner --data late.jsonl --out late.csv
cat named.jsonl late.jsonl >some_late.jsonl
must "$trainer" train --init "$base" --data some_late.jsonl --out runs/late --steps 1
says '; of words with a label 16 were cut, and 16 rows have none; classes: B-LOC'
bad '{"tokens": ["a"], "labels": [-100]}'
must "$LATHE" data info bad.jsonl
says 'tokens  *lists of 1 to [0-9]'
printf 'tokens,labels\na,O\n' >bad.csv
refuse 3 'bad.csv:2, column "tokens": error: expected a list' "$trainer" train --init "$base" --data bad.csv --out runs/bad --steps 1
printf '{"text": ["a", "b"], "label": "x"}\n' >lists.jsonl
