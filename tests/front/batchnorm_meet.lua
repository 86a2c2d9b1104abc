return {
  config = { batch = 4, features = 3 },
  forward = function(c, input)
    local x = nn.batchnorm(nn.linear(input.features, { name = "up", out = 5 }), { name = "norm" })
    local middle = x:mean(0)
    return ((x - middle) * x):mean()
  end,
  train = { accumulate = 2 },
  data = data.csv { target = "class" },
}
