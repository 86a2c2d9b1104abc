# serve.sh: `trainer serve` says what `trainer generate` says, whole and in a stream, to one client and to twenty, one after
# another or three at once; it refuses what it does not understand, and outlives clients that go away.
top=$PWD
. tests/trainer/common
lathe=${LATHE:-$BUILD/lathe}
[ -x "$lathe" ] || { echo "skipped: $lathe is not built"; exit 77; }
needs_server
refuses 2 'expected an address' "$toy" serve --host nowhere.example
for k in 1 2 3 4 5 6 7 8; do echo '{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yo"}]}'; done >hi.jsonl
works "$lathe" train "$top/models/gpt.lua" --set layers=1 --set width=32 --set seq=96 --set pack=true --set lr=0.01 -o hi --data hi.jsonl \
    --set chat=plain --val-fraction 0 --steps 100 --out run
trainer=$work/hi/trainer
server=
trap 'kill $server 2>/dev/null; rm -rf "$work"' EXIT

# begin OPTION…: sets port and server
begin() {
    rm -f address
    "$trainer" serve --weights run --port 0 "$@" >address 2>log &
    server=$!
    for i in $(seq 100); do [ -s address ] && break; sleep 0.1; done
    port=$(sed 's|.*:\([0-9]*\)/v1|\1|' address)
}

# asks STATUS PATH JSON [HEADER…]: the answer in out
asks() {
    status=$1 path=$2
    printf %s "$3" >body
    shift 3
    timeout 30 ./client "$port" POST "/v1/$path" body "$@" >out 2>err
    [ "$(cat err)" = "$status" ] && ok "$status $path" || { wrong "$status expected, $(cat err) found: $path $(cut -c 1-200 body)"; cut -c 1-300 out; }
}
# field NAME: of a JSON text in out, as it is written there; of a stream, all of them joined
field() { grep -o "\"$1\":\"\([^\"\\\\]\|\\\\.\)*\"" out | sed "s/^\"$1\":\"//; s/\"\$//" | tr -d '\n'; }

# as_generate: a text and an answer are those of generate: the likeliest, and drawn with a seed.
json_text() { sed 's/.*"text":"\(\([^"\\]\|\\.\)*\)".*/\1/' out; }
as_generate() {
    works "$trainer" generate --weights run --prompt 'user: H' --tokens 60 --set temperature=0 --json && json_text >whole
    asks 200 completions '{"prompt": "user: H", "max_tokens": 60, "temperature": 0}'
    printf '%s\n' "user: H$(field text)" >served; same whole served
    asks 200 completions '{"prompt": "user: H", "max_tokens": 60, "temperature": 0, "stream": true}'
    printf '%s\n' "user: H$(field text)" >served; same whole served
    says '^data: \[DONE\]' out
    works "$trainer" generate --weights run --prompt 'user: H' --tokens 60 --seed 7 --set temperature=0.8 --json && json_text >whole
    asks 200 completions '{"prompt": "user: H", "max_tokens": 60, "seed": 7, "temperature": 0.8}'
    printf '%s\n' "user: H$(field text)" >served; same whole served
    works "$trainer" generate --weights run --chat --prompt Hi --set temperature=0 && cp out whole
    asks 200 chat/completions '{"messages": [{"role": "user", "content": "Hi"}], "temperature": 0}'
    field content >served; echo >>served; same whole served
    says '"finish_reason":"stop"' out
    says '"prompt_tokens":[0-9]*,"completion_tokens":2' out
    asks 200 chat/completions '{"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "H"}, {"type": "text", "text": "i"}]}], "temperature": 0, "stream": true, "stream_options": {"include_usage": true}}'
    field content >served; echo >>served; same whole served
    says '"choices":\[\],"usage"' out
    for stream in false true; do
        asks 200 chat/completions '{"messages": [{"role": "user", "content": "Hi"}], "temperature": 0, "stop": ["x", "o"], "stream": '$stream'}'
        [ "$(field content)" = Y ] && ok 'stopped' || wrong "after a stop: $(field content)"
    done
}

# many: twenty at once get what they would get alone, some by a grammar; others leave in the middle, or send half a request.
many() {
    clients=
    for k in $(seq 20); do
        by=
        [ $((k % 4)) != 0 ] || by='"grammar": "root ::= [0-9]{4,9} \"!\"", '
        printf '{%s"prompt": "user: %s", "max_tokens": 40, "seed": %s, "temperature": 1}' "$by" "$k" "$k" >body.$k
        timeout 30 ./client "$port" POST /v1/completions body.$k >out 2>err; field text >alone.$k
    done
    printf '{"prompt": "user: ", "max_tokens": 96, "stream": true}' >leaves
    timeout 40 ./client "$port" half /v1/completions leaves >half.out 2>half.err &
    half=$!
    for k in $(seq 20); do
        timeout 30 ./client "$port" POST /v1/completions body.$k >out.$k 2>err.$k &
        clients="$clients $!"
        timeout 30 ./client "$port" leave /v1/completions leaves >/dev/null 2>&1 &
        clients="$clients $!"
    done
    # shellcheck disable=SC2086
    wait $clients
    for k in $(seq 20); do
        cp out.$k out; field text >together.$k
        cmp -s alone.$k together.$k || wrong "client $k got another answer beside others"
        [ $((k % 4)) != 0 ] || grep -qx '[0-9]\{4,9\}!' together.$k || wrong "client $k: $(cat together.$k) is not by its grammar"
    done
    asks 200 completions '{"prompt": "a", "max_tokens": 3}'
    kill "$half" 2>/dev/null
    says 'POST /v1/completions 200' log
}

