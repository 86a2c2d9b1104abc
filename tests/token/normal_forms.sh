# normal_forms.sh: text in each of Unicode's normal forms gives the ids that Hugging Face's tokenizers give
# (tests/reference/normal_forms.py), from memory and from a file that is cut, and the form goes out again.
set -eu
. tests/models/common
reference=tests/reference
for form in NFC NFD NFKC NFKD; do
    mkdir "$TMP/$form"
    sed "s/\"normalizer\": *null/\"normalizer\": {\"type\": \"$form\"}/" $reference/gguf/llama/tokenizer.json >"$TMP/$form/tokenizer.json"
    grep -q "\"$form\"" "$TMP/$form/tokenizer.json" || { echo "the tokenizer has another line of its normalizer"; exit 1; }
    grep "\"form\": \"$form\"" $reference/normal_forms.jsonl | sed 's/.*"ids": //; s/}$//; s/ //g' >"$TMP/theirs"
    grep "\"form\": \"$form\"" $reference/normal_forms.jsonl >"$TMP/texts.jsonl"
    "$LATHE" tokenize encode --tokenizer "$TMP/$form" --json --format jsonl "$TMP/texts.jsonl" >"$TMP/said" 2>"$TMP/progress" || tell "$form"
    tr -d ' ' <"$TMP/said" >"$TMP/own"
    cmp -s "$TMP/own" "$TMP/theirs" || { diff "$TMP/own" "$TMP/theirs" | head -n 4 >"$TMP/said"; tell "$form: other ids"; }
done
printf 'e\314\201 \377e\314\201\n' >"$TMP/broken.txt"            # on both sides of a byte that is no UTF-8
must "$LATHE" tokenize encode --tokenizer "$TMP/NFC" --out "$TMP/ids.bin" "$TMP/broken.txt"
must "$LATHE" tokenize decode --tokenizer "$TMP/NFC" "$TMP/ids.bin"
printf '\303\251 \377\303\251\n' | cmp -s - "$TMP/said" || tell "the text of broken.txt in NFC"
