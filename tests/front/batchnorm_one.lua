return {
  config = { batch = 1, features = 3 },
  forward = function(c, input)
    local x = nn.batchnorm(nn.linear(input.features, { name = "up", out = 5 }))
    return x:mean()
  end,
  data = data.csv { target = "class" },
}
