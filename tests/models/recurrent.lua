-- recurrent.lua: nn.lstm, nn.gru or nn.rnn of several layers over ragged rows, from learned states, first and last states
-- used; with `copies` as the mean of so many in nn.map.

return {
  config = {
    kind = "lstm", vocab = 13, width = 6, hidden = 5, layers = 2, both = true, seq = 7, batch = 4, ragged = true,
    activation = "", bias = "two", dropout = 0.0, copies = 0,
  },
  decode = false,

  forward = function(c, input)
    local x = nn.embedding(input.tokens, { name = "embed", rows = c.vocab, width = c.width, init = nn.init.normal(1) })
    local walks, names = c.layers * (c.both and 2 or 1), c.kind == "lstm" and { "h", "c" } or { "h" }
    local start = {}
    for _, name in ipairs(names) do
      local one = nn.param { name = "start_" .. name, shape = { walks, 1, c.hidden }, init = nn.init.normal(1) }
      start[name] = one:expand { walks, c.batch, c.hidden }
    end
    local function net()
      local ys, last = nn[c.kind](x, {
        name = "net", hidden = c.hidden, layers = c.layers, bidirectional = c.both, dropout = c.dropout,
        bias = c.bias ~= "none" and c.bias, lengths = c.ragged and nn.iota(c.batch) * 2 + (c.seq - 2 * c.batch + 2) or nil,
        start = #names > 1 and start or start.h, activation = c.activation ~= "" and c.activation or nil,
      })
      return ys, #names > 1 and nn.concat({ last.h, last.c }, 0) or last
    end
    local ys, states
    if c.copies == 0 then ys, states = net() else
      ys, states = nn.map(c.copies, net)
      ys, states = ys:mean(0), states:mean(0)
    end
    states = states:transpose(0, 1):reshape { c.batch, -1 }
    local logits = nn.linear(ys, { name = "head", out = c.vocab }) + nn.linear(states, { name = "sum", out = c.vocab }):unsqueeze(1)
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,

  train = function() return { optimizer = optim.sgd { lr = 1e-2 }, steps = 10 } end,
  data = function() return data.text { tokenizer = "bytes" } end,
}
