-- a list of scopes, one of which there is not
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
    { loss = "generator", of = { "generator", "encoder" } },
  } },
  data = data.arrays {},
}
