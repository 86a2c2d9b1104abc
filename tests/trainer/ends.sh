# ends.sh: where generated texts end: at the tokens that an imported model and its tokenizer call so, as transformers'
# generate() ends them (tests/reference/huggingface.py record_ends); at --stop, --stop-token; whole files as prompts.
top=$PWD
. tests/trainer/common
lathe=${LATHE:-$BUILD/lathe}
[ -x "$lathe" ] || { echo "skipped: $lathe is not built"; exit 77; }
ends=$top/tests/reference/hf_ends
model="$top/models/llama.lua --set layers=1 --set heads=2 --set kv_heads=1 --set width=16 --set hidden=12 --set seq=64 --set batch=2 --set vocab=304 --set tied=false"
works "$lathe" build $model -o one
sed 's/^  hf = hugging_face,/  generate = { rows = 4 },\n&/' "$top/models/llama.lua" >rows.lua
works "$lathe" build rows.lua --set layers=1 --set heads=2 --set kv_heads=1 --set width=16 --set hidden=12 --set seq=64 --set batch=2 --set vocab=304 --set tied=false -o four
one="one/trainer generate --weights $ends --tokens 24 --set temperature=0"
four="four/trainer generate --weights $ends --tokens 24 --set temperature=0"

# value NAME N: the N-th text of that name in expected.json; its prompt and what follows
value() { sed -n "s/.*\"$1\": \"\(.*\)\",*\$/\1/p" "$ends/expected.json" | sed -n "$2p"; }
is() { if [ "$(cat out)" = "$1" ]; then ok "$1"; else wrong "\"$1\" expected"; sed 's/^/    | /' out; fi; }

# One at a time, all at once, as JSON: the texts of transformers.
for i in 1 2 3; do
    prompt=$(value prompt $i)
    works $one --prompt "$prompt"
    is "$prompt$(value text $i)"
    printf '%s\n' "$prompt$(value text $i)" >>lines
done
works $four --prompt "$(value prompt 1)" "$(value prompt 2)" "$(value prompt 3)"
grep -v '^---$' out >got
same got lines
works $one --prompt "$(value prompt 1)" --json
says '"ended":true' out
works $one --prompt "$(value prompt 2)" --json
says '"ended":false' out
works $four --beams 2 --prompt "$(value prompt 1)" --json
says '"ended":' out

# --ignore-eos writes on, and never writes an end.
works $one --prompt "$(value prompt 1)" --ignore-eos --json
grep -q '"tokens":\[[0-9,]*[[,]\(2\|86\)[],]' out && wrong 'an end is among the tokens' || ok 'no end is among the tokens'
says '"ended":false' out
[ "$(tr , '\n' <out | wc -l)" -ge 24 ] && ok '24 tokens' || wrong '24 tokens expected'

# A stop lies across tokens ("r", "E", "Da" …) and is left out; the prompt may hold it; several: the first that comes.
stop=$(value stop 1) stopped=$(value prompt 3)$(sed -n 's/.*"stopped": "\(.*\)".*/\1/p' "$ends/expected.json")
works $one --prompt "$(value prompt 3)" --stop "$stop"
is "$stopped"
works $one --prompt "$(value prompt 3)" --stop never "$stop" far
is "$stopped"
works $one --prompt "$(value prompt 3)" --stop=red --stop "$stop" --json
says "\"text\":\"$stopped\".*\"ended\":true,\"stop\":\"$stop\"" out
works $four --prompt "$(value prompt 3)" "$(value prompt 1)" --stop "$stop"
printf '%s\n---\n%s\n' "$stopped" "$(value prompt 1)$(value text 1)" >both
same out both
works $four --prompt "$(value prompt 3)" --stop "$stop" --beams 1
is "$stopped"
works $one --prompt "$(value prompt 3)" --stop q
is "$(value prompt 3)"
works $one --prompt "$(value prompt 3)" --stop-token q
is "$(value prompt 3)"
works $one --prompt "$(value prompt 3)" --stop-token 83
is "$(value prompt 3)"
works $one --prompt "$(value prompt 1)" --min-tokens 12 --json
[ "$(tr , '\n' <out | wc -l)" -ge 14 ] && ok 'min-tokens' || wrong 'at least 12 tokens expected'

# While training: samples end there, too; byte tokenizers have no ends.
yes 'the cat sat on a mat and ran far off' | head -n 200 >t.txt
works one/trainer train --init "$ends" --data t.txt --steps 1 --set lr=0 --set 'samples=["the cat"]' --set temperature=0 --set sample_tokens=24 --out run
says "\"split\":\"sample\".*\"text\":\"$(value prompt 1)$(value text 1)\"" run/metrics.jsonl
works one/trainer generate --out run --tokens 24 --set temperature=0 --prompt "$(value prompt 1)"
is "$(value prompt 1)$(value text 1)"
works "$toy" train --data t.txt --out toy
works "$toy" generate --out toy --prompt the --tokens 30 --json
says '"ended":false' out
works "$toy" generate --out toy --prompt the --tokens 30 --set temperature=0 --stop ' '
is the

