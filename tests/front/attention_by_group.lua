return {
  config = { vocab = 8, width = 8, seq = 4, batch = 2 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    x = nn.attention(x, { heads = 2, causal = true, fused = false, by_group = true })
    return nn.cross_entropy(nn.linear(x, { out = c.vocab, name = "head" }), input.targets)
  end,
}
