return {
  config = { batch = 4, seq = 8, vocab = 16, width = 12 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    local ids = nn.constant({ 3, 0, -1 }, "i32")
    x = x:overwrite(ids, nn.zeros { c.batch, c.seq, 3 }, 2)
    return nn.cross_entropy(nn.linear(x, { out = c.vocab }), input.targets)
  end,
}
