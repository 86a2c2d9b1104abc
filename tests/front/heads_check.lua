-- args: --set heads=5
return {
  config = { batch = 4, seq = 8, vocab = 16, width = 12, heads = 3 },
  check = function(c)
    assert(c.width % c.heads == 0, "width must be a multiple of heads")
  end,
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    return nn.attention(x, { heads = c.heads, causal = true }):mean()
  end,
}
