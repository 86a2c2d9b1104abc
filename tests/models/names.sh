# names.sh: one name for a thing: names with numbers in them, as PyTorch's Sequential has them ("layers.0"), in checkpoints, in
# groups and in `trainer info`, whose names are patterns of groups; classes of a table are no vocabulary.
failed=0
tell() { echo "failed: $*"; failed=1; }
cat >"$TMP/numbered.lua" <<'EOF'
return {
  config = { batch = 2, seq = 4, vocab = 16, width = 8 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width, name = "0" })
    for i = 0, 1 do x = x + nn.linear(nn.layernorm(x, { name = "layers." .. i .. ".norm" }), { out = c.width, name = "layers." .. i .. ".0" }) end
    x = nn.scope("blocks.0", function() return nn.stack(3, x, function(x) return x + nn.linear(x, { out = c.width, name = "1" }) end, { name = "h" }) end)
    local logits = nn.linear(x, { out = c.vocab, name = "head" })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,
  train = { optimizer = optim.adamw { lr = 1e-3 }, steps = 2, groups = { { match = "layers.0.*", frozen = true }, { match = "blocks.0.h.*.1.bias", lr_scale = 0.5 } } },
  data = data.text { tokenizer = "bytes", val_fraction = 0.1 },
}
EOF
"$LATHE" build "$TMP/numbered.lua" --set vocab=256 -o "$TMP/numbered" >"$TMP/log" 2>&1 || { cat "$TMP/log"; exit 1; }
trainer=$TMP/numbered/trainer
"$trainer" init --out "$TMP/w.safetensors" || tell init
head -c 3000 "$TMP/w.safetensors" | tr '\0' ' ' | grep -ao '"[a-z0-9_.]*":{"dtype"' | sed 's/"\(.*\)":.*/\1/' | sort >"$TMP/found"
{
    for x in weight bias; do
        for i in 0 1; do echo "layers.$i.0.$x"; echo "layers.$i.norm.$x"; done
        for i in 0 1 2; do echo "blocks.0.h.$i.1.$x"; done
        echo head.$x
    done
    echo 0.weight
} | sort >"$TMP/wanted"
diff "$TMP/wanted" "$TMP/found" || tell 'names in the file'
"$trainer" info >"$TMP/info" || tell info
grep -q '^  blocks.0.h.\*.1.bias  *3 × \[8\] .*(rate × 0.5)' "$TMP/info" || tell 'info: blocks.0.h.*.1.bias'
grep -q '^  layers.0.norm.weight  *\[8\] .*(frozen)$' "$TMP/info" || tell 'info: layers.0.norm.weight'
[ "$(grep -c '(frozen)$' "$TMP/info")" = 4 ] || tell 'four are frozen'
"$trainer" info --json | grep -q '"blocks.0.h.\*.1.bias":{"export":"blocks.0.h.%d.1.bias"' || tell 'info --json'
cat "$0" "$0" >"$TMP/t.txt"
"$trainer" train --data "$TMP/t.txt" --out "$TMP/run" >"$TMP/log" 2>&1 || tell "$(cat "$TMP/log")"
"$trainer" generate --out "$TMP/run" --tokens 4 >"$TMP/log" 2>&1 || tell "$(cat "$TMP/log")"
"$LATHE" dump "$TMP/numbered.lua" --after grad | awk '/^graph / && n++ { exit } { print }' >"$TMP/a.graph" && "$LATHE" dump "$TMP/a.graph" --after front >"$TMP/b.graph" || tell 'a dump is no input'
"$LATHE" check "$TMP/numbered.lua" --target cuda >"$TMP/log" 2>&1 || tell "$(cat "$TMP/log")"

# A class beyond the table's is no matter of a vocabulary.
"$LATHE" build tests/front/csv_vocab.lua -o "$TMP/table" >"$TMP/log" 2>&1 || { cat "$TMP/log"; exit 1; }
printf 'a,b,class\n1,2,0\n3,4,3\n' >"$TMP/t.csv"
"$TMP/table/trainer" train --data "$TMP/t.csv" --out "$TMP/x" >"$TMP/log" 2>&1 && tell 'class 3 of 3 is taken'
grep -q 't.csv:3:5: error: column "class": expected a class, 0 to 2, found 3; number the classes from 0, or rebuild for more' "$TMP/log" || tell "$(cat "$TMP/log")"

# Weights that are not finite: the element is named as checkpoints name it.
if command -v python3 >/dev/null; then
    "$LATHE" build "$TMP/numbered.lua" --set vocab=256 --instrument -o "$TMP/replay" >"$TMP/log" 2>&1 || tell "$(cat "$TMP/log")"
    python3 - "$TMP/w.safetensors" <<'EOF'
import json, struct, sys
raw = bytearray(open(sys.argv[1], "rb").read())
n = struct.unpack("<Q", raw[:8])[0]
at = json.loads(raw[8:8 + n])["blocks.0.h.1.1.bias"]["data_offsets"][0]
raw[8 + n + at + 12:8 + n + at + 16] = struct.pack("<f", float("nan"))
open(sys.argv[1], "wb").write(raw)
EOF
    "$TMP/replay/trainer" replay --weights "$TMP/w.safetensors" --step 1 --data "$TMP/t.txt" >"$TMP/log" 2>&1 && tell 'a NaN is taken'
    grep -q 'element 3 of blocks.0.h.1.1.bias (.*numbered.lua:[0-9]*) is ' "$TMP/log" || tell "$(cat "$TMP/log")"
fi
exit $failed
