-- attends.lua: what attention can have besides masks: biases on scores (learned by distance as in T5, ALiBi, worked out by
-- hand), a soft cap, norms of q and k, biases of some projections, a window in some layers of a loop, nn.attend with its own turns
-- and window; and what else looks back: running sums, shifts.

local function block(c, segments, x, kind, score_bias)
  local head, rotary = c.width // c.heads, kind.rotary or 0.0
  x = x + nn.attention(nn.rmsnorm(x, { offset = kind.offset }), {
    name = "attn", heads = c.heads, kv_heads = kind.kv_heads, causal = true, rotary = rotary, fused = kind.fused, dropout = c.dropout,
    score_bias = score_bias, soft_cap = kind.soft_cap, qk_norm = kind.qk_norm, qkv_bias = kind.qkv_bias, out_bias = kind.out_bias,
    window = kind.window or 0, windowed = kind.windowed, scale = kind.scale, segments = segments,
  })
  if kind.gate then return x + nn.swiglu(nn.rmsnorm(x, { offset = kind.offset }), { hidden = c.width, activation = kind.gate }) end
  return x + nn.mlp(nn.rmsnorm(x), { hidden = 2 * c.width, activation = "tanh" })
end

-- A number for each head, times how often the distance goes into 3: as a user would write one.
local function steps_of(c)
  local slope = nn.param { name = "slope", shape = { c.heads, 1, 1 }, init = nn.init.normal(0.5) }
  return function(queries, keys) return slope * ((queries:unsqueeze(-1) - keys) // 3):cast("f32") end
end

return {
  config = { vocab = 13, width = 16, heads = 4, seq = 9, batch = 3, dropout = 0.0, accumulate = 1, pack = false, rows = 1, sums = true },

  forward = function(c, input)
    local segments = c.pack and input.segments or nil
    local x = nn.embedding(input.tokens, { name = "embed", rows = c.vocab, width = c.width })
    local relative = nn.relative_bias { name = "relative", heads = c.heads, buckets = 6, most = 7, init = nn.init.normal(0.5) }
    x = nn.stack(2, x, function(x) return block(c, segments, x, { scale = 1.0, qkv_bias = false, out_bias = false }, relative) end, { name = "t5" })
    x = nn.scope("qwen3", block, c, segments, x, { rotary = 100.0, qk_norm = "rmsnorm", kv_heads = c.heads // 2, fused = false, qkv_bias = true, out_bias = false })
    x = nn.scope("olmo2", block, c, segments, x, { rotary = 100.0, qk_norm = "rmsnorm_wide", qkv_bias = false })
    x = nn.scope("vit", block, c, segments, x, { rotary = 100.0, qk_norm = "layernorm" }, nn.alibi(c.heads))
    x = nn.scope("gemma2", block, c, segments, x, { rotary = 50.0, soft_cap = 1.5, window = 4, kv_heads = 1 })
    x = nn.scope("both", block, c, segments, x, { soft_cap = 0.7, window = 6, kv_heads = c.heads // 2 }, steps_of(c))
    x = nn.stack(3, x, function(x, layer)
      return block(c, segments, x, { rotary = 50.0, window = 3, windowed = nn.eq(layer % 2, 0), offset = 1, gate = "gelu_tanh" })
    end, { name = "gemma3" })
    if c.sums then x = x + nn.shift(x, 2) + 0.1 * x:cumsum(1) end
    local function heads(name) return nn.linear(x, { name = name, out = c.width }):reshape { x:size(0), x:size(1), c.heads, -1 } end
    local turns = nn.turns(nn.positions(x), c.width // c.heads, 10.0)
    local y = nn.attend(heads("q"), heads("k"), heads("v"), { causal = true, window = 5, turns = turns, segments = segments })
    x = x + y:reshape { x:size(0), x:size(1), c.width }
    local logits = nn.linear(x, { name = "head", out = c.vocab })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,

  train = function(c) return { optimizer = optim.adamw { lr = 1e-3 }, steps = 20, accumulate = c.accumulate } end,
  generate = function(c) return { rows = c.rows } end,
  data = function(c) return data.text { tokenizer = "bytes", pack = c.pack } end,
}
