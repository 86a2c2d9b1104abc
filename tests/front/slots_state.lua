return {
  config = { batch = 4, seq = 6, vocab = 9, width = 8 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    local _, n = nn.scan(x, nn.zeros {}, function(x, n) return n + 1, (n + 1):expand { x:size(0), 1 } end)
    local logits = nn.linear(x / n, { out = c.vocab })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,
  generate = { slots = 3 },
}
