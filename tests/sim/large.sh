# large.sh: maps of more elements than 32 bits count: the text counts in 64 bits where it has to, and in 32 where those do, and no
# constant overflows where it is compiled.  Nothing is run: it would take 30 GB.
# compiled: as for users
set -u
CXX=${CXX:-g++}
command -v "${CXX%% *}" >/dev/null || { echo "no C++ compiler: ${CXX%% *} is not here"; exit 77; }
failed=0
cat >"$TMP/large.lua" <<'LUA'
return {
  config = { batch = 4, features = 4 },
  forward = function(c, input)
    local logits = nn.linear(nn.tanh(input.features), { name = "head", out = 3, bias = false })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 1 },
  data = data.csv { target = "class", val_fraction = 0.2 },
}
LUA

large() { # BATCH FEATURES TEXT…: what the map's kernel says, and its launch
    batch=$1 features=$2
    shift 2
    "$LATHE" build "$TMP/large.lua" --set batch="$batch" --set features="$features" --target cuda --source -o "$TMP/large" \
        >"$TMP/log" 2>&1 || { cat "$TMP/log"; exit 1; }
    for text in "$@"; do
        grep -qF "$text" "$TMP/large/model.cu" && continue
        echo "failed: $batch x $features: no \"$text\":"
        grep -A 8 'KERNEL void ' "$TMP/large/model.cu"
        failed=1
    done
    "$CXX" -std=gnu++17 -Wall -Wextra -Werror -Wno-missing-field-initializers -fsyntax-only -Itests/sim/include -Itests/sim -Iruntime \
        -I"$TMP/large" -x c++ "$TMP/large/model.cu" >"$TMP/log" 2>&1 || { echo "failed: $batch x $features:"; head -n 9 "$TMP/log"; failed=1; }
}
large 40000 50001 'const int i = blockIdx.x * THREADS + threadIdx.x;' 'if (i >= BATCH * FEATURES) return;'
large 70000 50001 'const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;' 'if (i >= (int64_t)BATCH * FEATURES) return;' \
    'CEIL_DIV((int64_t)BATCH * FEATURES, THREADS)'
large 70000 50000 'const int i = blockIdx.x * THREADS + threadIdx.x;' 'if (i >= (int64_t)BATCH * FEATURES / 4) return;'

# A stack of layers in an array of structs: 32 layers of 113,286,144 numbers.  No tensor has 2^31 elements, but the structs of the
# last layers begin behind that: each offset by layers is of 64 bits, in C as in CUDA.
stride=113286144
stack() { # TARGET FILE FLAGS…: of the text
    target=$1 file=$2
    shift 2
    "$LATHE" build models/gpt.lua --config gpt2 --set layers=32 --set width=3072 --set heads=24 --target "$target" --source \
        -o "$TMP/stack" >"$TMP/log" 2>&1 || { cat "$TMP/log"; exit 1; }
    grep -qE "\(ptrdiff_t\)$stride \* [a-z]" "$TMP/stack/$file" || { echo "failed: $file: no offset of 64 bits"; failed=1; }
    if grep -nE "(^|[^)0-9])$stride \* [a-z]" "$TMP/stack/$file"; then echo "failed: $file: offsets of 32 bits"; failed=1; fi
    "$@" -fsyntax-only -I"$TMP/stack" "$TMP/stack/$file" >"$TMP/log" 2>&1 || { echo "failed: $file:"; head -n 9 "$TMP/log"; failed=1; }
}
stack cuda model.cu "$CXX" -std=gnu++17 -Wall -Wextra -Werror -Wno-missing-field-initializers -Itests/sim/include -Itests/sim -Iruntime -x c++
stack cpu model.c "${CC:-cc}" -std=gnu11 -Wall -Wextra -Werror -fopenmp -Iruntime
exit $failed
