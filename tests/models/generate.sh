# generate.sh: texts of several rows and of beams: as of one row, each prompt by itself as all together, past the context;
# for sources, of prompts and files; held against targets, in evaluations and while training; what does not go together.
set -eu
. tests/models/common
# write FILE COMMAND…: its standard output
write() {
    to=$1
    shift
    "$@" >"$TMP/$to" 2>"$TMP/said" || tell "exit code $?: $*"
}
same() { cmp -s "$TMP/$1" "$TMP/$2" || { diff "$TMP/$1" "$TMP/$2" >"$TMP/said"; tell "$1 is not $2: $3"; }; }
awk 'BEGIN { for (i = 0; i < 900; i++) { x = (x * 1103515245 + 12345) % 2147483648
    print substr("the cat sat on a mat and ran to the sea", x % 20 + 1, 3 + x % 17) " " i % 10 } }' >"$TMP/t.txt"

# ---- a language model, with one row and with four
gpt="models/gpt.lua --config char --set layers=1 --set width=32 --set heads=2 --set seq=24 --set batch=8 --set vocab=256 --set tokenizer=bytes"
# shellcheck disable=SC2086
must "$LATHE" build $gpt -o "$TMP/one"
# shellcheck disable=SC2086
must "$LATHE" build $gpt --set rows=4 -o "$TMP/four"
must "$TMP/one/trainer" train --data "$TMP/t.txt" --steps 150 --set lr=5e-3 --set warmup=0 --out "$TMP/run"
one="$TMP/one/trainer generate --out $TMP/run --tokens 40" four="$TMP/four/trainer generate --out $TMP/run --tokens 40"
for how in '--set temperature=0' '--seed 3' '--seed 4 --set top_k=3 --set repetition_penalty=1.5'; do
    # shellcheck disable=SC2086
    write a $one $how --prompt 'the cat' 'a' '' 'and ran to the sea and' 'on'
    # shellcheck disable=SC2086
    write b $four $how --prompt 'the cat' 'a' '' 'and ran to the sea and' 'on'
    same a b "rows ($how)"
done
write a $four --samples 3 --prompt 'the' --seed 5
[ "$(grep -c -- '^---$' "$TMP/a")" = 2 ] || tell "three samples"

# Prompts read several tokens at once, also where the window slides: the same texts, but for what rounding decides.
long=$(head -n 4 "$TMP/t.txt" | tr '\n' ' ')
for rows in 1 4; do
    # shellcheck disable=SC2086
    must "$LATHE" build $gpt --set "rows=$rows" --set prefill=5 -o "$TMP/prefill-$rows"
    for how in '--set temperature=0' '--seed 4 --set top_k=3 --set repetition_penalty=1.5'; do
        # shellcheck disable=SC2086
        write a $one $how --prompt 'the cat' 'a' '' 'and ran to the sea and' "$long"
        # shellcheck disable=SC2086
        write b "$TMP/prefill-$rows/trainer" generate --out "$TMP/run" --tokens 40 $how --prompt 'the cat' 'a' '' 'and ran to the sea and' "$long"
        same a b "prompts read at once ($rows rows, $how)"
    done
done
# Three slots for five prompts: the very texts that they are alone.
# shellcheck disable=SC2086
must "$LATHE" build $gpt --set slots=3 --set prefill=5 -o "$TMP/slots"
for how in '--set temperature=0' '--seed 4 --set top_k=3 --set repetition_penalty=1.5'; do
    # shellcheck disable=SC2086
    write a "$TMP/prefill-1/trainer" generate --out "$TMP/run" --tokens 40 $how --prompt 'the cat' 'a' '' 'and ran to the sea and' "$long"
    # shellcheck disable=SC2086
    write b "$TMP/slots/trainer" generate --out "$TMP/run" --tokens 40 $how --prompt 'the cat' 'a' '' 'and ran to the sea and' "$long"
    same a b "slots ($how)"
