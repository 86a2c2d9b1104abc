-- draws.lua: random numbers of every kind as outputs.

return {
  config = { vocab = 9, seq = 1024, batch = 16 },
  decode = false,

  forward = function(c, input)
    local x, rows = input.tokens, input.tokens:select(1, 0)
    local loss = nn.embedding(x, { rows = c.vocab, width = 2 }):sum()
    return loss, {
      uniform = nn.uniform(x), again = nn.uniform(x), wide = nn.uniform(x, -3, 5), normal = nn.normal(x), gumbel = nn.gumbel(x),
      bernoulli = nn.bernoulli(x, 0.3):cast("f32"), integers = nn.integers(x, 7):cast("f32"),
      often = nn.bernoulli(x, nn.iota(c.seq):cast("f32") / c.seq):cast("f32"), rows = nn.uniform(rows),
    }
  end,

  train = { optimizer = optim.adamw {} },
  data = data.text {},
}