# What tokenizer.json puts before a text begins the prompts of an imported model, unseen: <|im_start|>, as Llama's <s>.
cp -r "$ends" begun
sed -i '/"single": \[/a { "SpecialToken": { "id": "B", "type_id": 0 } },
    s/"special_tokens": {}/"special_tokens": { "B": { "id": "B", "ids": [1], "tokens": ["<|im_start|>"] } }/' begun/tokenizer.json
begun="one/trainer generate --weights begun --tokens 24 --set temperature=0"
prompt=$(value prompt 1)
works $one --prompt "<|im_start|>$prompt" --json
tokens=$(sed 's/.*"tokens":\(\[[^]]*\]\).*/\1/' out) text=$(sed 's/.*"text":"<|im_start|>\([^"]*\)".*/\1/' out)
case $tokens in '[1,'*) ok 'begins with token 1' ;; *) wrong "tokens $tokens" ;; esac
works $one --prompt "$prompt" --json
grep -qF "$tokens" out && wrong 'the first token changes nothing' || ok 'the first token matters'
for how in "$begun" "$begun --beams 1" "$begun --set bos=<|im_start|>" "one/trainer generate --out begun-run --tokens 24 --set temperature=0"; do
    [ -e begun-run ] || works one/trainer train --init begun --data t.txt --steps 1 --set lr=0 --out begun-run
    works $how --prompt "$prompt" --json
    grep -qF "\"text\":\"$text\",\"tokens\":$tokens" out && ok "$how" || wrong "$tokens expected: $how: $(cat out)"
    works $how --prompt "$prompt"
    is "$text"
done
works $begun --prompt "<|im_start|>$prompt" --json
grep -qF "\"text\":\"<|im_start|>$text\",\"tokens\":$tokens" out && ok 'once' || wrong "twice: $(cat out)"
works $begun --json
says '"tokens":\[1,' out
works $begun --set bos=none --prompt "$prompt"
is "$prompt$(value text 1)"

# Its texts are read so, too, and end with its end token; chats have the tokens of their form.
measured() { # WEIGHTS DATA OPTIONS…
    works one/trainer eval --weights "$1" --data "$2" --val-fraction 1 --set loss_on=all --set chat=chatml ${3:-}
}
cp -r begun closed
sed -i 's/<|endoftext|>/<\/s>/g' closed/*.json
cat='the cat sat on a mat'
yes "{\"text\": \"$cat\"}" | head -n 100 >texts.jsonl
yes "{\"text\": \"<|im_start|>$cat<|endoftext|>\"}" | head -n 100 >opened.jsonl
yes "{\"text\": \"<|im_start|>$cat</s>\"}" | head -n 100 >closed.jsonl
yes '{"messages": [{"role": "user", "content": "the cat"}, {"role": "assistant", "content": "sat"}]}' | head -n 100 >chats.jsonl
measured begun texts.jsonl && cp out begun.said
measured begun opened.jsonl '--set bos=none --set eos=none' && same out begun.said
measured closed texts.jsonl && cp out closed.said
measured closed closed.jsonl '--set bos=none --set eos=none' && same out closed.said
measured begun texts.jsonl '--set bos=none --set eos=none' && differs out begun.said
measured closed chats.jsonl && cp out chats.said
measured closed chats.jsonl '--set bos=none --set eos=none' && same out chats.said
sed -i 's/"ids": \[1\]/"ids": [290]/' begun/tokenizer.json
refuses 3 'begun/tokenizer.json: error: "post_processor": expected ids of the vocabulary before a text' $begun

# Prompts from files: all bytes of them.
printf red >prompt
works $one --prompt-file prompt
is "$(value prompt 3)$(value text 3)"
$one --prompt-file - <prompt >out 2>err || wrong 'standard input'
is "$(value prompt 3)$(value text 3)"
printf 'the\0cat \377' >bytes
works $one --prompt-file bytes prompt --prompt 'the cat' --json
says '^\[{"prompt":"the\\u0000cat �",' out
says '"prompt":"red".*"prompt":"the cat"' out
refuses 3 'nowhere: error: the prompt cannot be read: no such file' $one --prompt-file nowhere
refuses 3 'expected a file with a prompt, found a folder' $one --prompt-file .
refuses 3 'bytes: error: .*is not one of the\|bytes: error: byte .*' "$toy" generate --out toy --prompt-file bytes
refuses 2 'standard input is a single prompt' $one --prompt-file - -
head -c 70000000 /dev/zero >large
refuses 3 'large: error: is larger than the limit for a prompt' $one --prompt-file large
rm large

# Refusals.
refuses 2 'expected a text, found none' $one --stop ''
refuses 2 '--stop-token the cat: expected a token of the tokenizer (BPE of 290 tokens) or its number, below 304' $one --stop-token 'the cat'
refuses 2 '--stop-token 304: expected a token' $one --stop-token 304
refuses 2 '--ignore-eos lets no token end a text' $one --ignore-eos --stop-token q
refuses 2 'train has no option --stop; eval has' one/trainer train --stop q
finish
