return {
  config = { batch = 4, features = 3 },
  forward = function(c, input)
    return nn.batchnorm(input.features:mean(1)):mean()
  end,
  data = data.csv { target = "class" },
}
