-- a turn with a key, which a list has not
return {
  config = { batch = 4, wide = 3 },
  inputs = { x = { "f32", "wide" } },
  forward = function(c, input)
    local made = nn.linear(input.x, { name = "generator", out = 3 })
    local judged = nn.linear(made, { name = "discriminator", out = 1 })
    return { discriminator = judged:mean(), generator = -judged:mean() }
  end,
  train = { steps = 5, turns = {
    { loss = "discriminator" },
    generator = { loss = "generator" },
  } },
  data = data.arrays {},
}
