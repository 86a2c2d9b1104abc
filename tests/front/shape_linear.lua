return {
  config = { batch = 4, seq = 8, vocab = 16, width = 12, hidden = 20 },
  forward = function(c, input)
    local table = nn.embedding { name = "table", rows = c.vocab, width = c.width }
    local h = nn.linear(table(input.tokens), { name = "up", out = c.hidden })
    local logits = nn.linear(h, { weight = table.weight, bias = false })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,
}