done
write a $four --beams 2 --prompt 'the cat' 'and ran to the sea and'
write b "$TMP/prefill-4/trainer" generate --out "$TMP/run" --tokens 40 --beams 2 --prompt 'the cat' 'and ran to the sea and'
same a b "prompts of beams read at once"
refuse 1 'generate.prefill = 4: this model reads prompts one token at a time: its state lstm.c goes from token to token' "$LATHE" check models/char_rnn.lua --set prefill=4
refuse 1 'generate.prefill = 25: decode remembers 24 positions; give that or less' "$LATHE" check $gpt --set prefill=25
must "$LATHE" plan models/llama.lua --set context=511
grep -q prefill "$TMP/said" && tell "prefill, where prompts are short"
must "$LATHE" plan models/llama.lua --set context=512
grep -q prefill "$TMP/said" || tell "no prefill, where prompts are long"

# Longer than what a step reads: an imported model remembers as far as its context, and only then the window slides.
llama="models/llama.lua --set layers=2 --set width=32 --set heads=2 --set kv_heads=1 --set hidden=48 --set batch=8"
# shellcheck disable=SC2086
must "$LATHE" build $llama --set seq=8 --set context=48 -o "$TMP/short"
# shellcheck disable=SC2086
must "$LATHE" build $llama --set seq=48 -o "$TMP/long"
# shellcheck disable=SC2086
must "$LATHE" build $llama --set seq=8 -o "$TMP/slides"
must "$TMP/short/trainer" train --data "$TMP/t.txt" --steps 150 --set lr=5e-3 --set warmup=0 --out "$TMP/remembers"
must "$TMP/short/trainer" export --to hf --weights "$TMP/remembers" --out "$TMP/folder"
for model in short long slides; do
    from=$TMP/folder
    [ $model = short ] || from=$TMP/remembers
    write "$model.txt" "$TMP/$model/trainer" generate --weights "$from" --tokens 40 --set temperature=0 --prompt 'the cat'
done
same short.txt long.txt "with a context of 48, texts of 47 do not depend on seq"
if cmp -s "$TMP/short.txt" "$TMP/slides.txt"; then tell "the context makes no difference"; fi
write own.txt "$TMP/short/trainer" generate --weights "$TMP/remembers" --tokens 40 --set temperature=0 --prompt 'the cat'
same own.txt slides.txt "what was trained here knows no more positions than a step has"

# Of two beams, two prompts at a time; 40 tokens are more than the context.
for prompt in 'the cat' 'a' 'and ran to the sea and' 'on'; do write a $four --beams 2 --prompt "$prompt"; cat "$TMP/a"; done >"$TMP/each"
write all $four --beams 2 --prompt 'the cat' 'a' 'and ran to the sea and' 'on'
grep -v -- '^---$' "$TMP/all" >"$TMP/b"
same each b "prompts together"
write a $four --beams 1 --prompt 'the cat'
write b $four --set temperature=0 --prompt 'the cat'
same a b "one beam is the likeliest token"
score() { sed 's/.*"score":\([-0-9.e]*\).*/\1/' "$TMP/$1"; }
write a $four --beams 1 --prompt 'the cat' --tokens 12 --json
write b $four --beams 4 --prompt 'the cat' --tokens 12 --json --threads 1
write c $four --beams 4 --prompt 'the cat' --tokens 12 --json --threads 3
awk "BEGIN { exit !($(score b) >= $(score a)) }" || tell "four beams $(score b), one $(score a)"
same b c "threads"
write a $four --beams 4 --prompt 'the cat' --no-repeat-ngram 2 --tokens 20
[ -z "$(sed 's/^the cat//' "$TMP/a" | tr '\n' '_' | awk '{ for (i = 1; i < length($0) - 1; i++) if (seen[substr($0, i, 2)]++) print "twice" }')" ] ||
    tell "two tokens come twice"
refuse 2 'this trainer decodes 1 row at once' $one --beams 2
refuse 2 'has no effect, because the tokenizer has no token that ends texts' $one --min-tokens 3
refuse 2 'has no effect, because the tokenizer has no token that ends texts' $four --beams 2 --min-tokens 3
refuse 2 'eval has no option --prompt' "$TMP/one/trainer" eval --prompt a
refuse 2 'continues texts' "$TMP/one/trainer" eval --out "$TMP/run" --generate
refuse 1 'needs data.pairs' "$LATHE" check models/gpt.lua --set eval_generate=3

