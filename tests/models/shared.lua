-- shared.lua: two layers used at many places: one after the other, in a scan, in copies, in layers, and the embedding's table as
-- the head's weight and as a row; each has one gradient, the sum over its uses.
return {
  config = { vocab = 11, width = 6, seq = 5, batch = 3, copies = 3, layers = 2, accumulate = 1, chunked = false, checkpoint = false },
  decode = false,

  forward = function(c, input)
    local embed = nn.embedding { name = "embed", rows = c.vocab, width = c.width, init = nn.init.normal(1) }
    local both = nn.linear { name = "both", out = c.width, bias_init = nn.init.normal(1) }
    local x = embed(input.tokens)
    x = x + both(nn.tanh(both(x)))
    local row = embed.weight:slice(0, 2, 3):squeeze(0)
    local last, ys = nn.scan(x, nn.zeros { c.batch, c.width }, function(xt, h)
      h = nn.tanh(xt + both(h))
      return h, h * row
    end)
    x = ys + both(last):unsqueeze(1)
    x = x + nn.map(c.copies, function(i) return nn.tanh(both(x * (i:cast("f32") + 1))) end):sum(0)
    local function block(x)
      return x + nn.tanh(both(x) + nn.linear(x, { name = "own", out = c.width }))
    end
    x = nn.stack(c.layers, x, function(x)
      if c.checkpoint then return nn.checkpoint(block, x) end
      return block(x)
    end)
    if c.chunked then return (nn.linear_cross_entropy(x, input.targets, { weight = embed.weight })) end
    local logits = nn.linear(x, { name = "head", weight = embed.weight, bias = false })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,

  train = function(c) return { optimizer = optim.sgd { lr = 1e-2 }, steps = 10, accumulate = c.accumulate } end,
  data = function() return data.text { tokenizer = "bytes" } end,
}
