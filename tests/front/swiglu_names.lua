return {
  config = { vocab = 8, width = 8, seq = 4, batch = 2 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    x = nn.swiglu(x, { hidden = 8, fused = true, names = { "gate", "up", "down" } })
    return nn.cross_entropy(nn.linear(x, { out = c.vocab, name = "head" }), input.targets)
  end,
}
