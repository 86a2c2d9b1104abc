-- Slices for the copies of nn.map, of a tensor with another first extent.
return {
  config = { vocab = 9, seq = 4, batch = 2 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = 8 })
    local y = nn.map(4, function(i, slice) return nn.linear(slice, { out = 8 }) end, { over = x })
    return nn.cross_entropy(nn.linear(y:mean(0), { out = c.vocab }), input.targets)
  end,
  train = { optimizer = optim.adamw {} },
  data = data.text {},
}
