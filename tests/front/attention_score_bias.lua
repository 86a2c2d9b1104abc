return {
  config = { batch = 4, seq = 8, vocab = 16, width = 12 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    x = nn.attention(x, { heads = 3, causal = true, score_bias = nn.alibi(4) })
    return nn.cross_entropy(nn.linear(x, { out = c.vocab }), input.targets)
  end,
}
