-- An optimizer in Lua updates parameters of its turn alone, and this one has no matrices in a stack.

return {
  config = { batch = 4, wide = 3 },
  inputs = { x = { "f32", "wide" } },
  forward = function(c, input)
    local y = nn.stack(2, input.x, function(x) return nn.linear(x, { name = "up", out = c.wide }) end)
    return { squares = (y * y):mean(), sum = nn.scope("other", nn.linear, input.x, { out = 1 }):mean() }
  end,
  data = data.arrays {},
  train = { turns = { { loss = "squares", of = "layer" }, { loss = "sum", of = "other", optimizer = optim.muon {} } } },
}
