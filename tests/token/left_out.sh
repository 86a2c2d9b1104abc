# left_out.sh: bytes for which a vocabulary of byte pairs has no token are left out before its pairs are merged, as Hugging Face's tokenizers
# do, of short and long pieces, and told once; SmolLM2's lacks some control characters.
set -eu
. tests/models/common
mkdir "$TMP/k"
echo '{"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}, "decoder": {"type": "ByteLevel"},
  "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3}, "merges": ["a b"]}}' >"$TMP/k/tokenizer.json"
expect() { # IDS TEXT: a text as JSON has it
    echo "{\"text\": \"$2\"}" >"$TMP/t.jsonl"
    must "$LATHE" tokenize encode --tokenizer "$TMP/k" --json --out "$TMP/ids" "$TMP/t.jsonl"
    tr -d " " <"$TMP/ids" >"$TMP/own"
    [ "$(cat "$TMP/own")" = "$1" ] || tell "$2: ids $(cat "$TMP/own"), expected $1"
}
many() { awk -v n="$1" -v s="$2" -v between="$3" 'BEGIN { while (n--) printf "%s%s", s, n ? between : "" }'; }
expect '[3,2]' 'a\u0014bc'
[ "$(grep -c 'has byte 0x14, for which the tokenizer .*/k/tokenizer.json has no token; such bytes are left out' "$TMP/said")" = 1 ] || tell "it is not told"
expect '[1]' 'b\u0014'
expect '[]' '\u0014'
expect '[]' "$(many 70 '\\u0014' '')"
expect "[$(many 30 3 ,)]" "$(many 30 'a\\u0014b' '')"
expect "[$(many 60 2 ,),3]" "$(many 60 c '')ééab"
[ "$(grep -c 'left out' "$TMP/said")" = 1 ] || tell "it is told for each byte"