begin
refuses 1 "another program may have it" "$trainer" serve --weights run --port "$port"
timeout 10 ./client "$port" GET /v1/models >out 2>err && says '"id":"gpt"' out
timeout 10 ./client "$port" GET /health >out 2>err && says ok out

as_generate

# What is refused, and how it is told.
for field in '"n": 2' '"tools": [{}]' '"logprobs": 2' '"logit_bias": {"1": 2}' '"presence_penalty": 1' '"response_format": {"type": "json_schema"}' \
    '"tempature": 1' '"temperature": -1' '"max_tokens": 0' '"max_tokens": 1000000' '"stop": [""]' '"stop": ["a","b","c","d","e"]' '"min_p": 2' '"grammar": "root = a"' '"response_format": {"type": "json_schema", "json_schema": {"schema": {"not": {}}}}' '"stream": 1'; do
    asks 400 completions "{\"prompt\": \"a\", $field}"
    says '"error":{"message":"' out
done
asks 400 completions '{"prompt": "a", "response_format": {"type": "json_schema", "json_schema": {"schema": {"properties": {"a": {"multipleOf": 3}}}}}}'
says 'response_format: #/properties/a/multipleOf: is not supported","type":"invalid_request_error","param":"response_format"' out

# A grammar and a schema constrain an answer, whole and in a stream; without one the answer is what it was.
for stream in false true; do
    asks 200 completions '{"prompt": "user: H", "grammar": "root ::= \"q\" [0-9]{3} \"!\"", "min_p": 0.01, "seed": 3, "stream": '$stream'}'
    field text >"said.$stream"; grep -qx 'q[0-9][0-9][0-9]!' "said.$stream" && ok grammar || wrong "by a grammar: $(cat "said.$stream")"
done
same said.false said.true
asks 200 chat/completions '{"messages": [{"role": "user", "content": "Hi"}], "temperature": 2, "seed": 1, "max_tokens": 90, "response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": {"type": "object", "properties": {"n": {"type": "integer", "minimum": 10, "maximum": 19}}, "required": ["n"]}}}}'
field content | grep -q '^{.*n.*1[0-9].*}$' && ok schema || wrong "by a schema: $(field content)"
says '"finish_reason":"stop"' out
asks 200 chat/completions '{"messages": [{"role": "user", "content": "Hi"}], "temperature": 0, "response_format": {"type": "text"}}'
[ "$(field content)" = Yo ] && ok 'text' || wrong "without a grammar: $(field content)"
asks 200 completions '{"prompt": "a", "response_format": {"type": "json_object"}, "temperature": 0, "max_tokens": 40}'
field text | grep -q '^{' && ok object || wrong "an object: $(field text)"

asks 400 completions '{"prompt": "a"'
asks 400 completions '[]'
asks 400 completions ''
asks 400 completions '{"prompt": ["a", "b"]}'
asks 400 chat/completions '{"messages": []}'
asks 400 chat/completions '{"messages": [{"role": "tool", "content": "x"}]}'
asks 400 completions "$(printf '{"prompt": "\377"}')"
asks 400 completions "{\"prompt\": \"$(head -c 200 /dev/zero | tr '\0' a)\"}"
says '200 tokens, and the model looks back 96' out
asks 404 nothing '{}'
asks 403 completions '{"prompt": "a"}' 'Origin: http://page.example'
head -c 6000000 /dev/zero >large
timeout 30 ./client "$port" POST /v1/completions large >out 2>err
says 413 err

many

# A signal ends it, and an answer under way is whole.
printf '{"prompt": "user: ", "max_tokens": 90, "temperature": 0}' >body
./client "$port" POST /v1/completions body >out 2>err &
client=$!
wait $client
kill -TERM "$server"; wait "$server"; code=$?
[ "$code" = 0 ] && ok 'exit 0' || wrong "exit $code after SIGTERM"
says 200 err

# A key.
refuses 2 'other machines could ask' "$trainer" serve --weights run --host 0.0.0.0
echo sesame >key
begin --key-file key
asks 401 completions '{"prompt": "a"}'
asks 401 completions '{"prompt": "a"}' 'Authorization: Bearer sesamf'
asks 401 completions '{"prompt": "a"}' 'Authorization: Bearer '
asks 200 completions '{"prompt": "a", "max_tokens": 2}' 'Authorization: Bearer sesame'
kill -INT "$server"; wait "$server"; code=$?
[ "$code" = 0 ] && ok 'exit 0' || wrong "exit $code after SIGINT"

# Three slots: as many answers at once, prompts read by chunks between the others' tokens, more clients than slots.
works "$lathe" build "$top/models/gpt.lua" --set layers=1 --set width=32 --set seq=96 --set pack=true --set lr=0.01 --set prefill=8 --set slots=3 -o slots
trainer=$work/slots/trainer
works "$trainer" info && says 'texts at once' out
begin
as_generate
many
kill -TERM "$server"; wait "$server"; code=$?
[ "$code" = 0 ] && ok 'exit 0' || wrong "exit $code after SIGTERM, with slots"
finish
