-- A student with two losses
-- args: --distill tests/front/distill_learns_twice.lua,taught=true
return {
  config = { vocab = 16, width = 8, seq = 4, batch = 2, taught = false },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    local logits = nn.linear(x, { out = c.vocab })
    local loss = nn.cross_entropy(logits, input.targets)
    if not c.taught then loss = loss + nn.cross_entropy(2 * logits, input.targets) end
    return loss
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 5 },
  data = data.text {},
}
