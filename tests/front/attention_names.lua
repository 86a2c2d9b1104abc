return {
  config = { batch = 4, seq = 8, vocab = 16, width = 12 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    return nn.attention(x, { heads = 3, fused = false, names = { "qkv", "out" } }):mean()
  end,
}
