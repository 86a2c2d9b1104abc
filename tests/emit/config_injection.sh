#!/bin/sh
# A description's own texts (the names of its configuration and of its file, keys, values, data paths) reach the generated
# sources as text: none of them ends a comment or a string, and none runs.
set -eu
dir=$TMP/config_injection
mkdir -p "$dir"

# fault 8, config_injection
pwn='__attribute__((constructor)) static void pwned(void) { __builtin_puts("PWNED"); }'
name="$dir/x\" + pwned(), \"??\" *"
cat > "$name.lua" <<END
local name = [=[x */ $pwn /*]=]
return {
  config = { batch = 2, seq = 4, vocab = 256, width = 8, [name .. "\\n#define static"] = 5, text = name .. '", pwned(), "??/' },
  configs = { [name] = { width = 16 }, ["\\xff\\27[2J/"] = {} },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    local logits = nn.linear(nn.softplus(x), { out = c.vocab })
    local loss = nn.cross_entropy(logits, input.targets)
    return loss, { [name] = nn.accuracy(logits, input.targets), ["*/"] = logits }
  end,
  train = { optimizer = optim.adamw { lr = 1e-3 }, steps = 2, groups = { { match = "*", lr_scale = 2 } } },
  data = data.text { tokenizer = "bytes" },
}
END

# What a compiler sees of it: no comments, and no strings (\", "…" in that order).
seen() { gcc -fpreprocessed -dD -E -P -x c++ "$1" | sed 's/\\\\//g; s/\\"//g; s/"[^"]*"//g'; }

for target in cpu cuda; do
    for config in "x */ $pwn /*" "$(printf "\377\033[2J/")"; do
        out=$dir/$target
        "$LATHE" build --source --target $target "$name.lua" --config "$config" -o "$out" > /dev/null
        for file in "$out"/model.* "$out"/tables.c; do
            [ -f "$file" ] || continue
            if seen "$file" | grep -E 'pwned\(|define static'; then echo "$file: a text of the description is code"; exit 1; fi
            if LC_ALL=C grep -n "$(printf '[\001-\010\013-\037\177]')" "$file"; then echo "$file: control characters"; exit 1; fi
        done
        [ $target = cuda ] || ${CC:-cc} -std=gnu11 -fopenmp -Wall -Wextra -Werror -fsyntax-only -Iruntime "$out/model.c"
    done
done

# Nor do they reach a terminal: print, messages with the name or the line, and what is found are spelled out.
printf 'print("\\27]0;x\\7")\nlocal a = 1 -- \033[31m\n x = 2 -- \033[2J\n' > "$dir/a$(printf '\033')[1mb.lua"
"$LATHE" check "$dir/a$(printf '\033')[1mb.lua" > "$dir/said" 2>&1 && exit 1
if LC_ALL=C grep "$(printf '[\001-\010\013-\037\177]')" "$dir/said"; then echo "a control character is printed"; exit 1; fi
grep -q '\\x1b\]0;x\\x07' "$dir/said"
grep -q 'a\\x1b\[1mb.lua:3: error' "$dir/said"
