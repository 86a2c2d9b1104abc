return {
  config = { batch = 4, seq = 8, vocab = 16, width = 12, heads = 5 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    return x:reshape { x:size(0), x:size(1), c.heads, -1 }:mean()
  end,
}
