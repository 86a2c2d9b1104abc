# serve_adapters.sh: `trainer serve --adapter NAME=PATH …`: the model that a request names chooses the adapter, and gives the texts of
# `trainer generate --adapter`; the base stays as it is; names, paths and bases that are refused.
top=$PWD
. tests/trainer/common
lathe=${LATHE:-$BUILD/lathe}
[ -x "$lathe" ] || { echo "skipped: $lathe is not built"; exit 77; }
needs_server
gpt="$top/models/gpt.lua --set layers=1 --set width=32 --set seq=96 --set dropout=0 --set tokenizer=bytes --set vocab=256"
for word in base red blue; do for k in 1 2 3 4 5 6 7 8 9; do echo "the word is $word, and $word it is"; done >$word.txt; done
# shellcheck disable=SC2086
{
    works "$lathe" build $gpt -o plain
    works "$lathe" build $gpt --set slots=3 --lora rank=4,alpha=8 -o low
    works "$lathe" build $gpt --lora rank=4,alpha=8,dora -o dora
}
works plain/trainer train --data base.txt --val-fraction 0 --steps 60 --set lr=0.01 --out base
for word in red blue; do
    works low/trainer train --data $word.txt --val-fraction 0 --steps 60 --set lr=0.02 --init base --out run-$word
    works low/trainer export --to peft --weights run-$word --out $word
done
works dora/trainer train --data red.txt --val-fraction 0 --steps 60 --set lr=0.02 --init base --out run-dora
works dora/trainer export --to peft --weights run-dora --out dora-red
server=
trap 'kill $server 2>/dev/null; rm -rf "$work"' EXIT

begin() { # TRAINER OPTION…
    rm -f address
    program=$1
    shift
    "$program" serve --weights base --port 0 "$@" >address 2>log &
    server=$!
    for i in $(seq 100); do [ -s address ] && break; sleep 0.1; done
    port=$(sed 's|.*:\([0-9]*\)/v1|\1|' address)
}
end() { kill -TERM "$server"; wait "$server" || wrong "exit $? after SIGTERM"; }
text() { grep -o '"text":"\([^"\\]\|\\.\)*"' out | sed 's/^"text":"//; s/"$//'; }
# asks STATUS MODEL: in out; without a name if MODEL is -
asks() {
    model="\"model\": \"$2\", "
    [ "$2" != - ] || model=
    printf '{%s"prompt": "the word ", "max_tokens": 20, "temperature": 0}' "$model" >body.$$-$2
    timeout 30 ./client "$port" POST /v1/completions body.$$-$2 >out 2>err
    [ "$(cat err)" = "$1" ] && ok "$1 for $2" || { wrong "$1 expected, $(cat err) found for $2"; cut -c 1-300 out; }
}
alone() { # FILE TRAINER OPTION…: what generate says
    to=$1 program=$2
    shift 2
    works "$program" generate --weights base "$@" --prompt 'the word ' --tokens 20 --set temperature=0
    sed 's/^the word //' out >"$to"
}
alone want-gpt low/trainer
alone want-red low/trainer --adapter red
alone want-blue low/trainer --adapter blue
differs want-gpt want-red
differs want-red want-blue

begin low/trainer --adapter red=red blue=blue
says '^2 adapters over one base, [0-9.]* [kKM]*B each' log
timeout 10 ./client "$port" GET /v1/models >out 2>err
for name in gpt red blue; do says "\"id\":\"$name\"" out; done
for name in red blue gpt red - blue blue -; do
    asks 200 "$name"
    text >got
    [ "$name" != - ] || name=gpt
    same got want-$name
done
asks 404 green
says '"message":"model: there is no green here; /v1/models lists what there is","type":"invalid_request_error","param":"model","code":"model_not_found"' out

# At once, each gets its own, in slots that share an adapter.
clients=
for k in 1 2 3 4 5; do
    for name in red blue gpt; do
        timeout 30 ./client "$port" POST /v1/completions body.$$-$name >out.$name-$k 2>err.$name-$k &
        clients="$clients $!"
    done
done
# shellcheck disable=SC2086
wait $clients
for k in 1 2 3 4 5; do for name in red blue gpt; do cp out.$name-$k out; text >got; cmp -s got want-$name || wrong "$name has another answer beside others"; done; done
end

# One without a name is always there, whatever a request calls it; decomposed ones are alike.
begin low/trainer --adapter red
asks 200 whatever; text >got; same got want-red
end
alone want-dora dora/trainer --adapter dora-red
alone want-dora-gpt dora/trainer
same want-dora-gpt want-gpt
begin dora/trainer --adapter a=dora-red
asks 200 a; text >got; same got want-dora
asks 200 -; text >got; same got want-gpt
end

refuses 2 'there are two of that name' low/trainer serve --weights base --adapter red=red red=blue
refuses 2 'the model itself is of that name' low/trainer serve --weights base --adapter gpt=red blue=blue
refuses 2 'of several each needs a name: NAME=red' low/trainer serve --weights base --adapter red blue=blue
refuses 2 'expected NAME=PATH' low/trainer serve --weights base --adapter =red blue=blue
refuses 2 'these weights have adapters of their own' low/trainer serve --weights run-red --adapter red=red
refuses 3 'nowhere/adapter_config.json' low/trainer serve --weights base --adapter red=red none=nowhere
refuses 3 'found those of --lora rank=4,alpha=8,dora' low/trainer serve --weights base --adapter red=red dora=dora-red
refuses 2 'this trainer has no adapters' plain/trainer serve --weights base --adapter red=red
refuses 1 'memory-limit is' low/trainer serve --weights base --memory-limit 1M --adapter red=red
works plain/trainer train --data blue.txt --val-fraction 0 --steps 20 --out other
refuses 3 'it was trained over weights of hash' low/trainer serve --weights other --adapter red=red
finish
