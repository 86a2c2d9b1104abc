-- A teacher cannot make globals that the student would see
-- args: --distill tests/front/distill_globals.lua,taught=true
return {
  config = { vocab = 16, width = 8, seq = 4, batch = 2, taught = false },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    local logits = nn.linear(x, { out = c.vocab })
    if c.taught then seen = x end
    return nn.cross_entropy(logits, input.targets)
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 5 },
  data = data.text {},
}
