# layer_rates.sh: layer_decay: which layers are above each parameter of a description, as a trainer reports it; what has no layers
# to count is refused.
set -eu
. tests/models/common
small="--config char --set layers=3 --set width=24 --set heads=2 --set seq=20 --set batch=4"
# shellcheck disable=SC2086
must "$LATHE" build models/gpt.lua $small --set layer_decay=0.5 -o "$TMP/gpt"
must "$TMP/gpt/trainer" info
rate() { grep -F "$1 " "$TMP/said" | grep -qF "$2" || tell "$1: expected $2"; }
rate wte.weight '(rate × 0.0625)'
rate wpe.weight '(rate × 0.0625)'
rate 'h.*.attn.c_attn.weight' '(rate × 0.125)'
rate 'h.*.ln_1.weight' '(rate × 0.125)'
grep -F ln_f.weight "$TMP/said" | grep -q rate && tell "what is above all layers has the whole rate"
awk 'BEGIN { for (i = 0; i < 4000; i++) { x = (x * 1103515245 + 12345) % 2147483648; printf "%s", substr("etaoin shrdlu", x % 13 + 1, 1) } }' >"$TMP/text"
must "$TMP/gpt/trainer" train --data "$TMP/text" --tokenizer chars --steps 3 --set layer_decay=0.75 --out "$TMP/run"
# shellcheck disable=SC2086
must "$LATHE" build models/gpt.lua $small -o "$TMP/without"
refuse 2 'this trainer was built without it' "$TMP/without/trainer" train --data "$TMP/text" --tokenizer chars --steps 3 --set layer_decay=0.75 --out "$TMP/no"

refuse 1 'has no nn.stack; put the layers into one nn.stack' "$LATHE" check models/mlp.lua --set layer_decay=0.75
refuse 1 'here are several' "$LATHE" check models/seq2seq.lua --set layer_decay=0.75
refuse 1 'for descriptions without turns' "$LATHE" check models/gan.lua --set layer_decay=0.75
must "$LATHE" check models/vit.lua --set layer_decay=0.75
