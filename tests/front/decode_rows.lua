-- A state in which the rows are no axis of their own.
return {
  config = { batch = 3, seq = 8, vocab = 16, width = 12 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    local B = x:size(0)
    local _, ys = nn.scan(x, nn.zeros { B * c.width }, function(xt, h)
      h = nn.tanh(h + xt:reshape { B * c.width })
      return h, h:reshape { B, c.width }
    end)
    local logits = nn.linear(ys, { out = c.vocab })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,
  generate = { rows = 2 },
}
