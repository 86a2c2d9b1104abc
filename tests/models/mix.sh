# mix.sh: training on sources by weights: their shares; stopped and resumed with other readers and threads, the same bytes
# as without; weights that change on the way; what does not fit is told.
set -eu
mkdir "$TMP/books"
awk -v books="$TMP/books/" -v chats="$TMP/chats.jsonl" 'BEGIN {
    for (i = 0; i < 600; i++) {
        x = (x * 1103515245 + 12345) % 2147483648
        print substr("etaoin shrdlu cmfwyp vbgkqj xz", x % 13 + 1, 12) " " x (i % 3 ? "" : "\n") >(books i % 7 ".txt")
        if (i % 6 == 0) print "{\"text\": \"CHAT " i " SAYS " x "\"}" >chats
    }
}'
cat >"$TMP/mixed.lua" <<'EOF'
return {
  config = { vocab = 256, width = 16, seq = 32, batch = 10 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    return nn.cross_entropy(nn.linear(x, { out = c.vocab, name = "head" }), input.targets)
  end,
  train = { optimizer = optim.adamw { lr = 1e-3 }, steps = 120 },
  data = data.text { tokenizer = "bytes", mix = { 7, 3 }, documents = "blank", shuffle_tokens = 3000 },
}
EOF
"$LATHE" build "$TMP/mixed.lua" -o "$TMP/mixed" >"$TMP/said" 2>&1 || { cat "$TMP/said"; exit 1; }
trainer=$TMP/mixed/trainer
data="--data $TMP/books $TMP/chats.jsonl"
. tests/models/common
train() { "$trainer" train "$@" >"$TMP/said" 2>&1 || tell "train $*: exit code $?"; }
refused() {     # CODE WORDS OPTIONS…
    wanted=$1 words=$2
    shift 2
    "$trainer" train "$@" --out "$TMP/refused" </dev/null >"$TMP/said" 2>&1 && tell "taken: $*" || code=$?
    [ $code = "$wanted" ] && grep -q -e "$words" "$TMP/said" || tell "$*: exit code $code"
}
taken() {       # CHECKPOINT: rows taken of each source
    sed -n '/"stream"/,/"evaluation"/s/.*"taken": \([0-9]*\).*/\1/p' "$1/state.json" | xargs
}

# shellcheck disable=SC2086
{
    train $data --out "$TMP/whole" --readers 1 --threads 1 --save-every 17
    grep -q "^data: 70 % from $TMP/books: 7 files" "$TMP/said" || tell "no word of the shares"
    grep -q "^epoch 5 of $TMP/chats.jsonl |" "$TMP/said" || tell "no summary of an epoch"
    grep -q "\"epoch\":1,\"source\":\"$TMP/books\"" "$TMP/whole/metrics.jsonl" || tell "no epoch in metrics.jsonl"
    [ "$(taken "$TMP/whole/checkpoints/step-120")" = "840 360" ] || tell "taken: $(taken "$TMP/whole/checkpoints/step-120")"

    # in three parts: a signal, a kill, and the rest, each from the newest checkpoint, none of which ends a period of 10 rows
    train $data --out "$TMP/run" --readers 2 --steps 51 --save-every 17
    "$trainer" train --resume --out "$TMP/run" --steps 100000 --readers 8 --threads 2 --save-every 17 >"$TMP/said" 2>&1 &
    process=$!
    while kill -0 $process 2>/dev/null && [ ! -d "$TMP/run/checkpoints/step-68" ]; do sleep 0.01; done
    kill -KILL $process 2>/dev/null || true
    wait $process || true
    train --resume="$TMP/run/checkpoints/step-68" --out "$TMP/run" --steps 120 --readers 3
    for file in model optimizer; do
        cmp "$TMP/whole/checkpoints/step-120/$file.safetensors" "$TMP/run/checkpoints/step-120/$file.safetensors"
    done

    # from here on by other weights: nothing is made up for
    train --resume --out "$TMP/run" --steps 130 --mix 1,9
    grep -q 'mix is 1,9 as given; it was 7,3' "$TMP/said" || tell "no word of other weights"
    [ "$(taken "$TMP/run/checkpoints/step-130")" = "850 450" ] || tell "taken: $(taken "$TMP/run/checkpoints/step-130")"

    # its own data, and mix, for an evaluation
    "$trainer" eval --out "$TMP/whole" --json >"$TMP/said" 2>&1 || tell "eval: exit code $?"
    own=$(sed -n 's/.*"loss":\([0-9.]*\),.*/\1/p' "$TMP/said") theirs=$(sed -n '/"split":"val"/s/.*"loss":\([0-9.]*\),.*/\1/p' "$TMP/whole/metrics.jsonl" | tail -n 1)
    awk "BEGIN { d = $own - $theirs; exit !(d < 1e-6 && -d < 1e-6) }" || tell "eval says $own, train said $theirs"

    # an epoch has the rows of both
    train $data --epochs 1 --out "$TMP/epoch" --set shuffle_tokens=100000
    rows=$(taken "$TMP/epoch/checkpoints/latest" | awk '{ print $1 + $2 }')
    train $data --mix none --epochs 1 --out "$TMP/joined" --set shuffle_tokens=100000
    awk -v a="$rows" -v b="$(taken "$TMP/joined/checkpoints/latest")" 'BEGIN { d = a - b; exit !(a > 100 && d <= 10 && -d <= 10) }' ||
        tell "an epoch of $rows rows, joined $(taken "$TMP/joined/checkpoints/latest")"

    refused 2 'mix=7,3 has 2 weights, --data 1 path' --data "$TMP/books"
    refused 2 'mix=7 has 1 weight, --data 2 paths' $data --mix 7
    refused 2 'mix=7,x: expected weights' $data --mix 7,x
    refused 2 'mix=7,0: expected weights' $data --set mix=7,0
    refused 2 'a source of a mixture must not end, as standard input and pipes do' --data "$TMP/books" -
    refused 2 'order=windows' $data --order windows
    refused 2 'mixes 2 sources, but here is 1' --resume="$TMP/whole" $data --mix none --steps 200
}
echo 'return { config = { vocab = 256, seq = 8, batch = 1 }, data = data.text { mix = { 7, -3 } },
    forward = function(c, i) return nn.cross_entropy(nn.embedding(i.tokens, { rows = 256, width = 256 }), i.targets) end }' >"$TMP/bad.lua"
"$LATHE" check "$TMP/bad.lua" >"$TMP/said" 2>&1 && tell "a negative weight was taken"
grep -q 'bad.lua:1: .*mix must be a list of weights' "$TMP/said" || tell "no line"
