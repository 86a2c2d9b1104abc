# z_loss.sh: z_loss of the head: it is part of what is trained and of the gradients, evaluation leaves it out, and micro-batches add up to
# the whole.
set -eu
. tests/models/common
awk 'BEGIN { for (i = 0; i < 6000; i++) { x = (x * 1103515245 + 12345) % 2147483648; printf "%s", substr("etaoin shrdlu", x % 13 + 1, 1) } }' >"$TMP/text"
sed 's/nn.linear_cross_entropy(\(.*\), { weight/nn.linear_cross_entropy(\1, { z_loss = Z, weight/' models/gpt.lua >"$TMP/z.lua"
grep -q 'z_loss = Z' "$TMP/z.lua" || tell "models/gpt.lua has no head to change"
small="--config char --set layers=2 --set width=24 --set heads=2 --set seq=20 --set lr=0.01 --set warmup=0"
for z in 0 0.5; do
    sed "s/z_loss = Z/z_loss = $z/" "$TMP/z.lua" >"$TMP/z$z.lua"
    # shellcheck disable=SC2086
    must "$LATHE" build "$TMP/z$z.lua" $small --set batch=8 -o "$TMP/whole$z"
    must "$TMP/whole$z/trainer" train --data "$TMP/text" --tokenizer chars --steps 1 --out "$TMP/run$z"
done
# shellcheck disable=SC2086
must "$LATHE" build "$TMP/z0.5.lua" $small --set batch=4 --set accumulate=2 -o "$TMP/parts0.5"
must "$TMP/parts0.5/trainer" train --data "$TMP/text" --tokenizer chars --steps 1 --out "$TMP/parts"
loss() { grep "\"split\":\"$2\"" "$1/metrics.jsonl" | sed 's/.*"loss":\([0-9.]*\).*/\1/' | tail -1; }
norm() { sed -n 's/.*"grad_norm":\([0-9.]*\).*/\1/p' "$1/metrics.jsonl" | head -1; }
# 13 letters: log Z of the first step is about log of the number of classes, 65: 0.5 · 4.17² = 8.7
awk -v a="$(loss "$TMP/run0" train)" -v b="$(loss "$TMP/run0.5" train)" 'BEGIN { exit !(b - a > 8 && b - a < 9.5) }' ||
    tell "training: $(loss "$TMP/run0" train), with z $(loss "$TMP/run0.5" train)"
awk -v a="$(norm "$TMP/run0.5")" -v b="$(norm "$TMP/parts")" 'BEGIN { exit !((a - b) ^ 2 < 1e-6 * a * a) }' || tell "norms: $(norm "$TMP/run0.5"), of parts $(norm "$TMP/parts")"
awk -v a="$(norm "$TMP/run0.5")" -v b="$(norm "$TMP/run0")" 'BEGIN { exit !(a > 1.05 * b || b > 1.05 * a) }' || tell "the gradient is as without"
# evaluated by both trainers, one model has one loss
for z in 0 0.5; do
    must "$TMP/whole$z/trainer" eval --weights "$TMP/run0/checkpoints/latest/model.safetensors" --data "$TMP/text" --tokenizer chars --json
    sed -n 's/.*"loss": *\([0-9.]*\).*/\1/p' "$TMP/said" | head -1 >"$TMP/eval$z"
done
cmp "$TMP/eval0" "$TMP/eval0.5" || tell "evaluation has z_loss"
[ -s "$TMP/eval0" ] || tell "no evaluation"
sed 's/z_loss = Z/z_loss = -1/' "$TMP/z.lua" >"$TMP/bad.lua"
refuse 1 'z_loss must be 0 or more' "$LATHE" check "$TMP/bad.lua"
# shellcheck disable=SC2086
refuse 1 'z_loss does not go with a teacher' "$LATHE" check "$TMP/z0.5.lua" $small --distill "models/gpt.lua,vocab=65,layers=1,width=24,heads=2,seq=20"
# shellcheck disable=SC2086
refuse 1 'leave z_loss out' "$LATHE" check "$TMP/z0.5.lua" $small --prefer orpo
