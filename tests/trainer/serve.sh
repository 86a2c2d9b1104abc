# serve.sh: `trainer serve` says what `trainer generate` says, whole and in a stream, to one client and to twenty; it refuses
# what it does not understand, and outlives clients that go away.
top=$PWD
. tests/trainer/common
lathe=${LATHE:-$BUILD/lathe}
[ -x "$lathe" ] || { echo "skipped: $lathe is not built"; exit 77; }
${CC:-cc} -O1 "$top/tests/trainer/http_client.c" -o client || { echo "skipped: no C compiler"; exit 77; }
timeout 10 ./client 9 GET / >out 2>err
grep -q unreachable err && { echo 'skipped: this machine cannot reach 127.0.0.1 (its loopback interface is down)'; exit 77; }
timeout 60 "$toy" serve --host nowhere.example >out 2>err </dev/null
grep -q libmicrohttpd12 err && { echo 'skipped: libmicrohttpd12 is missing'; exit 77; }
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

begin
timeout 10 ./client "$port" GET /v1/models >out 2>err && says '"id":"gpt"' out
timeout 10 ./client "$port" GET /health >out 2>err && says ok out

# A text and an answer are those of generate: the likeliest, and drawn with a seed.
json_text() { sed 's/.*"text":"\(\([^"\\]\|\\.\)*\)".*/\1/' out; }
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

# What is refused, and how it is told.
for field in '"n": 2' '"tools": [{}]' '"logprobs": 2' '"logit_bias": {"1": 2}' '"presence_penalty": 1' '"response_format": {"type": "json_schema"}' \
    '"tempature": 1' '"temperature": -1' '"max_tokens": 0' '"max_tokens": 1000000' '"stop": [""]' '"stop": ["a","b","c","d","e"]' '"min_p": 0.1' '"stream": 1'; do
    asks 400 completions "{\"prompt\": \"a\", $field}"
    says '"error":{"message":"' out
done
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

# Twenty at once get what they would get alone; others leave in the middle, or send half a request.
for k in $(seq 20); do
    printf '{"prompt": "user: %s", "max_tokens": 40, "seed": %s, "temperature": 1}' "$k" "$k" >body.$k
    timeout 30 ./client "$port" POST /v1/completions body.$k >out 2>err; field text >alone.$k
done
printf '{"prompt": "user: ", "max_tokens": 96, "stream": true}' >leaves
timeout 40 ./client "$port" half /v1/completions leaves >half.out 2>half.err &
half=$!
for k in $(seq 20); do
    timeout 30 ./client "$port" POST /v1/completions body.$k >out.$k 2>err.$k &
    clients="${clients:-} $!"
    timeout 30 ./client "$port" leave /v1/completions leaves >/dev/null 2>&1 &
    clients="$clients $!"
done
# shellcheck disable=SC2086
wait $clients
for k in $(seq 20); do
    cp out.$k out; field text >together.$k
    cmp -s alone.$k together.$k || wrong "client $k got another answer beside others"
done
asks 200 completions '{"prompt": "a", "max_tokens": 3}'
kill "$half" 2>/dev/null
says 'POST /v1/completions 200' log

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
finish
