-- A teacher that keeps a state from step to step
-- args: --distill tests/front/distill_state.lua,taught=true,carry=true
return {
  config = { vocab = 16, width = 8, seq = 4, batch = 2, taught = false, carry = false },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    x = nn.lstm(x, { hidden = c.width, carry = c.carry })
    local logits = nn.linear(x, { out = c.vocab })
    return nn.cross_entropy(logits, input.targets)
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 5 },
  data = data.text { order = "contiguous" },
}
