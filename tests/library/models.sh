# models.sh: every model of models/ makes a library that a compiler takes, with warnings as errors; a step that is not made
# leaves running statistics as they were; notes of a saved model are not trusted.
# compiled: as for users
set -eu
failed=0
complain() { echo "failed: $*"; failed=1; }
cc=${CC:-cc}
for model in models/*.lua; do
    name=$(basename "$model" .lua)
    config=''
    [ "$name" = gpt ] && config='--config char'
    # shellcheck disable=SC2086
    file=$("$LATHE" build "$model" $config --amalgamation -o "$TMP/$name") && $cc -fsyntax-only -Wall -Wextra -Werror "$file" ||
        complain "$model makes no library"
done

cat >"$TMP/norm.lua" <<'END'
return {
  config = { features = 4, batch = 8 },
  inputs = { x = { "f32", "features" } },
  forward = function(c, input)
    local y = nn.linear(nn.batchnorm(nn.linear(input.x, { name = "up", out = 6 }), { name = "bn" }), { name = "down", out = 1 })
    return (y * y):mean(), { y = y }
  end,
  train = { optimizer = optim.schedule_free { lr = 1e-2 }, steps = 10 },
  data = data.arrays {},
}
END
file=$("$LATHE" build "$TMP/norm.lua" --amalgamation -o "$TMP/norm")
$cc -w -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined -I"$TMP/norm" "$file" tests/library/norm_driver.c -lm -o "$TMP/driver" ||
    complain "norm does not compile"
"$TMP/driver" >"$TMP/said" 2>&1 || complain "norm: $(cat "$TMP/said")"
exit $failed