# ---- a model of pairs
awk 'BEGIN {
    print "source\ttarget"
    for (i = 0; i < 600; i++) {
        x = (x * 1103515245 + 12345) % 2147483648
        word = substr("etaoinshrdlucmfwypvbgkqjxz", x % 17 + 1, 2 + x % 5)
        print word "\t" word " " word
        if (i % 3 == 0) print word "\tno such word"
    }
}' >"$TMP/pairs.tsv"
cat >"$TMP/pairs.lua" <<'END'
-- An encoder, and a decoder that also says of each token how sure it is.
return {
  config = { width = 24, vocab = 259, source_seq = 10, seq = 14, batch = 8, rows = 4 },
  forward = function(c, input)
    local embed = nn.embedding { name = "embed", rows = c.vocab, width = c.width }
    local memory = nn.layernorm(nn.mlp(embed(input.source), { name = "encoder", hidden = 2 * c.width }), { name = "ln_1" })
    local x = nn.lstm(embed(input.tokens), { name = "lstm", hidden = c.width, lengths = input.lengths })
    x = x + nn.attention(nn.layernorm(x, { name = "ln_2" }), memory, { name = "cross", heads = 2, lengths = input.source_lengths })
    local logits = nn.linear(x, { name = "head", out = c.vocab })
    local sure = nn.sigmoid(nn.linear(x, { name = "sure", out = 1 })):squeeze(-1)
    return nn.cross_entropy(logits, input.targets) + 1e-3 * sure:mean(), { logits = logits, sure = sure }
  end,
  train = { optimizer = optim.adamw { lr = 5e-3 }, steps = 60 },
  data = data.pairs { shuffle_tokens = 20000 },
  generate = function(c) return { beams = 2, rows = c.rows, length_penalty = 0.5 } end,
}
END
must "$LATHE" build "$TMP/pairs.lua" -o "$TMP/pairs"
must "$LATHE" build "$TMP/pairs.lua" --set rows=2 -o "$TMP/two"
trainer="$TMP/pairs/trainer"
must "$trainer" train --data "$TMP/pairs.tsv" --seed 7 --eval-every 20 --out "$TMP/plain"
must "$trainer" train --data "$TMP/pairs.tsv" --seed 7 --eval-every 20 --set eval_generate=12 --set best=rougeL --set 'samples=["eta", "oinsh"]' --out "$TMP/rouge"
grep -q '"rouge1":[0-9.]*,"rouge2":[0-9.]*,"rougeL":[0-9.]*' "$TMP/rouge/metrics.jsonl" || tell "no ROUGE among the metrics"
grep -q '"split":"sample","prompt":"eta"' "$TMP/rouge/metrics.jsonl" || tell "no samples"
cmp -s "$TMP/plain/checkpoints/step-60/model.safetensors" "$TMP/rouge/checkpoints/step-60/model.safetensors" || tell "what is written changes what is learnt"
must "$trainer" train --data "$TMP/pairs.tsv" --seed 7 --eval-every 20 --set eval_generate=12 --set best=rougeL --save-every 30 --steps 40 --out "$TMP/again"
must "$trainer" train --resume --steps 60 --out "$TMP/again"
rouge() { sed -n 's/.*"step":60,"split":"val".*"rouge1":\([0-9.]*\),"rouge2":\([0-9.]*\).*/\1 \2/p' "$TMP/$1/metrics.jsonl"; }
[ -n "$(rouge rouge)" ] && [ "$(rouge rouge)" = "$(rouge again)" ] || tell "resumed: $(rouge again), whole: $(rouge rouge)"

