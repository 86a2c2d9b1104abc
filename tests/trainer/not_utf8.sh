#!/bin/sh
# Names and paths that are not UTF-8 (file, configuration, keys, values, outputs, data, folder): a run saves what can be
# read, goes on from it without being given its data again, and every JSON it writes is JSON.
set -eu
dir=$TMP/not_utf8
e=$(printf '\351')
mkdir -p "$dir/run$e"
cat > "$dir/caf$e.lua" <<'END'
return {
  config = { batch = 2, seq = 4, vocab = 256, width = 8, note = "caf\xe9", ["\xe9"] = 5 },
  configs = { ["\xff\\xe9"] = { width = 16 } },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    local logits = nn.linear(x, { out = c.vocab, name = "head" })
    return nn.cross_entropy(logits, input.targets), { logits = logits, ["acc\xe9"] = nn.accuracy(logits, input.targets) }
  end,
  train = { optimizer = optim.adamw { lr = 1e-3 }, steps = 2, best = "acc\xe9", best_mode = "max" },
  data = data.text { tokenizer = "bytes" },
}
END
seq 1 200 > "$dir/d$e\\xe9.txt"
config=$(printf '\377')'\xe9'

trainer=$("$LATHE" build "$dir/caf$e.lua" --config "$config" -o "$dir/built$e")
"$trainer" train --data "$dir/d$e\\xe9.txt" --out "$dir/run$e" --json > "$dir/json" 2> "$dir/said" || { cat "$dir/said"; exit 1; }
"$trainer" info --json >> "$dir/json"
"$trainer" bench --steps 2 --json >> "$dir/json" 2> /dev/null
cat "$dir/run$e/metrics.jsonl" >> "$dir/json"
"$trainer" train --resume="$dir/run$e" --set steps=4 --out "$dir/run$e" > "$dir/again" 2>&1 || { cat "$dir/again"; exit 1; }
[ -d "$dir/run$e/checkpoints/step-4" ] || { echo "nothing was saved at step 4"; ls -R "$dir/run$e"; exit 1; }
for said in "$dir/said" "$dir/again"; do
    if LC_ALL=C grep -n "$e" "$said"; then echo "a byte that is not UTF-8 is printed"; exit 1; fi
done
grep -q 'd\\\\xe9\\\\x5cxe9.txt' "$dir/run$e/checkpoints/step-4/state.json" || { cat "$dir/run$e/checkpoints/step-4/state.json"; exit 1; }

# Of each line and file the interpreter of Lua would do; Python has a parser that is strict.
command -v python3 > /dev/null || { echo "no python3 to read JSON with"; exit 77; }
python3 - "$dir" "$dir/run$e" <<'END'
import json, os, sys
strict = {"parse_constant": lambda word: sys.exit("not JSON: " + word)}
folder, run = sys.argv[1:]
for line in open(os.path.join(folder, "json"), encoding="utf-8"):
    json.loads(line, **strict)
for path in ("config.json", "checkpoints/step-2/state.json", "checkpoints/step-4/state.json"):
    text = json.load(open(os.path.join(run, path), encoding="utf-8"), **strict)
    if path == "config.json":
        assert text["model"] == "caf\\xe9" and text["config"] == "\\xff\\x5cxe9", text
        assert text["data"][0].endswith("d\\xe9\\x5cxe9.txt"), text["data"]
END
