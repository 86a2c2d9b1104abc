-- Decode of everything that mixes time: rotary positions, shared key heads, a recurrence that begins elsewhere than at
-- zero, a stack inside a scan's step, positions; with dropout, checkpoint, map, shared layers and accumulation beside.
local function block(c, x)
  local h = nn.rmsnorm(x)
  x = x + nn.attention(h, { heads = 4, kv_heads = 2, causal = true, rotary = 10000, bias = false, dropout = 0.1, context = 8 })
  return x + nn.checkpoint(nn.swiglu, nn.rmsnorm(x), { hidden = 20 })
end

return {
  config = { batch = 3, seq = 5, vocab = 9, width = 16, layers = 3 },

  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width, init = nn.init.normal(1) })
    local place = nn.positions(x):cast("f32"):unsqueeze(-1) / c.seq
    x = nn.stack(c.layers, x + place, function(x) return block(c, x) end)

    local start = nn.full({ x:size(0), c.width }, 0.5)
    local mix = nn.linear { name = "mix", out = c.width }
    local last, ys = nn.scan(x, { h = start, n = nn.zeros { x:size(0) } }, function(xt, s)
      local h = nn.tanh(mix(xt) + mix(s.h))
      h = nn.stack(2, h, function(h) return h + nn.linear(h, { out = c.width }) end, { name = "inner" })
      return { h = nn.dropout(h, 0.2), n = s.n + 1 }, h * s.n:unsqueeze(1)
    end)
    local parts = nn.map(2, function(i) return nn.linear(ys, { out = c.width }) end)
    local logits = nn.linear(ys + parts:sum(0), { name = "head", out = c.vocab })
    return nn.cross_entropy(logits, input.targets) + 0.01 * (last.h * last.h):mean(),
      { logits = logits, accuracy = nn.accuracy(logits, input.targets) }
  end,

  train = { accumulate = 2, optimizer = optim.sgd { lr = 0.1, momentum = 0.9 } },
}
