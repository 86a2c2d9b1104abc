-- lstm20.lua: an LSTM language model in twenty lines, its cell written out, walked by nn.scan over ragged lengths.

return {
  config = { vocab = 11, width = 5, hidden = 7, seq = 6, batch = 3, ragged = true },
  decode = false,

  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width, init = nn.init.normal(1) })
    local over_x = nn.linear { name = "over_x", out = 4 * c.hidden }
    local over_h = nn.linear { name = "over_h", out = 4 * c.hidden, bias = false }
    local zero = nn.zeros { c.batch, c.hidden }
    local lengths = c.ragged and nn.iota(c.batch) + (c.seq - c.batch + 1) or nil
    local _, ys = nn.scan(x, { h = zero, c = zero }, function(x, s)
      local i, f, g, o = (over_x(x) + over_h(s.h)):chunk(4, -1)
      local cell = nn.sigmoid(f + 1) * s.c + nn.sigmoid(i) * nn.tanh(g)
      local h = nn.sigmoid(o) * nn.tanh(cell)
      return { h = h, c = cell }, h
    end, { lengths = lengths })
    local logits = nn.linear(ys, { name = "head", out = c.vocab })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,

  train = function() return { optimizer = optim.sgd { lr = 1e-2 }, steps = 10 } end,
  data = function() return data.text { tokenizer = "bytes" } end,
}
