-- directed.lua: parameters of every kind for optimizers written in Lua: matrices of three layers, wide and tall, a matrix
-- alone and a vector.  tests/models/test_direction.c gives them gradients of its own.
local function own(g, w, s)             -- a heavy ball that remembers the learning rate
  local v = 0.9 * s.state("velocity", g) + s.lr * g
  s.keep("velocity", v)
  return v / s.lr
end

local made = {
  muon = function() return optim.muon { lr = 0.02, decay = 0.1, others = optim.adamw { lr = 0.005, decay = 0.2, beta2 = 0.95 } } end,
  muon_plain = function() return optim.muon { lr = 0.01, momentum = 0.9, nesterov = false, scale = "adamw", others = optim.sgd { lr = 0.03 } } end,
  adafactor = function() return optim.adafactor { lr = 0.05, decay = 0.1, eps = 1e-7 } end,
  lamb = function() return optim.lamb { lr = 0.02, decay = 0.1 } end,
  own = function() return optim.own { lr = 0.02, update = own, match = { "*" } } end,
}

return {
  config = { kind = "muon", batch = 4, wide = 8 },
  train = function(c) return { optimizer = made[c.kind](), steps = 20, clip = 1.5 } end,
  data = data.arrays {},
  inputs = { x = { "f32", "wide" } },
  forward = function(c, input)
    local x = nn.stack(3, input.x, function(x)
      local up = nn.linear(x, { name = "up", out = 12, bias = false })
      return x + nn.linear(nn.tanh(up), { name = "down", out = c.wide, bias = false })
    end)
    local y = nn.linear(x, { name = "head", out = 5 })
    return (y * y):mean()
  end,
}
