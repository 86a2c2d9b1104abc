-- nested.lua: three loops in each other: micro-batches, layers, time steps.  Each layer is a recurrence over time, forward
-- or backward in time, with its own weights.

return {
  config = { vocab = 9, width = 6, layers = 3, seq = 5, batch = 2, accumulate = 2, dropout = 0.0, reverse = false, checkpoint = false },
  decode = false,

  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width, init = nn.init.normal(1) })
    local function layer(x)
      local up, around = nn.linear { name = "up", out = c.width }, nn.linear { name = "around", out = c.width, bias = false }
      local last, ys = nn.scan(x, nn.zeros { c.batch, c.width }, function(xt, h)
        h = nn.tanh(up(xt) + around(h))
        return h, nn.dropout(h, c.dropout)
      end, { reverse = c.reverse })
      return x + ys + last:unsqueeze(1) * 0.5
    end
    x = nn.stack(c.layers, x, function(x)
      if c.checkpoint then return nn.checkpoint(layer, x) end
      return layer(x)
    end)
    local logits = nn.linear(x, { name = "head", out = c.vocab })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,

  train = function(c) return { optimizer = optim.sgd { lr = 1e-2 }, steps = 10, accumulate = c.accumulate } end,
  data = function() return data.text { tokenizer = "bytes" } end,
}
