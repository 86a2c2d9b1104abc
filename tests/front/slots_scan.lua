return {
  config = { batch = 4, seq = 6, vocab = 9, width = 8 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    local _, ys = nn.scan(x, nn.zeros { x:size(0), c.width }, function(x, h, t)
      h = h + x / (t + 1):cast("f32")
      return h, h
    end)
    local logits = nn.linear(ys, { out = c.vocab })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,
  generate = { slots = 3 },
}
