-- experts have no decomposed adapters
-- args: --lora rank=2,dora
return {
  config = { vocab = 256, width = 8, seq = 4, batch = 2 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    x = x + nn.experts(x, { experts = 4, active = 2, hidden = 8 })
    return nn.cross_entropy(nn.linear(x, { out = c.vocab }), input.targets)
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 5 },
  data = data.text {},
}
