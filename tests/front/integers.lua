-- How many different random integers there are is a number of the description.
return {
  config = { vocab = 9, seq = 4, batch = 2 },
  forward = function(c, input)
    local x = nn.embedding(nn.integers(input.tokens, c.vocab / 2), { rows = c.vocab, width = 8 })
    return nn.cross_entropy(nn.linear(x, { out = c.vocab }), input.targets)
  end,
  train = { optimizer = optim.adamw {} },
  data = data.text {},
}
