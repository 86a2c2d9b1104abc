#!/bin/sh
# Names that are words of C, of its headers or of what is generated, and numbers that C has no literal for: parameters,
# layers, stacks, outputs, keys, files.  The description is compiled, and so is its C, without a warning.
set -eu
dir=$TMP/names_of_c
mkdir -p "$dir"
# fault 9, param_named_asm
words="asm typeof linux unix NULL INFINITY NAN errno I complex bool M_PI EOF BUFSIZ INT32_MAX FP_NAN stdin main int
    int32_t size_t class template this and or _Bool _Static_assert __asm__ __FILE__ __func__ __attribute__ _ __ __metadata
    KERNEL LANES SIMD WIDTH BATCH p d in out s work c i t r tall from to train train_in params grads expf fmaxf memcpy
    run_train lathe_main lathe_model Lathe_call entries kernels table_1 forward_part pad start_pad"
bad=0

compiles() { # FILE: the description's C has neither error nor warning
    "$LATHE" build --source "$1" -o "$dir/out" > "$dir/log" 2>&1 || { cat "$dir/log"; bad=1; return; }
    ${CC:-cc} -std=gnu11 -fopenmp -Wall -Wextra -Werror -fsyntax-only -Iruntime "$dir/out/model.c" || { echo "in $1"; bad=1; }
}

describe() { # KEYS BODY OUTPUTS
    cat <<END
return { config = { batch = 2, seq = 4, vocab = 256, width = 8 $1 }, decode = false, forward = function(c, input)
  local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width, name = "table" })
$2
  return nn.cross_entropy(nn.linear(x, { out = c.vocab, name = "last" }), input.targets), { $3 } end,
  train = { steps = 1, optimizer = optim.sgd { lr = 1 } }, data = data.text { tokenizer = "bytes" } }
END
}

params='' outs='' keys='' wide='' stacks='' width=300
for word in $words; do
    params="$params  x = nn.tanh(x * nn.param { name = \"$word\", shape = { c.width }, init = 1 })
"
    [ $((width % 6)) -ne 0 ] || params="$params  x = nn.linear(x, { out = 8 })
"
    outs="$outs [\"$word\"] = nn.exp(x):mean(), [\"$word-\"] = nn.exp(x):sum(),"
    keys="$keys, [\"$word\"] = $width"
    wide="$wide  x = x + nn.linear(nn.linear(x, { name = \"a$width\", out = c[\"$word\"] }), { name = \"b$width\", out = 8 })
"
    width=$((width + 1))
done
for word in asm NULL WIDTH __FILE__ in; do
    stacks="$stacks  x = nn.stack(2, x, function(x) return x + nn.linear(x, { out = c.width, name = \"$word\" }) end, { name = \"$word\" })
"
done
describe "" "$params" "" > "$dir/params.lua"
describe "" "" "$outs" > "$dir/outs.lua"
describe "$(echo "$keys" | sed 's/, \["\(p\|c\|i\|t\|r\|d\|s\)"\] = [0-9]*//g')" "$(echo "$wide" | grep -v 'c\["\(p\|c\|i\|t\|r\|d\|s\)"\]')" "" > "$dir/keys.lua"
describe "" "$stacks" "" > "$dir/stacks.lua"
# A number that a float cannot hold is refused at its line, or has a spelling in C.
for number in '* 1e308 * 5e-324 + 3.4e38' '* 5e-324 * 5e-324' '- 1e39' '* (-1 / 0)' '* (0 / 0)' '+ nn.full({ 8 }, 0 / 0)' \
    '+ nn.constant { 1e300, 1 / 0, 0 / 0, 1, 1, 1, 1, -1e39 }'; do
    describe "" "  x = x $number" "" > "$dir/number.lua"
    if "$LATHE" check "$dir/number.lua" > "$dir/log" 2>&1; then compiles "$dir/number.lua"
    else grep -q 'number.lua:3: error: ' "$dir/log" || { cat "$dir/log"; bad=1; }; fi
done
for file in params outs keys stacks; do compiles "$dir/$file.lua"; done
# Kernels that have a layer's name alone, of each word that the headers have anywhere.
{
    echo '#include "lathe_rt.h"' | ${CC:-cc} -std=gnu11 -fopenmp -Iruntime -E - | grep -v '^#'
    echo "$words run_train run_eval train_out train_kernels train_operands params states groups knobs hf planned"
} | grep -oE '[A-Za-z_][A-Za-z0-9_]*' | grep -v '^last$\|^table$\|^q[0-9]' | sort -u >"$dir/all"
split -l 300 "$dir/all" "$dir/part."
for part in "$dir"/part.*; do
    layers=$(awk '{ printf "  x = nn.linear(nn.layernorm(x, { name = \"%s\" }), { name = \"q%d\", out = %d, bias = false })\n", $1, NR, NR + 8 }' "$part")
    describe "" "$layers" "" >"$part.lua"
    compiles "$part.lua"
done
for name in asm 2d run é "$(printf '\303')" 'a b' .hidden __x; do
    describe "" "" "" > "$dir/$name.lua"
    compiles "$dir/$name.lua"
done
exit $bad
