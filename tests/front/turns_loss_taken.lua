-- a loss called as what a line of metrics.jsonl has
return {
  config = { batch = 4, wide = 3 },
  inputs = { x = { "f32", "wide" } },
  forward = function(c, input)
    local made = nn.linear(input.x, { name = "generator", out = 3 })
    local judged = nn.linear(made, { name = "discriminator", out = 1 })
    return { step = judged:mean(), generator = -judged:mean() }
  end,
  train = { steps = 5, turns = {
    { loss = "generator" },
  } },
  data = data.arrays {},
}
