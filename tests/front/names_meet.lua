-- A layer's own number in its name, and the same name from a stack.
return {
  config = { batch = 4, seq = 8, vocab = 16, width = 8 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    x = nn.stack(3, x, function(x) return nn.linear(x, { name = "proj", out = c.width }) end, { name = "layers" })
    x = nn.linear(x, { name = "layers.2.proj", out = c.width })
    return nn.cross_entropy(nn.linear(x, { out = c.vocab }), input.targets)
  end,
}
