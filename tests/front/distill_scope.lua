-- A student with a scope of the teacher's name
-- args: --distill tests/front/distill_scope.lua
return {
  config = { vocab = 16, width = 8, seq = 4, batch = 2, taught = false },
  forward = function(c, input)
    return nn.scope("teacher", function()
      local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
      local logits = nn.linear(x, { out = c.vocab })
      return nn.cross_entropy(logits, input.targets)
    end)
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 5 },
  data = data.text {},
}
