# descriptions.sh: lathe diff of descriptions and their plans: options of one side, a description before and after an edit,
# a built folder beside its description; an error in one is no difference.
set -eu
. tests/models/common
# differs CODE A B …: into said
differs() {
    wanted=$1 code=0
    shift
    "$LATHE" diff "$@" >"$TMP/said" 2>&1 || code=$?
    [ $code = "$wanted" ] || tell "exit code $code, not $wanted: $*"
}
has() { grep -qF -- "$1" "$TMP/said" || tell "it does not say: $1"; }
lacks() { ! grep -qF -- "$1" "$TMP/said" || tell "it says: $1"; }

differs 0 models/gpt.lua models/gpt.lua
has 'nothing differs: settings, parameters, entries, memory, kernels'
differs 0 models/gpt.lua --set width=64 models/gpt.lua --set width=64
differs 1 --set layers=2 models/gpt.lua models/gpt.lua --set width=64
has 'B  models/gpt.lua: description --set layers=2 --set width=64'
has '  width  128  64'
has '  h.ln_1.weight         2 × [128]       2 × [64]'
has '  train: flop'
has '  parameters  '
has '    ~ head_logits: 50,331,648 flop, 1,310,720 bytes → 25,165,824 flop, 1,048,576 bytes'
lacks '  layers'
differs 1 models/gpt.lua models/gpt.lua --set lr=0.002 --json
[ "$(cat "$TMP/said")" = '{"a":{"what":"models/gpt.lua","said":"description"},"b":{"what":"models/gpt.lua","said":"description --set lr=0.002"},"settings":[{"name":"lr","a":0.001,"b":0.002}],"configuration":[],"program":[],"parameters":[],"start":[],"tensors":[],"computation":[],"memory":[],"kernels":[],"same":false}' ] || tell 'other JSON'

# ---- a copy under another name: its kernels are found again, of the description and of what is built of it
cp models/gpt.lua "$TMP/copied.lua"
differs 1 models/gpt.lua "$TMP/copied.lua"
has '  model  gpt  copied'
lacks 'kernels of a step'
must "$LATHE" build "$TMP/copied.lua" --set width=64 -o "$TMP/copied"
for b in "$TMP/copied.lua --set width=64" "$TMP/copied"; do
    # shellcheck disable=SC2086
    differs 1 models/gpt.lua $b --all
    has '    ~ head_logits: '
    lacks '    + '
    lacks '    - '
done

# ---- after an edit that moves all lines: another activation, another start, one parameter more
cat >"$TMP/before.lua" <<'Y'
return {
  config = { batch = 8, wide = 12, width = 16 },
  inputs = { x = { "f32", "wide" }, label = { "i32", below = 4, target = true } },
  forward = function(c, input)
    local h = nn.gelu(nn.linear(input.x, { out = c.width, name = "up" }))
    local logits = nn.linear(h, { out = 4, name = "down" })
    return nn.cross_entropy(logits, input.label), { logits = logits }
  end,
  train = { optimizer = optim.adamw { lr = 1e-3 }, steps = 5 },
  data = data.arrays {},
}
Y
mkdir "$TMP/moved" "$TMP/after"
{ echo '-- a remark'; cat "$TMP/before.lua"; } >"$TMP/moved/before.lua"
differs 0 "$TMP/before.lua" "$TMP/moved/before.lua"
{ echo '-- a remark'; sed 's/gelu/relu/; s/out = 4, name/out = 4, bias = false, name/; s/wide = 12/wide = 20/' "$TMP/before.lua"; } >"$TMP/after/before.lua"
differs 1 "$TMP/before.lua" "$TMP/after/before.lua"
cp "$TMP/said" "$TMP/edit"
has '  down.bias  '
has 'train, grad, eval, predict: x  f32 [8, 12]  f32 [8, 20]'
has 'kernels of a step'
lacks '  up.bias'

# ---- a built folder
must "$LATHE" build models/char_rnn.lua -o "$TMP/built"
differs 0 "$TMP/built" models/char_rnn.lua
differs 1 "$TMP/built" models/char_rnn.lua --set hidden=128
has 'A  '
has 'kernels of a step'

# ---- mistakes
echo 'return {' >"$TMP/wrong.lua"
refuse 2 'wrong.lua:' "$LATHE" diff models/gpt.lua "$TMP/wrong.lua"
refuse 2 'there is no option --widht' "$LATHE" diff models/gpt.lua models/gpt.lua --widht
refuse 2 '--config tiny: there is no such configuration' "$LATHE" diff models/gpt.lua models/gpt.lua --config tiny