# Sources of a file and of prompts, each by itself, rows of two and of four; a text for each source.
run="--out $TMP/rouge"
awk 'NR > 1 && !seen[$1]++ { print $1 }' "$TMP/pairs.tsv" | head -n 9 >"$TMP/sources.txt"
# shellcheck disable=SC2046,SC2086
write a $trainer generate $run --prompt $(cat "$TMP/sources.txt")
grep -v -- '^---$' "$TMP/a" >"$TMP/prompts"
# shellcheck disable=SC2086
write file $trainer generate $run --data "$TMP/sources.txt"
same prompts file "sources of a file"
# shellcheck disable=SC2086
write of-two "$TMP/two/trainer" generate $run --data "$TMP/sources.txt" --threads 3
same file of-two "two rows"
# shellcheck disable=SC2086
write each.json $trainer generate $run --prompt "$(sed -n 4p "$TMP/sources.txt")" --json
# shellcheck disable=SC2086
write all.json $trainer generate $run --data "$TMP/sources.txt" --json
grep -qF -- "$(sed 's/^\[//; s/\]$//' "$TMP/each.json")" "$TMP/all.json" || tell "the fourth alone and among all"
grep -q '"score":-[0-9.e-]*,"ended":[a-z]*,"outputs":{"sure":{"shape":\[[0-9]*\],"values":\[0' "$TMP/each.json" || tell "$(cat "$TMP/each.json")"
# shellcheck disable=SC2086
write drawn $trainer generate $run --data "$TMP/sources.txt" --beams 0 --seed 3
# shellcheck disable=SC2086
write redrawn $trainer generate $run --data "$TMP/sources.txt" --beams 0 --seed 3
same drawn redrawn "drawn twice"

# Held against what it writes itself, whatever other targets there are, the score is 1.
# shellcheck disable=SC2086
write texts $trainer generate $run --data "$TMP/pairs.tsv"
awk 'NR > 1 && !seen[$1]++ { print $1 }' "$TMP/pairs.tsv" >"$TMP/all.txt"
paste "$TMP/all.txt" "$TMP/texts" |
    awk -F '\t' 'BEGIN { print "source\ttarget" } $2 ~ /[a-z0-9][^a-z0-9]+[a-z0-9]/ { print $1 "\tno such word\n" $0 }' >"$TMP/own.tsv"
[ "$(wc -l <"$TMP/own.tsv")" -gt 40 ] || tell "few texts of two words"
# shellcheck disable=SC2086
must $trainer eval $run --data "$TMP/own.tsv" --val-fraction 1 --generate --json
[ "$(grep -o '"f1":1.0,"precision":1.0,"recall":1.0' "$TMP/said" | wc -l)" = 3 ] || tell "its own texts"
# shellcheck disable=SC2086
write a $trainer eval $run --data "$TMP/pairs.tsv" --val-fraction 1 --generate --items 20 --seed 1
# shellcheck disable=SC2086
write b $trainer eval $run --data "$TMP/pairs.tsv" --val-fraction 1 --generate --items 20 --seed 1 --threads 1
same a b "the same items"
grep -q 'perplexity' "$TMP/a" && grep -q 'over texts for 20 of .* sources' "$TMP/a" || tell "$(cat "$TMP/a")"

for words in '--prompt etaoinshrdluc:reads sources of at most 10' '--tokens 15 --prompt a:was built for 14' '--beams 5 --prompt a:decodes 4 rows' \
    '--min-tokens 15 --prompt a:at most 14 tokens' "--data $TMP/all.txt --prompt a:give one" '--seed 1:give --prompt TEXT or --data FILE' \
    '--set eos=none --min-tokens 2 --prompt a:name one with --set eos'; do
    # shellcheck disable=SC2086
    refuse 2 "${words##*:}" $trainer generate $run ${words%:*}
done
# shellcheck disable=SC2086
refuse 2 'needs --generate' $trainer eval $run --items 3
# shellcheck disable=SC2086
refuse 2 'with eval_generate=N rouge1' $trainer train --data "$TMP/pairs.tsv" --set best=rougeL --out "$TMP/bad"
sed 's/beams = 2/beams = 9/' "$TMP/pairs.lua" >"$TMP/beams.lua"
refuse 1 '9 beams need 9 rows' "$LATHE" check "$TMP/beams.lua"
