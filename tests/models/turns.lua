-- turns.lua: three small networks, trained in turns with optimizers of their own, one in every second step only.
local function generator(c, z)
  local x = nn.linear(z, { name = "up", out = c.width })
  if c.normal then x = nn.batchnorm(x, { name = "norm" }) end
  return nn.linear(nn.tanh(x), { name = "out", out = c.wide })
end

local function discriminator(c)
  local up, out = nn.linear { name = "up", out = c.width }, nn.linear { name = "out", out = 1 }
  return function(x) return out(nn.leaky_relu(up(x), 0.2)) end
end

return {
  config = { batch = 12, wide = 5, noise = 3, width = 7, normal = false, drawn = false, together = false, accumulate = 1, steps = 6 },
  inputs = { x = { "f32", "wide" }, z = { "f32", "noise" } },
  forward = function(c, input)
    local judge, z = nn.scope("discriminator", discriminator, c), input.z
    if c.drawn then z = z + nn.normal(z) end
    local made = nn.scope("generator", generator, c, z)
    local back = nn.scope("encoder", nn.linear, made, { name = "back", out = c.noise })
    local d, apart = judge(made), back - z
    return {
      discriminator = (nn.softplus(-judge(input.x)) + nn.softplus(d)):mean(),
      generator = nn.softplus(-d):mean(),
      encoder = (apart * apart):mean(),
    }, { made = made }
  end,
  train = function(c)
    if c.together then return { steps = c.steps, accumulate = c.accumulate, best = "encoder" } end
    return {
      steps = c.steps, accumulate = c.accumulate, eval_every = 4,
      turns = {
        { loss = "discriminator", optimizer = optim.adam { lr = 1e-2, beta1 = 0.5 }, clip = 0.3 },
        { loss = "generator", optimizer = optim.sgd { lr = 0.05, momentum = 0.9, nesterov = true }, schedule = optim.linear { final_lr = 0.01 } },
        { name = "encoding", loss = "encoder", of = { "encoder" }, optimizer = optim.adamw { lr = 1e-2, decay = 0.1 }, every = 2 },
      },
    }
  end,
  data = data.arrays { val_fraction = 0.2 },
}
