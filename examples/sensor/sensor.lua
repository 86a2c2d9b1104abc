-- sensor.lua: learns what readings are normal: it squeezes eight of them through two numbers and back.  What it cannot give back
-- is new to it.

return {
  config = { readings = 8, narrow = 2, hidden = 16, batch = 16, lr = 1e-2 },

  inputs = { window = { "f32", "readings" } },

  forward = function(c, input)
    local x = input.window
    local h = nn.tanh(nn.linear(x, { name = "down", out = c.hidden }))
    local z = nn.linear(h, { name = "narrow", out = c.narrow })
    local up = nn.tanh(nn.linear(z, { name = "up", out = c.hidden }))
    local missed = nn.linear(up, { name = "back", out = c.readings }) - x
    local error = (missed * missed):mean(-1)
    return error:mean(), { error = error }
  end,

  train = function(c) return { optimizer = optim.adam { lr = c.lr }, steps = 1000 } end,

  data = data.arrays {},
}
