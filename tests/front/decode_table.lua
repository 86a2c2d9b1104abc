return {
  config = { batch = 4, seq = 8, vocab = 16, width = 12 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    x = x + nn.param { name = "places", shape = { c.seq, c.width } }
    local logits = nn.linear(x, { out = c.vocab })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,
}
