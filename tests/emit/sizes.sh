# sizes.sh: keys of a configuration that are words of the runtime's headers in lower case: their sizes have other names in
# the sources, for both targets, and the C compiles.
# compiled: as for users
set -eu
cd runtime
headers="lathe_rt.h interface/lathe_model.h math/math.h math/quick.h math/gemm_shape.h math/attention.h interface/needs.h lathe_cuda.cuh cuda/gemm.h cuda/ids.h cuda/ids.cuh cuda/cudnn.h cuda/attention*.cuh cuda/persistent.cuh cuda/rows.cuh"
# shellcheck disable=SC2086
words=$({ sed -n 's/^ *# *define  *\([A-Z][A-Z0-9_]*\).*/\1/p' $headers; sed -n '/^ *\(typedef \)\{0,1\}enum/p; /^constexpr/p' $headers | grep -oE '\b[A-Z][A-Z0-9_]+\b'; } |
    sort -u | grep -v '^LATHE_\|_H$\|_CUH$' | grep -vxF "$(sed -n 's/^#undef //p' interface/recipe.def lathe_rt.h)")
cd ..
[ "$(echo "$words" | wc -l)" -gt 40 ] || { echo "failed: where are the headers' words?"; exit 1; }

# A layer as wide as each, all widths different.
width=8
{
    echo "return { config = { features = 4, batch = 8,"
    for word in $words; do width=$((width + 1)); echo "  $(echo "$word" | tr A-Z a-z) = $width,"; done
    echo "}, forward = function(c, input) local h = input.features"
    for word in $words; do key=$(echo "$word" | tr A-Z a-z); echo "  h = nn.linear(h, { name = 'to_$key', out = c.$key })"; done
    echo "  return nn.cross_entropy(h, input.targets), { logits = h } end,"
    echo "  train = function(c) return { optimizer = optim.sgd { lr = 0.1 }, steps = 2 } end,"
    echo "  data = function(c) return data.csv { target = 'class' } end }"
} >"$TMP/words.lua"
failed=0
for target in cpu cuda; do
    "$LATHE" build "$TMP/words.lua" --target $target --source -o "$TMP/$target" >"$TMP/log" 2>&1 || { cat "$TMP/log"; exit 1; }
    for word in $words; do
        ! grep -qE "^ +$word = " "$TMP/$target/model.h" || { echo "failed: $target: a size is $word, which the headers have"; failed=1; }
    done
    grep -q '^ *KERNEL_ = ' "$TMP/$target/model.h" || { echo "failed: $target: no size has a key's name"; failed=1; }
done

# The words of a table's rows are gone behind it: a size may have their names.
echo "return { config = { features = 4, batch = 8, word = 7 }, forward = function(c, input)
    local x = nn.linear(input.features, { out = c.word })
    return nn.cross_entropy(x, input.targets), { logits = x } end,
  train = { optimizer = optim.sgd { lr = 0.1 } }, data = data.csv { target = 'class' } }" >"$TMP/word.lua"
grep -q '^#undef WORD$' runtime/interface/recipe.def && "$LATHE" build "$TMP/word.lua" --source -o "$TMP/word" >"$TMP/log" 2>&1 || failed=1
grep -q '^ *WORD = 7' "$TMP/word/model.h" || { echo "failed: WORD is no size's name"; failed=1; }
${CC:-cc} -O0 -fopenmp -Iruntime -I"$TMP/word" -c "$TMP/word/model.c" -o "$TMP/word.o" || failed=1
${CC:-cc} -O0 -fopenmp -Iruntime -I"$TMP/cpu" -c "$TMP/cpu/model.c" -o "$TMP/model.o" || failed=1
exit $failed
