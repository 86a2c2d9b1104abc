-- padding.lua: an embedding with a row of zeros, in layers of their own, and one that a head shares.

return {
  config = { vocab = 7, width = 5, seq = 6, batch = 3, layers = 2, padding = 3, apart = true },
  decode = false,

  forward = function(c, input)
    local zero = c.padding >= 0 and c.padding or nil
    local embed = nn.embedding { name = "embed", rows = c.vocab, width = c.width, padding = zero, init = nn.init.normal(1) }
    local x = embed(input.tokens)
    if c.apart then
      x = nn.stack(c.layers, x, function(x)
        local own = nn.embedding(input.tokens, { name = "own", rows = c.vocab, width = c.width, padding = zero, init = nn.init.normal(1) })
        return nn.tanh(x + nn.linear(own, { name = "up", out = c.width }))
      end, { name = "h" })
    end
    local logits = nn.linear(x, { weight = embed.weight, bias = false })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,

  train = { optimizer = optim.adamw { lr = 1e-2, decay = 0.1 }, steps = 10 },
  data = data.text { tokenizer = "bytes" },
}
