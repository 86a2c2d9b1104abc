-- carried.lua: states carried from batch to batch in all forms: layers of a stack that walk over time, each with a learned
-- first state; an LSTM of two layers; a counter of steps (integers).
return {
  config = { vocab = 7, width = 4, layers = 2, seq = 5, batch = 3, accumulate = 1, carry = true },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { name = "embed", rows = c.vocab, width = c.width, init = nn.init.normal(1) })
    x = nn.stack(c.layers, x, function(x)
      local over_x = nn.linear { name = "over_x", out = c.width }
      local over_h = nn.linear { name = "over_h", out = c.width, bias = false }
      local first = nn.linear(nn.zeros { x:size(0), 1 } + 1, { name = "first", out = c.width, bias = false })
      local _, ys = nn.scan(x, { h = first, n = nn.zeros { x:size(0) }:cast("i32") }, function(x, s)
        local h = nn.tanh(over_x(x) + over_h(s.h))
        return { h = h, n = s.n + 1 }, h + 0.01 * s.n:cast("f32"):unsqueeze(1)
      end, { carry = c.carry })
      return x + ys
    end)
    local ys = nn.lstm(x, { name = "lstm", hidden = c.width, layers = 2, carry = c.carry })
    local logits = nn.linear(ys, { name = "head", out = c.vocab })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,
  train = function(c) return { optimizer = optim.sgd { lr = 0.1 }, steps = 10, accumulate = c.accumulate } end,
  data = data.text { tokenizer = "bytes" },
}
