# explain.sh: `lathe explain` leads from every name of the source and the plan back to a Lua line: kernels, values, parameters by their name,
# their name in files or in C, inputs; of one entry; other names are refused with the nearest.
set -eu
. tests/models/common
has() { grep -qF -- "$1" "$TMP/said" || tell "it does not say: $1"; }

must "$LATHE" explain models/gpt.lua ln_1
has 'ln: a kernel of the entry train, step'
has 'from      models/gpt.lua:17, layer h.ln_1'
has '            rstd = rsqrt(variance + 1e-05)'
has 'reads     h_residual, h.ln_1.weight, h.ln_1.bias'
has 'holds     f32 [BATCH][SEQ][WIDTH], 393,216 bytes at '
has 'read by   attn_c_attn_y (step '
has 'also in grad, eval, decode: ask for ENTRY:ln_1'
must "$LATHE" explain models/gpt.lua decode:ln_1
has 'a kernel of the entry decode'
must "$LATHE" explain models/gpt.lua h.2.attn.c_attn.weight
has 'h.attn.c_attn.weight: a parameter'
has 'in files h.%d.attn.c_attn.weight, in the source p->h[0].attn_c_attn_weight'
has 'train: gradient made by d_attn_c_attn_weight (step '
refuse 1 "no kernel, value or parameter 'ln_11'; did you mean ln_1" "$LATHE" explain models/gpt.lua ln_11
refuse 1 "no kernel, value or parameter" "$LATHE" explain models/gpt.lua decode:qqqqqqqq
must "$LATHE" explain models/gpt.lua d_wte_weight ln_1_to_qkv
has 'runs      '
must "$LATHE" explain models/gpt.lua --set optimizer=muon direction:gram h.mlp.c_fc.weight
has 'direction: gradient read by '
refuse 2 'explain has no option --bogus' "$LATHE" explain models/gpt.lua --bogus
refuse 2 'explain needs a name' "$LATHE" explain models/gpt.lua
must "$LATHE" explain models/gpt.lua --target cuda make_wte

# ---- every kernel that the plan lists can be asked for
"$LATHE" plan models/char_rnn.lua | sed -n 's/^ *[0-9][0-9]* *\([a-z_0-9]*\)  (.*/\1/p' | sort -u >"$TMP/kernels"
[ "$(wc -l <"$TMP/kernels")" -gt 10 ] || tell "the plan lists few kernels"
# shellcheck disable=SC2046
must "$LATHE" explain models/char_rnn.lua $(cat "$TMP/kernels")
