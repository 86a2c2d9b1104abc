-- A teacher whose loss is in a loop
-- args: --distill tests/front/distill_inside.lua,taught=true
return {
  config = { vocab = 16, width = 8, seq = 4, batch = 2, taught = false },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    local logits = nn.linear(x, { out = c.vocab })
    if not c.taught then return nn.cross_entropy(logits, input.targets) end
    local first = input.targets:select(1, 0)
    local _, losses = nn.scan(logits, nn.zeros { 1 }, function(one, h) return h, nn.cross_entropy(one, first) end)
    return losses:mean()
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 5 },
  data = data.text {},
}
