-- A student with a parameter of the teacher's name
-- args: --distill tests/front/distill_name.lua,own=weight
return {
  config = { vocab = 16, width = 8, seq = 4, batch = 2, own = "teacher" },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    x = x * nn.param { name = c.own, shape = { c.width }, init = 1 }
    return nn.cross_entropy(nn.linear(x, { out = c.vocab }), input.targets)
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 5 },
  data = data.text {},
}
