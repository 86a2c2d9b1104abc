-- A count that divides in a sum beside what is not divided: eval cannot add up batches, and says so.
-- exit: 0
return {
  config = { features = 4, batch = 8 },
  forward = function(c, input)
    local losses = nn.linear(input.features, { name = "up", out = 1 }):squeeze(1) ^ 2
    local w = nn.where(nn.eq(input.targets, 2), 3, 1)
    local inside = (losses * (w / w:sum())):sum()
    return (losses * w / w:sum() + losses):sum(), { inside = inside }
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 1 },
  data = data.csv { target = "class" },
}
