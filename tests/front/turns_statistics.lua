-- running statistics that no turn changes
return {
  config = { batch = 4, wide = 3 },
  inputs = { x = { "f32", "wide" } },
  forward = function(c, input)
    local x = nn.batchnorm(input.x, { name = "scaled", affine = false })
    local made = nn.linear(x, { name = "generator", out = 3 })
    local judged = nn.linear(made, { name = "discriminator", out = 1 })
    return { discriminator = judged:mean(), generator = -judged:mean() }
  end,
  train = { steps = 5, turns = {
    { loss = "discriminator" },
    { loss = "generator" },
  } },
  data = data.arrays {},
}
