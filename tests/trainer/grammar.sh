# grammar.sh: --grammar and --json-schema: what is written, alone and side by side; a chat; what is refused, and where.
top=$PWD
. tests/trainer/common
lathe=${LATHE:-$BUILD/lathe}
[ -x "$lathe" ] || { echo "skipped: $lathe is not built"; exit 77; }
for k in 1 2 3 4; do echo '{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yo"}]}'; done >hi.jsonl
works "$lathe" train "$top/models/gpt.lua" --set layers=1 --set width=32 --set seq=96 --set pack=true -o hi --data hi.jsonl --set chat=plain --val-fraction 0 --steps 1 --out run
writes="hi/trainer generate --weights run --prompt user: --set temperature=1.5"
printf 'root ::= "q" [0-9]{3} "\\u00e9" # hi\n' >number
echo '{"type": "object", "properties": {"a": {"type": "integer", "minimum": 7, "maximum": 12}}, "required": ["a"]}' >schema
works $writes --grammar number --samples 3 --set min_p=0.001
[ "$(grep -c '^user:q[0-9][0-9][0-9]é$' out)" = 3 ] && ok 'three numbers' || { wrong 'three numbers expected'; cat out; }
works $writes --grammar number --json
says '"ended":true' out
works $writes --json-schema schema --tokens 90
tr -d ' \n\t' <out | grep -q '^user:{"a":\([789]\|1[012]\)}$' && ok 'an object' || { wrong 'an object expected'; cat out; }
works $writes --grammar number --tokens 2
says 'before its grammar does' err
printf 'Hi\nHo\n' | timeout 60 hi/trainer chat --weights run --grammar number >out 2>err
[ "$(grep -c '^q[0-9][0-9][0-9]é$' out)" = 2 ] && ok 'two answers' || { wrong 'two answers expected'; cat out err; }

printf 'root ::= "a" |\n  b\n' >bad
refuses 3 'bad:2:3: error: the rule "b" is used here' $writes --grammar bad
echo '{"type": "integer", "multipleOf": 3}' >bad
refuses 3 'bad: error: #/multipleOf: is not supported' $writes --json-schema bad
printf '{"type": ,}' >bad
refuses 3 'bad:1:10: error: is not JSON' $writes --json-schema bad
refuses 3 'nowhere: error: cannot be read' $writes --grammar nowhere
refuses 2 'both say what texts may be' $writes --grammar number --json-schema schema
refuses 2 'min_p=2' $writes --set min_p=2
refuses 2 'give --beams 0' $writes --grammar number --beams 1
finish
